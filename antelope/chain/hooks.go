package chain

import (
	"fmt"

	"tarn/antelope/consensus"
	"tarn/antelope/deepmind"
	"tarn/antelope/execute"
	"tarn/antelope/state"
	"tarn/antelope/types"
	"tarn/store"
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
	// Adopted comes in the place of Record with each block that another node has executed ([Follower.Adopt]).
	Adopted func(*Adopted) error
	// Changes asks that what Record gets says what the block changed.
	Changes bool
	// Pushed comes when the state is that of a block, or in a replay of the last of several that
	// are one revision, and before it can be irreversible. rows tells what they changed
	// ([store.Store.Changes]), until Pushed returns. On an error the node cannot go on.
	Pushed func(blocks []*consensus.BlockState, rows ChangedRows) error
	// Settled comes when the head is where it stays until the next block comes, over a switch of forks too, and what
	// is irreversible is in the log; in a replay after each revision.
	Settled func()
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

// ChangedRows calls a function for each row that a revision changed.
type ChangedRows func(func(t store.Table, key, value []byte, present bool) error) error

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

// Entry says to which history belongs what one node tells another of a block.
type Entry uint8

// The entries that nodes tell each other. Each is packed as its history packs it.
const (
	EntryTraces   Entry = 1 + iota // of transactions, in the state history
	EntryDeltas                    // of tables, in the state history
	EntryActions                   // Executed.Actions, for the state history's finality data
	EntryTraceAPI                  // of the trace API
)

// Entries are what the histories of another node have of a block.
type Entries map[Entry][]byte

// Size is how many bytes they take.
func (e Entries) Size() (n int64) {
	for _, b := range e {
		n += int64(len(b))
	}
	return n
}

// Packing makes the entry of a block. Any goroutine may call Pack, which changes nothing.
type Packing struct {
	Entry Entry
	Pack  func(*Executed) ([]byte, error)
}

// Adopted is a block that another node has executed. The entries' bytes are valid until the hook returns.
type Adopted struct {
	Block   *consensus.BlockState
	Final   bool // it is irreversible already
	Entries Entries
}

// Rough sizes in memory, in bytes.
const (
	blockBytes = 4096
	traceBytes = 700 // of an action, without its data
)

// changeBytes is about what a changed row takes in memory, in bytes, without its value.
const changeBytes = 250

// Size is about how much memory the block takes with the traces of its transactions and what it changed, in bytes.
func (x *Executed) Size() int64 {
	n := x.TracesSize()
	c := x.Changes
	if c == nil {
		return n
	}
	n += int64(len(c.Metadata)+len(c.Tables)+len(c.Permissions)+len(c.Links)+len(c.Limits)+len(c.Usages)+
		len(c.Deferred)) * changeBytes
	for i := range c.Rows {
		for _, r := range [...]*state.ContractRow{c.Rows[i].Old, c.Rows[i].New} {
			if r != nil {
				n += changeBytes + int64(len(r.Value))
			}
		}
	}
	for i := range c.Indices {
		n += int64(len(c.Indices[i])) * 2 * changeBytes
	}
	for i := range c.Codes {
		if c.Codes[i].New != nil {
			n += int64(len(*c.Codes[i].New))
		}
	}
	for i := range c.Accounts {
		n += changeBytes + int64(len(c.Accounts[i].New.ABI))
	}
	return n
}

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
	c.hooks.pushed = c.hooks.pushed || h.Pushed != nil
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
	list                     []Hooks
	applied, records, pushed bool // somebody has these
	changes                  bool
	roots                    bool
	tracer                   deepmind.Tracer // nil for nobody
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

func (h *hooks) adopted(b *Adopted) error {
	for i := range h.list {
		if f := h.list[i].Adopted; f != nil {
			if err := f(b); err != nil {
				return fmt.Errorf("record block %d: %w", b.Block.BlockNum, err)
			}
		}
	}
	return nil
}

// changedRows are the rows that the head's revision has changed.
func changedRows(st store.Store) ChangedRows {
	return func(each func(t store.Table, key, value []byte, present bool) error) error {
		return st.Changes(nil, each)
	}
}

func (h *hooks) tellPushed(rows ChangedRows, blocks ...*consensus.BlockState) error {
	for i := range h.list {
		if f := h.list[i].Pushed; f != nil {
			if err := f(blocks, rows); err != nil {
				return fmt.Errorf("tell of block %d: %w", blocks[len(blocks)-1].BlockNum, err)
			}
		}
	}
	return nil
}

func (h *hooks) settled() {
	for i := range h.list {
		if f := h.list[i].Settled; f != nil {
			f()
		}
	}
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
