package state

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/ethereum/go-ethereum/common"

	"tarn/internal/lowpriority"
	"tarn/store"
)

// RootsOptions say how roots are computed. Zero values stand for the defaults.
type RootsOptions struct {
	// Updates is after how many changed leaves the changed nodes are handed to the
	// writer; until then they are kept, and hashed again and again at small cost. An
	// update takes about 1 KB of memory. 50,000 by default.
	Updates int
	// Queue is how many blocks the roots may lag behind before Follow waits: 256 by
	// default.
	Queue int
}

// Roots computes the root of each block beside the execution of those that follow. See
// the package comment for what is durable when.
//
// Write and Start are the writer's; Follow and Settle belong to one goroutine, which may be
// the writer; Root, Wait and Close are anybody's.
type Roots struct {
	tables  *Tables
	from    store.Store // for views only
	updates int
	queue   chan task
	ended   chan struct{}

	mu      sync.Mutex
	changed sync.Cond
	roots   map[uint64]common.Hash // computed, and neither in a published row nor in the log yet
	ready   []*batch               // for the writer
	any     bool                   // whether a block was handed over, or is in the rows
	told    uint64                 // the newest of them
	until   uint64                 // blocks before it were handed over, or are about to be
	begun   bool                   // whether there is a known one
	known   uint64                 // the newest block whose root is computed
	err     error
	closed  bool
}

// task is a block's changes, or a wish that all nodes so far be handed over.
type task struct {
	number uint64
	values []accountValue
	settle chan struct{}
}

// ErrRootsClosed is what waits for a root get when the roots are closed first.
var ErrRootsClosed = errors.New("roots are not computed any more")

// progress is the row that says which block's trie the rows of nodes are.
type progress struct {
	number uint64
	root   common.Hash
	any    bool // whether there is a block at all
}

var progressKey = []byte("progress")

func (t *Tables) progress(from store.Reader) (progress, error) {
	row, err := from.Get(t.meta, progressKey)
	if errors.Is(err, store.ErrNotFound) {
		return progress{root: emptyRoot}, nil
	}
	if err != nil {
		return progress{}, fmt.Errorf("read the trie's progress: %w", err)
	}
	if len(row) != 8+common.HashLength {
		return progress{}, rowError("progress", progressKey)
	}
	return progress{binary.BigEndian.Uint64(row), common.Hash(row[8:]), true}, nil
}

func (t *Tables) putProgress(s store.Store, p progress) error {
	return s.Put(t.meta, progressKey, append(binary.BigEndian.AppendUint64(nil, p.number), p.root[:]...))
}

func blockKey(number uint64) []byte { return binary.BigEndian.AppendUint64(nil, number) }

// waiting calls each for the changes that the trie's rows do not have yet, oldest first.
func (t *Tables) waiting(from store.Reader, each func(number uint64, values []accountValue) error) (err error) {
	c, err := from.Cursor(t.pending)
	if err != nil {
		return fmt.Errorf("read changes that wait for the trie: %w", err)
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	for ok := c.First(); ok; ok = c.Next() {
		if len(c.Key()) != 8 {
			return rowError("changes", c.Key())
		}
		number := binary.BigEndian.Uint64(c.Key())
		values, err := decodeValues(c.Value())
		if err != nil {
			return fmt.Errorf("changes of block %d that wait for the trie: %w", number, err)
		}
		if err := each(number, values); err != nil {
			return err
		}
	}
	return c.Err()
}

// StartRoots begins where the rows say, with the blocks that wait there. What the store
// has must be published. The store must outlive the roots, until Close has returned.
func (t *Tables) StartRoots(s store.Store, o RootsOptions) (*Roots, error) {
	p, err := t.progress(s)
	if err != nil {
		return nil, err
	}
	var first []task
	err = t.waiting(s, func(number uint64, values []accountValue) error {
		first = append(first, task{number: number, values: values})
		return nil
	})
	if err != nil {
		return nil, err
	}
	if o.Updates == 0 {
		o.Updates = 50_000
	}
	if o.Queue == 0 {
		o.Queue = 256
	}
	r := &Roots{tables: t, from: s, updates: o.Updates, queue: make(chan task, o.Queue), ended: make(chan struct{}),
		roots: map[uint64]common.Hash{}, any: p.any, told: p.number, begun: p.any, known: p.number}
	r.changed.L = &r.mu
	if len(first) != 0 {
		r.any, r.told = true, first[len(first)-1].number
	}
	if r.any {
		r.until = r.told + 1
	}
	go lowpriority.Run(func() { r.run(p, first) })
	return r, nil
}

// Logged says that the roots of blocks before number are where they stay for good, in a log: they are put into
// no row any more.
func (r *Roots) Logged(number uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.roots, func(n uint64, _ common.Hash) bool { return n < number })
}

// Write puts into the open session what the roots need there: the block's changes until
// its trie is written, and what has become ready of earlier blocks. If the session is taken
// back, close the roots and start them anew.
func (r *Roots) Write(s store.Store, c *Changes) error {
	if err := s.Put(r.tables.pending, blockKey(c.Number), encodeValues(c.after())); err != nil {
		return fmt.Errorf("write the changes of block %d for its root: %w", c.Number, err)
	}
	// Readers see the block before Follow has it, and wait then.
	r.mu.Lock()
	r.until = max(r.until, c.Number+1)
	r.mu.Unlock()
	return r.Collect(s)
}

