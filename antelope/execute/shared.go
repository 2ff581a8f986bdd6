package execute

import (
	"log/slog"
	"sync/atomic"
	"time"

	"tarn/antelope/feature"
	"tarn/antelope/resource"
	"tarn/antelope/types"
	"tarn/antelope/wasm"
	"tarn/antelope/wasm/intrinsic"
)

// Options are what a node's operator decides about the execution of transactions, once
// for all. The zero value checks everything.
type Options struct {
	Features *feature.Set // what is recognised; nil for all builtins with their defaults
	Policy                // that a chain begins with

	Console              bool   // keep what contracts print
	ForceAllChecks       bool   // check replayed blocks as if they were new
	DisableReplayOpts    bool   // replay with a session for each transaction
	LightValidation      bool   // trust the producers of signed blocks
	Speculative          bool   // keep transactions in blocks that are no one's (read-mode)
	SignatureCPUPercent  uint32 // of finding keys, billed; 1 % is 100
	MaxVariableSignature uint32 // bytes of a WebAuthn signature's variable parts
	NoMitigations        bool   // disable-all-subjective-mitigations
	NotifyBilling        bool   // disable-ram-billing-notify-checks

	// GenesisIntrinsics are host functions that contracts of a new chain may import besides
	// those of [intrinsic.GenesisOf]. A state that exists has its own list.
	GenesisIntrinsics []string
	MissingIntrinsics bool // take a state whose list names functions that this program lacks

	// Memory, in bytes: of compiled contracts, and of the instances that each of those who
	// execute keeps; 0 for the default.
	CacheBytes, InstanceBytes int64
	Log                       *slog.Logger // nil for nobody
}

// logger is Log, or nobody.
func (o *Options) logger() *slog.Logger {
	if o.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Log
}

// Policy is what an operator may decide anew while the node runs. It counts only in
// blocks that this node makes. Its maps are never changed.
type Policy struct {
	Lists         Lists
	Leeway        time.Duration       // how much longer than accounts can pay; subjective-cpu-leeway-us
	GreylistLimit uint32              // the multiple of their stake that accounts may use, 1 to 1000; 0 means 1000
	Greylist      map[types.Name]bool // accounts that only their own stake counts of
}

// Multiple is the multiple of their stake that accounts may use, 1 to 1000.
func (p *Policy) Multiple() uint32 { return p.greylistLimit(0) }

// greylistLimit is the same of an account.
func (p *Policy) greylistLimit(n types.Name) uint32 {
	switch {
	case p.Greylist[n]:
		return 1
	case p.GreylistLimit == 0:
		return resource.MaxElasticMultiplier
	}
	return p.GreylistLimit
}

// Shared is what those who execute on one chain's states share: what the operator has
// decided, compiled contracts, and the functions that contracts import. Any goroutine
// may use it.
type Shared struct {
	opt     Options
	policy  atomic.Pointer[Policy]
	cache   *wasm.Cache
	imports map[string]*wasm.Function
}

// NewShared makes it; it must be closed after all who use it.
func NewShared(o Options) (*Shared, error) {
	var err error
	if o.Features, err = o.features(); err != nil {
		return nil, err
	}
	o.Log = o.logger()
	functions := intrinsic.Functions()
	s := &Shared{opt: o, imports: make(map[string]*wasm.Function, len(functions))}
	s.SetPolicy(o.Policy)
	for i := range functions {
		s.imports[functions[i].Name] = &functions[i]
	}
	s.cache, err = wasm.NewCache(wasm.Options{Functions: functions, CacheBytes: o.CacheBytes,
		InstanceBytes: o.InstanceBytes})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Close frees the compiled contracts.
func (s *Shared) Close() error { return s.cache.Close() }

// Options are what was decided at the start, with what was left out there.
func (s *Shared) Options() *Options { return &s.opt }

// Policy is what the operator decided last.
func (s *Shared) Policy() Policy { return *s.policy.Load() }

// SetPolicy replaces it, from the next transaction on.
func (s *Shared) SetPolicy(p Policy) { s.policy.Store(&p) }
