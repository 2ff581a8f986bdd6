package chain

import (
	"tarn/antelope/exception"
	"tarn/antelope/state"
	"tarn/antelope/types"
)

// iterators numbers the rows and tables of one kind of index as contracts see
// them: rows from 0 in the order in which they are first touched, tables' ends
// from -2 downwards (Leap: apply_context.hpp, iterator_cache). It lives as long as
// an action with its notifications. R is what is kept of a row.
type iterators[R any] struct {
	tables []tableRef
	rows   []iterator[R]
	index  map[rowID]int32 // of rows, once there are many
}

// tableRef is a table by its id: one that was removed and made again is another.
type tableRef struct {
	id  uint64
	key state.TableKey
}

// iterator is a row that a contract can name.
type iterator[R any] struct {
	rowID
	removed bool
	row     R
}

type rowID struct {
	table   int32 // index in iterators.tables
	primary uint64
}

// few is how many rows are looked for one after another rather than in a map.
const few = 12

func (it *iterators[R]) reset() {
	it.tables = it.tables[:0]
	clear(it.rows)
	it.rows = it.rows[:0]
	clear(it.index)
}

// table returns the number of a table, new if need be.
func (it *iterators[R]) table(t *state.ContractTable) int32 {
	for i := range it.tables {
		if it.tables[i].id == t.ID {
			return int32(i)
		}
	}
	it.tables = append(it.tables, tableRef{t.ID, t.Key})
	return int32(len(it.tables) - 1)
}

// end is the end iterator of a table.
func end(table int32) int32 { return -2 - table }

// find returns the iterator of a row, false if it has none.
func (it *iterators[R]) find(id rowID) (int32, bool) {
	if len(it.rows) > few {
		i, ok := it.index[id]
		return i, ok
	}
	for i := range it.rows {
		if it.rows[i].rowID == id && !it.rows[i].removed {
			return int32(i), true
		}
	}
	return 0, false
}

// add gives a row that has no iterator the next one.
func (it *iterators[R]) add(id rowID, row R) int32 {
	it.rows = append(it.rows, iterator[R]{rowID: id, row: row})
	n := int32(len(it.rows) - 1)
	switch {
	case n < few:
	case n == few:
		if it.index == nil {
			it.index = make(map[rowID]int32)
		}
		for i := range it.rows {
			if !it.rows[i].removed {
				it.index[it.rows[i].rowID] = int32(i)
			}
		}
	default:
		it.index[id] = n
	}
	return n
}

// remove makes an iterator invalid; its number is not used again.
func (it *iterators[R]) remove(i int32) {
	delete(it.index, it.rows[i].rowID)
	it.rows[i].removed = true
}

// get checks an iterator that a contract gives.
func (it *iterators[R]) get(i int32) (*iterator[R], error) {
	switch {
	case i == -1:
		return nil, exception.New(exception.InvalidTableIterator, "invalid iterator")
	case i < 0:
		return nil, exception.New(exception.TableOperationNotPermitted, "dereference of end iterator")
	case int(i) >= len(it.rows):
		return nil, exception.New(exception.InvalidTableIterator, "iterator out of range")
	case it.rows[i].removed:
		return nil, exception.New(exception.TableOperationNotPermitted, "dereference of deleted object")
	}
	return &it.rows[i], nil
}

// key returns the row's key.
func (it *iterators[R]) key(i *iterator[R]) state.RowKey {
	return state.RowKey{TableKey: it.tables[i.table].key, Primary: i.primary}
}

// endTable returns the table of an end iterator; gone tells that it was removed
// meanwhile.
func (it *iterators[R]) endTable(s *state.State, i int32) (table int32, gone bool, err error) {
	n := -2 - int64(i)
	if n < 0 || n >= int64(len(it.tables)) {
		return 0, false, exception.New(exception.InvalidTableIterator, "not a valid end iterator")
	}
	ref := it.tables[n]
	t, err := s.Tables.Get(ref.key)
	return int32(n), t == nil || t.ID != ref.id, err
}

// writable checks that a contract may change the rows of a table.
func (a *action) writable(t state.TableKey) error {
	if t.Code != a.receiver {
		return exception.New(exception.TableAccessViolation, "db access violation")
	}
	return nil
}

// refuseReadOnly refuses a change in a read-only transaction.
func (a *action) refuseReadOnly(what string) error {
	if a.trx.kind == ReadOnly {
		return exception.New(exception.TableOperationNotPermitted, "cannot %s a db record when executing a readonly transaction", what)
	}
	return nil
}

// createTable makes sure that there is a table, and charges the payer for a new
// one.
func (a *action) createTable(k state.TableKey, payer types.Name) error {
	t, err := a.c.state.Tables.Get(k)
	if err != nil || t != nil {
		return err
	}
	if d := a.deepMind(); d != nil {
		d.RAMEvent(tableEvent(k), "table", "add", "create_table")
	}
	if err := a.chargeRow(payer, billableTable); err != nil {
		return err
	}
	if _, err := a.c.state.Tables.Create(k, state.ContractTable{Key: k, Payer: payer}); err != nil {
		return err
	}
	if d := a.deepMind(); d != nil {
		d.CreateTable(k, payer)
	}
	return nil
}

// countRows changes the number of a table's rows.
func (a *action) countRows(k state.TableKey, delta int32) (*state.ContractTable, error) {
	t, err := a.c.state.Tables.Edit(k)
	if err != nil {
		return nil, err
	}
	t.Count = uint32(int32(t.Count) + delta)
	return t, nil
}

// removeTable removes a table without rows, and refunds its payer.
func (a *action) removeTable(t *state.ContractTable) error {
	k, payer := t.Key, t.Payer
	if d := a.deepMind(); d != nil {
		d.RAMEvent(tableEvent(k), "table", "remove", "remove_table")
	}
	if err := a.chargeRow(payer, -billableTable); err != nil {
		return err
	}
	if d := a.deepMind(); d != nil {
		d.RemoveTable(k, payer)
	}
	return a.c.state.Tables.Remove(k)
}

// notUnique is what a contract gets that stores a primary key twice (chainbase:
// undo_index.hpp, emplace).
func notUnique() error {
	return exception.Standard(exception.LogicError, "could not insert object, most likely a uniqueness constraint was violated")
}
