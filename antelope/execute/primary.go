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

// load returns the row of an iterator, which it reads unless it was kept. The value is
// valid until the state changes.
func (a *action) load(it *iterator[primaryRow]) (payer types.Name, value []byte, err error) {
	if it.row.read {
		return it.row.payer, it.row.value, nil
	}
	k := a.rows.key(it)
	payer, value, found, err := a.e.state.Row(k)
	if err == nil && !found {
		err = missingRow(k)
	}
	if err != nil {
		return 0, nil, err
	}
	a.env.Charge(uint64(len(value)))
	it.row = a.rows.keep(payer, value)
	return payer, value, nil
}

// undoCost is the price of a byte of a row that is replaced or removed: it is kept for
// undo.
const undoCost = 8

// StoreI64 implements intrinsic.Primary.
func (a *action) StoreI64(scope, table, payer types.Name, id uint64, data []byte) (int32, error) {
	if err := a.refuseReadOnly("store"); err != nil {
		return 0, err
	}
	k := state.RowKey{TableKey: state.TableKey{Code: a.receiver, Scope: scope, Table: table}, Primary: id}
	if err := a.createTable(k.TableKey, payer); err != nil {
		return 0, err
	}
	if payer == 0 {
		return 0, exception.New(exception.InvalidTablePayer, "must specify a valid account to pay for new record")
	}
	_, _, found, err := a.e.state.Row(k)
	if err != nil {
		return 0, err
	}
	if found {
		return 0, notUnique()
	}
	if err := a.e.state.PutRow(k, payer, data); err != nil {
		return 0, err
	}
	tab, err := a.countRows(k.TableKey, 1)
	if err != nil {
		return 0, err
	}
	if d := a.deepMind(); d != nil {
		d.RAMEvent(rowEvent(k), "table_row", "add", "primary_index_add")
	}
	if err := a.chargeRow(payer, int64(len(data))+billableRow); err != nil {
		return 0, err
	}
	if d := a.deepMind(); d != nil {
		d.StoreRow(k, payer, data)
	}
	t := a.rows.table(refer(tab))
	return a.rows.add(rowID{t, id}, a.rows.keep(payer, data)), nil
}

// UpdateI64 implements intrinsic.Primary.
func (a *action) UpdateI64(i int32, payer types.Name, data []byte) error {
	if err := a.refuseReadOnly("update"); err != nil {
		return err
	}
	it, err := a.rows.get(i)
	if err != nil {
		return err
	}
	k := a.rows.key(it)
	if err := a.writable(k.TableKey); err != nil {
		return err
	}
	from, old, err := a.load(it)
	if err != nil {
		return err
	}
	a.env.Charge(undoCost * uint64(len(old)))
	if payer == 0 {
		payer = from
	}
	d := a.deepMind()
	if d != nil {
		old = bytes.Clone(old) // it is told of after other changes
	}
	before, after := int64(len(old))+billableRow, int64(len(data))+billableRow
	if err := a.recharge(k, from, payer, before, after); err != nil {
		return err
	}
	if d != nil {
		d.UpdateRow(k, from, payer, old, data)
	}
	if it.row.read && len(data) <= len(it.row.value) {
		it.row.payer, it.row.value = payer, it.row.value[:copy(it.row.value, data)]
	} else {
		it.row = a.rows.keep(payer, data)
	}
	return a.e.state.PutRow(k, payer, data)
}

// recharge moves the charge for a row from one payer and size to another.
func (a *action) recharge(k state.RowKey, from, to types.Name, before, after int64) error {
	d := a.deepMind()
	switch {
	case from != to:
		if d != nil {
			d.RAMEvent(rowEvent(k), "table_row", "remove", "primary_index_update_remove_old_payer")
		}
		if err := a.chargeRow(from, -before); err != nil {
			return err
		}
		if d != nil {
			d.RAMEvent(rowEvent(k), "table_row", "add", "primary_index_update_add_new_payer")
		}
		return a.chargeRow(to, after)
	case before != after:
		if d != nil {
			d.RAMEvent(rowEvent(k), "table_row", "update", "primary_index_update")
		}
		return a.chargeRow(to, after-before)
	}
	return nil
}

// RemoveI64 implements intrinsic.Primary.
func (a *action) RemoveI64(i int32) error {
	if err := a.refuseReadOnly("remove"); err != nil {
		return err
	}
	it, err := a.rows.get(i)
	if err != nil {
		return err
	}
	k := a.rows.key(it)
	if err := a.writable(k.TableKey); err != nil {
		return err
	}
	payer, old, err := a.load(it)
	if err != nil {
		return err
	}
	a.env.Charge(undoCost * uint64(len(old)))
	d := a.deepMind()
	if d != nil {
		old = bytes.Clone(old) // it is told of after other changes
		d.RAMEvent(rowEvent(k), "table_row", "remove", "primary_index_remove")
	}
	if err := a.chargeRow(payer, -int64(len(old))-billableRow); err != nil {
		return err
	}
	if d != nil {
		d.RemoveRow(k, payer, old)
	}
	if err := a.e.state.DeleteRow(k); err != nil {
		return err
	}
	if err := a.uncount(k.TableKey); err != nil {
		return err
	}
	a.rows.remove(i)
	return nil
}

