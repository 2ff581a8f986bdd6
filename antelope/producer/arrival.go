package producer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tarn/antelope/chain"
	"tarn/antelope/consensus"
	"tarn/antelope/exception"
	"tarn/antelope/execute"
	"tarn/antelope/types"
	"tarn/writerloop"
)

// Block is a block on its way to the writer. What can be found out about it before
// is found out on other goroutines, once, by whoever needs it first.
type Block struct {
	Signed *types.SignedBlock
	ID     types.Checksum256

	header     sync.Mutex
	checked    bool // the header was found good
	rehearsed  bool // its transactions have been, or are being
	candidates func() ([]*execute.Candidate, error)
}

// mayRehearse tells once whether the block's transactions may be rehearsed: for whoever is no producer whose turn it
// was, nothing is executed.
func (b *Block) mayRehearse() bool {
	b.header.Lock()
	defer b.header.Unlock()
	if !b.checked || b.rehearsed {
		return false
	}
	b.rehearsed = true
	return true
}

// arrivals takes blocks from outside on any goroutine: headers and keys are checked there,
// and the writer gets blocks in the order in which they came.
type arrivals struct {
	chain      *chain.Chain
	writer     *writerloop.Writer
	log        *loggers
	headers    headers
	keys       *foundKeys
	rehearsals *execute.Rehearsals
	received   atomic.Uint32 // newest block that came in, applied or not
	late       []lateBlock   // that came while a round was made here; the writer's

	hurry        func()                      // ends what a block interrupts
	header       func(*consensus.BlockState) // tells of a header that was found good
	take         func(*Block) error          // gives a block to the chain, on the writer
	refuse       func(*Block, error)         // tells that a block is not valid
	irreversible func() uint32               // number of the newest one
	// blocks from the future are refused: of Spring's nodes only those that produce do so
	wary func() bool
}

// NewBlock is a block that came from outside, with its id.
func (a *arrivals) NewBlock(b *types.SignedBlock, id types.Checksum256) *Block {
	return &Block{Signed: b, ID: id, candidates: sync.OnceValues(func() ([]*execute.Candidate, error) {
		return a.chain.UnpackBlock(b, a.keys.get)
	})}
}

// Knows tells whether the fork database has a block, or has it as its root.
func (a *arrivals) Knows(id types.Checksum256) bool { return a.chain.Fork().HeaderState(id) != nil }

// CheckHeader checks a block's header and its producer's signature against the
// block before it, which need not have been applied yet: it is enough that its own
// header was checked. An error of kind exception.UnlinkableBlock means that it is
// not known. Any goroutine may call it, several for one block.
func (a *arrivals) CheckHeader(b *Block) error {
	b.header.Lock()
	defer b.header.Unlock()
	if b.checked {
		return nil
	}
	if err := a.checkTime(b); err != nil {
		return err
	}
	s, err := a.examine(b)
	if err != nil {
		return err
	}
	b.checked = true
	if a.headers.put(s, a.chain.Limits()) {
		a.header(s)
		a.chain.Overtake(s.HeaderState, func(x *consensus.HeaderState) bool { return a.follows(s.HeaderState, x) })
	}
	return nil
}

// checkTime refuses a block from the future. It comes before all else: a finalizer that has voted for such a block
// votes for none until its time has come (Spring: connection::handle_message).
func (a *arrivals) checkTime(b *Block) error {
	limit := time.Now().Add(7 * time.Second)
	if a.wary() && !b.Signed.Timestamp.TimePoint().Time().Before(limit) {
		return exception.New(exception.BlockFromTheFuture, "received a block from the future, ignoring it: ${id}",
			"id", b.ID)
	}
	return nil
}

// examine checks a block's header, and returns the state that it makes.
func (a *arrivals) examine(b *Block) (*consensus.BlockState, error) {
	prev := a.headerState(b.Signed.Previous)
	if prev == nil {
		return nil, exception.New(exception.UnlinkableBlock, "unlinkable block ${id}",
			"id", b.ID, "previous", b.Signed.Previous)
	}
	return a.chain.CheckHeader(prev, b.Signed, b.ID)
}

// headerState is that of a block that the chain has, or whose header was checked; nil if there is none.
func (a *arrivals) headerState(id types.Checksum256) *consensus.HeaderState {
	if s := a.chain.Fork().HeaderState(id); s != nil {
		return s
	}
	if s := a.headers.get(id); s != nil {
		return s.HeaderState
	}
	return nil
}

// stateOf is the state that a block's header makes, which CheckHeader has found good. It is made again if there
// was no room to keep it.
func (a *arrivals) stateOf(b *Block) (*consensus.BlockState, error) {
	if s := a.headers.get(b.ID); s != nil && s.Block == b.Signed {
		return s, nil
	}
	return a.examine(b)
}

// follows tells whether a block whose header was checked follows another.
func (a *arrivals) follows(s, x *consensus.HeaderState) bool {
	for id := s.Header.Previous; types.BlockNum(id) >= x.BlockNum; {
		if id == x.ID {
			return true
		}
		before := a.headerState(id)
		if before == nil {
			return false
		}
		id = before.Header.Previous
	}
	return false
}

// Prepare unpacks the block's transactions and finds their keys, and rehearses them once
// its header was found good. Any goroutine may call it, in any order.
func (a *arrivals) Prepare(b *Block) error {
	list, err := b.candidates()
	if err != nil {
		a.headers.drop(b.ID) // it is never applied
		return err
	}
	if b.mayRehearse() {
		a.rehearsals.Block(b.Signed.Timestamp, list...)
	}
	return nil
}

