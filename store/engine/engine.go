// Package engine names the engines and opens stores on them. It alone imports
// all of them; who needs a store by the name of its engine goes through here. It
// owns the choice and the check of the settings, and knows nothing of rows.
package engine

import (
	"errors"
	"fmt"
	"io/fs"

	"tarn/store"
	"tarn/store/page"
	"tarn/store/revision"
	"tarn/store/vfs"
)

// Options say how a store is opened. Sizes are in bytes; 0 leaves the choice to
// the engine. Nothing of it is stored: all but Kind may change at every start.
type Options struct {
	// Kind of a new store. For one that exists it may be left empty; another
	// kind than the store's is an error.
	Kind Kind

	// Mode, LimitBytes, GuardBytes and PrivateBytes are for page stores, see
	// page.Options: how the file is mapped, how large it may become, how much of
	// that must be free for a new revision to begin, and the bound of private
	// memory.
	Mode         page.Mode
	LimitBytes   int64
	GuardBytes   int64
	PrivateBytes int64

	// CacheBytes and OverlayBytes are for LSM stores: memory for blocks read,
	// and for changes that have not gone down yet.
	CacheBytes   int64
	OverlayBytes int64
	// SeekCompaction turns on, for LevelDB, the compaction of files that many
	// reads have searched without finding the row. Reads become faster, and more is written.
	SeekCompaction bool

	// ReadOnly opens an existing store and writes nothing into its folder but
	// the lock.
	ReadOnly bool
	// Unfinished opens a store although it is marked as unfinished; for those
	// who finish it.
	Unfinished bool

	// BeforeCheckpoint, if not nil, is called with the revision that is about to
	// become durable, before it does; its error fails the checkpoint. A ledger
	// syncs its block log in it.
	BeforeCheckpoint func(revision uint64) error
}

// validate reports what is wrong with the options before it is known which
// engine they are for; the engine reports the rest.
func (o Options) validate() error {
	var errs []error
	if o.Kind != "" {
		if _, err := ParseKind(string(o.Kind)); err != nil {
			errs = append(errs, err)
		}
	}
	for _, s := range []struct {
		name  string
		bytes int64
	}{
		{"limit", o.LimitBytes}, {"guard", o.GuardBytes}, {"private memory", o.PrivateBytes},
		{"cache", o.CacheBytes}, {"overlay", o.OverlayBytes},
	} {
		if s.bytes < 0 {
			errs = append(errs, fmt.Errorf("%s of %d bytes is negative", s.name, s.bytes))
		}
	}
	return errors.Join(errs...)
}

// Open opens the store in dir, or makes one of o.Kind there. See store.Store for
// what it may be used for by whom.
func Open(dir string, o Options) (store.Store, error) {
	e, err := OpenRows(dir, o)
	if err != nil {
		return nil, err
	}
	s, err := revision.Open(e)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", dir, err), e.Close())
	}
	return s, nil
}

// OpenRows is Open without sessions and undo on top, for tools that look into,
// verify and copy stores.
func OpenRows(dir string, o Options) (store.Engine, error) {
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("open %s: %w", dir, err)
	}
	if !o.Unfinished {
		if err := checkFinished(vfs.OS, dir, o.ReadOnly); err != nil {
			return nil, err
		}
	}
	found, err := Detect(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) && o.Kind != "" && !o.ReadOnly:
		found = o.Kind
	case err != nil:
		return nil, err
	case o.Kind != "" && o.Kind != found:
		return nil, &store.FormatError{Path: dir,
			Detail: fmt.Sprintf("the folder holds a %s store, not %s; convert it first", found, o.Kind)}
	}
	if found == Page {
		return openPage(dir, o)
	}
	return openLSM(dir, found, o)
}

func openPage(dir string, o Options) (store.Engine, error) {
	e, err := page.Open(page.Options{
		Dir:              dir,
		Mode:             o.Mode,
		LimitBytes:       o.LimitBytes,
		GuardBytes:       o.GuardBytes,
		PrivateBytes:     o.PrivateBytes,
		ReadOnly:         o.ReadOnly,
		BeforeCheckpoint: o.BeforeCheckpoint,
	})
	if err != nil {
		return nil, err // not a nil engine in an interface
	}
	return e, nil
}
