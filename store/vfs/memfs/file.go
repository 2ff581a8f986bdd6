package memfs

import (
	"io"
	"os"
	"sync/atomic"
	"syscall"
)

// file is an open node.
type file struct {
	node     *node
	path     string
	writable bool
	closed   atomic.Bool
}

func (f *file) check(op string, write bool) error {
	switch {
	case f.closed.Load():
		return &os.PathError{Op: op, Path: f.path, Err: os.ErrClosed}
	case write && !f.writable:
		return &os.PathError{Op: op, Path: f.path, Err: syscall.EBADF}
	}
	return nil
}

// change runs fn on the content, for a call that needs write access.
func (f *file) change(op string, offset, size int64, fn func(*Blob)) error {
	if err := f.check(op, true); err != nil {
		return err
	}
	if offset < 0 || size < 0 {
		return &os.PathError{Op: op, Path: f.path, Err: syscall.EINVAL}
	}
	f.node.mu.Lock()
	defer f.node.mu.Unlock()
	fn(f.node.blob)
	return nil
}

func (f *file) ReadAt(p []byte, off int64) (int, error) {
	if err := f.check("read", false); err != nil {
		return 0, err
	}
	f.node.mu.RLock()
	defer f.node.mu.RUnlock()
	n, err := f.node.blob.ReadAt(p, off)
	if err != nil && err != io.EOF {
		err = &os.PathError{Op: "read", Path: f.path, Err: err}
	}
	return n, err
}

func (f *file) WriteAt(p []byte, off int64) (int, error) {
	err := f.change("write", off, 0, func(b *Blob) {
		b.WriteAt(p, off) //nolint:errcheck // the offset was checked
	})
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

func (f *file) Truncate(size int64) error {
	return f.change("truncate", 0, size, func(b *Blob) { b.Truncate(size) })
}

func (f *file) Allocate(offset, size int64) error {
	return f.change("fallocate", offset, size, func(b *Blob) { b.grow(offset + size) })
}

func (f *file) Punch(offset, size int64) error {
	return f.change("punch hole", offset, size, func(b *Blob) { b.Zero(offset, size) })
}

func (f *file) Sync() error { return f.check("sync", false) }

func (f *file) Size() (int64, error) {
	if err := f.check("stat", false); err != nil {
		return 0, err
	}
	f.node.mu.RLock()
	defer f.node.mu.RUnlock()
	return f.node.blob.Size(), nil
}

func (f *file) Fd() (uintptr, bool) { return 0, false }

func (f *file) Close() error {
	if f.closed.Swap(true) {
		return &os.PathError{Op: "close", Path: f.path, Err: os.ErrClosed}
	}
	return nil
}
