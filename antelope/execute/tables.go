package execute

import (
	"tarn/antelope/exception"
	"tarn/antelope/state"
	"tarn/antelope/types"
)

// tables is the tables of contracts that an action may change: they are made with their
// first row in any index, charged to who pays for it, and go with the last.
type tables struct{ *action }

// writable checks that a contract may change the rows of a table.
func (w tables) writable(t state.TableKey) error {
	if t.Code != w.receiver {
		return exception.New(exception.TableAccessViolation, "db access violation")
	}
	return nil
}

// refuseReadOnly refuses a change in a read-only transaction.
func (w tables) refuseReadOnly(what string) error {
	if w.trx.kind == ReadOnly {
		return exception.New(exception.TableOperationNotPermitted,
			"cannot "+what+" a db record when executing a readonly transaction")
	}
	return nil
}

// changeable returns the row of an iterator, which the action may change, and the row's key.
func changeable[R any](w tables, cache *iterators[R], what string, i int32) (*iterator[R], state.RowKey, error) {
	if err := w.refuseReadOnly(what); err != nil {
		return nil, state.RowKey{}, err
	}
	it, err := cache.get(i)
	if err != nil {
		return nil, state.RowKey{}, err
	}
	k := cache.key(it)
	return it, k, w.writable(k.TableKey)
}

// create makes sure that there is a table, and charges the payer for a new
// one.
func (w tables) create(k state.TableKey, payer types.Name) error {
	t, err := w.e.state.Tables.Get(k)
	if err != nil || t != nil {
		return err
	}
	if d := w.deepMind(); d != nil {
		d.RAMEvent(tableEvent(k), "table", "add", "create_table")
	}
	if err := w.chargeRow(payer, billableTable); err != nil {
		return err
	}
	if t, err = w.e.state.Tables.Create(k, state.ContractTable{Key: k, Payer: payer}); err != nil {
		return err
	}
	w.trx.tables.put(refer(t))
	if d := w.deepMind(); d != nil {
		d.CreateTable(k, payer)
	}
	return nil
}

// count changes the number of a table's rows.
func (w tables) count(k state.TableKey, delta int32) (*state.ContractTable, error) {
	t, err := w.e.state.Tables.Edit(k)
	if err != nil {
		return nil, err
	}
	t.Count = uint32(int32(t.Count) + delta)
	return t, nil
}

// uncount takes one row off a table, and the table away with the last.
func (w tables) uncount(k state.TableKey) error {
	t, err := w.count(k, -1)
	if err != nil || t.Count > 0 {
		return err
	}
	return w.remove(t)
}

// remove removes a table without rows, and refunds its payer.
func (w tables) remove(t *state.ContractTable) error {
	k, payer := t.Key, t.Payer
	if d := w.deepMind(); d != nil {
		d.RAMEvent(tableEvent(k), "table", "remove", "remove_table")
	}
	if err := w.chargeRow(payer, -billableTable); err != nil {
		return err
	}
	if d := w.deepMind(); d != nil {
		d.RemoveTable(k, payer)
	}
	w.trx.tables.take(t.ID)
	return w.e.state.Tables.Remove(k)
}
