package execute

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"tarn/antelope/consensus"
	"tarn/antelope/exception"
	"tarn/antelope/state"
	"tarn/antelope/types"
	"tarn/store"
	"tarn/store/viewoverlay"
)

// Source shows a store's newest published state ([store.Store]).
type Source interface {
	// View returns the newest published state, on any goroutine. The caller closes it.
	View() (store.View, error)
}

// Reader executes transactions of which nothing is kept, dry runs and read-only
// ones, on what views show: beside the writer, and beside other readers. One
// goroutine at a time may use it, but for Interrupt.
type Reader struct {
	executor *Executor // whose state is another for each transaction
	source   Source
	layout   *state.Layout
	box      *viewoverlay.Sandbox

	// What the last view said, decoded: most views say the same.
	encoded   []byte // the head
	head      *consensus.HeaderState
	activated []state.ActivatedFeature
	thread    string // what nodeos calls the thread of such a reader
}

// instancesEach is how much memory of contracts a reader keeps for as much that a transaction may change.
const instancesEach = 4

// NewReader makes a reader of a store whose tables lie as layout says, for transactions
// that change so many bytes at most. It must be closed before shared and the store.
func NewReader(source Source, layout *state.Layout, shared *Shared, bytes int64) (*Reader, error) {
	box, err := viewoverlay.New(bytes)
	if err != nil {
		return nil, err
	}
	r := &Reader{executor: New(nil, shared), source: source, layout: layout, box: box}
	r.executor.machine.Limit(instancesEach * bytes)
	return r, nil
}

// Close frees what the reader holds.
func (r *Reader) Close() error { return errors.Join(r.executor.Close(), r.box.Close()) }

// Interrupt makes the transaction that is being executed, and all after it, fail
// with err. Any goroutine may call it.
func (r *Reader) Interrupt(err error) { r.executor.Interrupt(err) }

// Execute executes a dry run or a read-only transaction on the newest published
// state, in a block that is no one's and is begun now. The trace says what it did,
// its failure included; an error says why it was not executed, an exception if that
// is the transaction's fault.
func (r *Reader) Execute(x *Candidate, b Billing, now time.Time) (_ *types.TransactionTrace, err error) {
	if !x.Kind.Transient() {
		return nil, fmt.Errorf("a reader executes no transaction of kind %d", x.Kind)
	}
	var trace *types.TransactionTrace
	err = r.onView(func() (err error) {
		trace, err = r.try(x, b, types.TimePoint(now.UnixMicro()), true)
		return err
	})
	if trace != nil && x.Kind == ReadOnly {
		r.sign(trace)
	}
	return trace, err
}

// Rehearse executes a transaction as one of a kind on the newest published state, to read what it reads: as
// [Rehearsed], or as [DryRun] if its keys need not be known. That it was executed before does not matter.
func (r *Reader) Rehearse(
	x *Candidate, kind Kind, b Billing, now types.TimePoint,
) (trace *types.TransactionTrace, err error) {
	try := *x
	try.Kind = kind
	err = r.onView(func() (err error) {
		trace, err = r.try(&try, b, now, false)
		return err
	})
	return trace, err
}

// onView does something while the executor stands where the newest published state does.
func (r *Reader) onView(do func() error) (err error) {
	v, err := r.source.View()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	st, err := r.box.Open(v)
	if err != nil {
		return err
	}
	s := r.layout.Open(st)
	defer func() { err = errors.Join(err, s.Close()) }()
	defer r.executor.leave()
	if err := r.stand(s); err != nil {
		return err
	}
	return do()
}

// sign gives what failed in a read-only transaction the name of its thread: in nodeos these have
// their own, dry runs the chain's.
func (r *Reader) sign(t *types.TransactionTrace) {
	if t.Except == nil {
		return
	}
	t.Except = t.Except.In(r.thread)
	for i := range t.ActionTraces {
		if a := &t.ActionTraces[i]; a.Except != nil {
			a.Except = a.Except.In(r.thread)
		}
	}
}

// stand makes the executor stand where a state stands.
func (r *Reader) stand(s *state.State) error {
	encoded, err := s.Head()
	if err != nil {
		return err
	}
	if encoded == nil {
		return exception.New(exception.MissingPendingBlockState, "there is no block yet")
	}
	if !bytes.Equal(encoded, r.encoded) {
		head, err := consensus.DecodeHead(encoded)
		if err != nil {
			return err
		}
		r.encoded, r.head = append(r.encoded[:0], encoded...), head.HeaderState
	}
	p, err := s.Protocol.Get()
	if err != nil {
		return err
	}
	r.executor.open(s)
	if r.activated != nil && slices.Equal(p.Activated, r.activated) {
		r.executor.At(r.head)
		return nil
	}
	r.activated = slices.Clone(p.Activated)
	return r.executor.Load(r.head)
}

// try executes a transaction in a block that is begun for it; once says that it must be the first time.
func (r *Reader) try(x *Candidate, b Billing, now types.TimePoint, once bool) (*types.TransactionTrace, error) {
	e := r.executor
	slot := types.NewBlockTimestamp(max(now, e.head.Header.Timestamp.TimePoint())) + 1
	if err := e.Begin(Start{Time: slot, Status: Ephemeral}); err != nil {
		return nil, err
	}
	if now, expires := slot.TimePoint(), x.Trx.Expiration.TimePoint(); x.Kind == DryRun && expires < now {
		return nil, Expired(x.ID, expires, now)
	}
	if !once {
		e.state.SeeNone()
		return e.Push(x, b)
	}
	if err := e.state.SeeOne(x.ID, x.Trx.Expiration); err != nil {
		return nil, err
	}
	known, err := e.state.HasTransaction(x.ID)
	if err != nil {
		return nil, err
	}
	if known {
		return nil, Duplicate(x.ID)
	}
	return e.Push(x, b)
}
