// Package lsm is the engine over a log-structured library: it keeps what can
// still be undone, and what has not been flushed yet, in an ordered overlay in
// memory, and hands the library one atomic, durable batch of final values at a
// time. It owns the overlay, the flush, the row cache, views, the rows' keys in
// the library and the folder's lock and seal. It never writes a value that can
// still be undone, and it imports no library: an adapter (store/lsm/leveldb,
// pebble, badger) gives it a [Base].
//
// # Layers
//
// A row is looked for from the newest layer to the oldest:
//
//	live     changes since the last checkpoint began; the writer's alone
//	frozen   live, as it was when a checkpoint began; never changes again
//	base     the library's snapshot at the revision of the last flush
//
// A flush writes, for every row of the frozen layers, the value that it had at
// the irreversible revision, together with that revision. When it is durable,
// the frozen layers give way to the rows that were undoable at the time, which
// is all that the new base lacks. Each layer is immutable and counted, so a view
// keeps the ones it was taken with, however many flushes pass.
//
// # Invariants
//
//  1. The base is the state at its revision, whole; live over frozen over base is
//     the writer's state.
//  2. A row that some undo record names lies in live or frozen.
//  3. The row cache speaks for one base snapshot only, and only readers of that
//     snapshot use it.
//  4. What a caller borrowed lives until the writer's next change: layers are let
//     go at the end of a change, never at its beginning, by a publish or a
//     checkpoint, or from the flush.
//  5. From the commit of a batch until a flush has succeeded, deletions are written
//     whether or not the base's newest snapshot has the row.
package lsm

import "tarn/store"

// Base is a library, opened. All methods but Close may be called from any
// goroutine; one batch is open at a time.
//
// A key is at least 2 and at most MaxBaseKey bytes long. Keys that begin with
// three zero bytes are the adapter's own and are shown to nobody.
type Base interface {
	// Snapshot returns the newest committed state.
	Snapshot() (Snapshot, error)
	// Batch begins a batch of about size bytes of keys and values. An error that
	// is store.ErrFailed means that the library takes no more changes until it
	// is opened anew; reading goes on.
	Batch(size int64) (Batch, error)
	// Metrics reads the library's counters, in every state that Base can be in.
	Metrics() Metrics
	// Verify checks every checksum of what is committed and the library's own
	// invariants, beyond what reading all rows does. See store.Engine.
	Verify(report func(error)) error
	// Close closes the library and gives the folder back. All snapshots are closed
	// before.
	Close() error
	// Folder is the folder, with what its seal said when it was entered.
	Folder() *Folder
}

// MaxBaseKey is the length of the longest key, in bytes.
const MaxBaseKey = tablePrefix + 1<<10

// Snapshot is a committed state that never changes. Its methods may be called
// from any goroutine; its cursors are closed before it.
type Snapshot interface {
	// Get appends the value at key to dst, or returns store.ErrNotFound.
	Get(dst, key []byte) ([]byte, error)
	// Cursor walks the rows with lower <= key < upper, by their base keys.
	Cursor(lower, upper []byte) (store.Cursor, error)
	// Close gives the snapshot back: the library may let go of rows that only it shows.
	Close() error
}

// Batch is a set of changes that become visible and durable together or not at
// all, also across a crash. Keys come in ascending order, each once. Arguments
// are copied. Exactly one of Commit and Discard ends it.
type Batch interface {
	// Put sets a row.
	Put(key, value []byte) error
	// Delete removes a row. If there is none, that is no error.
	Delete(key []byte) error
	// Commit returns when the changes are durable. After an error they are durable or not,
	// whole in either case.
	Commit() error
	// Discard drops the changes.
	Discard()
}

// Metrics is what a library tells about itself. Counters grow from the opening;
// sizes are in bytes.
type Metrics struct {
	Size   int64 // of the files
	Memory int64 // block cache and memtables, as far as the library tells

	Log        int64 // written to the write-ahead log
	Flush      int64 // memtables written out
	Direct     int64 // tables that batches wrote without log and memtable
	Compaction int64
	Meta       int64 // lists of files
}
