// Package chain is the controller of an Antelope chain: it takes a genesis or a
// snapshot, and blocks, and arrives at exactly the state that nodeos (Leap 5.0)
// arrives at. It owns the rules of transactions, actions and blocks, the pending
// block, the switching between forks, and when what becomes irreversible, durable
// and visible.
//
// It opens no files: the store, the block log and the file of reversible blocks are
// given to it. It reads the clock only to measure and to limit transactions that
// are not in a block yet. State never depends on time, on goroutines or on the
// engine.
//
// # Goroutines
//
// One goroutine, the writer, calls the methods of [Chain]. Any goroutine may call
// [Chain.View], [Chain.Fork], the functions that prepare blocks and transactions for
// the writer ([NewCandidate], [Chain.Prepare]), and make a [Reader], which executes
// transactions that leave nothing.
package chain

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"tarn/antelope/authority"
	"tarn/antelope/consensus"
	"tarn/antelope/control"
	"tarn/antelope/crypto"
	"tarn/antelope/exception"
	"tarn/antelope/feature"
	"tarn/antelope/resource"
	"tarn/antelope/state"
	"tarn/antelope/types"
	"tarn/antelope/wasm"
	"tarn/antelope/wasm/intrinsic"
	"tarn/store"
)

// Options are what a node's operator decides about the chain. The zero value is a
// node that validates everything.
type Options struct {
	Features *feature.Set // what is recognised; nil for all builtins with their defaults
	Lists    control.Lists

	Console              bool                         // keep what contracts print
	ForceAllChecks       bool                         // check replayed blocks as if they were new
	DisableReplayOpts    bool                         // replay with a session for each transaction
	LightValidation      bool                         // trust the producers of signed blocks
	TrustedProducers     []types.Name                 // trust these
	Checkpoints          map[uint32]types.Checksum256 // ids that blocks of these numbers must have
	Speculative          bool                         // keep transactions in blocks that are no one's (read-mode)
	Leeway               time.Duration                // how much longer than accounts can pay; subjective-cpu-leeway-us
	SignatureCPUPercent  uint32                       // of finding keys, billed; 1 % is 100
	MaxVariableSignature uint32                       // bytes of a WebAuthn signature's variable parts
	NoMitigations        bool                         // disable-all-subjective-mitigations
	NotifyBilling        bool                         // disable-ram-billing-notify-checks
	GreylistLimit        uint32                       // 1 to 1000, 0 means 1000
	Greylist             map[types.Name]bool

	Blocks           BlockLog      // nil for none
	Reversible       ReversibleLog // nil for none
	IrreversibleMode bool          // apply only what is irreversible (read-mode)
	StopAt           uint32        // apply no block after this one (terminate-at-block); 0 for no end
	Threads          int           // that unpack and check blocks ahead of the writer; 0 is 1

	// Memory, in bytes: of compiled contracts, of the instances that each of those who
	// execute keeps, and of keys that are prepared to be checked; 0 for the default.
	CacheBytes, InstanceBytes, KeyBytes int64
	Log                                 *slog.Logger
	// Hooks are told from the first block on, before those of Chain.Subscribe.
	Hooks Hooks
}

func (o *Options) greylistLimit(n types.Name) uint32 {
	switch {
	case o.Greylist[n]:
		return 1
	case o.GreylistLimit == 0:
		return resource.MaxElasticMultiplier
	}
	return o.GreylistLimit
}

// Chain is the controller. See the package comment for goroutines.
type Chain struct {
	opt       Options
	store     store.Store
	state     *state.State
	resources *resource.Manager
	authority *authority.Manager
	features  *feature.History
	fork      *consensus.ForkDatabase
	cache     *wasm.Cache
	machine   *wasm.Machine
	imports   map[string]*wasm.Function

	chainID     types.Checksum256
	signers     *crypto.Signers
	signed      sync.Pool // of *[]crypto.Signed
	head        *consensus.BlockState
	pending     *pendingBlock
	prepared    map[types.Checksum256]*Prepared // of blocks that are being pushed; in irreversible mode of those that wait to be applied
	batch       batch
	actions     []*action            // by depth, used again and again
	last, spare *transaction         // the last one that succeeded; one to be used again
	sequences   []types.AuthSequence // of receipts, which point into it
	// digests and actionDigests are memory of the last block's, hashed that of chunks
	// of receipts.
	digests, actionDigests []types.Checksum256
	hashed                 chan []receiptJob
	timed                  bool // somebody looks at how long things take
	hooks                  hooks
	report                 Report        // of the last block
	worked                 time.Duration // on all blocks

	activeAt     uint32 // block that activeBits are of
	activeBits   uint32
	requiring    bool // a transaction that is always checked is being executed
	trusting     bool // the pending block's producer is trusted
	interruption atomic.Pointer[error]
	decided      atomic.Pointer[Options] // for readers
}

