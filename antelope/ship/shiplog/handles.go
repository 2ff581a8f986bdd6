package shiplog

import (
	"errors"
	"sync"
)

// mostOpen is how many retained files are kept open for who reads next.
const mostOpen = 16

// handles keeps retained files open that several read, by their paths without ending. One is
// closed when nobody uses it any more: neither a reader nor the writer can close what another
// is about to read.
type handles struct {
	mu   sync.Mutex
	open map[string]*handle
}

type handle struct {
	*file
	users int
	gone  bool // to be closed by its last user
}

// take returns an open file, or the one that open opens. leave gives it back.
func (x *handles) take(path string, open func() (*file, error)) (*handle, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	h := x.open[path]
	if h == nil {
		f, err := open()
		if err != nil {
			return nil, err
		}
		if err := x.makeRoom(); err != nil {
			return nil, errors.Join(err, f.close())
		}
		if x.open == nil {
			x.open = map[string]*handle{}
		}
		h = &handle{file: f}
		x.open[path] = h
	}
	h.users++
	return h, nil
}

// makeRoom closes a file that nobody uses, if many are open.
func (x *handles) makeRoom() error {
	if len(x.open) < mostOpen {
		return nil
	}
	for path, h := range x.open {
		if h.users == 0 {
			delete(x.open, path)
			return h.close()
		}
	}
	return nil
}

func (x *handles) leave(h *handle) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if h.users--; h.gone && h.users == 0 {
		return h.close()
	}
	return nil
}

// forget closes a file when its last user leaves: it is about to be moved or removed.
func (x *handles) forget(path string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.drop(path)
}

func (x *handles) drop(path string) error {
	h := x.open[path]
	if h == nil {
		return nil
	}
	delete(x.open, path)
	h.gone = true
	if h.users > 0 {
		return nil
	}
	return h.close()
}

func (x *handles) close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	var errs []error
	for path := range x.open {
		errs = append(errs, x.drop(path))
	}
	return errors.Join(errs...)
}
