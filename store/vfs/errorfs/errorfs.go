// Package errorfs makes calls to a file system fail: the n-th of a kind on a
// path, once or from then on, with an error of choice, after part of a write or
// with a lie. It owns the counting and the rules. It never fails anything that no
// rule names.
package errorfs

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"tarn/store/vfs"
)

// Op is a set of kinds of calls.
type Op uint32

const (
	Open     Op = 1 << iota // FS.Open
	Create                  // FS.Create
	Rename                  // FS.Rename, by the new name
	Remove                  // FS.Remove
	Mkdir                   // FS.Mkdir
	SyncDir                 // FS.SyncDir
	Exists                  // FS.Exists
	Lock                    // FS.Lock
	Read                    // File.ReadAt
	Write                   // File.WriteAt
	Sync                    // File.Sync
	Truncate                // File.Truncate
	Allocate                // File.Allocate
	Punch                   // File.Punch
	Size                    // File.Size
	Close                   // File.Close, which closes all the same

	// Change is every call that changes something on the disk.
	Change = Create | Rename | Remove | Mkdir | SyncDir | Lock | Write | Sync | Truncate | Allocate | Punch
	// All is every call.
	All = Close<<1 - 1
)

var opNames = [...]string{"open", "create", "rename", "remove", "mkdir", "sync directory", "exists", "lock",
	"read", "write", "sync", "truncate", "allocate", "punch", "size", "close"}

// String lists the kinds.
func (o Op) String() string {
	var names []string
	for i, name := range opNames {
		if o>>i&1 == 1 {
			names = append(names, name)
		}
	}
	return strings.Join(names, "|")
}

// Fault is a rule. Calls are counted from the moment it is injected.
type Fault struct {
	Ops  Op     // which kinds of calls it is about
	Path string // only paths whose last element is this; "" for all
	Nth  int    // the first call to fail among those, counted from 1; 0 is 1
	Ever bool   // whether those after it fail too
	Err  error  // what the call returns, inside an *os.PathError
	// Part lets a write that is longer than one byte happen up to half its
	// length before it fails.
	Part bool
	// Lie makes the call do nothing and return nil. For Sync, SyncDir, Truncate,
	// Punch, Allocate, Remove and Rename; other calls fail with Err.
	Lie bool
}

// FS fails calls by rule and passes the others on.
type FS struct {
	inner vfs.FS

	mu    sync.Mutex
	rules []*rule
	trace func(op Op, path string)
}

var _ vfs.FS = (*FS)(nil)

type rule struct {
	Fault
	seen, fired int
}

// New returns a file system without faults.
func New(inner vfs.FS) *FS { return &FS{inner: inner} }

// Inject adds a rule and returns a function that tells how many calls it has
// failed so far.
func (fs *FS) Inject(f Fault) (fired func() int) {
	r := &rule{Fault: f}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.rules = append(fs.rules, r)
	return func() int {
		fs.mu.Lock()
		defer fs.mu.Unlock()
		return r.fired
	}
}

// Clear takes all rules back.
func (fs *FS) Clear() {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.rules = nil
}

// Trace calls fn before each call from now on; nil ends it. fn may block, which
// holds the call up; it must not call this FS.
func (fs *FS) Trace(fn func(op Op, path string)) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.trace = fn
}

// check tells what a rule says about a call, if one does.
func (fs *FS) check(op Op, path string) *rule {
	fs.mu.Lock()
	trace := fs.trace
	var hit *rule
	for _, r := range fs.rules {
		if r.Ops&op == 0 || r.Path != "" && r.Path != filepath.Base(path) {
			continue
		}
		r.seen++
		if first := max(r.Nth, 1); r.seen == first || r.seen > first && r.Ever {
			r.fired++
			hit = r
		}
	}
	fs.mu.Unlock()
	if trace != nil {
		trace(op, path)
	}
	return hit
}

