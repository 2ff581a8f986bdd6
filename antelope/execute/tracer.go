package execute

import (
	"strconv"

	"tarn/antelope/deepmind"
	"tarn/antelope/state"
	"tarn/antelope/types"
)

// What the tracer is told, where that is more than a call. Without a tracer all of
// it is a comparison with nil.

// deepMind is who is told what a transaction does, which is nobody if it is only tried.
func (t *transaction) deepMind() deepmind.Tracer {
	if t.kind.Transient() {
		return nil
	}
	return t.e.tracer
}

func (a *action) deepMind() deepmind.Tracer { return a.trx.deepMind() }

// tellApplied tells who wants to know that a transaction was applied, or failed.
func (e *Executor) tellApplied(trace *types.TransactionTrace, x *Candidate) {
	if d := e.tracer; d != nil {
		if x != nil && isOnblock(trace) {
			d.Onblock(x.Trx, x.Packed)
		}
		d.AppliedTransaction(e.head.BlockNum+1, trace)
	}
	if f := e.watch.Applied; f != nil {
		f(trace, x)
	}
}

// isOnblock tells whether a transaction looks like the chain's own at the begin of a
// block, which others may send too (Leap: trace.hpp, is_onblock).
func isOnblock(trace *types.TransactionTrace) bool {
	if len(trace.ActionTraces) == 0 {
		return false
	}
	act := &trace.ActionTraces[0].Action
	return act.Account == nameEosio && act.Name == nameOnblock && len(act.Authorization) == 1 &&
		act.Authorization[0] == types.PermissionLevel{Actor: nameEosio, Permission: nameActive}
}

// end tells that a transaction is over, whatever became of it.
func (t *transaction) end() {
	if d := t.deepMind(); d != nil {
		d.EndTransaction()
	}
}

// Names of what RAM is charged for.

func idEvent(id uint64) string { return strconv.FormatUint(id, 10) }

func tableEvent(k state.TableKey) string {
	return k.Code.String() + ":" + k.Scope.String() + ":" + k.Table.String()
}

func rowEvent(k state.RowKey) string {
	return tableEvent(k.TableKey) + ":" + types.Name(k.Primary).String()
}