// Status is what is known about a block before it is applied (Leap:
// controller::block_status).
type Status uint8

// The statuses.
const (
	Irreversible Status = iota // from the block log
	Validated                  // applied before
	Complete                   // signed, not yet validated
	Incomplete                 // being produced
	Ephemeral                  // speculative: no one will ever sign it
)

// Open makes a chain of a store that holds the state of a block, or nothing: then
// Genesis or a snapshot must follow. The store stays the caller's to close.
func Open(st store.Store, o Options) (*Chain, error) {
	if o.Features == nil {
		set, err := feature.Builtins()
		if err != nil {
			return nil, err
		}
		o.Features = set
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	c, err := assemble(st, o)
	if err != nil {
		return nil, err
	}
	c.share()
	functions := intrinsic.Functions()
	c.imports = make(map[string]*wasm.Function, len(functions))
	for i := range functions {
		c.imports[functions[i].Name] = &functions[i]
	}
	if c.cache, err = wasm.NewCache(wasm.Options{Functions: functions, CacheBytes: o.CacheBytes, InstanceBytes: o.InstanceBytes}); err != nil {
		return nil, err
	}
	c.machine = c.cache.NewMachine()
	if err := c.load(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// assemble makes the part of a chain that is about one store: it has nothing yet to
// run contracts with.
func assemble(st store.Store, o Options) (*Chain, error) {
	s, err := state.Open(st)
	if err != nil {
		return nil, err
	}
	c := &Chain{
		opt: o, store: st, state: s, resources: resource.New(s),
		features: feature.NewHistory(o.Features), fork: consensus.NewForkDatabase(),
		signers: crypto.NewSigners(o.KeyBytes),
		signed:  sync.Pool{New: func() any { return new([]crypto.Signed) }},
		hashed:  make(chan []receiptJob, chunksAhead),
	}
	c.Subscribe(o.Hooks)
	c.authority = authority.New(s, authority.Options{
		LinkRestrictionFixed: func() bool { return c.active(feature.FixLinkauthRestriction) },
	})
	return c, nil
}

// share tells readers what the operator has decided. They have no files, and nobody
// is told what they do.
func (c *Chain) share() {
	o := c.opt
	o.Blocks, o.Reversible, o.Hooks = nil, nil, Hooks{}
	c.decided.Store(&o)
}

// Close frees what the chain holds besides the store.
func (c *Chain) Close() error {
	return errors.Join(c.machine.Close(), c.cache.Close())
}

// load reads where the state stands.
func (c *Chain) load() error {
	empty, err := c.state.Empty()
	if err != nil || empty {
		return err
	}
	b, err := c.state.Head()
	if err != nil {
		return err
	}
	h := new(consensus.HeaderState)
	if err := types.Decode(b, h); err != nil {
		return fmt.Errorf("decode the head of the chain state: %w", err)
	}
	if uint64(h.BlockNum) > c.store.Head() {
		// The image of a batch, made before the batch got its number. Its blocks are
		// irreversible, even if the image was made before that was said.
		if err := c.store.Commit(c.store.Head()); err != nil {
			return err
		}
		if err := c.store.SetRevision(uint64(h.BlockNum)); err != nil {
			return err
		}
	}
	if uint64(h.BlockNum) != c.store.Head() {
		return fmt.Errorf("the head of the chain state is block %d, its revision %d: %w", h.BlockNum, c.store.Head(), state.ErrFormat)
	}
	c.head = &consensus.BlockState{HeaderState: h}
	g, err := c.state.Global()
	if err != nil {
		return err
	}
	// Written once: goroutines that recover keys read it while a batch is dropped.
	if c.chainID == (types.Checksum256{}) {
		c.chainID = g.ChainID
	}
	return c.loadFeatures()
}

// ID is the chain's id; zero in an empty state.
func (c *Chain) ID() types.Checksum256 { return c.chainID }

// loadFeatures makes the history of activations that of the state.
func (c *Chain) loadFeatures() error {
	p, err := c.state.Protocol()
	if err != nil {
		return err
	}
	c.features = feature.NewHistory(c.opt.Features)
	for _, a := range p.Activated {
		if err := c.features.Activate(a.Digest, a.Block); err != nil {
			return err
		}
	}
	c.activeAt = 0
	return nil
}

// Head is the newest block that was applied; nil in an empty state.
func (c *Chain) Head() *consensus.BlockState { return c.head }

// State is the writer's state, between blocks.
func (c *Chain) State() *state.State { return c.state }

// View shows what was published last to a reader, on any goroutine.
func (c *Chain) View() (*state.View, error) { return c.state.View() }

// Fork is the tree of blocks above the last irreversible one.
func (c *Chain) Fork() *consensus.ForkDatabase { return c.fork }

// Interrupt makes the transaction that is being executed, and all after it, fail
// with err; nil ends that. Any goroutine may call it.
func (c *Chain) Interrupt(err error) {
	if err == nil {
		c.interruption.Store(nil)
		return
	}
	c.interruption.Store(&err)
}

func (c *Chain) interrupted() error {
	if err := c.interruption.Load(); err != nil {
		return *err
	}
	return nil
}

// now reads the clock, unless nobody wants to know.
func (c *Chain) now() time.Time {
	if c.timed || c.speculative() {
		return time.Now()
	}
	return time.Time{}
}

// pendingTime is the time of the pending block.
func (c *Chain) pendingTime() types.TimePoint { return c.pending.header.Timestamp.TimePoint() }

// pendingSchedule is the schedule that waits to become active, as the pending
// block leaves it.
func (c *Chain) pendingSchedule() *types.ProducerSchedule {
	if c.pending.schedule != nil {
		return c.pending.schedule
	}
	return c.pending.header.PrevPending.Schedule
}

// speculative tells whether the pending block is made here, and not validated.
func (c *Chain) speculative() bool {
	return c.pending != nil && (c.pending.status == Incomplete || c.pending.status == Ephemeral)
}

// skipChecks tells whether the pending block's transactions are known to be good
// (Leap: light_validation_allowed).
func (c *Chain) skipChecks() bool {
	if c.pending == nil || c.requiring {
		return false
	}
	switch c.pending.status {
	case Irreversible, Validated:
		return !c.opt.ForceAllChecks
	case Complete:
		return c.opt.LightValidation || c.trusting
	}
	return false
}

// skipSessions tells whether the pending block's transactions cannot fail.
func (c *Chain) skipSessions() bool {
	return c.pending != nil && c.pending.status == Irreversible && !c.opt.DisableReplayOpts && !c.requiring
}

// checking begins what is always checked, and returns what ends it.
func (c *Chain) checking() func() {
	was := c.requiring
	c.requiring = true
	return func() { c.requiring = was }
}

func (c *Chain) ramBillingInNotifyAllowed() bool {
	return c.opt.NoMitigations || c.opt.NotifyBilling || !c.speculative()
}

// active tells whether a feature is active in the pending block, or without one
// after the head.
func (c *Chain) active(f feature.Codename) bool {
	block := c.head.BlockNum
	if c.pending != nil {
		block++
	}
	if c.activeAt != block {
		c.activeAt, c.activeBits = block, 0
		for _, n := range feature.Codenames() {
			if c.features.IsActive(n, block) {
				c.activeBits |= 1 << n
			}
		}
	}
	return c.activeBits&(1<<f) != 0
}

// featureActivated is the same by digest. Features that the pending block activates
// count once their activation has happened.
func (c *Chain) featureActivated(digest types.Checksum256) bool {
	if c.pending == nil {
		return c.head.Activated.Has(digest)
	}
	if c.pending.header.Activated.Has(digest) {
		return true
	}
	for _, d := range c.pending.activations[:c.pending.activated] {
		if d == digest {
			return true
		}
	}
	return false
}

// metadata returns an account's metadata, which must exist.
func (c *Chain) metadata(n types.Name) (*state.AccountMetadata, error) {
	m, err := c.state.Metadata.Get(n)
	if err == nil && m == nil {
		err = unknownKey(n)
	}
	return m, err
}

func (c *Chain) editMetadata(n types.Name) (*state.AccountMetadata, error) {
	if _, err := c.metadata(n); err != nil {
		return nil, err
	}
	return c.state.Metadata.Edit(n)
}

func (c *Chain) account(n types.Name) (*state.Account, error) {
	a, err := c.state.Accounts.Get(n)
	if err == nil && a == nil {
		err = unknownKey(n)
	}
	return a, err
}

// unknownKey is what chainbase throws for a missing row.
func unknownKey(n types.Name) error {
	return exception.Standard(exception.OutOfRange, "unknown key (eosio::chain::name): %s", n)
}

func missingRow(k state.RowKey) error {
	return fmt.Errorf("row %s %s %s %d of an iterator is missing: %w", k.Code, k.Scope, k.Table, k.Primary, store.ErrCorrupt)
}

// wasmLimits are the limits of running contracts.
func (c *Chain) wasmLimits() (wasm.Limits, error) {
	if !c.active(feature.ConfigurableWasmLimits) {
		return wasm.DefaultLimits(), nil
	}
	g, err := c.state.Global()
	if err != nil {
		return wasm.Limits{}, err
	}
	return wasm.RuntimeLimits(g.Wasm), nil
}

// codeRules are the rules for new contracts.
func (c *Chain) codeRules(limits *types.WasmConfig, allowed []string) wasm.Rules {
	r := wasm.Rules{Speculative: c.speculative(), Import: func(name string) (*wasm.Function, bool) {
		return c.imports[name], listed(allowed, name)
	}}
	if c.active(feature.ConfigurableWasmLimits) {
		r.Limits = limits
	}
	return r
}
