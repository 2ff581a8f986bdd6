// Package store is the seam between a ledger and the disk: named tables of
// ordered byte keys, one writer with undoable revisions, many readers with
// views that never change, and checkpoints that make one whole image durable.
//
// It owns the contract (this file), the typed errors, the undo journal and the
// counters. It never does I/O, never starts a goroutine, and imports nothing of
// ours. The machine that keeps sessions and undo is store/revision, written
// once for every engine; an engine (store/page, store/lsm/...) implements
// [Engine] and nothing else.
//
// # Words
//
//   - revision: the number of a finished block. The state before the first block
//     is whatever the creator named with SetRevision, 0 by default.
//   - session: an open, undoable step of work. The outermost session is the next
//     revision being built; sessions inside it are transactions and actions.
//   - head: the newest finished revision.
//   - irreversible: the newest revision that can no longer be undone.
//   - published: the state that a new view shows.
//   - durable: what the disk would give back after a crash right now.
//
// # Goroutines
//
// One goroutine at a time is the writer. It alone may call the methods of
// [Store], with these exceptions, which any goroutine may call at any time:
// View, Durable, Stats, Tables, and all methods of a [View] and its cursors (one
// cursor serves one goroutine). A [Checkpoint] may be waited for by anybody.
//
// # Memory
//
// A key or value handed to the store is copied before the call returns. A key or
// value handed out is borrowed: never written to by the caller, and valid
// until the end given at each method. Page engines hand out the mapped page itself, so
// a slice kept too long shows other bytes or faults; builds with the
// `invariants` tag hand out copies that are overwritten when they end.
//
// # Beside a store
//
// A store keeps one state, its undo data, and the states that views hold. Two things are not
// its own:
//
//   - old data, which is written once and never changes (blocks, events, receipts, traces):
//     it goes to logs of its owner's;
//   - old states: a state that no view holds is gone. An owner who wants it keeps what each
//     revision changed, in such a log, and finds the value that was there.
//
// The order between them is the engine's to keep. Before a checkpoint names a revision on the
// disk it calls its owner with that revision (BeforeCheckpoint of store/engine), on a
// goroutine that is not the writer's. The owner syncs its logs up to there; an error makes the
// checkpoint fail and leaves the one before. So a log may be ahead of the image after a crash
// and is never behind it; a start cuts the log to the image, or applies what is ahead.
package store

// Limits of keys and values, in bytes. A longer one is refused with
// [ErrKeySize] or [ErrValueSize]; an empty key is refused too, an empty value
// is a value.
const (
	MaxKey   = 1 << 10
	MaxValue = 64 << 20
)

// Table is the handle of a named table, stable for the life of the store and
// across conversions between engines. Handles are small and dense from 1.
type Table uint16

// TableInfo describes a table. Rows and Bytes (of keys and values) are of the
// newest state the engine knows; both are -1 where the engine does not count.
type TableInfo struct {
	ID    Table
	Name  string
	Rows  int64
	Bytes int64
}

// Reader reads one state.
type Reader interface {
	// Get returns the value at key, or ErrNotFound. The value is valid until
	// the writer's next change when read from a Store, until Close when read
	// from a View.
	Get(t Table, key []byte) ([]byte, error)

	// Cursor returns a cursor over t in byte order, positioned nowhere. It must
	// be closed.
	Cursor(t Table) (Cursor, error)
}

// Cursor walks the rows of a table in both directions. The moving methods
// report whether the cursor now stands on a row; when one returns false, Err
// tells whether that was the end of the table (nil) or a failure. Next and Prev
// of a cursor that stands on no row return false.
//
// A cursor of the writer survives the writer's changes: it goes on from the key
// that it stood on, whether or not that row still exists. What Key and Value
// returned ends at the cursor's next move or the writer's next change. A value
// that cannot be read ends the walk: Value returns nil, and Err says why.
type Cursor interface {
	// First moves to the table's first row.
	First() bool
	// Last moves to the table's last row.
	Last() bool
	// Seek moves to the first row at or after key.
	Seek(key []byte) bool
	// SeekLT moves to the last row before key.
	SeekLT(key []byte) bool
	// Next moves to the row after the present key.
	Next() bool
	// Prev moves to the row before the present key.
	Prev() bool

	// Valid tells whether the cursor stands on a row.
	Valid() bool
	// Key returns the key of that row. It is asked only while Valid.
	Key() []byte
	// Value returns the value of that row. It is asked only while Valid.
	Value() []byte

	// Err returns the failure that ended the walk; nil at the end of the table.
	Err() error
	// Close gives the cursor back. Nothing of it may be used afterwards.
	Close() error
}

