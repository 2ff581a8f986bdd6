package execute

import (
	"math"
	"time"

	"tarn/antelope/exception"
	"tarn/antelope/types"
)

// timer knows how long a transaction has run, may run, and what it is billed
// (Leap: transaction_context's deadlines). All durations are microseconds.
type timer struct {
	t     *transaction
	start time.Time

	blockDeadline time.Time // the caller's, zero for none
	maxTime       int64     // the node's, 0 for none
	explicit      bool
	cpu           int64 // billed
	subjective    int64 // held against the account besides
	leeway        int64

	off              bool // replayed: nothing is timed
	objective        int64
	initialObjective int64
	duration         int64 // until the deadline
	reason           cpuReason
	billing          *exception.Kind // of a bill that is too high
	kind             *exception.Kind // of what happens at the deadline
	account          int64           // what the accounts can pay
	greylisted       bool

	paused  time.Time // when it was, zero if it runs
	waiting int64     // how long it has been paused
}

// cpuReason says which limit made the deadline.
type cpuReason uint8

const (
	accountLimit cpuReason = iota
	onChainLimit
	ownLimit
	nodeLimit
	speculativeLimit
)

// forever is longer than any transaction runs.
const forever = math.MaxInt64 / 4

func (x *timer) begin(t *transaction, start time.Time, b Billing) {
	*x = timer{
		t: t, start: start, blockDeadline: b.Deadline, maxTime: b.MaxTime,
		explicit: b.Explicit, cpu: b.CPU, subjective: b.Subjective,
		leeway: defaultLeeway, billing: exception.BlockCPUUsageExceeded,
	}
}

// limitObjective lowers what the chain's rules allow.
func (x *timer) limitObjective(us int64, reason cpuReason) {
	x.objective, x.reason, x.billing = us, reason, exception.TxCPUUsageExceeded
}

// limitAccount ends the transaction where the accounts can pay no more, give or
// take the leeway.
func (x *timer) limitAccount(us int64) {
	x.account = us
	x.duration = x.objective
	if us+x.leeway <= x.duration {
		x.duration, x.billing = us+x.leeway, exception.LeewayDeadline
	}
}

// limitSubjective applies the bounds of the node and of the caller.
func (x *timer) limitSubjective() {
	if x.t.kind == ReadOnly {
		x.duration = x.objective
		if whole := x.billing == exception.BlockCPUUsageExceeded; whole && (x.maxTime <= 0 || x.maxTime > x.objective) {
			x.maxTime = x.objective // the next block would have no more
		}
	}
	if x.maxTime > 0 && x.maxTime <= x.duration {
		x.duration, x.billing, x.reason = x.maxTime, exception.TxCPUUsageExceeded, nodeLimit
		if x.cpu > 0 {
			x.reason = speculativeLimit
		}
	}
	if until := x.untilBlockDeadline(); until < x.duration {
		x.duration, x.billing = until, exception.Deadline
	}
}

func (x *timer) untilBlockDeadline() int64 {
	if x.blockDeadline.IsZero() {
		return forever
	}
	return x.blockDeadline.Sub(x.start).Microseconds()
}

// estimate refuses early what an earlier execution showed to be too long.
func (x *timer) estimate() error {
	if x.explicit {
		return nil
	}
	can := x.account - x.subjective + x.leeway
	if x.subjective > 0 && can < x.duration {
		x.duration, x.billing, x.reason = can, exception.TxCPUUsageExceeded, accountLimit
	}
	if can > 0 {
		can -= can * 1000 / 10000
	}
	can = max(can, 0)
	if x.cpu < 0 || x.t.e.skipChecks() {
		return nil
	}
	byAccount := can <= x.objective
	if !byAccount && x.billing == exception.BlockCPUUsageExceeded {
		if x.cpu < x.objective {
			return nil
		}
		return exception.New(exception.BlockCPUUsageExceeded,
			"estimated CPU time (${billed} us) is not less than the billable CPU time left in the block "+
				"(${billable} us)", "billed", x.cpu, "billable", x.objective)
	}
	limit := x.objective
	if byAccount {
		limit = can
	}
	if x.cpu < limit {
		return nil
	}
	kind, word := exception.TxCPUUsageExceeded, ""
	if x.greylisted && byAccount {
		kind, word = exception.GreylistCPUUsageExceeded, " greylisted"
	}
	return exception.New(kind, "estimated CPU time (${billed} us) is not less than the maximum"+word+
		" billable CPU time for the transaction (${billable} us)"+x.subjectively()+
		" reached account cpu limit ${limit}us",
		"billed", x.cpu, "billable", limit, "subjective", x.subjective, "limit", limit)
}

func (x *timer) subjectively() string {
	if x.subjective <= 0 {
		return ""
	}
	return " with a subjective cpu of (${subjective} us)"
}

// arm fixes the deadline. What is billed explicitly may run as long as the caller
// says.
func (x *timer) arm() {
	x.kind = x.billing
	if x.explicit {
		x.duration, x.kind = x.untilBlockDeadline(), exception.Deadline
	}
}

