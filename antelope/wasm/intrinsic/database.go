package intrinsic

import (
	"tarn/antelope/exception"
	"tarn/antelope/types"
	"tarn/antelope/wasm"
)

// databaseEntries are the functions on contract tables (Leap:
// webassembly/database.cpp).
func databaseEntries() []entry {
	list := []entry{
		{"db_store_i64", aware, []arg{u64, u64, u64, u64, chars}, wasm.I32, price{changing, writing}, dbStore},
		{"db_update_i64", aware, []arg{u32, u64, chars}, none, price{changing, writing}, dbUpdate},
		{"db_remove_i64", aware, []arg{u32}, none, price{changing, writing}, dbRemove},
		{"db_get_i64", aware, []arg{u32, chars}, wasm.I32, price{light, 1}, dbGet},
		{"db_next_i64", aware, []arg{u32, ref8}, wasm.I32, price{looking, 1}, dbNext},
		{"db_previous_i64", aware, []arg{u32, ref8}, wasm.I32, price{looking, 1}, dbPrevious},
		{"db_find_i64", aware, []arg{u64, u64, u64, u64}, wasm.I32, price{looking, 1}, dbFind},
		{"db_lowerbound_i64", aware, []arg{u64, u64, u64, u64}, wasm.I32, price{looking, 1}, dbLowerBound},
		{"db_upperbound_i64", aware, []arg{u64, u64, u64, u64}, wasm.I32, price{looking, 1}, dbUpperBound},
		{"db_end_i64", aware, []arg{u64, u64, u64}, wasm.I32, price{looking, 1}, dbEnd},
	}
	list = append(list, indexEntries("db_idx64_", kind{Index64, ref8})...)
	list = append(list, indexEntries("db_idx128_", kind{Index128, ref16})...)
	list = append(list, indexEntries("db_idx256_", kind{Index256, quads})...)
	list = append(list, indexEntries("db_idx_double_", kind{IndexDouble, ref8})...)
	list = append(list, indexEntries("db_idx_long_double_", kind{IndexLongDouble, ref16})...)
	return list
}

func dbStore(a *Apply, m []byte, s []uint64) (uint64, error) {
	itr, err := a.Chain.StoreI64(types.Name(s[0]), types.Name(s[1]), types.Name(s[2]), s[3], span(m, s, 4))
	return i32(itr), err
}

func dbUpdate(a *Apply, m []byte, s []uint64) (uint64, error) {
	return 0, a.Chain.UpdateI64(int32(s[0]), types.Name(s[1]), span(m, s, 2))
}

func dbRemove(a *Apply, _ []byte, s []uint64) (uint64, error) {
	return 0, a.Chain.RemoveI64(int32(s[0]))
}

func dbGet(a *Apply, m []byte, s []uint64) (uint64, error) {
	data, err := a.Chain.GetI64(int32(s[0]))
	if err != nil {
		return 0, err
	}
	return copyOut(span(m, s, 1), data), nil
}

func dbNext(a *Apply, m []byte, s []uint64) (uint64, error) {
	itr, primary, err := a.Chain.NextI64(int32(s[0]))
	return writeIterator(m, s, 1, itr, primary, err)
}

func dbPrevious(a *Apply, m []byte, s []uint64) (uint64, error) {
	itr, primary, err := a.Chain.PreviousI64(int32(s[0]))
	return writeIterator(m, s, 1, itr, primary, err)
}

// writeIterator writes the primary key of the row that an iterator came to, if it did.
func writeIterator(m []byte, s []uint64, at int, itr int32, primary uint64, err error) (uint64, error) {
	if err == nil && itr >= 0 {
		put64(m, s, at, primary)
	}
	return i32(itr), err
}

func dbFind(a *Apply, _ []byte, s []uint64) (uint64, error) {
	itr, err := a.Chain.FindI64(types.Name(s[0]), types.Name(s[1]), types.Name(s[2]), s[3])
	return i32(itr), err
}

func dbLowerBound(a *Apply, _ []byte, s []uint64) (uint64, error) {
	itr, err := a.Chain.LowerBoundI64(types.Name(s[0]), types.Name(s[1]), types.Name(s[2]), s[3])
	return i32(itr), err
}

func dbUpperBound(a *Apply, _ []byte, s []uint64) (uint64, error) {
	itr, err := a.Chain.UpperBoundI64(types.Name(s[0]), types.Name(s[1]), types.Name(s[2]), s[3])
	return i32(itr), err
}

func dbEnd(a *Apply, _ []byte, s []uint64) (uint64, error) {
	itr, err := a.Chain.EndI64(types.Name(s[0]), types.Name(s[1]), types.Name(s[2]))
	return i32(itr), err
}

// kind is how the functions of a secondary index take their keys.
type kind struct {
	index Index
	key   arg
}

// indexEntries are the ten functions of an index.
func indexEntries(prefix string, k kind) []entry {
	return []entry{
		{prefix + "store", aware, []arg{u64, u64, u64, u64, k.key}, wasm.I32, price{changing, writing}, k.store},
		{prefix + "update", aware, []arg{u32, u64, k.key}, none, price{changing, writing}, k.update},
		{prefix + "remove", aware, []arg{u32}, none, price{changing, writing}, k.remove},
		{prefix + "find_secondary", aware, []arg{u64, u64, u64, k.key, ref8}, wasm.I32, price{looking, 1}, k.findSecondary},
		{prefix + "find_primary", aware, []arg{u64, u64, u64, k.key, u64}, wasm.I32, price{looking, 1}, k.findPrimary},
		{prefix + "lowerbound", aware, []arg{u64, u64, u64, k.key, ref8}, wasm.I32, price{looking, 1}, k.lowerBound},
		{prefix + "upperbound", aware, []arg{u64, u64, u64, k.key, ref8}, wasm.I32, price{looking, 1}, k.upperBound},
		{prefix + "end", aware, []arg{u64, u64, u64}, wasm.I32, price{looking, 1}, k.end},
		{prefix + "next", aware, []arg{u32, ref8}, wasm.I32, price{looking, 1}, k.next},
		{prefix + "previous", aware, []arg{u32, ref8}, wasm.I32, price{looking, 1}, k.previous},
	}
}

