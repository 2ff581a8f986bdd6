// Package page is the engine of the map modes: a copy-on-write B+tree a table, on
// pages of one file that is mapped into memory (or read into it). It owns the
// file format, the pages' life and the checkpoint. It never keeps undo history
// (store/revision does), never writes a page that the durable image reaches, and,
// in the private modes, never writes at all between checkpoints unless the memory
// bound forces it to.
//
// # How it works
//
// The engine counts generations. Publishing and checkpoints end one. A page of
// the present generation is changed in place; an older one is copied to a free
// page first, and its parents with it. So whoever holds the roots of a finished
// generation holds a state that never changes, be it a reader or the disk.
//
// A checkpoint writes the pages that were allocated since the last one, in file
// order, together with the list of tables, the list of free pages and the undo
// data, syncs, writes the other of two meta pages, and syncs again. Until that
// second sync the old meta page counts, and nothing that it reaches was touched.
//
// # Invariants
//
//  1. A page whose generation is not above the durable image's is neither written
//     nor reused until a newer image is durable and no view can reach it.
//  2. A parent's generation is not below its children's; a child is named by page
//     and generation, so a stale page is never taken for a fresh one.
//  3. A page is free, blocked by a live snapshot, part of an image (its catalog,
//     free list, undo data), or reachable from the newest state: never two of
//     these, never none.
//  4. dirty: memory differs from the file. Every page allocated since the last
//     write-out is dirty, no other.
//  5. A meta page is written only after a successful sync of everything it
//     reaches, and after BeforeCheckpoint.
package page

import (
	"io"
	"sync/atomic"

	"tarn/store"
	"tarn/store/vfs"
)

// Engine implements store.Engine. Goroutine rules are those of store.Store.
//
// It has many methods because the checkpoint, the bound of memory, the room in the file and
// what a start finds there work on one set of facts, under one list of invariants. What stands
// below them, pages and the changes of trees, are types of their own.
type Engine struct {
	editor
	opts Options
	fs   vfs.FS
	lock io.Closer
	file vfs.File // for writing; nil when volatile or read-only
	view vfs.File // for mapping and reading

	// The writer's.
	tables    []table
	durable   *snapshot
	image     meta     // the durable one
	blobs     []extent // its catalog, free list and undo data
	catalog   []byte   // of the image, encoded; nil if it is not known
	recovered store.Image
	pending   *checkpoint
	doubtful  []*checkpoint // failed, but the disk may give them back
	spilled   bool          // pages were written and dropped since the last image

	// Shared with readers.
	published *snapshot // under mu
	views     int       // under mu
	closed    atomic.Bool
	left      bool // closed, and no checkpoint under way; under mu
	counters  counters
	gauges    gauges

	// The writer's, on a full disk.
	backed     int64 // bytes of size that lie in the file: all, but see unbacked.go
	unrelieved int64 // private pages when an undo was last refused to write some early; 0: it was not
}

// table is the writer's newest tree of a table, under its name.
type table struct {
	name string
	tree
}

var _ store.Engine = (*Engine)(nil)
