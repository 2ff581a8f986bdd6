package execute

import (
	"math"

	"tarn/antelope/exception"
	"tarn/antelope/state"
	"tarn/antelope/types"
	"tarn/antelope/wasm/intrinsic"
)

// indexCache is the iterators of one secondary index (Leap: apply_context.hpp,
// generic_index). It keeps each row as it was read or written last, which nobody
// else can change meanwhile.
type indexCache struct{ iterators[state.IndexRow] }

// iterator returns the iterator of a row of a table.
func (x *indexCache) iterator(t int32, r state.IndexRow) int32 {
	id := rowID{t, r.Primary}
	if i, ok := x.find(id); ok {
		return i
	}
	return x.add(id, r)
}

// indices answers what contracts ask and change through the secondary indices of their
// tables ([intrinsic.Secondary]).
type indices struct {
	*action
	tables tables
	caches [state.Kinds]indexCache
}

func secondaryKey(k intrinsic.SecondaryKey) state.SecondaryKey { return state.SecondaryKey{Words: k} }

// SecondaryStore implements intrinsic.Secondary.
func (s *indices) SecondaryStore(
	index intrinsic.Index, scope, table, payer types.Name, id uint64, key intrinsic.SecondaryKey,
) (int32, error) {
	if err := s.tables.refuseReadOnly("store"); err != nil {
		return 0, err
	}
	if payer == 0 {
		return 0, exception.New(exception.InvalidTablePayer, "must specify a valid account to pay for new record")
	}
	x, kind := &s.caches[index], state.Kind(index)
	k := state.RowKey{TableKey: state.TableKey{Code: s.receiver, Scope: scope, Table: table}, Primary: id}
	if err := s.tables.create(k.TableKey, payer); err != nil {
		return 0, err
	}
	_, found, err := s.e.state.IndexRow(kind, k)
	if err != nil {
		return 0, err
	}
	if found {
		return 0, notUnique()
	}
	r := state.IndexRow{Primary: id, Payer: payer, Secondary: secondaryKey(key)}
	if err := s.e.state.PutIndexRow(kind, k.TableKey, r); err != nil {
		return 0, err
	}
	tab, err := s.tables.count(k.TableKey, 1)
	if err != nil {
		return 0, err
	}
	if d := s.deepMind(); d != nil {
		d.RAMEvent(rowEvent(k), "secondary_index", "add", "secondary_index_add")
	}
	if err := s.chargeRow(payer, billableIndex[kind]); err != nil {
		return 0, err
	}
	return x.add(rowID{x.table(refer(tab)), id}, r), nil
}

// SecondaryUpdate implements intrinsic.Secondary.
func (s *indices) SecondaryUpdate(index intrinsic.Index, i int32, payer types.Name, key intrinsic.SecondaryKey) error {
	x, kind := &s.caches[index], state.Kind(index)
	it, k, err := changeable(s.tables, &x.iterators, "update", i)
	if err != nil {
		return err
	}
	old := it.row
	if payer == 0 {
		payer = old.Payer
	}
	if old.Payer != payer {
		d := s.deepMind()
		if d != nil {
			d.RAMEvent(rowEvent(k), "secondary_index", "remove", "secondary_index_remove")
		}
		if err := s.chargeRow(old.Payer, -billableIndex[kind]); err != nil {
			return err
		}
		if d != nil {
			d.RAMEvent(rowEvent(k), "secondary_index", "add", "secondary_index_update_add_new_payer")
		}
		if err := s.chargeRow(payer, billableIndex[kind]); err != nil {
			return err
		}
	}
	it.row = state.IndexRow{Primary: old.Primary, Payer: payer, Secondary: secondaryKey(key)}
	return s.e.state.UpdateIndexRow(kind, k.TableKey, old, it.row)
}

// SecondaryRemove implements intrinsic.Secondary.
func (s *indices) SecondaryRemove(index intrinsic.Index, i int32) error {
	x, kind := &s.caches[index], state.Kind(index)
	it, k, err := changeable(s.tables, &x.iterators, "remove", i)
	if err != nil {
		return err
	}
	if d := s.deepMind(); d != nil {
		d.RAMEvent(rowEvent(k), "secondary_index", "remove", "secondary_index_remove")
	}
	if err := s.chargeRow(it.row.Payer, -billableIndex[kind]); err != nil {
		return err
	}
	if err := s.e.state.DeleteIndexRow(kind, k.TableKey, it.row); err != nil {
		return err
	}
	if err := s.tables.uncount(k.TableKey); err != nil {
		return err
	}
	x.remove(i)
	return nil
}

// SecondaryNext implements intrinsic.Secondary.
func (s *indices) SecondaryNext(index intrinsic.Index, i int32) (int32, uint64, error) {
	if i < -1 {
		return -1, 0, nil
	}
	x := &s.caches[index]
	it, err := x.get(i)
	if err != nil {
		return 0, 0, err
	}
	t := it.table
	r, found, err := s.e.state.NextSecondary(state.Kind(index), x.tables[t].key, it.row.Secondary, it.row.Primary)
	if err != nil || !found {
		return end(t), 0, err
	}
	return x.iterator(t, r), r.Primary, nil
}

