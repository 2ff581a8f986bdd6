// Package execute is what a block and its transactions do to a chain's state: what is
// due at a block's start and end, transactions with their sessions, limits and bills,
// deferred ones, actions natively and in contracts, the answers to contracts' host
// functions. It arrives at exactly what nodeos (Leap 5.0) arrives at. It owns the
// pending block.
//
// It knows neither forks nor logs, opens no files, and decides nothing about which block
// follows which: package chain tells it to begin, to finish and to forget blocks. It
// reads the clock only to measure and to limit transactions that are not in a block
// yet. State never depends on time, on goroutines or on the engine.
//
// # Who executes
//
// An [Executor] works on the chain's one state, and a [Reader] on views of it, which it
// leaves as they are. What both need of the chain is [Shared].
//
// # Goroutines
//
// An Executor and a Reader are for one goroutine at a time. Any goroutine may make
// candidates and find their keys ([NewCandidate], [Keys]), and ask [Readers].
package execute

import (
	"slices"
	"sync/atomic"
	"time"

	"tarn/antelope/authority"
	"tarn/antelope/consensus"
	"tarn/antelope/deepmind"
	"tarn/antelope/feature"
	"tarn/antelope/resource"
	"tarn/antelope/state"
	"tarn/antelope/types"
	"tarn/antelope/wasm"
	"tarn/antelope/wasm/intrinsic"
)

// Executor executes blocks and transactions on one state. One goroutine at a time uses
// it; only Interrupt may be called by all.
type Executor struct {
	books
	shared   *Shared
	opt      *Options // of shared
	policy   *Policy  // that the present transaction began with
	machine  *wasm.Machine
	features *feature.History
	watch    Watch
	watched  bool // somebody is told what happens in transactions, or how long they take

	head  *consensus.HeaderState // of the block that was finished last
	block *Block                 // the pending one; nil between blocks

	actions     []*action            // by depth, used again and again
	last, spare *transaction         // the last one that succeeded; one to be used again
	sequences   []types.AuthSequence // of receipts, which point into it
	// digests and leaves are memory of the last block's, hashed that of chunks of
	// receipts.
	digests []types.Checksum256
	leaves  leaves
	hashed  chan []receiptJob

	activeAt     uint32 // block that activeBits are of
	activeBits   uint32
	requiring    bool // a transaction that is always checked is being executed
	interruption atomic.Pointer[error]
	failure      atomic.Pointer[error] // an interruption that does not end
}

// Watch is who is told what transactions do, on the executor's goroutine; the zero value
// is nobody. What is told must not be changed.
type Watch struct {
	// Tracer is told each step inside transactions.
	Tracer deepmind.Tracer
	// Applied comes with the trace of each transaction that was executed in a block,
	// whether it failed or not. The candidate is nil for a scheduled one and for one that
	// failed.
	Applied func(*types.TransactionTrace, *Candidate)
	// Keep makes blocks keep what was executed in them ([Block.Transactions]).
	Keep bool
	// Roots asks for the roots of actions by Savanna's rules in all blocks ([Block.Savanna]).
	Roots bool
}

// New makes an executor on a state; Load says where the state stands. It must be closed
// before shared.
func New(s *state.State, shared *Shared) *Executor {
	e := &Executor{
		shared: shared, opt: &shared.opt, policy: shared.policy.Load(), machine: shared.cache.NewMachine(),
		features: feature.NewHistory(shared.opt.Features), hashed: make(chan []receiptJob, chunksAhead),
	}
	e.open(s)
	return e
}

// open makes s the state.
func (e *Executor) open(s *state.State) {
	e.books = books{state: s, resources: resource.New(s), tracer: e.watch.Tracer}
	e.authority = authority.New(s, authority.Options{
		LinkRestrictionFixed: func() bool { return e.active(feature.FixLinkauthRestriction) },
	})
}

// leave forgets the state, and what was executed on it.
func (e *Executor) leave() {
	e.books, e.block, e.actions, e.last, e.spare = books{}, nil, nil, nil, nil
}

// Close frees what the executor holds besides the state.
func (e *Executor) Close() error { return e.machine.Close() }

// Watch replaces who is told. It is called while no block is pending.
func (e *Executor) Watch(w Watch) {
	e.watch, e.tracer = w, w.Tracer
	e.watched = w.Applied != nil || w.Keep || w.Tracer != nil
}

// Load makes the executor stand at head, which is what the state stands at.
func (e *Executor) Load(head *consensus.HeaderState) error {
	p, err := e.state.Protocol.Get()
	if err != nil {
		return err
	}
	e.features = feature.NewHistory(e.opt.Features)
	for _, a := range p.Activated {
		if err := e.features.Activate(a.Digest, a.Block); err != nil {
			return err
		}
	}
	e.At(head)
	return nil
}

