package chain

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"tarn/antelope/control"
	"tarn/antelope/exception"
	"tarn/antelope/types"
	"tarn/antelope/wasm"
	"tarn/store/sandbox"
)

// Reader executes transactions of which nothing is kept, dry runs and read-only
// ones, on what views show: beside the writer, and beside other readers. One
// goroutine at a time may use it.
type Reader struct {
	chain   *Chain
	machine *wasm.Machine
	box     *sandbox.Sandbox

	mu      sync.Mutex
	running *Chain // the one that executes a transaction; nil between them
	stopped error
}

// readerBytes bounds what a transaction may change, in bytes. Blocks hold far less.
const readerBytes = 64 << 20

// NewReader makes a reader. It shares the chain's compiled contracts, and must be
// closed before the chain. Any goroutine may call it.
func (c *Chain) NewReader() (*Reader, error) {
	box, err := sandbox.New(readerBytes)
	if err != nil {
		return nil, err
	}
	return &Reader{chain: c, machine: c.cache.NewMachine(), box: box}, nil
}

// Close frees what the reader holds.
func (r *Reader) Close() error { return errors.Join(r.machine.Close(), r.box.Close()) }

// Interrupt makes the transaction that is being executed, and all after it, fail
// with err. Any goroutine may call it.
func (r *Reader) Interrupt(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = err
	if r.running != nil {
		r.running.Interrupt(err)
	}
}

// begins makes c the chain that executes; nil for none.
func (r *Reader) begins(c *Chain) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running = c
	if c != nil && r.stopped != nil {
		c.Interrupt(r.stopped)
	}
}

// Execute executes a dry run or a read-only transaction on the newest published
// state, in a block that is no one's and is begun now. The trace says what it did,
// its failure included; an error says why it was not executed, an exception if that
// is the transaction's fault.
func (r *Reader) Execute(x *Candidate, b Billing, now time.Time) (_ *types.TransactionTrace, err error) {
	if !x.Kind.Transient() {
		return nil, fmt.Errorf("a reader executes no transaction of kind %d", x.Kind)
	}
	v, err := r.chain.store.View()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	st, err := r.box.Open(v)
	if err != nil {
		return nil, err
	}
	c, err := assemble(st, *r.chain.decided.Load())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.state.Close()) }()
	c.imports, c.cache, c.machine = r.chain.imports, r.chain.cache, r.machine
	if err := c.load(); err != nil {
		return nil, err
	}
	if c.head == nil {
		return nil, exception.New(exception.MissingPendingBlockState, "there is no block yet")
	}
	r.begins(c)
	defer r.begins(nil)
	return c.try(x, b, types.TimePoint(now.UnixMicro()))
}

// try executes a transaction in a block that is begun for it.
func (c *Chain) try(x *Candidate, b Billing, now types.TimePoint) (*types.TransactionTrace, error) {
	slot := types.NewBlockTimestamp(max(now, c.head.Header.Timestamp.TimePoint())) + 1
	if err := c.StartBlock(Start{Time: slot, Status: Ephemeral}); err != nil {
		return nil, err
	}
	if now, expires := slot.TimePoint(), x.Trx.Expiration.TimePoint(); x.Kind == control.DryRun && expires < now {
		return nil, Expired(x.ID, expires, now)
	}
	if err := c.state.SeeExpiring(x.Trx.Expiration); err != nil {
		return nil, err
	}
	known, err := c.state.HasTransaction(x.ID)
	if err != nil {
		return nil, err
	}
	if known {
		return nil, Duplicate(x.ID)
	}
	trace, err := c.PushTransaction(x, b)
	if err != nil {
		return nil, c.abortAfter(err)
	}
	_, err = c.AbortBlock()
	return trace, err
}
