// Package trxstatus remembers what became of transactions that this node saw: in
// which block they are, whether that block is final, whether it was forked out
// (Leap: trx_finality_status_processing.cpp). It keeps them for a while and within a
// bound of memory.
//
// It executes nothing and reads no state: it is told.
package trxstatus

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"tarn/antelope/consensus"
	"tarn/antelope/rpc"
	"tarn/antelope/types"
)

// entryBytes is what nodeos counts for a transaction.
const entryBytes = 96

// entry is a transaction. One that is in no block has a zero block.
type entry struct {
	id        types.Checksum256
	expires   types.TimePoint
	received  types.TimePoint
	block     types.Checksum256
	blockTime types.BlockTimestamp
	forkedOut bool
	gone      bool // from the tracker, not yet from its queue
}

func (e *entry) inBlock() bool { return !e.forkedOut && !e.block.IsZero() }

// Options bound what is remembered.
type Options struct {
	MaxBytes uint64        // transaction-finality-status-max-storage-size-gb
	Success  time.Duration // ...-success-duration-sec
	Failure  time.Duration // ...-failure-duration-sec
	Now      func() time.Time
}

// Tracker remembers transactions. One goroutine, the chain's writer, tells it what
// happens; any goroutine may ask.
type Tracker struct {
	opt Options

	mu          sync.RWMutex
	entries     map[types.Checksum256]*entry
	queue       []*entry // by the time they came
	speculative []types.Checksum256
	last        uint32 // the newest block that was told of
	chain       rpc.StatusChain
}

var _ rpc.Finality = (*Tracker)(nil)

// New returns a tracker that knows nothing yet.
func New(o Options) *Tracker {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Tracker{opt: o, entries: map[types.Checksum256]*entry{}}
}

func (t *Tracker) now() types.TimePoint { return types.TimePoint(t.opt.Now().UnixMicro()) }

// StartBlock is called before a block is begun: the one that was under way was not
// finished, or its transactions have been counted.
func (t *Tracker) StartBlock() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.speculative = t.speculative[:0]
}

// Applied is called with each transaction that was executed, and when it expires.
func (t *Tracker) Applied(trace *types.TransactionTrace, expires types.TimePoint) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now, changed := t.now(), false
	var block types.Checksum256
	var blockTime types.BlockTimestamp
	if trace.ProducerBlockID != nil {
		block = *trace.ProducerBlockID
		if block != t.chain.HeadID {
			t.chain.HeadID, t.chain.HeadTime = block, trace.BlockTime.TimePoint()
			changed = t.rollBack()
			changed = t.expire(now) || changed
		}
		blockTime = types.NewBlockTimestamp(t.chain.HeadTime)
		t.last = types.BlockNum(block)
	}
	if trace.Receipt == nil || trace.Receipt.Status != types.StatusExecuted || trace.Scheduled || isOnblock(trace) {
		return
	}
	if trace.ProducerBlockID == nil {
		t.speculative = append(t.speculative, trace.ID)
	}
	changed = t.makeRoom() || changed
	e := t.entries[trace.ID]
	if e == nil {
		e = &entry{id: trace.ID, expires: expires, received: now}
		t.entries[trace.ID] = e
		t.queue = append(t.queue, e)
	}
	e.block, e.blockTime, e.forkedOut = block, blockTime, false
	if changed || t.chain.EarliestID.IsZero() {
		t.findEarliest()
	}
}

// isOnblock tells whether a trace is of the transaction that each block begins with.
func isOnblock(t *types.TransactionTrace) bool {
	if len(t.ActionTraces) == 0 {
		return false
	}
	a := &t.ActionTraces[0].Action
	eosio := types.N("eosio")
	return a.Account == eosio && a.Name == types.N("onblock") && len(a.Authorization) == 1 &&
		a.Authorization[0] == types.PermissionLevel{Actor: eosio, Permission: types.N("active")}
}