// uncount takes one row off a table, and the table away with the last.
func (a *action) uncount(k state.TableKey) error {
	t, err := a.countRows(k, -1)
	if err != nil || t.Count > 0 {
		return err
	}
	return a.removeTable(t)
}

// GetI64 implements intrinsic.Primary.
func (a *action) GetI64(i int32) ([]byte, error) {
	it, err := a.rows.get(i)
	if err != nil {
		return nil, err
	}
	_, value, err := a.load(it)
	return value, err
}

// rowIterator returns the iterator of a row of a table, or the table's end.
func (a *action) rowIterator(t int32, primary uint64, found bool) int32 {
	if !found {
		return end(t)
	}
	id := rowID{t, primary}
	if i, ok := a.rows.find(id); ok {
		return i
	}
	return a.rows.add(id, primaryRow{})
}

// NextI64 implements intrinsic.Primary.
func (a *action) NextI64(i int32) (int32, uint64, error) {
	if i < -1 {
		return -1, 0, nil
	}
	it, err := a.rows.get(i)
	if err != nil {
		return 0, 0, err
	}
	t := it.table
	primary, found, err := a.e.state.NextRow(a.rows.key(it))
	if err != nil {
		return 0, 0, err
	}
	return a.rowIterator(t, primary, found), primary, nil
}

// PreviousI64 implements intrinsic.Primary.
func (a *action) PreviousI64(i int32) (int32, uint64, error) {
	var t int32
	var primary uint64
	var found bool
	if i < -1 {
		tab, there, err := a.rows.endTable(a, i)
		if err == nil && there {
			primary, found, err = a.e.state.LastRow(tab.key)
		}
		if err != nil || !found {
			return -1, 0, err
		}
		t = a.rows.table(tab)
	} else {
		it, err := a.rows.get(i)
		if err != nil {
			return 0, 0, err
		}
		t = it.table
		if primary, found, err = a.e.state.PreviousRow(a.rows.key(it)); err != nil {
			return 0, 0, err
		}
	}
	if !found {
		return -1, 0, nil
	}
	return a.rowIterator(t, primary, true), primary, nil
}

// FindI64 implements intrinsic.Primary.
func (a *action) FindI64(code, scope, table types.Name, id uint64) (int32, error) {
	k := state.RowKey{TableKey: state.TableKey{Code: code, Scope: scope, Table: table}, Primary: id}
	tab, err := a.e.state.Tables.Get(k.TableKey)
	if err != nil || tab == nil {
		return -1, err
	}
	t := a.rows.table(refer(tab))
	if i, ok := a.rows.find(rowID{t, id}); ok {
		return i, nil
	}
	payer, value, found, err := a.e.state.Row(k)
	if err != nil || !found {
		return end(t), err
	}
	a.env.Charge(uint64(len(value)))
	return a.rows.add(rowID{t, id}, a.rows.keep(payer, value)), nil
}

// LowerBoundI64 implements intrinsic.Primary.
func (a *action) LowerBoundI64(code, scope, table types.Name, id uint64) (int32, error) {
	return a.bound(state.RowKey{TableKey: state.TableKey{Code: code, Scope: scope, Table: table}, Primary: id}, a.e.state.LowerRow)
}

// UpperBoundI64 implements intrinsic.Primary.
func (a *action) UpperBoundI64(code, scope, table types.Name, id uint64) (int32, error) {
	return a.bound(state.RowKey{TableKey: state.TableKey{Code: code, Scope: scope, Table: table}, Primary: id}, a.e.state.NextRow)
}

func (a *action) bound(k state.RowKey, seek func(state.RowKey) (uint64, bool, error)) (int32, error) {
	tab, err := a.e.state.Tables.Get(k.TableKey)
	if err != nil || tab == nil {
		return -1, err
	}
	t := a.rows.table(refer(tab))
	primary, found, err := seek(k)
	if err != nil {
		return 0, err
	}
	return a.rowIterator(t, primary, found), nil
}

// EndI64 implements intrinsic.Primary.
func (a *action) EndI64(code, scope, table types.Name) (int32, error) {
	tab, err := a.e.state.Tables.Get(state.TableKey{Code: code, Scope: scope, Table: table})
	if err != nil || tab == nil {
		return -1, err
	}
	return end(a.rows.table(refer(tab))), nil
}