// Collect is Write without a block: what has become ready goes into the open session.
func (r *Roots) Collect(s store.Store) error {
	r.mu.Lock()
	ready, err := r.ready, r.err
	r.ready = nil
	roots := make(map[uint64]common.Hash, len(r.roots))
	for number, root := range r.roots {
		roots[number] = root
	}
	r.mu.Unlock()
	if err != nil {
		return err
	}
	for number, root := range roots {
		if err := r.tables.putRoot(s, number, root); err != nil {
			return err
		}
	}
	for _, b := range ready {
		if err := r.tables.writeNodes(s, b); err != nil {
			return fmt.Errorf("write the trie of block %d: %w", b.number, err)
		}
		if _, err := s.DeleteRange(r.tables.pending, nil, blockKey(b.number+1)); err != nil {
			return fmt.Errorf("forget the changes up to block %d: %w", b.number, err)
		}
		if err := r.tables.putProgress(s, progress{b.number, b.root, true}); err != nil {
			return err
		}
	}
	return nil
}

// putRoot writes a root's row unless it is there.
func (t *Tables) putRoot(s store.Store, number uint64, root common.Hash) error {
	was, err := s.Get(t.roots, blockKey(number))
	if err == nil && bytes.Equal(was, root[:]) {
		return nil
	}
	if err == nil {
		return fmt.Errorf("root of block %d is %x, and was %x", number, root, was)
	}
	return s.Put(t.roots, blockKey(number), root[:])
}

// ForgetRoots deletes the rows of the roots of blocks from one on and before another, in the open session:
// a row a block stays otherwise. To look for rows of blocks whose rows were deleted before means to pass over all
// that a store still keeps of them.
func (t *Tables) ForgetRoots(s store.Store, from, to uint64) error {
	_, err := s.DeleteRange(t.roots, blockKey(from), blockKey(to))
	return err
}

// Follow hands a block's changes over, after the push of its revision. It waits while too
// many blocks wait already.
func (r *Roots) Follow(c *Changes) error {
	r.mu.Lock()
	err := r.err
	switch {
	case err != nil:
	case r.closed:
		err = ErrRootsClosed
	case r.any && c.Number <= r.told:
		err = fmt.Errorf("root of block %d is asked for after that of block %d", c.Number, r.told)
	default:
		r.any, r.told = true, c.Number
		r.until = max(r.until, c.Number+1)
	}
	r.mu.Unlock()
	if err != nil {
		return err
	}
	return r.send(task{number: c.Number, values: c.after()})
}

func (r *Roots) send(t task) error {
	select {
	case r.queue <- t:
		return nil
	case <-r.ended:
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.ending()
	}
}

// Settle waits until the nodes of all blocks so far are ready for the next Write or
// Collect: a checkpoint that comes after that has next to no changes to keep.
func (r *Roots) Settle() error {
	done := make(chan struct{})
	if err := r.send(task{settle: done}); err != nil {
		return err
	}
	select {
	case <-done:
	case <-r.ended:
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Root waits for the root of a block that was written, and returns it.
func (r *Roots) Root(number uint64) (common.Hash, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.wait(context.Background(), number); err != nil {
		return common.Hash{}, err
	}
	if root, ok := r.roots[number]; ok {
		return root, nil
	}
	return r.storedRoot(number)
}

// Wait waits until the root of a block that was written is computed, or the context ends.
func (r *Roots) Wait(ctx context.Context, number uint64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.wait(ctx, number)
}

// wait is Wait with the lock held.
func (r *Roots) wait(ctx context.Context, number uint64) error {
	if number >= r.until {
		return fmt.Errorf("root of block %d: no such block was followed", number)
	}
	stop := context.AfterFunc(ctx, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.changed.Broadcast()
	})
	defer stop()
	for !r.has(number) && r.err == nil && !r.closed && ctx.Err() == nil {
		r.changed.Wait()
	}
	switch {
	case r.has(number):
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("root of block %d: %w", number, ctx.Err())
	}
	return fmt.Errorf("root of block %d: %w", number, r.ending())
}

// has tells whether a block's root is computed; with the lock held.
func (r *Roots) has(number uint64) bool { return r.begun && number <= r.known }

// ending is why no more roots come; with the lock held.
func (r *Roots) ending() error {
	if r.err != nil {
		return r.err
	}
	return ErrRootsClosed
}

func (r *Roots) storedRoot(number uint64) (root common.Hash, err error) {
	if r.closed {
		return common.Hash{}, ErrRootsClosed
	}
	v, err := r.from.View()
	if err != nil {
		return common.Hash{}, err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	return r.tables.RootAt(v, number)
}

// RootAt returns the root of a block from its row; [store.ErrNotFound] if there is none.
func (t *Tables) RootAt(from store.Reader, number uint64) (common.Hash, error) {
	if p, err := t.progress(from); err == nil && p.any && p.number == number {
		return p.root, nil
	}
	row, err := from.Get(t.roots, blockKey(number))
	if err != nil {
		return common.Hash{}, fmt.Errorf("root of block %d: %w", number, err)
	}
	return common.BytesToHash(row), nil
}

// Close ends the computing after the block at hand. What was not done is done after the
// next start. Closing twice is harmless.
func (r *Roots) Close() {
	r.mu.Lock()
	closed := r.closed
	r.closed = true
	r.changed.Broadcast()
	r.mu.Unlock()
	if !closed {
		// Whoever follows has ended: nobody sends any more.
		select {
		case r.queue <- task{}:
		case <-r.ended:
		}
	}
	<-r.ended
}
