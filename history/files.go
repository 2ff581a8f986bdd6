package history

import (
	"errors"
	"sync"

	"tarn/store/vfs"
)

// maxOpen is how many files of finished segments and runs are kept open for readers.
const maxOpen = 64

// files keeps some files open that many read.
type files struct {
	fs   vfs.FS
	mu   sync.Mutex
	open map[string]*handle
}

type handle struct {
	file  vfs.File
	users int
	gone  bool // to be closed by its last user
}

func newFiles(fs vfs.FS) *files { return &files{fs: fs, open: map[string]*handle{}} }

// use calls fn with a file that is open for reading.
func (f *files) use(path string, fn func(vfs.File) error) error {
	h, err := f.take(path)
	if err != nil {
		return err
	}
	err = fn(h.file)
	return errors.Join(err, f.leave(h))
}

func (f *files) take(path string) (*handle, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	h := f.open[path]
	if h == nil {
		file, err := f.fs.Open(path, false)
		if err != nil {
			return nil, err
		}
		if err := f.makeRoom(); err != nil {
			return nil, errors.Join(err, file.Close())
		}
		h = &handle{file: file}
		f.open[path] = h
	}
	h.users++
	return h, nil
}

// makeRoom closes a file that nobody uses, if too many are open.
func (f *files) makeRoom() error {
	if len(f.open) < maxOpen {
		return nil
	}
	for path, h := range f.open {
		if h.users == 0 {
			delete(f.open, path)
			return h.file.Close()
		}
	}
	return nil
}

func (f *files) leave(h *handle) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	h.users--
	if h.gone && h.users == 0 {
		return h.file.Close()
	}
	return nil
}

// forget closes a file when its last user leaves: it is being removed, moved or changed.
func (f *files) forget(path string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	h := f.open[path]
	if h == nil {
		return nil
	}
	delete(f.open, path)
	h.gone = true
	if h.users == 0 {
		return h.file.Close()
	}
	return nil
}

func (f *files) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var errs []error
	for path, h := range f.open {
		delete(f.open, path)
		h.gone = true
		if h.users == 0 {
			errs = append(errs, h.file.Close())
		}
	}
	return errors.Join(errs...)
}
