package vfs

import "errors"

// OpenPastCache opens an existing file for writes past the page cache, and through it where
// there is no such way. Their offsets and sizes are multiples of [Sector]. Where the file has
// room already, a sync has nothing to tell to the file system's journal but the bytes
// written. One goroutine may use it.
func OpenPastCache(files FS, path string) (File, error) {
	f, err := files.OpenDirect(path)
	if errors.Is(err, errors.ErrUnsupported) {
		return files.Open(path, true)
	}
	if err != nil {
		return nil, err
	}
	return &pastCache{File: f, files: files, path: path}, nil
}

type pastCache struct {
	File
	files  FS
	path   string
	cached bool
}

func (p *pastCache) WriteAt(b []byte, offset int64) (int, error) {
	n, err := p.File.WriteAt(b, offset)
	if p.cached || !errors.Is(err, errors.ErrUnsupported) {
		return n, err
	}
	f, err := p.files.Open(p.path, true)
	if err != nil {
		return 0, err
	}
	before := p.File
	p.File, p.cached = f, true
	if err := before.Close(); err != nil {
		return 0, err
	}
	return f.WriteAt(b, offset)
}
