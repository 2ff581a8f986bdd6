package rpc

import (
	"math"

	"tarn/antelope/state"
	"tarn/antelope/types"
	"tarn/antelope/variant"
)

func (q transactions) getScheduledTransactions(b []byte) ([]byte, error) {
	json, lower, limit := q.boolean("json", false), q.text("lower_bound", ""), q.uint32("limit", 50)
	ms := q.optionalUint32("time_limit_ms")
	v, err := q.view()
	if err != nil {
		return b, err
	}
	defer v.Close()
	b = append(b, `{"transactions":[`...)
	from, id, ok, err := deferredBound(v, lower)
	if err != nil || !ok {
		return append(b, `],"more":""}`...), err
	}
	watch, left, over, more := q.timeLimit(ms), q.itemLimit(limit), false, ""
	first, contents := len(b), q.api.contents(v)
	err = v.DeferredFrom(from, id, func(d *state.Deferred) (bool, error) {
		if left == 0 || over {
			more = d.TrxID.String()
			return false, nil
		}
		if len(b) > first {
			b = append(b, ',')
		}
		o := object(append(b, '{')).json("trx_id", d.TrxID).name("sender", d.Sender).json("sender_id", d.SenderID)
		o = o.name("payer", d.Payer).json("delay_until", d.DelayUntil).json("expiration", d.Expiration).
			json("published", d.Published)
		o = variant.AppendKey(o, "transaction")
		if json {
			var t types.Transaction
			if err := types.DecodePrefix(d.Packed, &t); err != nil {
				return false, err
			}
			out, err := contents.AppendTransaction(o, &t)
			if err != nil {
				return false, err
			}
			o = out
		} else {
			o = variant.AppendHex(o, d.Packed)
		}
		b = append(o, '}')
		left--
		over = watch.over()
		return true, nil
	})
	return append(variant.AppendString(append(b, `],"more":`...), more), '}'), err
}

// deferredBound returns where a list of deferred transactions begins: at a time, or
// with a transaction; ok is false if there is no such transaction.
func deferredBound(v *state.View, s string) (from types.TimePoint, id uint64, ok bool, err error) {
	if s == "" {
		return math.MinInt64, 0, true, nil
	}
	if t, err := types.ParseTimePoint(s); err == nil {
		return t, 0, true, nil
	}
	trx, err := types.ParseChecksum256(s)
	if err != nil {
		return 0, 0, false, nil
	}
	d, err := v.DeferredByTrxID(trx)
	if err != nil || d == nil {
		return 0, 0, false, err
	}
	return d.DelayUntil, d.ID, true, nil
}
