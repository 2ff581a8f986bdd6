package lsm

import (
	"errors"
	"fmt"

	"tarn/internal/hostlimits"
)

// Options say how the engine uses memory. Sizes are in bytes; 0 means the
// default. Nothing of it is stored.
type Options struct {
	// CacheBytes is the memory for reading and for the library's memtables
	// together, the same number that the adapter is given: [Share] says who
	// gets what. Default [DefaultCache].
	CacheBytes int64
	// OverlayBytes is how much changed data asks for a checkpoint at the next
	// finished revision. Default as much as that. While one is being written, as much
	// again can gather above it. Changes are refused, as of a full store, at
	// four times of it.
	OverlayBytes int64
	// BeforeCheckpoint is called, from a goroutine of its own, before the batch of a
	// flush is committed: the block log must be durable up to revision when it
	// returns nil. Its error fails the checkpoint.
	BeforeCheckpoint func(revision uint64) error
	// BeforeOverlay, if not nil, is called before memory is taken for the rows of an
	// overlay; its error is that there is none.
	BeforeOverlay func() error
}

// MinCache is the least Options.CacheBytes.
const MinCache = 8 << 20

// DefaultCache is Options.CacheBytes if it is not given: 256 MiB, but not more than a
// sixteenth of the memory that the machine or the control group has.
func DefaultCache() int64 {
	const most = 256 << 20
	if has := hostlimits.ReadMemory().Bytes; has > 0 {
		return max(min(has/16, most), MinCache)
	}
	return most
}

const (
	minOverlay = 64 << 10

	overlaySlack = 4 // changes are refused at so many times OverlayBytes
)

func (o *Options) setDefaults() {
	if o.CacheBytes == 0 {
		o.CacheBytes = DefaultCache()
	}
	if o.OverlayBytes == 0 {
		o.OverlayBytes = DefaultCache()
	}
}

// Validate names everything that is wrong with o.
func (o Options) Validate() error {
	o.setDefaults()
	var errs []error
	if o.CacheBytes < MinCache {
		errs = append(errs, fmt.Errorf("cache of %d bytes is below %d", o.CacheBytes, MinCache))
	}
	if o.OverlayBytes < minOverlay || o.OverlayBytes > 256<<30 {
		errs = append(errs, fmt.Errorf("overlay of %d bytes is not between %d and 256 GiB", o.OverlayBytes, minOverlay))
	}
	if len(errs) > 0 {
		return fmt.Errorf("LSM engine options: %w", errors.Join(errs...))
	}
	return nil
}

// CheckOptions names everything that is wrong with what all libraries are told: the store's
// folder, and the size of the cache, where 0 is the default.
func CheckOptions(kind, dir string, cacheBytes int64) error {
	var errs []error
	if dir == "" {
		errs = append(errs, errors.New("no folder given"))
	}
	if cacheBytes != 0 && cacheBytes < MinCache {
		errs = append(errs, fmt.Errorf("cache of %d bytes is below %d", cacheBytes, MinCache))
	}
	if len(errs) > 0 {
		return fmt.Errorf("%s options: %w", kind, errors.Join(errs...))
	}
	return nil
}

// Budget is how CacheBytes is split, the same way for every library.
type Budget struct {
	Rows      int64 // the engine's row cache
	Blocks    int64 // the library's block cache, indexes and filters included where it caches them
	Memtables int64 // all of the library's memtables together
}

// Share splits CacheBytes: half for rows, because a row found there costs a
// tenth of a block found in a library's cache; three eighths for blocks; an
// eighth for memtables, which hold nothing but what a flush has just written.
func Share(cacheBytes int64) Budget {
	if cacheBytes == 0 {
		cacheBytes = DefaultCache()
	}
	return Budget{
		Rows:      cacheBytes / 2,
		Blocks:    cacheBytes * 3 / 8,
		Memtables: cacheBytes / 8,
	}
}