// View is the state that was published last when it was taken. It never changes
// and never waits for the writer. It holds memory (and pages of the file) until
// closed; closing twice is an error in builds with the `invariants` tag, harmless
// otherwise. Its cursors must be closed before it.
type View interface {
	Reader
	Revision() uint64 // the head when it was published
	// Tables lists the tables of this state. The slice is the caller's.
	Tables() []TableInfo
	// Close gives the view back. What Get returned ends with it.
	Close() error
}

// Durable says what the disk holds: the head of the image and the irreversible
// revision to which it can step back. An LSM engine keeps only what is
// irreversible, so both are equal there.
type Durable struct {
	Head         uint64
	Irreversible uint64
}

// Checkpoint is one under way, or done.
type Checkpoint interface {
	// Wait returns when the image is durable (nil) or the checkpoint has
	// failed; in that case the image before it is still whole, and the store
	// goes on. A failed checkpoint may be tried again: what it wrote is written
	// anew, never just synced again. Where there is nothing to write it from
	// any more, the store says ErrFailed.
	Wait() error
	// Done is closed when Wait would not block.
	Done() <-chan struct{}
}

// Store is what a ledger holds. See the package comment for goroutines and
// memory.
//
// A change outside any session is allowed only while nothing can be undone (a
// snapshot being loaded, an irreversible replay); otherwise it is refused with
// ErrNoSession.
type Store interface {
	Reader // the writer's own state, its open sessions included

	// Put makes value the row's at key, whether or not there is one. It refuses sizes beyond
	// [MaxKey] and [MaxValue].
	Put(t Table, key, value []byte) error
	Delete(t Table, key []byte) error // ErrNotFound if there is no such row
	// DeleteRange deletes the rows with from <= key < to, nil meaning no bound,
	// and returns how many there were.
	DeleteRange(t Table, from, to []byte) (int, error)
	// NextID returns 0, 1, 2, ... for each table, and the same numbers again
	// after an undo.
	NextID(t Table) (uint64, error)

	// CreateTable returns the table of that name, new if need be (1 to 255
	// bytes). Allowed only where a change outside sessions is.
	CreateTable(name string) (Table, error)
	// Table finds a table by name; ErrNoTable if there is none.
	Table(name string) (Table, error)
	// Tables lists all tables.
	Tables() []TableInfo

	// Begin opens a session: the next revision if none is open, else one inside
	// the innermost. It refuses a new revision with ErrGuard when less than the
	// guard size is free, or, on an LSM engine, when flushes that fail have left
	// no memory for it.
	Begin() error
	// Depth is the number of open sessions.
	Depth() int
	// Recorded is the size of what the open sessions note for undoing, in bytes. It grows
	// with each change, and shrinks when several changes of a row are made one.
	Recorded() int
	// Squash makes the innermost session part of the one around it. The
	// outermost is finished by Push, not squashed.
	Squash() error
	// Push finishes the outermost session, which must be the only one open:
	// head becomes head + 1. It starts a checkpoint by itself when a memory
	// bound asks for one.
	Push() error
	// Undo takes the innermost session back; with no session open, the head
	// revision. ErrNothingToUndo if there is none.
	Undo() error
	// UndoAll takes back every open session and every undoable revision.
	UndoAll() error
	// Commit makes the revisions up to and including revision irreversible. A
	// revision beyond the head is refused, one already irreversible ignored.
	Commit(revision uint64) error
	// SetRevision names the state's revision. Only with no session open and
	// nothing undoable, and never downwards.
	SetRevision(revision uint64) error
	// Changes calls fn for each row of the tables of which of says so, nil for all, that the head revision
	// changed, with the value that it has now, in no order that means anything. A row that is gone has present false;
	// one that is again what it was before the revision is left out. Only with no session open, and while
	// the head can be undone: ErrNothingToUndo. key and value are valid until fn returns, and
	// fn does not change the store. An error of fn ends the walk.
	Changes(of func(Table) bool, fn func(t Table, key, value []byte, present bool) error) error
	// Head returns the newest finished revision. Open sessions do not count.
	Head() uint64
	// Irreversible returns the newest revision that can no longer be undone.
	Irreversible() uint64

	// Publish shows the writer's present state to views from now on: the head, and
	// what open sessions have added to it.
	Publish() error
	// View returns the published state.
	View() (View, error)

	// Checkpoint starts to make the head (page engines) or the irreversible
	// revision (LSM engines) durable, and returns at once; the writer and the
	// readers go on meanwhile. Not with a session open. If one is under way, it
	// waits for that one first.
	Checkpoint() (Checkpoint, error)
	// Relieve starts a checkpoint if a memory bound asks for one, as Push does. Who
	// fills a store without sessions calls it now and then: the image is that of a
	// half filled store, which must carry a mark until it is whole. It returns the
	// error of the checkpoint before, if that failed.
	Relieve() error
	// Durable returns what the disk holds now.
	Durable() Durable

	// Stats reads the counters.
	Stats() Stats
	// Close waits for a checkpoint under way, closes the files and gives the
	// lock back. It takes no checkpoint: what is not durable is lost.
	Close() error
}

