package execute

import (
	"bytes"

	"tarn/antelope/exception"
	"tarn/antelope/state"
	"tarn/antelope/types"
)

// primaryRow is what an iterator keeps of a contract's row, so that finding a row,
// asking its size, reading it and updating it reads the state once. Nobody else
// can change the row as long as the iterator lives. What there is no room for is read
// again.
type primaryRow struct {
	payer types.Name
	value []byte // a copy
	read  bool
}

// rowCache is the iterators of the primary index.
type rowCache struct {
	iterators[primaryRow]
	arena []byte // what values are copied into
}

func (r *rowCache) reset() {
	r.iterators.reset()
	r.arena = r.arena[:0]
}

// keptRows bounds what is kept of the rows of an action, in bytes.
const keptRows = 1 << 20

func (r *rowCache) keep(payer types.Name, v []byte) primaryRow {
	n := len(r.arena)
	if n+len(v) > keptRows {
		return primaryRow{}
	}
	r.arena = append(r.arena, v...)
	return primaryRow{payer, r.arena[n:len(r.arena):len(r.arena)], true}
}

// rows answers what contracts ask and change through the primary index of their tables
// ([intrinsic.Primary]).
type rows struct {
	*action
	tables tables
	cache  rowCache
}

// load returns the row of an iterator, which it reads unless it was kept. The value is
// valid until the state changes.
func (r *rows) load(it *iterator[primaryRow]) (payer types.Name, value []byte, err error) {
	if it.row.read {
		return it.row.payer, it.row.value, nil
	}
	k := r.cache.key(it)
	payer, value, found, err := r.e.state.Row(k)
	if err == nil && !found {
		err = missingRow(k)
	}
	if err != nil {
		return 0, nil, err
	}
	r.env.Charge(uint64(len(value)))
	it.row = r.cache.keep(payer, value)
	return payer, value, nil
}

// undoCost is the price of a byte of a row that is replaced or removed: it is kept for
// undo.
const undoCost = 8

// StoreI64 implements intrinsic.Primary.
func (r *rows) StoreI64(scope, table, payer types.Name, id uint64, data []byte) (int32, error) {
	if err := r.tables.refuseReadOnly("store"); err != nil {
		return 0, err
	}
	k := state.RowKey{TableKey: state.TableKey{Code: r.receiver, Scope: scope, Table: table}, Primary: id}
	if err := r.tables.create(k.TableKey, payer); err != nil {
		return 0, err
	}
	if payer == 0 {
		return 0, exception.New(exception.InvalidTablePayer, "must specify a valid account to pay for new record")
	}
	_, _, found, err := r.e.state.Row(k)
	if err != nil {
		return 0, err
	}
	if found {
		return 0, notUnique()
	}
	if err := r.e.state.PutRow(k, payer, data); err != nil {
		return 0, err
	}
	tab, err := r.tables.count(k.TableKey, 1)
	if err != nil {
		return 0, err
	}
	if d := r.deepMind(); d != nil {
		d.RAMEvent(rowEvent(k), "table_row", "add", "primary_index_add")
	}
	if err := r.chargeRow(payer, int64(len(data))+billableRow); err != nil {
		return 0, err
	}
	if d := r.deepMind(); d != nil {
		d.StoreRow(k, payer, data)
	}
	t := r.cache.table(refer(tab))
	return r.cache.add(rowID{t, id}, r.cache.keep(payer, data)), nil
}

// UpdateI64 implements intrinsic.Primary.
func (r *rows) UpdateI64(i int32, payer types.Name, data []byte) error {
	it, k, err := changeable(r.tables, &r.cache.iterators, "update", i)
	if err != nil {
		return err
	}
	from, old, err := r.load(it)
	if err != nil {
		return err
	}
	r.env.Charge(undoCost * uint64(len(old)))
	if payer == 0 {
		payer = from
	}
	d := r.deepMind()
	if d != nil {
		old = bytes.Clone(old) // it is told of after other changes
	}
	before, after := int64(len(old))+billableRow, int64(len(data))+billableRow
	if err := r.recharge(k, from, payer, before, after); err != nil {
		return err
	}
	if d != nil {
		d.UpdateRow(k, from, payer, old, data)
	}
	if it.row.read && len(data) <= len(it.row.value) {
		it.row.payer, it.row.value = payer, it.row.value[:copy(it.row.value, data)]
	} else {
		it.row = r.cache.keep(payer, data)
	}
	return r.e.state.PutRow(k, payer, data)
}

// recharge moves the charge for a row from one payer and size to another.
func (r *rows) recharge(k state.RowKey, from, to types.Name, before, after int64) error {
	d := r.deepMind()
	switch {
	case from != to:
		if d != nil {
			d.RAMEvent(rowEvent(k), "table_row", "remove", "primary_index_update_remove_old_payer")
		}
		if err := r.chargeRow(from, -before); err != nil {
			return err
		}
		if d != nil {
			d.RAMEvent(rowEvent(k), "table_row", "add", "primary_index_update_add_new_payer")
		}
		return r.chargeRow(to, after)
	case before != after:
		if d != nil {
			d.RAMEvent(rowEvent(k), "table_row", "update", "primary_index_update")
		}
		return r.chargeRow(to, after-before)
	}
	return nil
}

