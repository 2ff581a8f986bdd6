package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"tarn/store"
)

// Line is what a publisher remembers: the newest blocks of its branch with what they changed, as
// many as its memory holds. The chain's writer adds blocks and never waits; one other goroutine
// takes moves out of it. All methods may be called by any goroutine.
type Line struct {
	tables func() []store.TableInfo
	limit  int64
	notify chan struct{}
	spare  chan *Rows // that were encoded

	mu     sync.Mutex
	base   Point // that the first block follows
	blocks []*entry
	shown  int // so many of them readers see
	final  Point
	made   time.Time // when the newest of them was
	bytes  int64
	added  int64 // bytes of all blocks that ever were, when they came
	// parents are those of blocks that were taken back, the oldest first in lost.
	parents map[Point]Point
	lost    []Point
	watched Point // see Watch
	led     bool  // the newest block of its height or beyond leads there over it
}

// entry is a block in the line. What is later of it is made when it is first asked for.
type entry struct {
	Block
	later Later // empty once it is made; both are Next's alone
	size  int64
	// before is the line's added when the block came.
	before int64
}

// Later is what of a block is encoded when a publisher first asks for it, beside the chain's writer.
type Later struct {
	Rows *Rows // those that changed; nil for none
	// Records makes those that follow the block's own, on the goroutine of [Line.Next]; nil for none. Size is about how
	// much memory it holds, in bytes.
	Records func() ([]Record, error)
	Size    int64
}

// entryBytes is about what a block takes besides its rows and records.
const entryBytes = 256

// lostMost is how many blocks that were taken back a line remembers: about ten times as many as a chain
// can lose at once.
const lostMost = 4096

// NewLine makes a line that begins after a block. tables lists the store's; limit is about how many bytes it may
// hold, of blocks that were published and that were not.
func NewLine(base Point, tables func() []store.TableInfo, limit int64) *Line {
	return &Line{tables: tables, limit: limit, notify: make(chan struct{}, 1), spare: make(chan *Rows, 2), base: base,
		parents: make(map[Point]Point)}
}

// Add adds a block that has become the head, and forgets those that do not lead to it. What is later is
// the line's from now on; b.Rows is nil. Nobody is told of it before [Line.Show].
func (l *Line) Add(b Block, later Later) {
	e := &entry{Block: b, later: later}
	e.size = e.bytes()
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.blocks) > 0 && l.end() != b.Parent {
		l.takeBack()
	}
	if l.end() != b.Parent {
		l.base = b.Parent // a block before the line's memory: nothing leads here
	}
	if w := l.watched; b.Parent.Revision < w.Revision && b.Revision >= w.Revision {
		l.led = b.Point == w
	}
	e.before = l.added
	l.blocks, l.bytes, l.added = append(l.blocks, e), l.bytes+e.size, l.added+e.size
	for l.bytes > l.limit && len(l.blocks) > 1 {
		l.dropFirst()
	}
}

// end is the last block's point.
func (l *Line) end() Point {
	if n := len(l.blocks); n > 0 {
		return l.blocks[n-1].Point
	}
	return l.base
}

func (l *Line) takeBack() {
	n := len(l.blocks) - 1
	e := l.blocks[n]
	l.blocks[n] = nil
	l.blocks, l.shown, l.bytes = l.blocks[:n], min(l.shown, n), l.bytes-e.size
	if _, known := l.parents[e.Point]; !known {
		l.parents[e.Point] = e.Parent
		l.lost = append(l.lost, e.Point)
	}
	if len(l.lost) > lostMost {
		delete(l.parents, l.lost[0])
		l.lost = slices.Delete(l.lost, 0, 1)
	}
}

func (l *Line) dropFirst() {
	e := l.blocks[0]
	l.blocks[0] = nil
	l.base, l.blocks, l.shown, l.bytes = e.Point, l.blocks[1:], max(0, l.shown-1), l.bytes-e.size
}

// Forget forgets the blocks up to one of the branch, as if they did not fit.
func (l *Line) Forget(p Point) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.base != p && len(l.blocks) > 0 && l.blocks[0].Revision <= p.Revision {
		l.dropFirst()
	}
}

// Show says that readers see all that was added, which block is irreversible, and when the newest one was made by its
// own account.
func (l *Line) Show(final Point, made time.Time) {
	l.mu.Lock()
	l.shown, l.final, l.made = len(l.blocks), final, made
	l.mu.Unlock()
	select {
	case l.notify <- struct{}{}:
	default:
	}
}

// Shown gets a value when there may be something new. One goroutine at a time waits for it.
func (l *Line) Shown() <-chan struct{} { return l.notify }

// Head is the newest block that readers see, and the irreversible one.
func (l *Line) Head() (head, final Point) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.head(), l.final
}

// Waiting is about how many bytes have followed a head, as they were added, and when the newest block was made by its
// own account.
func (l *Line) Waiting(at Point) (bytes int64, made time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i, ok := l.find(at); ok && i < l.shown {
		bytes = l.added - l.blocks[i].before
	}
	return bytes, l.made
}

