package producer

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"tarn/antelope/exception"
	"tarn/antelope/execute"
	"tarn/antelope/types"
)

// loggers are where the lines go.
type loggers struct {
	main, plugin             *slog.Logger
	success, failure         *slog.Logger // [TRX_TRACE] lines
	transientGood, transient *slog.Logger
}

func newLoggers(o Options) loggers {
	named := func(name string, other *slog.Logger) *slog.Logger {
		if o.Logger != nil {
			if l := o.Logger(name); l != nil {
				return l
			}
		}
		return other
	}
	none := slog.New(slog.DiscardHandler)
	return loggers{
		main: o.Log, plugin: named("producer_plugin", o.Log),
		success: named("transaction_success_tracing", none), failure: named("transaction_failure_tracing", none),
		transientGood: named("transient_trx_success_tracing", none),
		transient:     named("transient_trx_failure_tracing", none),
	}
}

func enabled(l *slog.Logger) bool { return l.Enabled(context.Background(), slog.LevelDebug) }

// time says where the time of a block went.
func (l *loggers) time(t BlockTime) {
	if !enabled(l.plugin) {
		return
	}
	l.plugin.Debug(fmt.Sprintf(
		"Block #%d %s trx idle: %dus out of %dus, success: %d, %dus, fail: %d, %dus, transient: %d, %dus, other: %dus",
		t.Num, t.Producer, t.Idle.Microseconds(), t.Total.Microseconds(), t.Succeeded, t.SuccessTime.Microseconds(),
		t.Failed, t.FailTime.Microseconds(), t.Transient, t.Attempted.Microseconds(), t.Other.Microseconds()))
}

// trace writes the trace lines of nodeos, which tools read. place says where the
// transaction was executed. Any goroutine may call it, if place is for it.
func (l *loggers) trace(place func() string, x *execute.Candidate, trace *types.TransactionTrace, err error) {
	good, bad, word := l.success, l.failure, ""
	if x.Kind.Transient() {
		good, bad, word = l.transientGood, l.transient, "transient "
	}
	if err == nil && trace.Except == nil {
		if enabled(good) {
			cpu := uint32(0)
			if trace.Receipt != nil {
				cpu = trace.Receipt.CPUUsageUS
			}
			good.Debug(fmt.Sprintf("[TRX_TRACE] %s is ACCEPTING %stx: %s, auth: %s, cpu: %d",
				place(), word, x.ID, x.Trx.FirstAuthorizer(), cpu))
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
	bad.Debug(fmt.Sprintf("[TRX_TRACE] %s is REJECTING %stx: %s, auth: %s%s %s",
		where, word, x.ID, x.Trx.FirstAuthorizer(), separator, failureText(x.Trx, trace, err)))
}

// unfit says that a transaction waits for another block.
func (l *loggers) unfit(place func() string, x *execute.Candidate) {
	to := l.failure
	if x.Kind.Transient() {
		to = l.transient
	}
	if !enabled(to) {
		return
	}
	where, comma := place(), ","
	if where == speculating {
		comma = ""
	}
	to.Debug(fmt.Sprintf("[TRX_TRACE] %s COULD NOT FIT%s tx: %s RETRYING", where, comma, x.ID))
}

// logScheduled says what became of a deferred transaction.
func (l *loggers) logScheduled(place func() string, trace *types.TransactionTrace) {
	var first types.Name
	if len(trace.ActionTraces) > 0 && len(trace.ActionTraces[0].Action.Authorization) > 0 {
		first = trace.ActionTraces[0].Action.Authorization[0].Actor
	}
	switch {
	case trace.Except != nil && enabled(l.failure):
		l.failure.Debug(fmt.Sprintf("[TRX_TRACE] %s is REJECTING scheduled tx: %s, time: %d, auth: %s : %s",
			place(), trace.ID, trace.Elapsed, first, failureText(nil, trace, trace.Except)))
	case trace.Except == nil && enabled(l.success):
		cpu := uint32(0)
		if trace.Receipt != nil {
			cpu = trace.Receipt.CPUUsageUS
		}
		l.success.Debug(fmt.Sprintf("[TRX_TRACE] %s is ACCEPTING scheduled tx: %s, time: %d, auth: %s, cpu: %d",
			place(), trace.ID, trace.Elapsed, first, cpu))
	}
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
		text = e.Message()
	}
	return fmt.Sprintf("action: %s:%s, %s", contract, action, escapeText(text))
}

// escapeText keeps what contracts say from breaking a line or drawing on a terminal, and
// bounds it (libfc: escape_str).
func escapeText(text string) string {
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