// RemoveI64 implements intrinsic.Primary.
func (r *rows) RemoveI64(i int32) error {
	it, k, err := changeable(r.tables, &r.cache.iterators, "remove", i)
	if err != nil {
		return err
	}
	payer, old, err := r.load(it)
	if err != nil {
		return err
	}
	r.env.Charge(undoCost * uint64(len(old)))
	d := r.deepMind()
	if d != nil {
		old = bytes.Clone(old) // it is told of after other changes
		d.RAMEvent(rowEvent(k), "table_row", "remove", "primary_index_remove")
	}
	if err := r.chargeRow(payer, -int64(len(old))-billableRow); err != nil {
		return err
	}
	if d != nil {
		d.RemoveRow(k, payer, old)
	}
	if err := r.e.state.DeleteRow(k); err != nil {
		return err
	}
	if err := r.tables.uncount(k.TableKey); err != nil {
		return err
	}
	r.cache.remove(i)
	return nil
}

// GetI64 implements intrinsic.Primary.
func (r *rows) GetI64(i int32) ([]byte, error) {
	it, err := r.cache.get(i)
	if err != nil {
		return nil, err
	}
	_, value, err := r.load(it)
	return value, err
}

// iterator returns the iterator of a row of a table, or the table's end.
func (r *rows) iterator(t int32, primary uint64, found bool) int32 {
	if !found {
		return end(t)
	}
	id := rowID{t, primary}
	if i, ok := r.cache.find(id); ok {
		return i
	}
	return r.cache.add(id, primaryRow{})
}

// NextI64 implements intrinsic.Primary.
func (r *rows) NextI64(i int32) (int32, uint64, error) {
	if i < -1 {
		return -1, 0, nil
	}
	it, err := r.cache.get(i)
	if err != nil {
		return 0, 0, err
	}
	t := it.table
	primary, found, err := r.e.state.NextRow(r.cache.key(it))
	if err != nil {
		return 0, 0, err
	}
	return r.iterator(t, primary, found), primary, nil
}

// PreviousI64 implements intrinsic.Primary.
func (r *rows) PreviousI64(i int32) (int32, uint64, error) {
	var t int32
	var primary uint64
	var found bool
	if i < -1 {
		tab, there, err := r.cache.endTable(r.action, i)
		if err == nil && there {
			primary, found, err = r.e.state.LastRow(tab.key)
		}
		if err != nil || !found {
			return -1, 0, err
		}
		t = r.cache.table(tab)
	} else {
		it, err := r.cache.get(i)
		if err != nil {
			return 0, 0, err
		}
		t = it.table
		if primary, found, err = r.e.state.PreviousRow(r.cache.key(it)); err != nil {
			return 0, 0, err
		}
	}
	if !found {
		return -1, 0, nil
	}
	return r.iterator(t, primary, true), primary, nil
}

// FindI64 implements intrinsic.Primary.
func (r *rows) FindI64(code, scope, table types.Name, id uint64) (int32, error) {
	k := state.RowKey{TableKey: state.TableKey{Code: code, Scope: scope, Table: table}, Primary: id}
	tab, err := r.e.state.Tables.Get(k.TableKey)
	if err != nil || tab == nil {
		return -1, err
	}
	t := r.cache.table(refer(tab))
	if i, ok := r.cache.find(rowID{t, id}); ok {
		return i, nil
	}
	payer, value, found, err := r.e.state.Row(k)
	if err != nil || !found {
		return end(t), err
	}
	r.env.Charge(uint64(len(value)))
	return r.cache.add(rowID{t, id}, r.cache.keep(payer, value)), nil
}

// LowerBoundI64 implements intrinsic.Primary.
func (r *rows) LowerBoundI64(code, scope, table types.Name, id uint64) (int32, error) {
	return r.bound(state.RowKey{TableKey: state.TableKey{Code: code, Scope: scope, Table: table}, Primary: id},
		r.e.state.LowerRow)
}

// UpperBoundI64 implements intrinsic.Primary.
func (r *rows) UpperBoundI64(code, scope, table types.Name, id uint64) (int32, error) {
	return r.bound(state.RowKey{TableKey: state.TableKey{Code: code, Scope: scope, Table: table}, Primary: id},
		r.e.state.NextRow)
}

func (r *rows) bound(k state.RowKey, seek func(state.RowKey) (uint64, bool, error)) (int32, error) {
	tab, err := r.e.state.Tables.Get(k.TableKey)
	if err != nil || tab == nil {
		return -1, err
	}
	t := r.cache.table(refer(tab))
	primary, found, err := seek(k)
	if err != nil {
		return 0, err
	}
	return r.iterator(t, primary, found), nil
}

// EndI64 implements intrinsic.Primary.
func (r *rows) EndI64(code, scope, table types.Name) (int32, error) {
	tab, err := r.e.state.Tables.Get(state.TableKey{Code: code, Scope: scope, Table: table})
	if err != nil || tab == nil {
		return -1, err
	}
	return end(r.cache.table(refer(tab))), nil
}