// after is where the argument after the key at s[at] is.
func (k kind) after(at int) int {
	if k.key == quads {
		return at + 2
	}
	return at + 1
}

// checkSize refuses a key of 256 bits that is not two elements long.
func (k kind) checkSize(s []uint64, at int) error {
	if k.key == quads && uint32(s[at+1]) != 2 {
		return exception.New(exception.DBAPI,
			"invalid size of secondary key array for idx256: given ${given} bytes but expected ${expected} bytes",
			"given", uint32(s[at+1]), "expected", 2)
	}
	return nil
}

// read takes the key at s[at], which may not be NaN (Leap: preconditions.hpp,
// is_nan_check).
func (k kind) read(m []byte, s []uint64, at int) (SecondaryKey, error) {
	if err := k.checkSize(s, at); err != nil {
		return SecondaryKey{}, err
	}
	key := ReadSecondaryKey(k.index, m[uint32(s[at]):])
	if key.nan(k.index) {
		return key, exception.New(exception.Transaction, "NaN is not an allowed value for a secondary key")
	}
	return key, nil
}

func (k kind) store(a *Apply, m []byte, s []uint64) (uint64, error) {
	key, err := k.read(m, s, 4)
	if err != nil {
		return 0, err
	}
	itr, err := a.Chain.SecondaryStore(k.index, types.Name(s[0]), types.Name(s[1]), types.Name(s[2]), s[3], key)
	return i32(itr), err
}

func (k kind) update(a *Apply, m []byte, s []uint64) (uint64, error) {
	key, err := k.read(m, s, 2)
	if err != nil {
		return 0, err
	}
	return 0, a.Chain.SecondaryUpdate(k.index, int32(s[0]), types.Name(s[1]), key)
}

func (k kind) remove(a *Apply, _ []byte, s []uint64) (uint64, error) {
	return 0, a.Chain.SecondaryRemove(k.index, int32(s[0]))
}

func (k kind) findSecondary(a *Apply, m []byte, s []uint64) (uint64, error) {
	key, err := k.read(m, s, 3)
	if err != nil {
		return 0, err
	}
	itr, primary, err := a.Chain.SecondaryFind(k.index, types.Name(s[0]), types.Name(s[1]), types.Name(s[2]), key)
	return writeIterator(m, s, k.after(3), itr, primary, err)
}

func (k kind) findPrimary(a *Apply, m []byte, s []uint64) (uint64, error) {
	if err := k.checkSize(s, 3); err != nil {
		return 0, err
	}
	itr, key, err := a.Chain.SecondaryFindPrimary(k.index, types.Name(s[0]), types.Name(s[1]), types.Name(s[2]),
		s[k.after(3)])
	if err == nil && itr >= 0 {
		key.Put(k.index, m[uint32(s[3]):])
	}
	return i32(itr), err
}

func (k kind) lowerBound(a *Apply, m []byte, s []uint64) (uint64, error) {
	key, err := k.read(m, s, 3)
	if err != nil {
		return 0, err
	}
	itr, primary, found, err := a.Chain.SecondaryLowerBound(k.index, types.Name(s[0]), types.Name(s[1]),
		types.Name(s[2]), key)
	if err == nil && itr >= 0 {
		k.write(m, s, found, primary)
	}
	return i32(itr), err
}

func (k kind) upperBound(a *Apply, m []byte, s []uint64) (uint64, error) {
	key, err := k.read(m, s, 3)
	if err != nil {
		return 0, err
	}
	itr, primary, found, err := a.Chain.SecondaryUpperBound(k.index, types.Name(s[0]), types.Name(s[1]),
		types.Name(s[2]), key)
	if err == nil && itr >= 0 {
		k.write(m, s, found, primary)
	}
	return i32(itr), err
}

// write returns a bound's two results to where the contract wants them, which may
// overlap. nodeos writes the primary key, then the secondary one; but one that is
// not aligned only into a copy, which is copied back in the end, the secondary one
// first.
func (k kind) write(m []byte, s []uint64, key SecondaryKey, primary uint64) {
	const keyAt = 3
	primaryAt := k.after(keyAt)
	inPlace := aligned(s, primaryAt, 8)
	if inPlace {
		put64(m, s, primaryAt, primary)
	}
	key.Put(k.index, m[uint32(s[keyAt]):])
	if !inPlace {
		put64(m, s, primaryAt, primary)
	}
}

func (k kind) end(a *Apply, _ []byte, s []uint64) (uint64, error) {
	itr, err := a.Chain.SecondaryEnd(k.index, types.Name(s[0]), types.Name(s[1]), types.Name(s[2]))
	return i32(itr), err
}

func (k kind) next(a *Apply, m []byte, s []uint64) (uint64, error) {
	itr, primary, err := a.Chain.SecondaryNext(k.index, int32(s[0]))
	return writeIterator(m, s, 1, itr, primary, err)
}

func (k kind) previous(a *Apply, m []byte, s []uint64) (uint64, error) {
	itr, primary, err := a.Chain.SecondaryPrevious(k.index, int32(s[0]))
	return writeIterator(m, s, 1, itr, primary, err)
}
