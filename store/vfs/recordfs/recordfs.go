// Package recordfs writes down, in order, everything that a store asks of its
// files, and works out from that record what the disk may hold after a power
// cut at any moment: [FS] records, [Recording] enumerates crash states.
//
// The rules of the disk are the weakest that a careful store may rely on:
//
//  1. A file's bytes and size are durable once a File.Sync that began after the
//     change has returned nil. A name is durable once a SyncDir of its directory
//     has. Neither covers the other. A directory is a name like a file's: while its
//     own may be lost, so may all that is in it.
//  2. Until then each change survives or not by itself, whatever came before or
//     after it. A write is torn at sectors of 512 bytes: any subset of them may
//     be there, and the size may show a write whose bytes are missing (they read
//     as zeros).
//  3. After a failed sync the bytes that it should have covered stay in doubt
//     for ever: no later sync covers them, only writing them again does.
//  4. A rename is atomic.
//
// It never decides whether a state is right: that is for the test that knows
// what was promised when.
//
// Changes through a shared mapping of a file's descriptor are not seen.
package recordfs

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"tarn/store/vfs"
	"tarn/store/vfs/memfs"
)

// FS passes every call on and records those that change something. Files that
// exist before are taken as durable when they are first touched, and directories
// that were not made through it are durable.
type FS struct {
	inner vfs.FS

	mu    sync.Mutex
	log   []event
	names map[string]int // path to node
	nodes int
}

var _ vfs.FS = (*FS)(nil)

// New returns a recorder in front of inner.
func New(inner vfs.FS) *FS {
	return &FS{inner: inner, names: map[string]int{}}
}

// Position is the number of events so far: a crash now is at this position.
func (fs *FS) Position() int {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return len(fs.log)
}

// Recording returns what was recorded until now.
func (fs *FS) Recording() *Recording {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return &Recording{events: slices.Clip(fs.log)}
}

func (fs *FS) add(e event) { fs.log = append(fs.log, e) }

// Adopt takes files that exist as durable, touched or not: a crash state has no file that the
// record does not know.
func (fs *FS) Adopt(paths ...string) error {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for _, path := range paths {
		n, err := fs.adopt(filepath.Clean(path))
		if err == nil && n < 0 {
			err = os.ErrNotExist
		}
		if err != nil {
			return fmt.Errorf("record %s: %w", path, err)
		}
	}
	return nil
}

// adopt finds the node of a path, noting the content of a file that was there
// before the recording. It returns -1 if there is no such file.
func (fs *FS) adopt(path string) (int, error) {
	if n, ok := fs.names[path]; ok {
		return n, nil
	}
	if ok, err := fs.inner.Exists(path); err != nil || !ok {
		return -1, err
	}
	f, err := fs.inner.Open(path, false)
	if err != nil {
		return -1, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return -1, err
	}
	data := make([]byte, size)
	if _, err := f.ReadAt(data, 0); err != nil && err != io.EOF {
		return -1, err
	}
	n := fs.name(path)
	fs.add(event{kind: adopt, node: n, path: path, blob: memfs.NewBlob(data)})
	return n, nil
}

// name gives path a new node.
func (fs *FS) name(path string) int {
	fs.nodes++
	fs.names[path] = fs.nodes
	return fs.nodes
}

func (fs *FS) Open(path string, writable bool) (vfs.File, error) {
	return fs.open(path, func(path string) (vfs.File, error) { return fs.inner.Open(path, writable) })
}

func (fs *FS) OpenDirect(path string) (vfs.File, error) { return fs.open(path, fs.inner.OpenDirect) }

func (fs *FS) open(path string, how func(path string) (vfs.File, error)) (vfs.File, error) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	path = filepath.Clean(path)
	inner, err := how(path)
	if err != nil {
		return nil, err
	}
	n, err := fs.adopt(path)
	if err != nil {
		inner.Close()
		return nil, fmt.Errorf("record %s: %w", path, err)
	}
	return &file{File: inner, fs: fs, node: n}, nil
}

