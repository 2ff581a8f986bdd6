package producer

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"tarn/antelope/consensus"
	"tarn/antelope/crypto"
	"tarn/antelope/exception"
	"tarn/antelope/execute"
	"tarn/antelope/types"
)

func recoverKey(s types.Signature, digest types.Checksum256) (types.PublicKey, error) {
	return crypto.Recover(s, digest, true)
}

// reportProduced says what was made. Scripts read this line.
func (p *Producer) reportProduced(b *consensus.BlockState, start time.Time) {
	r, lib := p.chain.Report(), p.chain.Fork().Root().BlockNum
	now := time.Now()
	total := r.Elapsed + now.Sub(start)
	p.log.main.Info(fmt.Sprintf("Produced block %s... #%d @ %s signed by %s "+
		"[trxs: %d, lib: %d, confirmed: %d, net: %d, cpu: %d, elapsed: %d, time: %d]",
		b.ID.String()[8:24], b.BlockNum, b.Header.Timestamp, b.Header.Producer,
		len(b.Block.Transactions), lib, b.Header.Confirmed, r.Net, r.CPU, r.Elapsed.Microseconds(), total.Microseconds()))
	p.clock.other(now)
	t := p.clock.report(now, b.BlockNum, b.Header.Producer)
	p.logTime(t)
	p.clock.reset(now)
	p.each(func(e *Events) {
		if e.Produced != nil {
			e.Produced(ProducedBlock{
				BlockTime: t, Unapplied: p.queue.len(), BilledAccounts: p.bills.len(), Transactions: len(b.Block.Transactions),
				CPU: r.CPU, Net: r.Net, Elapsed: r.Elapsed, Time: total, Irreversible: lib, Head: b.BlockNum,
			})
		}
	})
}

func (p *Producer) logTime(t BlockTime) {
	if !enabled(p.log.plugin) {
		return
	}
	p.log.plugin.Debug(fmt.Sprintf("Block #%d %s trx idle: %dus out of %dus, success: %d, %dus, fail: %d, %dus, transient: %d, %dus, other: %dus",
		t.Num, t.Producer, t.Idle.Microseconds(), t.Total.Microseconds(), t.Succeeded, t.SuccessTime.Microseconds(),
		t.Failed, t.FailTime.Microseconds(), t.Transient, t.Attempted.Microseconds(), t.Other.Microseconds()))
}

func enabled(l *slog.Logger) bool { return l.Enabled(context.Background(), slog.LevelDebug) }

// place says for the trace lines where a transaction was executed.
func (p *Producer) place() string {
	if !p.producing {
		return speculating
	}
	pending, _ := p.chain.Pending()
	return fmt.Sprintf("Block %d for producer %s", p.chain.Head().BlockNum+1, pending.Producer)
}

// speculating is where transactions are executed that are in no block.
const speculating = "Speculative execution"

// logResult writes the trace lines of nodeos, which tools read.
func (p *Producer) logResult(x *execute.Candidate, trace *types.TransactionTrace, err error) {
	p.logTrace(p.place, x, trace, err)
}

// logTrace is logResult for any goroutine, if place is.
func (p *Producer) logTrace(place func() string, x *execute.Candidate, trace *types.TransactionTrace, err error) {
	good, bad, word := p.log.success, p.log.failure, ""
	if x.Kind.Transient() {
		good, bad, word = p.log.transientGood, p.log.transient, "transient "
	}
	if err == nil && trace.Except == nil {
		if enabled(good) {
			cpu := uint32(0)
			if trace.Receipt != nil {
				cpu = trace.Receipt.CPUUsageUS
			}
			good.Debug(fmt.Sprintf("[TRX_TRACE] %s is ACCEPTING %stx: %s, auth: %s, cpu: %d", place(), word, x.ID, x.Trx.FirstAuthorizer(), cpu))
		}
		return
	}
	if !enabled(bad) {
		return
	}
	if err == nil {
		err = trace.Except
	}
	where, separator := place(), ","
	if where == speculating {
		separator = " :"
	}
	bad.Debug(fmt.Sprintf("[TRX_TRACE] %s is REJECTING %stx: %s, auth: %s%s %s", where, word, x.ID, x.Trx.FirstAuthorizer(), separator, failureText(x.Trx, trace, err)))
}

// failureText names contract and action of a failure. Tools read it.
func failureText(trx *types.Transaction, trace *types.TransactionTrace, err error) string {
	var contract, action types.Name
	switch {
	case trace != nil && len(trace.ActionTraces) > 0:
		last := &trace.ActionTraces[len(trace.ActionTraces)-1]
		contract, action = last.Receiver, last.Action.Name
	case trx != nil && len(trx.Actions) > 0:
		contract, action = trx.Actions[0].Account, trx.Actions[0].Name
	}
	text := err.Error()
	if e := exception.Of(err); e != nil {
		text = e.Message
	}
	return fmt.Sprintf("action: %s:%s, %s", contract, action, escaped(text))
}

// escaped keeps what contracts say from breaking a line or drawing on a terminal, and
// bounds it (libfc: escape_str).
func escaped(text string) string {
	const most = 1024
	rest := ""
	if len(text) > most {
		text, rest = text[:most], "..."
	}
	b := make([]byte, 0, len(text))
	for _, c := range []byte(strings.ToValidUTF8(text, "")) {
		switch {
		case c == '\t':
			b = append(b, `\t`...)
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\r':
			b = append(b, `\r`...)
		case c == '\\' || c == '"':
			b = append(b, '\\', c)
		case c < 0x20 || c == 0x7f:
			b = fmt.Appendf(b, `\u%04x`, c)
		default:
			b = append(b, c)
		}
	}
	if len(b) > most {
		b, rest = b[:most], "..."
	}
	return string(b) + rest
}

func (p *Producer) logUnfit(x *execute.Candidate) {
	l := p.log.failure
	if x.Kind.Transient() {
		l = p.log.transient
	}
	if !enabled(l) {
		return
	}
	comma := ""
	if p.producing {
		comma = ","
	}
	l.Debug(fmt.Sprintf("[TRX_TRACE] %s COULD NOT FIT%s tx: %s RETRYING", p.place(), comma, x.ID))
}

func (p *Producer) logScheduled(trace *types.TransactionTrace) {
	var first types.Name
	if len(trace.ActionTraces) > 0 && len(trace.ActionTraces[0].Action.Authorization) > 0 {
		first = trace.ActionTraces[0].Action.Authorization[0].Actor
	}
	switch {
	case trace.Except != nil && enabled(p.log.failure):
		p.log.failure.Debug(fmt.Sprintf("[TRX_TRACE] %s is REJECTING scheduled tx: %s, time: %d, auth: %s : %s",
			p.place(), trace.ID, trace.Elapsed, first, failureText(nil, trace, trace.Except)))
	case trace.Except == nil && enabled(p.log.success):
		cpu := uint32(0)
		if trace.Receipt != nil {
			cpu = trace.Receipt.CPUUsageUS
		}
		p.log.success.Debug(fmt.Sprintf("[TRX_TRACE] %s is ACCEPTING scheduled tx: %s, time: %d, auth: %s, cpu: %d",
			p.place(), trace.ID, trace.Elapsed, first, cpu))
	}
}
