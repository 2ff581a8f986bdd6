package producer

import (
	"errors"
	"log/slog"
	"time"

	"tarn/antelope/admintypes"
	"tarn/antelope/types"
	"tarn/store/vfs"
)

// Options are what an operator decides about a node's writer. [Defaults] are those
// of nodeos.
type Options struct {
	Producers []types.Name                          // producer-name
	Signers   map[types.PublicKey]SignatureProvider // signature-provider

	StaleProduction    bool          // enable-stale-production
	Paused             bool          // pause-on-startup
	MaxTransactionTime time.Duration // max-transaction-time; below 0 for no bound
	MaxIrreversibleAge time.Duration // max-irreversible-block-age; below 0 for any age
	MaxReversible      uint32        // max-reversible-blocks, of Spring's chain; 0 for any number
	// production-pause-vote-timeout-ms: without a vote for so long no block is made; 0 for never
	VotePause     time.Duration
	ProduceOffset time.Duration // produce-block-offset-ms, of a round of 12 blocks
	MaxBlockCPU   time.Duration // max-block-cpu-usage-threshold-us: with less left a block is full
	MaxBlockNet   uint64        // max-block-net-usage-threshold-bytes
	Leeway        time.Duration // subjective-cpu-leeway-us

	MaxFailures      uint32        // subjective-account-max-failures
	FailureWindow    uint32        // subjective-account-max-failures-window-size, in blocks
	DecayTime        time.Duration // subjective-account-decay-time-minutes
	UnbilledAccounts []types.Name  // disable-subjective-account-billing
	NoP2PBilling     bool          // disable-subjective-p2p-billing
	NoAPIBilling     bool          // disable-subjective-api-billing
	QueueBytes       uint64        // incoming-transaction-queue-size-mb

	Greylist      []types.Name // greylist-account
	GreylistLimit uint32       // greylist-limit, 1 to 1000

	SnapshotsDir   string // of snapshots and their schedule; it is made if need be. "" for none
	Files          vfs.FS // where their names, and the schedule, are made durable; nil is vfs.OS
	NoTransactions bool   // neither peers nor the API give any: no block is begun here
	StopAt         uint32 // terminate-at-block; 0 for never
	MaxSignature   uint32 // maximum-variable-signature-length, bytes
	Readers        int    // transactions that leave nothing executed at once; 0 is 1
	// Waits tells whether much of the state is read from the disk: then what the writer is going to execute is rehearsed.
	// nil: it never is.
	Waits        func() bool
	Irreversible bool // the chain applies irreversible blocks only; New takes it from the chain

	// Log takes the lines of the default logger. Logger names others, as
	// logging.json does (producer_plugin, transaction_success_tracing, ...); nil,
	// or nil from it, is Log for producer_plugin, and nothing for the others.
	Log    *slog.Logger
	Logger func(name string) *slog.Logger
}

// Defaults are the options of a nodeos without any.
func Defaults() Options {
	return Options{
		MaxTransactionTime: 499 * time.Millisecond, MaxIrreversibleAge: -time.Second,
		ProduceOffset: 450 * time.Millisecond,
		MaxBlockCPU:   5 * time.Millisecond, MaxBlockNet: 1024, Leeway: 31 * time.Millisecond,
		MaxFailures: 3, FailureWindow: 1, DecayTime: 24 * time.Hour, NoP2PBilling: true, NoAPIBilling: true,
		MaxReversible: 3600, VotePause: 6 * time.Second,
		QueueBytes: 1 << 30, GreylistLimit: 1000, MaxSignature: 16384,
	}
}

// Validate checks the options. Its error joins a *admintypes.BadOption for each mistake.
func (o *Options) Validate() error {
	var errs []error
	bad := func(is bool, format string, args ...any) {
		if is {
			errs = append(errs, admintypes.NewBadOption(format, args...))
		}
	}
	const round = 12 * blockInterval
	bad(o.Log == nil, "no log")
	bad(o.ProduceOffset < 0 || o.ProduceOffset >= round, "produce-block-offset-ms %d must be [0 - %d)",
		o.ProduceOffset.Milliseconds(), round.Milliseconds())
	bad(o.VotePause < 0, "production-pause-vote-timeout-ms must not be negative")
	bad(o.MaxBlockCPU < 0 || o.MaxBlockCPU >= blockInterval, "max-block-cpu-usage-threshold-us %d must be 0 .. %d",
		o.MaxBlockCPU.Microseconds(), blockInterval.Microseconds())
	bad(o.FailureWindow == 0, "subjective-account-max-failures-window-size %d must be greater than 0", o.FailureWindow)
	bad(o.DecayTime <= 0, "subjective-account-decay-time-minutes %d must be greater than 0",
		int64(o.DecayTime.Minutes()))
	bad(o.QueueBytes == 0, "incoming-transaction-queue-size-mb %d must be greater than 0", o.QueueBytes>>20)
	bad(o.Readers < 0, "read-only-threads %d must not be below 0", o.Readers)
	bad(o.GreylistLimit == 0 || o.GreylistLimit > 1000, "greylist-limit %d must be 1 .. 1000", o.GreylistLimit)
	bad(o.Irreversible && len(o.Producers) > 0,
		"node cannot have any producer-name configured because block production is impossible when read_mode is "+
			"\"irreversible\": take out producer-name, or set read-mode to head")
	bad(!o.Irreversible && o.NoTransactions && len(o.Producers) > 0,
		"node cannot have any producer-name configured because no block production is possible with no "+
			"[api|p2p]-accepted-transactions")
	return errors.Join(errs...)
}

// isProducer tells whether a producer is one of this node's.
func (o *Options) isProducer(n types.Name) bool {
	for _, x := range o.Producers {
		if x == n {
			return true
		}
	}
	return false
}
