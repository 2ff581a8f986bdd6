package execute

import (
	"tarn/antelope/exception"
	"tarn/antelope/state"
)

// iterators numbers the rows and tables of one kind of index as contracts see
// them: rows from 0 in the order in which they are first touched, tables' ends
// from -2 downwards (Leap: apply_context.hpp, iterator_cache). It lives as long as
// an action with its notifications. R is what is kept of a row.
type iterators[R any] struct {
	tables []tableRef
	rows   []iterator[R]
	index  map[rowID]int32  // of rows, once there are many
	places map[uint64]int32 // of tables by id, once there are many
}

// tableRef is a table by its id: one that was removed and made again is another.
type tableRef struct {
	id  uint64
	key state.TableKey
}

func refer(t *state.ContractTable) tableRef { return tableRef{t.ID, t.Key} }

// tableSlots is where the tables that a transaction creates are kept, which a
// contract can tell: nodeos takes the end iterator of a table for its address, and
// the memory of a table that goes in the transaction that made it is given to the
// next one that is made, whose end the iterator then is. (chainbase: undo_index.hpp,
// on_remove; chainbase_node_allocator.hpp, whose free nodes are a stack. What was on
// it before the transaction is below what the transaction frees, and no iterator of
// the transaction's knows it.) A table older than the transaction stays in memory
// for its undo, so nothing comes in its place. A nodeos that replays irreversible
// blocks has no undo, so there something does; what it did live is followed here,
// in every mode.
type tableSlots struct {
	first uint64     // id of the first table created; the ids of the others follow
	of    []int32    // the slot of each table created
	held  []tableRef // what is in each slot now
	full  []bool     // whether anything is
	free  []int32    // those that are not, last freed last
}

func (s *tableSlots) reset() {
	s.of, s.held, s.full, s.free = s.of[:0], s.held[:0], s.full[:0], s.free[:0]
}

// slot returns the slot that a table was created in; false if it is older than the
// transaction.
func (s *tableSlots) slot(id uint64) (int32, bool) {
	if len(s.of) == 0 || id < s.first {
		return 0, false
	}
	return s.of[id-s.first], true
}

// put gives a table that was created a slot.
func (s *tableSlots) put(t tableRef) {
	if len(s.of) == 0 {
		s.first = t.id
	}
	n := int32(len(s.held))
	if last := len(s.free) - 1; last >= 0 {
		n, s.free = s.free[last], s.free[:last]
		s.held[n], s.full[n] = t, true
	} else {
		s.held, s.full = append(s.held, t), append(s.full, true)
	}
	s.of = append(s.of, n)
}

// take frees the slot of a table that is removed, if it has one.
func (s *tableSlots) take(id uint64) {
	if n, ok := s.slot(id); ok {
		s.full[n] = false
		s.free = append(s.free, n)
	}
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

// few is how many rows or tables are looked for one after another rather than in a map.
const few = 12

// keptIterators bounds what is kept of an action's iterators for those of the next.
const keptIterators = 4096

func (it *iterators[R]) reset() {
	if max(cap(it.rows), cap(it.tables)) > keptIterators {
		*it = iterators[R]{}
		return
	}
	it.tables = it.tables[:0]
	clear(it.rows)
	it.rows = it.rows[:0]
	clear(it.index)
	clear(it.places)
}

// table returns the number of a table, new if need be.
func (it *iterators[R]) table(t tableRef) int32 {
	for i := range it.tables[:min(len(it.tables), few)] {
		if it.tables[i].id == t.id {
			return int32(i)
		}
	}
	if i, ok := it.places[t.id]; ok {
		return i
	}
	it.tables = append(it.tables, t)
	n := int32(len(it.tables) - 1)
	if n >= few {
		if it.places == nil {
			it.places = make(map[uint64]int32)
		}
		it.places[t.id] = n
	}
	return n
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

// endTable returns the table whose end an iterator is; false if that was removed
// and no other has taken its slot.
func (it *iterators[R]) endTable(a *action, i int32) (tableRef, bool, error) {
	n := -2 - int64(i)
	if n < 0 || n >= int64(len(it.tables)) {
		return tableRef{}, false, exception.New(exception.InvalidTableIterator, "not a valid end iterator")
	}
	ref, slots := it.tables[n], &a.trx.tables
	if slot, ok := slots.slot(ref.id); ok {
		return slots.held[slot], slots.full[slot], nil
	}
	t, err := a.e.state.Tables.Get(ref.key)
	return ref, t != nil && t.ID == ref.id, err
}

// notUnique is what a contract gets that stores a primary key twice (chainbase:
// undo_index.hpp, emplace).
func notUnique() error {
	return exception.Standard(exception.LogicError,
		"could not insert object, most likely a uniqueness constraint was violated")
}
