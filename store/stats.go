package store

import "time"

// Stats is a reading of the plain counters that every engine keeps. Counters
// only grow while the store is open; gauges are of the moment. A field that an
// engine does not have stays zero. Sizes are in bytes.
type Stats struct {
	Engine string // page, leveldb, pebble, badger
	Mode   string // the page engine's map mode; "" elsewhere
	Memory string // what the mode got: "transparent huge pages", ...

	Size  int64 // of the file or files
	Limit int64 // 0: none
	Used  int64 // reachable from the newest state
	Free  int64 // reusable inside Size, plus what the limit leaves

	Written Written

	DirtyBytes   int64 // changed since the last checkpoint
	PrivateBytes int64 // memory the kernel cannot reclaim: private pages, overlay, caches
	OpenViews    int64
	OldestView   uint64 // revision; only if OpenViews > 0

	CacheHits, CacheMisses int64
	Gets, Puts, Deletes    int64

	Checkpoints       int64 // finished
	CheckpointsFailed int64
	LastCheckpoint    CheckpointStats
}

// Written counts bytes handed to the kernel for the state's files, by cause.
type Written struct {
	Checkpoint int64 // pages or rows of checkpoints
	Meta       int64 // meta pages
	Spill      int64 // pages written early because the memory bound asked for it
	Mapped     int64 // pages changed in a shared mapping: the kernel writes them at least once
	Log        int64 // an LSM's write-ahead log
	Flush      int64 // memtables
	Compaction int64
}

// Total is the sum over all causes.
func (w Written) Total() int64 {
	return w.Checkpoint + w.Meta + w.Spill + w.Mapped + w.Log + w.Flush + w.Compaction
}

// Since returns what was written since an earlier count of the same store.
func (w Written) Since(before Written) Written {
	return Written{
		Checkpoint: w.Checkpoint - before.Checkpoint, Meta: w.Meta - before.Meta, Spill: w.Spill - before.Spill,
		Mapped: w.Mapped - before.Mapped, Log: w.Log - before.Log, Flush: w.Flush - before.Flush,
		Compaction: w.Compaction - before.Compaction,
	}
}

// CheckpointStats describes the last finished checkpoint.
type CheckpointStats struct {
	At       time.Time     // when it became durable
	Duration time.Duration // from the call to durable
	Pause    time.Duration // the part of it in which the writer stood still
	Pages    int64         // changed pages written (page engines) or rows (LSM)
	Bytes    int64         // all bytes written for it
	Returned int64         // private memory given back after it
	Image    Durable
}
