package chain

import (
	"tarn/antelope/consensus"
	"tarn/antelope/deepmind"
	"tarn/antelope/execute"
	"tarn/antelope/state"
	"tarn/antelope/types"
)

// Hooks are functions that a chain calls when something has happened, on the writer's
// goroutine; nil is for nobody. They must return soon, must not change the chain, and
// must not change what they get (Leap: controller's signals).
type Hooks struct {
	// Begin comes once, before the first block is applied: the state is that of the
	// head, and published. On an error the chain does not go on.
	Begin func(head *consensus.BlockState) error
	// StartBlock comes before a block after the head is begun, whatever becomes of
	// it. The head may be published then.
	StartBlock func(num uint32)
	// Applied comes with the trace of each transaction that was executed in a block,
	// whether it failed or not. In blocks that are given up they come again. The
	// candidate is nil for a scheduled one and for one that failed.
	Applied func(*types.TransactionTrace, *execute.Candidate)
	// Record comes with each block that is about to become the head, in a replay
	// too: the one who keeps a history. On an error the block does not become the
	// head, and the node cannot go on.
	Record func(*Executed) error
	// Changes asks that what Record gets says what the block changed.
	Changes bool
	// AcceptedHeader comes when a block is in the fork database, AcceptedBlock when
	// its state is the head's: after a switch of forks again for each block.
	AcceptedHeader func(*consensus.BlockState)
	AcceptedBlock  func(*consensus.BlockState)
	// Irreversible comes for each block in turn that cannot be taken back any more,
	// Forked with the blocks that a switch of forks took back, newest first.
	Irreversible func(*consensus.BlockState)
	Forked       func([]*consensus.BlockState)
	// Tracer is told each step inside transactions; only one subscriber may have it.
	Tracer deepmind.Tracer
	// Roots asks that the tracer be told the roots of actions by Savanna's rules of all blocks, of
	// those before these may begin too.
	Roots bool
}

// Executed is a block whose transactions were executed. Who gets it may keep it.
type Executed struct {
	Block  *consensus.BlockState
	Status execute.Status
	// Transactions are those that left a receipt: the chain's own at the block's start
	// first, if it succeeded, then one for each receipt of the block, in their order.
	Transactions []execute.Transaction
	// Actions is the root of what the block did, by Savanna's rules; zero before these may begin.
	Actions types.Checksum256
	Changes *state.Changes // nil if nobody asks for them
}

// Rough sizes in memory, in bytes.
const (
	blockBytes = 4096
	traceBytes = 700 // of an action, without its data
)

// TracesSize is about how much memory the block and the traces of its transactions take, in
// bytes.
func (x *Executed) TracesSize() int64 {
	n := int64(blockBytes)
	for i := range x.Transactions {
		t := &x.Transactions[i]
		n += int64(len(t.Raw)) + traceBytes
		for j := range t.Trace.ActionTraces {
			a := &t.Trace.ActionTraces[j]
			n += traceBytes + int64(len(a.Action.Data)+len(a.Console)+len(a.ReturnValue))
		}
	}
	return n
}

// Subscribe adds who wants to know. It is called while no block is pending.
func (c *Chain) Subscribe(h Hooks) {
	c.hooks.list = append(c.hooks.list, h)
	c.hooks.applied = c.hooks.applied || h.Applied != nil
	c.hooks.records = c.hooks.records || h.Record != nil
	if h.Tracer != nil {
		c.hooks.tracer = h.Tracer
	}
	if h.Changes && !c.hooks.changes {
		c.hooks.changes = true
		c.state.NoteChanges()
	}
	c.hooks.roots = c.hooks.roots || h.Roots
	w := execute.Watch{Tracer: c.hooks.tracer, Keep: c.hooks.records, Roots: c.hooks.roots}
	if c.hooks.applied {
		w.Applied = c.hooks.transaction
	}
	c.executor.Watch(w)
}

// hooks are all subscribers, and what they ask for together. Each event is fanned out
// here and nowhere else.
type hooks struct {
	list             []Hooks
	applied, records bool // somebody has these
	changes          bool
	roots            bool
	tracer           deepmind.Tracer // nil for nobody
}

func (h *hooks) begin(head *consensus.BlockState) error {
	for i := range h.list {
		if f := h.list[i].Begin; f != nil {
			if err := f(head); err != nil {
				return err
			}
		}
	}
	return nil
}

func (h *hooks) startBlock(num uint32) {
	for i := range h.list {
		if f := h.list[i].StartBlock; f != nil {
			f(num)
		}
	}
	if h.tracer != nil {
		h.tracer.StartBlock(num)
	}
}

func (h *hooks) transaction(trace *types.TransactionTrace, x *execute.Candidate) {
	for i := range h.list {
		if f := h.list[i].Applied; f != nil {
			f(trace, x)
		}
	}
}

func (h *hooks) record(b *Executed) error {
	for i := range h.list {
		if f := h.list[i].Record; f != nil {
			if err := f(b); err != nil {
				return err
			}
		}
	}
	return nil
}

func (h *hooks) acceptedHeader(b *consensus.BlockState) {
	for i := range h.list {
		if f := h.list[i].AcceptedHeader; f != nil {
			f(b)
		}
	}
}

// acceptedBlock tells of the head. valid is what the fork database says of it.
func (h *hooks) acceptedBlock(b *consensus.BlockState, valid bool, actions types.Checksum256) {
	for i := range h.list {
		if f := h.list[i].AcceptedBlock; f != nil {
			f(b)
		}
	}
	if h.tracer != nil {
		h.tracer.AcceptedBlock(b, valid, actions)
	}
}

func (h *hooks) irreversible(b *consensus.BlockState) {
	for i := range h.list {
		if f := h.list[i].Irreversible; f != nil {
			f(b)
		}
	}
}

func (h *hooks) tellForked(list []*consensus.BlockState) {
	for i := range h.list {
		if f := h.list[i].Forked; f != nil {
			f(list)
		}
	}
}