// run makes a call unless a rule forbids it.
func (fs *FS) run(op Op, path string, call func() error) error {
	r := fs.check(op, path)
	switch {
	case r == nil:
		return call()
	case r.Lie:
		return nil
	}
	return r.failure(op, path)
}

func (r *rule) failure(op Op, path string) error {
	return &os.PathError{Op: op.String(), Path: path, Err: r.Err}
}

func (fs *FS) file(op Op, path string, call func() (vfs.File, error)) (vfs.File, error) {
	if r := fs.check(op, path); r != nil {
		return nil, r.failure(op, path)
	}
	f, err := call()
	if err != nil {
		return nil, err
	}
	return &file{File: f, fs: fs, path: path}, nil
}

func (fs *FS) Open(path string, writable bool) (vfs.File, error) {
	return fs.file(Open, path, func() (vfs.File, error) { return fs.inner.Open(path, writable) })
}

func (fs *FS) OpenDirect(path string) (vfs.File, error) {
	return fs.file(Open, path, func() (vfs.File, error) { return fs.inner.OpenDirect(path) })
}

func (fs *FS) Create(path string) (vfs.File, error) {
	return fs.file(Create, path, func() (vfs.File, error) { return fs.inner.Create(path) })
}

func (fs *FS) Rename(from, to string) error {
	return fs.run(Rename, to, func() error { return fs.inner.Rename(from, to) })
}

func (fs *FS) Remove(path string) error {
	return fs.run(Remove, path, func() error { return fs.inner.Remove(path) })
}

func (fs *FS) Mkdir(dir string) error {
	return fs.run(Mkdir, dir, func() error { return fs.inner.Mkdir(dir) })
}

func (fs *FS) SyncDir(dir string) error {
	return fs.run(SyncDir, dir, func() error { return fs.inner.SyncDir(dir) })
}

func (fs *FS) Exists(path string) (bool, error) {
	if r := fs.check(Exists, path); r != nil {
		return false, r.failure(Exists, path)
	}
	return fs.inner.Exists(path)
}

func (fs *FS) Lock(path string, exclusive bool) (io.Closer, string, error) {
	if r := fs.check(Lock, path); r != nil {
		return nil, "", r.failure(Lock, path)
	}
	return fs.inner.Lock(path, exclusive)
}

func (fs *FS) InMemory(dir string) (bool, error) { return fs.inner.InMemory(dir) }

// file is an open file whose calls can fail.
type file struct {
	vfs.File
	fs   *FS
	path string
}

func (f *file) ReadAt(p []byte, off int64) (int, error) {
	if r := f.fs.check(Read, f.path); r != nil {
		return 0, r.failure(Read, f.path)
	}
	return f.File.ReadAt(p, off)
}

// WriteAt of a part reports no bytes, as os.File does after an error.
func (f *file) WriteAt(p []byte, off int64) (int, error) {
	r := f.fs.check(Write, f.path)
	if r == nil {
		return f.File.WriteAt(p, off)
	}
	if r.Part && len(p) > 1 {
		if _, err := f.File.WriteAt(p[:len(p)/2], off); err != nil {
			return 0, err
		}
	}
	return 0, r.failure(Write, f.path)
}

func (f *file) Sync() error { return f.fs.run(Sync, f.path, f.File.Sync) }

func (f *file) Truncate(size int64) error {
	return f.fs.run(Truncate, f.path, func() error { return f.File.Truncate(size) })
}

func (f *file) Allocate(offset, size int64) error {
	return f.fs.run(Allocate, f.path, func() error { return f.File.Allocate(offset, size) })
}

func (f *file) Punch(offset, size int64) error {
	return f.fs.run(Punch, f.path, func() error { return f.File.Punch(offset, size) })
}

func (f *file) Size() (int64, error) {
	if r := f.fs.check(Size, f.path); r != nil {
		return 0, r.failure(Size, f.path)
	}
	return f.File.Size()
}

func (f *file) Close() error {
	r := f.fs.check(Close, f.path)
	err := f.File.Close()
	if r != nil {
		return r.failure(Close, f.path)
	}
	return err
}
