package execute

import (
	"time"

	"tarn/antelope/consensus"
	"tarn/antelope/exception"
	"tarn/antelope/types"
)

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

// Block is the block that is being built or validated, which is said to be pending.
type Block struct {
	e               *Executor
	header          *consensus.PendingHeader
	status          Status
	producerBlockID *types.Checksum256 // of the block that is validated
	activations     []types.Checksum256
	activated       int                     // how many of them have happened
	schedule        *types.ProducerSchedule // promoted in this block
	trusted         bool                    // its producer is

	receipts   []types.TransactionReceipt
	digests    []types.Checksum256 // of receipts; unused if root is known
	root       *types.Checksum256  // of the transactions, from the block that is validated
	claimed    *types.BlockHeader  // of the block that is validated
	hash       bool                // a hasher is to compute the roots of actions
	actions    leaves              // of receipts of actions
	kinds      leafKinds           // which of them there are
	hasher     *Hasher             // computes them and their roots, if it is not nil
	proposed   proposals           // by transactions that succeeded
	savanna    types.Checksum256   // root of actions, once the block is finished
	executed   int                 // how many action receipts there are
	candidates []*Candidate        // input transactions that are in the block, if it is made here
	applied    []Transaction       // that left a receipt, if somebody records them
	report     Report
}

// Status is that of the block.
func (b *Block) Status() Status { return b.status }

// Header is what is known of the block's header before the block is finished.
func (b *Block) Header() *consensus.PendingHeader { return b.header }

// Candidates are the input transactions that are in the block; none for a block of another.
func (b *Block) Candidates() []*Candidate { return b.candidates }

// Receipts are those that the block has so far.
func (b *Block) Receipts() []types.TransactionReceipt { return b.receipts }

// Transactions are those that left a receipt, if they are kept ([Watch]).
func (b *Block) Transactions() []Transaction { return b.applied }

// Report is what the transactions in the block used and took. The times are the
// caller's to correct.
func (b *Block) Report() *Report { return &b.report }

// Executed is how many receipts of actions the block has.
func (b *Block) Executed() int { return b.executed }

// Hasher computes the block's action root, nil if nobody does so beside.
func (b *Block) Hasher() *Hasher { return b.hasher }

// blockMark is where a block stood.
type blockMark struct{ receipts, digests int }

func (b *Block) mark() blockMark {
	return blockMark{len(b.receipts), len(b.digests)}
}

func (b *Block) restore(m blockMark) {
	b.receipts, b.digests = b.receipts[:m.receipts], b.digests[:m.digests]
}

// takeOver adds what a transaction that succeeded did and proposed. The transaction is still open.
func (b *Block) takeOver(t *transaction) error {
	b.executed += len(t.receipts)
	if b.hasher != nil {
		b.hasher.add(t.jobs)
	} else {
		b.actions.append(&t.leaves)
	}
	return b.propose(&t.proposed)
}

func (b *Block) push(r types.TransactionReceipt) {
	b.receipts = append(b.receipts, r)
	if b.root == nil {
		b.digests = append(b.digests, r.Digest())
	}
}

// Report is what the transactions of a block used and took.
type Report struct {
	Net, CPU uint64        // bytes, and microseconds as billed
	Elapsed  time.Duration // in transactions
	Total    time.Duration // from the block's start to its end; of a validated block
}

// Transaction is one that was executed in a block.
type Transaction struct {
	// Trace is that of the handler if a deferred transaction failed and was handled.
	Trace *types.TransactionTrace
	Kind  Kind
	// Raw is the transaction, encoded: of a scheduled one as the state had it.
	Raw []byte
	// Signed is the transaction as it came; nil if nobody signed it.
	Signed *types.PackedTransaction
}

// time is the block's.
func (b *Block) time() types.TimePoint { return b.header.Timestamp.TimePoint() }

// nextSchedule is the schedule that waits to become active, as the block leaves it.
func (b *Block) nextSchedule() *types.ProducerSchedule {
	if b.schedule != nil {
		return b.schedule
	}
	return b.header.PrevPending.Schedule
}

// Schedules returns those that the block began with.
func (b *Block) Schedules() *consensus.Schedules {
	return &consensus.Schedules{Previous: b.header.Previous, Active: b.header.ActiveSchedule,
		Pending: b.nextSchedule(), Promoted: b.schedule != nil}
}

// featureActivated tells whether a feature is active. Those that the block activates
// count once their activation has happened.
func (b *Block) featureActivated(digest types.Checksum256) bool {
	if b.header.Activated.Has(digest) {
		return true
	}
	for _, d := range b.activations[:b.activated] {
		if d == digest {
			return true
		}
	}
	return false
}

// count adds a transaction that is no attempt to the block's report.
func (b *Block) count(trace *types.TransactionTrace) {
	r := &b.report
	r.Net += trace.NetUsage
	if trace.Receipt != nil {
		r.CPU += uint64(trace.Receipt.CPUUsageUS)
	}
	r.Elapsed += time.Duration(trace.Elapsed) * time.Microsecond
}

// keepTrace keeps what was executed for those who record the block.
func (b *Block) keepTrace(x Transaction) {
	if b.e.watch.Keep && x.Trace.Receipt != nil {
		b.applied = append(b.applied, x)
	}
}

// pushReceipt adds a receipt with what the transaction used of the network, in bytes.
func (b *Block) pushReceipt(trace *types.TransactionTrace, r types.TransactionReceipt, net uint64) error {
	if net%8 != 0 {
		return exception.New(exception.Transaction, "net_usage is not divisible by 8")
	}
	r.NetUsageWords = uint32(net / 8)
	trace.Receipt = &types.TransactionReceiptHeader{Status: r.Status, CPUUsageUS: r.CPUUsageUS,
		NetUsageWords: r.NetUsageWords}
	b.push(r)
	return nil
}