// Received tells the writer of a block that is on its way, so that it does not
// begin what the block would end. Block and Apply do it by themselves.
func (a *arrivals) Received(num uint32) { a.received.Store(num) }

// Block takes a block from a peer or from push_block, and waits until it is
// applied, or known to be on a branch that is not the best. A block that is known
// already is no error. Errors are [ErrBusy], that the node is paused, exceptions (UnlinkableBlock if the
// block before is not known), [writerloop.ErrStopped], or ctx's; the block may be applied even
// so.
func (a *arrivals) Block(ctx context.Context, b *types.SignedBlock, id types.Checksum256) error {
	return a.give(ctx, a.NewBlock(b, id), false)
}

// Apply is Block in parts: CheckHeader and Prepare may have been called before. The
// writer applies blocks in the order of the calls. Instead of failing with [ErrBusy] it
// waits until the round is over that is being made here; a block that was overtaken by
// the irreversible one meanwhile is no error.
func (a *arrivals) Apply(ctx context.Context, b *Block) error { return a.give(ctx, b, true) }

func (a *arrivals) give(ctx context.Context, b *Block, patient bool) error {
	if a.Knows(b.ID) {
		a.headers.drop(b.ID)
		return nil
	}
	if err := a.checkTime(b); err != nil {
		return err
	}
	err := a.CheckHeader(b)
	if err == nil {
		a.received.Store(types.BlockNum(b.ID))
		err = a.Prepare(b)
	}
	if err != nil {
		if exception.Of(err) != nil && !exception.Is(err, exception.UnlinkableBlock) {
			a.refuse(b, err)
		}
		a.headers.drop(b.ID)
		a.received.CompareAndSwap(types.BlockNum(b.ID), 0)
		return err
	}
	defer a.headers.drop(b.ID)
	done := make(chan error, 1)
	take := func() {
		err := a.take(b)
		switch {
		case !later(err):
		case patient:
			why := "the round that this node produces has ended"
			if errors.Is(err, errPaused) {
				why = "the node is resumed"
			}
			a.log.plugin.Warn(fmt.Sprintf("incoming block #%d id: %s waits until %s", types.BlockNum(b.ID), b.ID, why))
			a.late = append(a.late, lateBlock{b, done})
			return
		default:
			a.log.plugin.Warn(fmt.Sprintf("dropped incoming block #%d id: %s", types.BlockNum(b.ID), b.ID))
		}
		done <- err
	}
	if !a.writer.Put(writerloop.Few, writerloop.Job{Do: take}) {
		return writerloop.ErrStopped
	}
	a.hurry()
	return a.writer.Await(ctx, done)
}

// later tells whether a block may be given again later.
func later(err error) bool { return errors.Is(err, ErrBusy) || errors.Is(err, errPaused) }

// lateBlock is a block that came while a round was made here.
type lateBlock struct {
	b    *Block
	done chan<- error
}

// takeLate applies the blocks that came late once the round is over, and answers for those
// that can be of no use any more.
func (a *arrivals) takeLate() {
	for len(a.late) > 0 && a.writer.Failed() == nil {
		l, lib := a.late[0], a.irreversible()
		var err error
		if types.BlockNum(l.b.ID) > lib {
			err = a.take(l.b)
		}
		if later(err) {
			return
		}
		a.late[0] = lateBlock{}
		a.late = a.late[1:]
		l.done <- err
	}
}

// headers are states of blocks whose headers were checked and that are not in the fork database yet, so that blocks
// after them can be checked meanwhile, and votes for them counted. There is room for so many and so much as
// [chain.Limits] says; what came first goes first.
type headers struct {
	votes electorate
	mu    sync.Mutex
	known map[types.Checksum256]*consensus.BlockState
	order []types.Checksum256
	held  consensus.Holding
}

// electorate counts votes for blocks, and may wait for one of them.
type electorate interface {
	ExpectVotes(b *consensus.BlockState)
	ForgetVotes(id types.Checksum256)
	Withdraw(id types.Checksum256)
}

func (h *headers) get(id types.Checksum256) *consensus.BlockState {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.known[id]
}

// put keeps the state of a block, and has votes for it counted. It tells whether it was not there.
func (h *headers) put(s *consensus.BlockState, l chain.Limits) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.known == nil {
		h.known = make(map[types.Checksum256]*consensus.BlockState)
	}
	if h.known[s.ID] != nil {
		return false
	}
	h.known[s.ID] = s
	h.order = append(h.order, s.ID)
	h.held.Add(s)
	h.votes.ExpectVotes(s)
	for len(h.order) > l.CheckedHeaders || h.held.Bytes() > l.CheckedBytes && len(h.order) > 1 {
		h.remove(0)
	}
	return true
}

// drop forgets a header. Those that came first go first, so that the search is
// short.
func (h *headers) drop(id types.Checksum256) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.known[id] == nil {
		return
	}
	h.remove(slices.Index(h.order, id))
}

// remove forgets the header at a place of order. The caller holds mu.
func (h *headers) remove(i int) {
	id := h.order[i]
	h.held.Remove(h.known[id])
	h.votes.ForgetVotes(id)
	h.votes.Withdraw(id)
	delete(h.known, id)
	h.order = slices.Delete(h.order, i, i+1)
}