// Accepted is called with each block that became the head.
func (t *Tracker) Accepted(b *consensus.BlockState) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if b.ID == t.chain.HeadID {
		return // its transactions said so
	}
	t.chain.HeadID, t.chain.HeadTime = b.ID, b.Header.Timestamp.TimePoint()
	t.rollBack()
	if t.expire(t.now()) {
		t.findEarliest()
	}
	// What was executed without a block just before is in this one: it was made here.
	for _, id := range t.speculative {
		if e := t.entries[id]; e != nil {
			e.block, e.blockTime, e.forkedOut = b.ID, b.Header.Timestamp, false
		}
	}
	t.speculative = t.speculative[:0]
	t.last = b.BlockNum
}

// Irreversible is called with each block that became irreversible.
func (t *Tracker) Irreversible(b *consensus.BlockState) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.chain.IrreversibleID, t.chain.IrreversibleTime = b.ID, b.Header.Timestamp.TimePoint()
}

// rollBack marks what was in blocks that the head now replaces, if it does.
func (t *Tracker) rollBack() bool {
	num := types.BlockNum(t.chain.HeadID)
	if num > t.last {
		return false
	}
	for _, e := range t.entries {
		if types.BlockNum(e.block) >= num {
			e.forkedOut = true
		}
	}
	return true
}

// expire forgets what has been kept long enough.
func (t *Tracker) expire(now types.TimePoint) bool {
	success := now - types.TimePoint(t.opt.Success.Microseconds())
	failure := now - types.TimePoint(t.opt.Failure.Microseconds())
	old := 0
	for old < len(t.queue) && t.queue[old].received <= max(success, failure) {
		old++
	}
	forgotten := false
	kept := t.queue[:0:0]
	for _, e := range t.queue[:old] {
		limit := failure
		if e.inBlock() {
			limit = success
		}
		switch {
		case e.gone:
		case e.received <= limit:
			t.forget(e)
			forgotten = true
		default:
			kept = append(kept, e)
		}
	}
	if len(kept) < old {
		t.queue = append(kept, t.queue[old:]...)
	}
	return forgotten
}

func (t *Tracker) forget(e *entry) {
	e.gone = true
	delete(t.entries, e.id)
}

// makeRoom forgets a tenth of what there may be once that is reached: block by block
// from the oldest, with what failed before each; then what failed first.
func (t *Tracker) makeRoom() bool {
	used := uint64(len(t.entries)) * entryBytes
	if used < t.opt.MaxBytes {
		return false
	}
	excess := int64(used - t.opt.MaxBytes + t.opt.MaxBytes/10)
	list := make([]*entry, 0, len(t.entries))
	for _, e := range t.entries {
		list = append(list, e)
	}
	when := func(e *entry) types.TimePoint {
		if types.BlockNum(e.block) != 0 {
			return e.blockTime.TimePoint()
		}
		return e.received
	}
	slices.SortFunc(list, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(when(a), when(b)), cmp.Compare(types.BlockNum(a.block), types.BlockNum(b.block)),
			cmp.Compare(a.received, b.received))
	})
	var block types.Checksum256
	for _, e := range list {
		if excess <= 0 && (e.block.IsZero() || e.block != block) {
			break // blocks go whole
		}
		block = e.block
		t.forget(e)
		excess -= entryBytes
	}
	t.queue = slices.DeleteFunc(t.queue, func(e *entry) bool { return e.gone })
	return true
}

// findEarliest finds the block of the oldest transaction that is in one.
func (t *Tracker) findEarliest() {
	for _, e := range t.queue {
		if !e.gone && e.inBlock() {
			t.chain.EarliestID = e.block
			return
		}
	}
}

// Status tells what became of a transaction, and how far the chain is.
func (t *Tracker) Status(id types.Checksum256) (rpc.Status, rpc.StatusChain) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	e := t.entries[id]
	if e == nil {
		return rpc.Status{}, t.chain
	}
	s := rpc.Status{BlockID: e.block, BlockTime: e.blockTime.TimePoint(), Expiration: e.expires}
	switch {
	case e.inBlock() && types.BlockNum(e.block) > types.BlockNum(t.chain.IrreversibleID):
		s.State = "IN_BLOCK"
	case e.inBlock():
		s.State = "IRREVERSIBLE"
	case t.now() >= e.expires:
		s.State = "FAILED"
	case e.forkedOut:
		s.State = "FORKED_OUT"
	default:
		s.State = "LOCALLY_APPLIED"
	}
	return s, t.chain
}