// SecondaryPrevious implements intrinsic.Secondary.
func (s *indices) SecondaryPrevious(index intrinsic.Index, i int32) (int32, uint64, error) {
	x, kind := &s.caches[index], state.Kind(index)
	var t int32
	var r state.IndexRow
	var found bool
	if i < -1 {
		tab, there, err := x.endTable(s.action, i)
		if err == nil && there {
			r, found, err = s.e.state.LastSecondary(kind, tab.key)
		}
		if err != nil || !found {
			return -1, 0, err
		}
		t = x.table(tab)
	} else {
		it, err := x.get(i)
		if err != nil {
			return 0, 0, err
		}
		t = it.table
		if r, found, err = s.e.state.PreviousSecondary(kind, x.tables[t].key, it.row.Secondary,
			it.row.Primary); err != nil {
			return 0, 0, err
		}
	}
	if !found {
		return -1, 0, nil
	}
	return x.iterator(t, r), r.Primary, nil
}

// open returns the number of a table in the cache; false if there is none.
func (s *indices) open(x *indexCache, code, scope, table types.Name) (int32, bool, error) {
	tab, err := s.e.state.Tables.Get(state.TableKey{Code: code, Scope: scope, Table: table})
	if err != nil || tab == nil {
		return 0, false, err
	}
	return x.table(refer(tab)), true, nil
}

// SecondaryFind implements intrinsic.Secondary.
func (s *indices) SecondaryFind(
	index intrinsic.Index, code, scope, table types.Name, key intrinsic.SecondaryKey,
) (int32, uint64, error) {
	x := &s.caches[index]
	t, ok, err := s.open(x, code, scope, table)
	if err != nil || !ok {
		return -1, 0, err
	}
	r, found, err := s.e.state.LowerSecondary(state.Kind(index), x.tables[t].key, secondaryKey(key), 0)
	if err != nil || !found || !r.Secondary.Equal(secondaryKey(key), state.Kind(index)) {
		return end(t), 0, err
	}
	return x.iterator(t, r), r.Primary, nil
}

// SecondaryFindPrimary implements intrinsic.Secondary.
func (s *indices) SecondaryFindPrimary(
	index intrinsic.Index, code, scope, table types.Name, primary uint64,
) (int32, intrinsic.SecondaryKey, error) {
	x := &s.caches[index]
	t, ok, err := s.open(x, code, scope, table)
	if err != nil || !ok {
		return -1, intrinsic.SecondaryKey{}, err
	}
	r, found, err := s.e.state.IndexRow(state.Kind(index), state.RowKey{TableKey: x.tables[t].key, Primary: primary})
	if err != nil || !found {
		return end(t), intrinsic.SecondaryKey{}, err
	}
	return x.iterator(t, r), r.Secondary.Words, nil
}

// SecondaryLowerBound implements intrinsic.Secondary.
func (s *indices) SecondaryLowerBound(
	index intrinsic.Index, code, scope, table types.Name, key intrinsic.SecondaryKey,
) (int32, uint64, intrinsic.SecondaryKey, error) {
	return s.bound(index, code, scope, table, func(t state.TableKey) (state.IndexRow, bool, error) {
		return s.e.state.LowerSecondary(state.Kind(index), t, secondaryKey(key), 0)
	})
}

// SecondaryUpperBound implements intrinsic.Secondary.
func (s *indices) SecondaryUpperBound(
	index intrinsic.Index, code, scope, table types.Name, key intrinsic.SecondaryKey,
) (int32, uint64, intrinsic.SecondaryKey, error) {
	return s.bound(index, code, scope, table, func(t state.TableKey) (state.IndexRow, bool, error) {
		return s.e.state.NextSecondary(state.Kind(index), t, secondaryKey(key), math.MaxUint64)
	})
}

func (s *indices) bound(
	index intrinsic.Index, code, scope, table types.Name, seek func(state.TableKey) (state.IndexRow, bool, error),
) (int32, uint64, intrinsic.SecondaryKey, error) {
	x := &s.caches[index]
	t, ok, err := s.open(x, code, scope, table)
	if err != nil || !ok {
		return -1, 0, intrinsic.SecondaryKey{}, err
	}
	r, found, err := seek(x.tables[t].key)
	if err != nil || !found {
		return end(t), 0, intrinsic.SecondaryKey{}, err
	}
	return x.iterator(t, r), r.Primary, r.Secondary.Words, nil
}

// SecondaryEnd implements intrinsic.Secondary.
func (s *indices) SecondaryEnd(index intrinsic.Index, code, scope, table types.Name) (int32, error) {
	x := &s.caches[index]
	t, ok, err := s.open(x, code, scope, table)
	if err != nil || !ok {
		return -1, err
	}
	return end(t), nil
}
