// Package filecache keeps files open that several use. It owns when one of them is opened and when
// it is closed: neither a reader nor a writer can close what another is about to read, and nobody
// waits for another's reading. It never reads or writes a file, and does not know what one is.
package filecache

import (
	"errors"
	"io"
	"sync"
)

// Cache keeps files open for who uses them next, by what they are known by. Any goroutine may use it.
type Cache[K comparable, F io.Closer] struct {
	most    int
	opening func(K) (F, error)

	mu   sync.Mutex
	open map[K]*Handle[F]
}

// Handle is a file that is open until Leave.
type Handle[F io.Closer] struct {
	File  F
	users int
	gone  bool // to be closed by its last user
}

// New returns a cache that opens files with open, and keeps at most so many open that nobody uses.
// Files are opened one at a time, so open must not use the cache.
func New[K comparable, F io.Closer](most int, open func(K) (F, error)) *Cache[K, F] {
	return &Cache[K, F]{most: most, opening: open, open: map[K]*Handle[F]{}}
}

// Use calls do with a file, which is open until do returns.
func (c *Cache[K, F]) Use(key K, do func(F) error) error {
	h, err := c.Take(key)
	if err != nil {
		return err
	}
	return errors.Join(do(h.File), c.Leave(h))
}

// Take returns a file, open until the caller gives it back with Leave.
func (c *Cache[K, F]) Take(key K) (*Handle[F], error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.open[key]
	if h == nil {
		file, err := c.opening(key)
		if err != nil {
			return nil, err
		}
		if err := c.makeRoom(); err != nil {
			return nil, errors.Join(err, file.Close())
		}
		h = &Handle[F]{File: file}
		c.open[key] = h
	}
	h.users++
	return h, nil
}

// makeRoom closes a file that nobody uses, if many are open.
func (c *Cache[K, F]) makeRoom() error {
	if len(c.open) < c.most {
		return nil
	}
	for key, h := range c.open {
		if h.users == 0 {
			return c.drop(key)
		}
	}
	return nil
}

// Leave gives a file back.
func (c *Cache[K, F]) Leave(h *Handle[F]) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h.users--; h.gone && h.users == 0 {
		return h.File.Close()
	}
	return nil
}

// Forget closes a file when its last user leaves: it is about to be moved, removed or changed. Who
// takes it after that opens it anew.
func (c *Cache[K, F]) Forget(key K) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.drop(key)
}

func (c *Cache[K, F]) drop(key K) error {
	h := c.open[key]
	if h == nil {
		return nil
	}
	delete(c.open, key)
	h.gone = true
	if h.users > 0 {
		return nil
	}
	return h.File.Close()
}

// Count tells how many files are open, and how many users those have together.
func (c *Cache[K, F]) Count() (open, users int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range c.open {
		users += h.users
	}
	return len(c.open), users
}

// Close forgets all files.
func (c *Cache[K, F]) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for key := range c.open {
		errs = append(errs, c.drop(key))
	}
	return errors.Join(errs...)
}