func (l *Line) head() Point {
	if l.shown == 0 {
		return l.base
	}
	return l.blocks[l.shown-1].Point
}

// Knows tells whether [Line.Next] can tell a move from a block on.
func (l *Line) Knows(at Point) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.find(at)
	return ok
}

// Has tells whether a block is on the line's branch, and what followed it is in memory.
func (l *Line) Has(at Point) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.index(at)
	return ok
}

// Watch has the line say of a block of its branch what becomes of it ([Line.Fate]), in the place of one before. It need
// not be in memory for that.
func (l *Line) Watch(p Point) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, l.led = l.index(p)
	l.watched = p
}

// Fate tells whether the block that is watched is irreversible, or is not on the branch.
func (l *Line) Fate() (isFinal, isGone bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.led && l.final.Revision >= l.watched.Revision, !l.led
}

// index returns how many blocks lead to a block of the branch.
func (l *Line) index(at Point) (int, bool) {
	if at == l.base {
		return 0, true
	}
	i, ok := slices.BinarySearchFunc(l.blocks, at.Revision, func(e *entry, n uint64) int {
		return cmp.Compare(e.Revision, n)
	})
	return i + 1, ok && l.blocks[i].Point == at
}

// find returns how many blocks lead to at, or to the block before it that the line still has.
func (l *Line) find(at Point) (int, bool) {
	for {
		if i, ok := l.index(at); ok {
			return i, true
		}
		parent, ok := l.parents[at]
		if !ok {
			return 0, false
		}
		at = parent
	}
}

// Next returns the move that follows a head: of about size bytes, but of one block at least. It is nil if nothing
// is new. An error wraps [ErrGap] if the line does not know what followed that head. One goroutine at a time
// calls it: it encodes what is later, for which nobody else waits.
func (l *Line) Next(at Point, size int64) (*Move, error) {
	list, final, err := l.after(at, size)
	if len(list) == 0 || err != nil {
		return nil, err
	}
	m := &Move{Final: final, Blocks: make([]Block, 0, len(list))}
	tables := l.tables()
	for _, e := range list {
		rows := e.later.Rows
		if err := e.make(tables); err != nil {
			return nil, fmt.Errorf("block %d: %w", e.Revision, err)
		}
		l.giveBack(rows)
		l.resize(e)
		m.Blocks = append(m.Blocks, e.Block)
	}
	return m, nil
}

// bytes is about how much memory the block takes.
func (e *entry) bytes() int64 {
	n := int64(entryBytes+len(e.Rows)) + e.later.Size
	if rows := e.later.Rows; rows != nil {
		n += rows.Size()
	}
	for _, r := range e.Records {
		n += int64(len(r.Data)) + recordBytes
	}
	return n
}

// make encodes what is later.
func (e *entry) make(tables []store.TableInfo) (err error) {
	if rows := e.later.Rows; rows != nil {
		if e.Rows, err = rows.Append(nil, tables); err != nil {
			return err
		}
	}
	if records := e.later.Records; records != nil {
		more, err := records()
		if err != nil {
			return err
		}
		e.Records = append(slices.Clip(e.Records), more...)
	}
	e.later = Later{}
	return nil
}

// spareShare is the largest share of a line's memory that the room of rows takes which is used again.
const spareShare = 16

// giveBack keeps the room of rows that were encoded for later ones, unless it is much more than they needed: it counts
// for the next block. Fresh memory costs more than to fill it.
func (l *Line) giveBack(rows *Rows) {
	if rows == nil || rows.Size() > min(l.limit/spareShare, 2*rows.used()+entryBytes) {
		return
	}
	rows.reset()
	select {
	case l.spare <- rows:
	default:
	}
}

// RowsLike returns empty rows with room for about as many as r has: that of rows that were encoded, or as
// [Rows.Like] does. Any goroutine may call it.
func (l *Line) RowsLike(r *Rows) *Rows {
	select {
	case rows := <-l.spare:
		return rows
	default:
		return r.Like()
	}
}

// resize counts what a block takes now that all of it is made.
func (l *Line) resize(e *entry) {
	size := e.bytes()
	l.mu.Lock()
	defer l.mu.Unlock()
	if i, ok := l.index(e.Point); ok && i > 0 && l.blocks[i-1] == e { // else it was dropped meanwhile
		l.bytes += size - e.size
	}
	e.size = size
}

// after returns the first blocks that follow a head, and what is irreversible.
func (l *Line) after(at Point, size int64) ([]*entry, Point, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i, ok := l.find(at)
	if !ok {
		return nil, l.final, fmt.Errorf("%w: what followed block %d (%s) is not in memory any more",
			ErrGap, at.Revision, at.ID)
	}
	end := i
	for end < l.shown && (end == i || size >= l.blocks[end].size) {
		size -= l.blocks[end].size
		end++
	}
	if end <= i {
		return nil, l.final, nil
	}
	return slices.Clone(l.blocks[i:end]), l.final, nil
}