// At makes head the block that was finished last: the pending one, or one that is gone
// back to. What the pending block was is forgotten; the state is the caller's to undo.
func (e *Executor) At(head *consensus.HeaderState) {
	e.head, e.block = head, nil
	e.features.PopTo(head.BlockNum)
	e.activeAt = 0
}

// Block is the pending block, nil without one.
func (e *Executor) Block() *Block { return e.block }

// Interrupt makes the transaction that is being executed, and all after it, fail
// with err; nil ends that. Any goroutine may call it.
func (e *Executor) Interrupt(err error) {
	if err == nil {
		e.interruption.Store(nil)
		return
	}
	e.interruption.Store(&err)
}

// Active tells whether a feature is active in the pending block, or without one
// after the head.
func (e *Executor) Active(f feature.Codename) bool { return e.active(f) }

// Fail is Interrupt for ever: the node cannot go on. Any goroutine may call it.
func (e *Executor) Fail(err error) { e.failure.Store(&err) }

func (e *Executor) interruptCause() error {
	if err := e.failure.Load(); err != nil {
		return *err
	}
	if err := e.interruption.Load(); err != nil {
		return *err
	}
	return nil
}

// now reads the clock, unless nobody wants to know.
func (e *Executor) now() time.Time {
	if e.watched || e.speculative() {
		return time.Now()
	}
	return time.Time{}
}

// speculative tells whether the pending block is made here, and not validated.
func (e *Executor) speculative() bool {
	return e.block != nil && (e.block.status == Incomplete || e.block.status == Ephemeral)
}

// skipChecks tells whether the pending block's transactions are known to be good
// (Leap: light_validation_allowed).
func (e *Executor) skipChecks() bool {
	if e.block == nil || e.requiring {
		return false
	}
	switch e.block.status {
	case Irreversible, Validated:
		return !e.opt.ForceAllChecks
	case Complete:
		return e.opt.LightValidation || e.block.trusted
	}
	return false
}

// SkipsChecks tells whether the pending block's transactions are known to be good, so
// that nobody asks for their keys.
func (e *Executor) SkipsChecks() bool { return e.skipChecks() }

// skipSessions tells whether the pending block's transactions cannot fail.
func (e *Executor) skipSessions() bool {
	return e.block != nil && e.block.status == Irreversible && !e.opt.DisableReplayOpts && !e.requiring
}

// checking begins what is always checked, and returns what ends it.
func (e *Executor) checking() func() {
	was := e.requiring
	e.requiring = true
	return func() { e.requiring = was }
}

func (e *Executor) ramBillingInNotifyAllowed() bool {
	return e.opt.NoMitigations || e.opt.NotifyBilling || !e.speculative()
}

// active is Active, from the second question on without looking it up.
func (e *Executor) active(f feature.Codename) bool {
	block := e.head.BlockNum
	if e.block != nil {
		block++
	}
	if e.activeAt != block {
		e.activeAt, e.activeBits = block, 0
		for _, n := range feature.Codenames() {
			if e.features.IsActive(n, block) {
				e.activeBits |= 1 << n
			}
		}
	}
	return e.activeBits&(1<<f) != 0
}

// wasmLimits are the limits of running contracts.
func (e *Executor) wasmLimits() (wasm.Limits, error) {
	if !e.active(feature.ConfigurableWasmLimits) {
		return wasm.DefaultLimits(), nil
	}
	g, err := e.state.Global.Get()
	if err != nil {
		return wasm.Limits{}, err
	}
	return wasm.RuntimeLimits(g.Wasm), nil
}

// codeRules are the rules for new contracts.
func (e *Executor) codeRules(limits *types.WasmConfig, allowed []string) wasm.Rules {
	r := wasm.Rules{Speculative: e.speculative(), Import: func(name string) (*wasm.Function, bool) {
		if !isListed(allowed, name) {
			if intrinsic.Forked(name) {
				return nil, false // the chain's nodes do not have it
			}
			return e.shared.imports[name], false
		}
		return e.shared.imports[name], true
	}}
	if e.active(feature.ConfigurableWasmLimits) {
		r.Limits = limits
	}
	return r
}

// Recycle lets the next transaction use the memory of the last one that succeeded, its
// trace included, if nobody was told of it. Only who pushed it may call it, and may not
// look at the trace any more.
func (e *Executor) Recycle() {
	if !e.watched {
		e.spare = e.last
	}
	e.last = nil
}

// isListed tells whether a name is in an ascending list.
func isListed(list []string, name string) bool {
	_, found := slices.BinarySearch(list, name)
	return found
}
