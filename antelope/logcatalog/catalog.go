package logcatalog

import (
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"

	"tarn/store/vfs"
	"tarn/store/vfs/filecache"
)

// mostOpen is how many parts are kept open for who reads next.
const mostOpen = 16

// Options say where the parts of a log are, and how many stay.
type Options struct {
	FS       FS
	Name     string // of the log's files, without ending
	Retained string // folder of the parts that are read; made if it isn't there
	Archive  string // folder for those that are let go of, made if it isn't there; empty, they are deleted
	Most     uint32 // how many stay
	Logger   *slog.Logger
}

// Catalog is the finished parts of a log, and their files, as far as they are open. Any goroutine may
// ask it; one at a time changes it. The zero value is the catalog of a log that has no parts, and never
// gets any.
type Catalog[F io.Closer] struct {
	o     Options
	files *filecache.Cache[Part, F]

	mu   sync.RWMutex
	list []Part // oldest first
}

// OpenCatalog lists the parts of a log. look says which blocks a part has; nil believes its name. open
// opens a part for reading.
func OpenCatalog[F io.Closer](
	o Options, look func(Part) (Part, error), open func(Part) (F, error),
) (*Catalog[F], error) {
	for _, dir := range []string{o.Retained, o.Archive} {
		if dir == "" {
			continue
		}
		if err := errors.Join(vfs.MkdirAll(o.FS, dir), settle(o.FS, dir, o.Name)); err != nil {
			return nil, err
		}
	}
	list, err := Parts(o.FS, o.Retained, o.Name, look, o.Logger)
	return &Catalog[F]{o: o, files: filecache.New(mostOpen, open), list: list}, err
}

// Recall takes those parts of the archive into the catalog that have a block or a later one. One that look
// refuses stays out.
func (c *Catalog[F]) Recall(needed uint32, look func(Part) (Part, error)) error {
	if c.o.Archive == "" {
		return nil
	}
	list, err := list(c.o.FS, c.o.Archive, c.o.Name)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range list {
		if p.Last < needed {
			continue
		}
		is, err := look(p)
		if err != nil {
			c.o.Logger.Warn("an archived part of a log cannot be used", "file", p.Log(), "error", err)
			continue
		}
		c.o.Logger.Info(
			"An archived part of a log has blocks that the saved state does not have yet: they are read from there",
			"file", p.Log())
		c.list = append(c.list, is)
	}
	c.list = order(c.list, c.o.Logger)
	return nil
}

// Len is how many parts there are.
func (c *Catalog[F]) Len() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.list)
}

// Oldest is the part with the first blocks; there must be one.
func (c *Catalog[F]) Oldest() Part {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.list[0]
}

// Newest is the part with the last blocks; there must be one.
func (c *Catalog[F]) Newest() Part {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.list[len(c.list)-1]
}

// Behind is the first block of the parts that lead up to a block without a gap: the block
// itself if none does.
func (c *Catalog[F]) Behind(first uint32) uint32 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, p := range slices.Backward(c.list) {
		if uint64(p.Last)+1 < uint64(first) {
			break
		}
		first = min(first, p.First)
	}
	return first
}

// Use calls do with the open part that has a block, and tells whether one has. It stays open until do
// returns, also if it is let go of meanwhile.
func (c *Catalog[F]) Use(num uint32, do func(Part, F) error) (found bool, err error) {
	p, h, err := c.acquire(num)
	if h == nil {
		return false, err
	}
	return true, errors.Join(do(p, h.File), c.files.Leave(h))
}

// acquire opens the newest part with a block, nil if none has it. A part is not taken out meanwhile: then
// what is open could be taken for a later part of this name.
func (c *Catalog[F]) acquire(num uint32) (Part, *filecache.Handle[F], error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, p := range slices.Backward(c.list) {
		if num >= p.First && num <= p.Last {
			h, err := c.files.Take(p)
			return p, h, err
		}
	}
	return Part{}, nil, nil
}

// Finish makes a pair, whose bytes must be durable, the newest part.
func (c *Catalog[F]) Finish(live Pair, first, last uint32) error {
	p := NewPart(c.o.Retained, c.o.Name, first, last)
	if err := live.Replace(c.o.FS, p.Pair); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, p)
	return nil
}

// take takes a part out of the catalog.
func (c *Catalog[F]) take(p Part) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = slices.DeleteFunc(c.list, func(x Part) bool { return x == p })
	return c.files.Forget(p)
}

// Revive makes the newest part, of which there must be one, a pair again, in place of the one that
// has its name.
func (c *Catalog[F]) Revive(live Pair) error {
	p := c.Newest()
	return errors.Join(c.take(p), p.Replace(c.o.FS, live))
}

// Remove removes a part.
func (c *Catalog[F]) Remove(p Part) error {
	return errors.Join(c.take(p), p.Pair.Remove(c.o.FS))
}

// LetGo archives or deletes the oldest parts beyond those that stay, as long as they have only blocks
// before one that is needed.
func (c *Catalog[F]) LetGo(needed uint32) error {
	for c.Len() > 0 {
		p := c.Oldest()
		archived := filepath.Dir(string(p.Pair)) == c.o.Archive
		if !archived && int64(c.Len()) <= int64(c.o.Most) || p.Last >= needed {
			return nil
		}
		err := c.take(p)
		switch {
		case err != nil || archived:
		case c.o.Archive != "":
			err = p.surrender(c.o.FS, Pair(filepath.Join(c.o.Archive, filepath.Base(string(p.Pair)))), c.o.Logger)
		default:
			err = p.Pair.Remove(c.o.FS)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Handles tells how many files are open, and how many users those have.
func (c *Catalog[F]) Handles() (open, users int) { return c.files.Count() }

// Close closes the files.
func (c *Catalog[F]) Close() error {
	if c.files == nil {
		return nil
	}
	return c.files.Close()
}
