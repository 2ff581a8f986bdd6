package vfs

import "sync/atomic"

// Count returns a file system that adds to written the bytes that are written through it, in
// files of any name, whether they get to a disk or not. Everything else is fs's.
func Count(fs FS, written *atomic.Int64) FS { return counted{fs, written} }

type counted struct {
	FS
	written *atomic.Int64
}

func (c counted) Open(path string, writable bool) (File, error) {
	return c.count(c.FS.Open(path, writable))
}

func (c counted) OpenDirect(path string) (File, error) { return c.count(c.FS.OpenDirect(path)) }

func (c counted) Create(path string) (File, error) { return c.count(c.FS.Create(path)) }

func (c counted) count(f File, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	return countedFile{f, c.written}, nil
}

type countedFile struct {
	File
	written *atomic.Int64
}

func (f countedFile) WriteAt(b []byte, offset int64) (int, error) {
	n, err := f.File.WriteAt(b, offset)
	f.written.Add(int64(n))
	return n, err
}
