package rpc

import (
	"math"

	"tarn/antelope/exception"
	"tarn/antelope/state"
	"tarn/antelope/types"
	"tarn/antelope/variant"
)

var (
	nameProducers = types.N("producers")
	nameGlobal    = types.N("global")
)

func (q tables) getProducers(b []byte) ([]byte, error) {
	json, lower, limit := q.boolean("json", false), q.text("lower_bound", ""), q.uint32("limit", 50)
	ms := q.optionalUint32("time_limit_ms")
	v, err := q.view()
	if err != nil {
		return b, err
	}
	defer v.Close()
	w := rowWriter{q: q.query, r: &rowsQuery{json: json, table: nameProducers}, view: v, b: b, watch: q.timeLimit(ms),
		limit: q.itemLimit(limit)}
	if err := w.producers(lower); exception.Of(err) == nil {
		return w.b, err
	}
	// The system contract has no such tables, as an exception says: those who are scheduled.
	return q.activeProducers(b, v)
}

// producers walks the system contract's producers by votes (Leap: get_producers).
func (w *rowWriter) producers(lower string) error {
	first, err := types.ParseName(lower)
	if err != nil {
		return err
	}
	if w.e, err = w.q.api.contractABI(w.view, nameEosio); err != nil {
		return err
	}
	table, err := w.e.table(nameProducers)
	if err == nil && table.IndexType != "i64" {
		err = exception.New(exception.ContractTableQuery, "Invalid table type ${type} for table producers",
			"type", table.IndexType)
	}
	if err == nil {
		err = w.prepare()
	}
	if err != nil {
		return err
	}
	key := state.TableKey{Code: nameEosio, Scope: nameEosio, Table: nameProducers}
	if there, err := w.view.Tables.Get(key); err != nil {
		return err
	} else if there == nil {
		return exception.New(exception.ContractTableQuery, "Missing producers table")
	}
	var at state.IndexRow
	var ok bool
	if first == 0 {
		lowest := state.SecondaryKey{Words: [4]uint64{math.Float64bits(-math.MaxFloat64)}}
		at, ok, err = w.view.LowerSecondary(state.IndexDouble, key, lowest, 0)
	} else {
		at, ok, err = w.view.LowerIndexRow(state.IndexDouble, state.RowKey{TableKey: key, Primary: uint64(first)})
	}
	more := ""
	for ; err == nil && ok; at, ok, err = w.view.NextSecondary(state.IndexDouble, key, at.Secondary, at.Primary) {
		if w.full() {
			more = types.Name(at.Primary).String()
			break
		}
		_, value, found, err := w.view.Row(state.RowKey{TableKey: key, Primary: at.Primary})
		if err == nil && !found {
			err = exception.New(exception.ContractTableQuery, "Missing row in table producers")
		}
		if err == nil {
			err = w.row(0, value)
		}
		if err != nil {
			return err
		}
		w.countRow()
	}
	if err != nil {
		return err
	}
	total, err := w.totalVotes()
	o := append(object(w.b), ']')
	w.b = append(variant.AppendDouble(variant.AppendKey(o, "total_producer_vote_weight"), total), `,"more":`...)
	w.b = append(variant.AppendString(w.b, more), '}')
	return err
}

// totalVotes reads what the system contract has counted.
func (w *rowWriter) totalVotes() (float64, error) {
	table, err := w.e.table(nameGlobal)
	if err == nil && table.IndexType != "i64" {
		err = exception.New(exception.ContractTableQuery, "Invalid table type ${type} for table global",
			"type", table.IndexType)
	}
	if err != nil {
		return 0, err
	}
	key := state.RowKey{TableKey: state.TableKey{Code: nameEosio, Scope: nameEosio, Table: nameGlobal},
		Primary: uint64(nameGlobal)}
	_, value, found, err := w.view.Row(key)
	if err == nil && !found {
		err = exception.New(exception.ContractTableQuery, "Missing row in table global")
	}
	if err != nil {
		return 0, err
	}
	w.clock.restart()
	json, err := w.e.codec.DecodeShort(nil, table.Type, value, w.clock.budget())
	if err != nil {
		return 0, err
	}
	global, err := variant.Parse(string(json))
	if err != nil {
		return 0, err
	}
	total, ok := global.Find("total_producer_vote_weight")
	if !ok {
		return 0, exception.New(exception.FCKeyNotFound, "Key total_producer_vote_weight")
	}
	return total.AsDouble()
}

// activeProducers lists the active producers in the form of the system contract's rows.
func (q tables) activeProducers(b []byte, v *state.View) ([]byte, error) {
	head, err := q.api.headOf(v)
	if err != nil {
		return b, err
	}
	b = variant.AppendList(append(b, `{"rows":`...), q.api.schedules(head).Active.Producers,
		func(b []byte, p *types.ProducerAuthority) []byte {
			o := object(append(b, '{')).name("owner", p.Producer).json("producer_authority", p.Authority).
				text("url", "")
			o = variant.AppendDouble(variant.AppendKey(o, "total_votes"), 0)
			if k := p.Authority.Keys; len(k) == 1 && uint32(k[0].Weight) == p.Authority.Threshold {
				o = o.json("producer_key", k[0].Key)
			}
			return append(o, '}')
		})
	b = variant.AppendDouble(append(b, `,"total_producer_vote_weight":`...), 0)
	return append(b, `,"more":""}`...), nil
}