// elapsedTime is how long the transaction has run, pauses included.
func (x *timer) elapsedTime() int64 { return x.t.e.now().Sub(x.start).Microseconds() }

// ran is the same without the pauses.
func (x *timer) ran() int64 { return x.elapsedTime() - x.waiting }

// pause stops the clock while something runs that is not the transaction's fault.
func (x *timer) pause() {
	if !x.explicit && x.paused.IsZero() {
		x.paused = time.Now()
	}
}

// resume starts it again.
func (x *timer) resume() {
	if x.explicit || x.paused.IsZero() {
		return
	}
	x.waiting += time.Since(x.paused).Microseconds()
	x.paused = time.Time{}
	if until := x.untilBlockDeadline() - x.waiting; until < x.duration {
		x.duration, x.kind = until, exception.Deadline
	}
}

// check fails when time is over.
func (x *timer) check() error { return x.checkFor(0) }

// checkFor fails when time will be over after so much more work.
func (x *timer) checkFor(work time.Duration) error {
	if x.off || x.duration >= forever {
		return x.t.e.interruptCause()
	}
	ran := (time.Since(x.start) + work).Microseconds() - x.waiting
	if ran <= x.duration {
		return x.t.e.interruptCause()
	}
	return x.over(ran)
}

// over is what a transaction fails with that has run for too long.
func (x *timer) over(ran int64) error {
	start := types.TimePoint(x.start.UnixMicro())
	now, deadline := start+types.TimePoint(ran+x.waiting), start+types.TimePoint(x.duration+x.waiting)
	switch x.kind {
	case exception.BlockCPUUsageExceeded:
		return exception.New(x.kind,
			"not enough time left in block to complete executing transaction ${billing_timer}us",
			"now", now, "deadline", deadline, "start", start, "billing_timer", ran)
	case exception.LeewayDeadline:
		return exception.New(x.kind, "the transaction was unable to complete by deadline, "+
			"but it is possible it could have succeeded if it were allowed to run to completion ${billing_timer}",
			"now", now, "deadline", deadline, "start", start, "billing_timer", ran)
	case exception.TxCPUUsageExceeded:
		kind, word := x.kind, ""
		if x.greylisted {
			kind, word = exception.GreylistCPUUsageExceeded, "greylisted "
		}
		because, limit := x.because()
		return exception.New(kind, word+"transaction ${id} was executing for too long ${billing_timer}us"+
			x.subjectively()+because,
			"id", x.t.id, "billing_timer", ran, "subjective", x.subjective, "limit", limit)
	}
	return exception.New(exception.Deadline, "deadline exceeded ${billing_timer}us",
		"billing_timer", ran, "now", now, "deadline", deadline, "start", start)
}

// because says which limit of CPU was reached, and how many us it is.
func (x *timer) because() (format string, limit int64) {
	switch x.reason {
	case onChainLimit:
		return " reached on chain max_transaction_cpu_usage ${limit}us", x.objective
	case ownLimit:
		return " reached trx specified max_cpu_usage_ms ${limit}us", x.objective
	case nodeLimit:
		return " reached node configured max-transaction-time ${limit}us", x.maxTime
	case speculativeLimit:
		return " reached speculative executed adjusted trx max time ${limit}us", x.maxTime
	}
	return " reached account cpu limit ${limit}us", x.objective
}

// bill sets what the transaction is billed, unless that was given.
func (x *timer) bill(cfg *types.ChainConfig) {
	if !x.explicit {
		x.cpu = max(x.ran(), int64(cfg.MinTransactionCPUUsage))
	}
}

// validate checks what is billed against what the chain and the account allow.
func (x *timer) validate(cfg *types.ChainConfig, cpu, account int64, minimum bool) error {
	if x.t.e.skipChecks() {
		return nil
	}
	if minimum && cpu < int64(cfg.MinTransactionCPUUsage) {
		return exception.New(exception.Transaction, "cannot bill CPU time less than the minimum of ${min_billable} us",
			"min_billable", cfg.MinTransactionCPUUsage, "billed_cpu_time_us", cpu)
	}
	if cpu <= 0 {
		return nil
	}
	byAccount := account <= x.objective
	if !byAccount && x.billing == exception.BlockCPUUsageExceeded {
		if cpu <= x.objective {
			return nil
		}
		return exception.New(exception.BlockCPUUsageExceeded,
			"billed CPU time (${billed} us) is greater than the billable CPU time left in the block (${billable} us)",
			"billed", cpu, "billable", x.objective)
	}
	limit := x.objective
	if byAccount {
		limit = account
	}
	if cpu <= limit {
		return nil
	}
	kind, word := exception.TxCPUUsageExceeded, ""
	if x.greylisted && byAccount {
		kind, word = exception.GreylistCPUUsageExceeded, " greylisted"
	}
	because, reached := x.because()
	return exception.New(kind, "billed CPU time (${billed} us) is greater than the maximum"+word+
		" billable CPU time for the transaction (${billable} us)"+x.subjectively()+because,
		"billed", cpu, "billable", limit, "subjective", x.subjective, "limit", reached)
}