func (fs *FS) Create(path string) (vfs.File, error) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	path = filepath.Clean(path)
	n, err := fs.adopt(path)
	if err != nil {
		return nil, fmt.Errorf("record %s: %w", path, err)
	}
	inner, err := fs.inner.Create(path)
	if err != nil {
		return nil, err
	}
	if n >= 0 {
		fs.add(event{kind: truncate, node: n, path: path})
	} else {
		n = fs.name(path)
		fs.add(event{kind: create, node: n, path: path})
	}
	return &file{File: inner, fs: fs, node: n}, nil
}

func (fs *FS) Rename(from, to string) error {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	from, to = filepath.Clean(from), filepath.Clean(to)
	n, err := fs.adopt(from)
	if err == nil {
		_, err = fs.adopt(to)
	}
	if err != nil {
		return fmt.Errorf("record rename of %s: %w", from, err)
	}
	if err := fs.inner.Rename(from, to); err != nil {
		return err
	}
	delete(fs.names, from)
	fs.names[to] = n
	fs.add(event{kind: rename, node: n, path: from, to: to})
	return nil
}

func (fs *FS) Remove(path string) error {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	path = filepath.Clean(path)
	n, err := fs.adopt(path)
	if err != nil {
		return fmt.Errorf("record %s: %w", path, err)
	}
	if err := fs.inner.Remove(path); err != nil {
		return err
	}
	delete(fs.names, path)
	fs.add(event{kind: remove, node: n, path: path})
	return nil
}

func (fs *FS) Mkdir(dir string) error {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if err := fs.inner.Mkdir(dir); err != nil {
		return err
	}
	fs.add(event{kind: mkdir, path: filepath.Clean(dir)})
	return nil
}

func (fs *FS) SyncDir(dir string) error {
	dir = filepath.Clean(dir)
	return fs.sync(event{kind: dirSyncBegin, path: dir}, dirSynced, func() error { return fs.inner.SyncDir(dir) })
}

// sync records the beginning and the end of a sync; between them the rest of
// the world goes on.
func (fs *FS) sync(begin event, end kind, run func() error) error {
	fs.mu.Lock()
	begin.began = len(fs.log)
	fs.add(begin)
	fs.mu.Unlock()

	err := run()

	fs.mu.Lock()
	defer fs.mu.Unlock()
	begin.kind, begin.doubt = end, err != nil
	fs.add(begin)
	return err
}

func (fs *FS) Exists(path string) (bool, error) { return fs.inner.Exists(path) }

func (fs *FS) Lock(path string, exclusive bool) (io.Closer, string, error) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	path = filepath.Clean(path)
	before, err := fs.adopt(path)
	if err != nil {
		return nil, "", fmt.Errorf("record %s: %w", path, err)
	}
	c, holder, err := fs.inner.Lock(path, exclusive)
	if err == nil && before < 0 {
		fs.add(event{kind: create, node: fs.name(path), path: path})
	}
	return c, holder, err
}

func (fs *FS) InMemory(dir string) (bool, error) { return fs.inner.InMemory(dir) }

// file records the changes of one open file.
type file struct {
	vfs.File
	fs   *FS
	node int
}

// change runs a call and records it. One that failed may have happened all the
// same, wholly or in part.
func (f *file) change(e event, run func() error) error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	err := run()
	e.node, e.doubt = f.node, err != nil
	f.fs.add(e)
	return err
}

func (f *file) WriteAt(p []byte, off int64) (n int, err error) {
	e := event{kind: write, offset: off, size: int64(len(p)), data: slices.Clone(p)}
	err = f.change(e, func() error {
		n, err = f.File.WriteAt(p, off)
		return err
	})
	return n, err
}

func (f *file) Truncate(size int64) error {
	return f.change(event{kind: truncate, size: size}, func() error { return f.File.Truncate(size) })
}

func (f *file) Allocate(offset, size int64) error {
	return f.change(event{kind: allocate, offset: offset, size: size}, func() error {
		return f.File.Allocate(offset, size)
	})
}

func (f *file) Punch(offset, size int64) error {
	return f.change(event{kind: punch, offset: offset, size: size}, func() error { return f.File.Punch(offset, size) })
}

func (f *file) Sync() error {
	return f.fs.sync(event{kind: syncBegin, node: f.node}, synced, f.File.Sync)
}