// Image is what a checkpoint makes durable and what an open gives back: a head,
// the irreversible revision, and what it takes to step from the one to the
// other.
type Image struct {
	Head         uint64
	Irreversible uint64
	// Undo holds a compacted journal for each revision after Irreversible, up
	// to Head, oldest first.
	Undo [][]byte
}

// Engine keeps the rows. It has no sessions: store/revision turns undo into
// restored rows. All arguments are valid: sizes checked, table known, no call of
// the writer's after Close. The writer's cursors need not survive a change, but
// First, Last, Seek and SeekLT must see the present rows. Goroutine rules are
// those of Store.
type Engine interface {
	Reader // the writer's state

	// Put records what it replaces in undo before it replaces it, if undo is not nil.
	// When it returns an error nothing has changed, and nothing was recorded.
	Put(t Table, key, value []byte, undo *Journal) error
	// Delete is like Put. A row that is not there is ErrNotFound.
	Delete(t Table, key []byte, undo *Journal) error

	// Restore makes a row what it was, for an undo: old, or no row if existed is
	// false. It must not fail for lack of space, below the limit or on the disk: an
	// engine may go above the limit until the next checkpoint, and keep in memory what
	// the disk does not take.
	Restore(t Table, key, old []byte, existed bool) error

	// CreateTable makes a table. The name is new, and no session is open. The table is durable
	// with the next checkpoint.
	CreateTable(name string) (Table, error)
	// Tables lists all tables, on any goroutine.
	Tables() []TableInfo

	// Publish shows the writer's present state to the views that are taken from now on. They
	// tell revision as theirs.
	Publish(revision uint64) error
	// View returns the published state, on any goroutine.
	View() (View, error)

	// Checkpoint starts to make im durable; the state it is about is the
	// writer's at the moment of the call. See Store.Checkpoint.
	Checkpoint(im Image) (Checkpoint, error)
	// Durable returns what the disk holds now, on any goroutine.
	Durable() Durable
	// Recovered returns what Open found on the disk, undo included. An engine that stores
	// no undo recovers a head that equals the irreversible revision.
	Recovered() Image

	// Pressure tells whether the engine asks for a checkpoint at the next
	// finished revision, and whether less than the guard size is free.
	Pressure() (checkpoint, guard bool)

	// Stats reads the counters, on any goroutine.
	Stats() Stats
	// Verify reads everything durable, checks every checksum and every
	// invariant of the format, and reports what is broken through report, in
	// file order where it can. It returns an error only when it could not go on.
	Verify(report func(error)) error
	// Close waits for a checkpoint under way and takes none. Views that are still open keep
	// the files open, and the lock, until the last of them is closed.
	Close() error
}
