package wire

import (
	"fmt"
	"strings"

	"tarn/antelope/exception"
	"tarn/antelope/execute"
	"tarn/antelope/serial"
	"tarn/antelope/types"
	"tarn/antelope/wasm/intrinsic"
)

// AppendTraces appends the transactions of a block (transaction_trace[]). Without debug,
// what differs from node to node is left out: times, what contracts print, the texts of
// exceptions (trace-history-debug-mode; Leap: serialization.hpp).
func AppendTraces(b []byte, list []execute.Transaction, debug bool) ([]byte, error) {
	b = serial.AppendCount(b, len(list))
	for i := range list {
		x := &list[i]
		p, err := partialOf(x)
		if err != nil {
			return nil, fmt.Errorf("encode the trace of transaction %s: %w", x.Trace.ID, err)
		}
		w := traceWriter{debug: debug, partial: p}
		b = w.transaction(b, x.Trace, types.StatusHardFail)
	}
	return b, nil
}

// partialOf encodes what is shown of the transaction besides its actions.
func partialOf(x *execute.Transaction) ([]byte, error) {
	var trx types.Transaction
	if err := types.Decode(x.Raw, &trx); err != nil {
		return nil, err
	}
	b := trx.Extensions.Append(trx.TransactionHeader.Append(version(nil, 0)))
	if x.Signed == nil {
		return serial.AppendCount(serial.AppendCount(b, 0), 0), nil
	}
	b = serial.AppendCount(b, len(x.Signed.Signatures))
	for i := range x.Signed.Signatures {
		b = x.Signed.Signatures[i].Append(b)
	}
	_, data, err := x.Signed.Unpack()
	if err != nil {
		return nil, err
	}
	b = serial.AppendCount(b, len(data))
	for _, d := range data {
		b = serial.AppendBytes(b, d)
	}
	return b, nil
}

// traceWriter encodes the trace of one transaction.
type traceWriter struct {
	debug   bool
	partial []byte
}

// transaction appends a trace. One without a receipt, a deferred transaction that failed
// and was handled, has the status failed.
func (w *traceWriter) transaction(b []byte, t *types.TransactionTrace, failed types.TransactionStatus) []byte {
	b = t.ID.Append(version(b, 0))
	status, cpu, net := failed, uint32(0), uint32(0)
	if t.Receipt != nil {
		status, cpu, net = t.Receipt.Status, t.Receipt.CPUUsageUS, t.Receipt.NetUsageWords
	}
	handled := t.Receipt != nil && t.FailedDeferred != nil && status == types.StatusSoftFail
	if handled {
		status = types.StatusExecuted
	}
	b = serial.AppendVaruint32(serial.AppendUint32(append(b, byte(status)), cpu), net)
	b = serial.AppendInt64(b, w.elapsed(t.Elapsed))
	b = serial.AppendBool(serial.AppendUint64(b, t.NetUsage), t.Scheduled)
	b = serial.AppendCount(b, len(t.ActionTraces))
	for i := range t.ActionTraces {
		b = w.action(b, &t.ActionTraces[i])
	}
	b = serial.AppendBool(b, t.AccountRAMDelta != nil)
	if t.AccountRAMDelta != nil {
		b = t.AccountRAMDelta.Append(b)
	}
	b = w.failure(b, t.Except, t.ErrorCode)
	b = serial.AppendBool(b, t.FailedDeferred != nil)
	if t.FailedDeferred == nil {
		return append(serial.AppendBool(b, true), w.partial...)
	}
	inner := types.StatusHardFail
	if handled {
		inner = types.StatusSoftFail
	}
	return serial.AppendBool(w.transaction(b, t.FailedDeferred, inner), false)
}

func (w *traceWriter) elapsed(us int64) int64 {
	if w.debug {
		return us
	}
	return 0
}

func (w *traceWriter) action(b []byte, t *types.ActionTrace) []byte {
	b = serial.AppendVaruint32(version(b, 1), t.Ordinal)
	b = serial.AppendBool(serial.AppendVaruint32(b, t.CreatorOrdinal), t.Receipt != nil)
	if t.Receipt != nil {
		b = t.Receipt.Append(version(b, 0))
	}
	b = t.Action.Append(t.Receiver.Append(b))
	b = serial.AppendInt64(serial.AppendBool(b, t.ContextFree), w.elapsed(t.Elapsed))
	console := t.Console
	if !w.debug {
		console = ""
	}
	b = serial.AppendCount(serial.AppendString(b, console), len(t.AccountRAMDeltas))
	for _, d := range t.AccountRAMDeltas {
		b = d.Append(b)
	}
	return serial.AppendBytes(w.failure(b, t.Except, t.ErrorCode), t.ReturnValue)
}

// failure appends an exception and its code. The codes of the system above the generic
// one differ from version to version.
func (w *traceWriter) failure(b []byte, e *exception.Error, code *uint64) []byte {
	b = serial.AppendBool(b, e != nil)
	switch {
	case e != nil && w.debug:
		b = serial.AppendString(b, text(e))
	case e != nil:
		b = serial.AppendString(b, "Y")
	}
	b = serial.AppendBool(b, code != nil)
	if code == nil {
		return b
	}
	if !w.debug {
		return serial.AppendUint64(b, min(*code, intrinsic.GenericErrorCode))
	}
	return serial.AppendUint64(b, *code)
}

// text is an exception on several lines (fc: exception::to_string).
func text(e *exception.Error) string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s (%d)\n", e.Kind.What, e.Kind.Code)
	for _, said := range e.Stack() {
		s.WriteString(said.Limited() + "\n")
	}
	return s.String()
}
