package pebble

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// files is the library's way to the disk and its logger. It counts what is
// written by cause, and keeps the first failure that the library holds for fatal.
type files struct {
	vfs.FS

	mu     sync.Mutex
	causes map[vfs.DiskWriteCategory]*atomic.Int64
	fatal  error
}

func newFiles() *files {
	return &files{FS: vfs.Default, causes: map[vfs.DiskWriteCategory]*atomic.Int64{}}
}

func (f *files) cause(c vfs.DiskWriteCategory) *atomic.Int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.causes[c]
	if n == nil {
		n = new(atomic.Int64)
		f.causes[c] = n
	}
	return n
}

func (f *files) written(c vfs.DiskWriteCategory) int64 { return f.cause(c).Load() }

// failed is the failure after which the library takes no more changes.
func (f *files) failed() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fatal
}

// clear removes tables of a batch that a crash has interrupted. A table that the
// library has taken up has another name too.
func (f *files) clear(path string) error {
	names, err := f.List(path)
	if err != nil {
		return err
	}
	prefix, _, _ := strings.Cut(tablePattern, "%")
	for _, name := range names {
		if strings.HasPrefix(name, prefix) {
			if err := f.Remove(filepath.Join(path, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Lock: the store's own lock keeps others out, and readers may be many.
func (f *files) Lock(string) (io.Closer, error) { return noLock{}, nil }

type noLock struct{}

func (noLock) Close() error { return nil }

func (f *files) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return f.count(c)(f.FS.Create(name, c))
}

func (f *files) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	return f.count(c)(f.FS.OpenReadWrite(name, c, o...))
}

func (f *files) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return f.count(c)(f.FS.ReuseForWrite(from, to, c))
}

func (f *files) Unwrap() vfs.FS { return f.FS }

func (f *files) count(c vfs.DiskWriteCategory) func(vfs.File, error) (vfs.File, error) {
	return func(file vfs.File, err error) (vfs.File, error) {
		if err != nil {
			return nil, err
		}
		return &countedFile{file, f.cause(c)}, nil
	}
}

type countedFile struct {
	vfs.File
	bytes *atomic.Int64
}

func (f *countedFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	f.bytes.Add(int64(n))
	return n, err
}

func (f *countedFile) WriteAt(p []byte, at int64) (int, error) {
	n, err := f.File.WriteAt(p, at)
	f.bytes.Add(int64(n))
	return n, err
}

// The library's logger: it is quiet, and a fatal failure ends the writing, not
// the process.

func (f *files) Infof(string, ...any)  {}
func (f *files) Errorf(string, ...any) {}

func (f *files) Fatalf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fatal == nil {
		f.fatal = fmt.Errorf("the library gave up: "+format, args...)
	}
}

func (f *files) Eventf(context.Context, string, ...any) {}

func (f *files) IsTracingEnabled(context.Context) bool { return false }
