package fleet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"tarn/internal/seeded"
	"tarn/store"
)

// rowStore is a store of two tables whose rows are put and deleted.
type rowStore struct {
	store.Store
	rows    map[string]string
	changes int
}

func (s *rowStore) Table(name string) (store.Table, error) {
	if i := strings.Index("first second", name); i >= 0 {
		return store.Table(1 + i), nil
	}
	return 0, store.ErrNoTable
}

func (s *rowStore) Put(t store.Table, key, value []byte) error {
	s.rows[fmt.Sprintf("%d %s", t, key)] = string(value)
	s.changes++
	return nil
}

func (s *rowStore) Delete(t store.Table, key []byte) error {
	k := fmt.Sprintf("%d %s", t, key)
	if _, ok := s.rows[k]; !ok {
		return store.ErrNotFound
	}
	delete(s.rows, k)
	s.changes++
	return nil
}

var rowTables = []store.TableInfo{{ID: 1, Name: "first"}, {ID: 2, Name: "second"}}

// someChanges are the rows of blocks, each of which changes some of the rows that s has then, or new ones.
func someChanges(t *testing.T, r *rand.Rand, s *rowStore, blocks, keys int) (list [][]byte) {
	for range blocks {
		var rows Rows
		for _, i := range r.Perm(keys)[:r.IntN(keys+1)] {
			table, key := store.Table(1+i%2), fmt.Sprintf("key %0*d", 1+5*(i%7), i) // also longer than those that are compared at once
			handle, _ := s.Table(rowTables[table-1].Name)
			_, there := s.rows[fmt.Sprintf("%d %s", handle, key)]
			if there && r.IntN(3) == 0 {
				_ = rows.Add(table, []byte(key), nil, false)
			} else {
				_ = rows.Add(table, []byte(key), fmt.Append(nil, r.Uint64()), true)
			}
		}
		b, err := rows.Append(nil, rowTables)
		if err == nil {
			err = Apply(s, b)
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, b)
	}
	return list
}

// applyLatest applies blocks as one change.
func applyLatest(l *Latest, s store.Store, blocks [][]byte) error {
	if err := l.Gather(blocks); err != nil {
		return err
	}
	return l.Apply(s)
}

// Blocks that are applied as one change leave what they leave one after the other, and change each row once.
func TestTheLatestOfEachRowIsApplied(t *testing.T) {
	r := seeded.Random(t, 1)
	var l Latest
	for range 200 {
		one := &rowStore{rows: map[string]string{}}
		someChanges(t, r, one, 1+r.IntN(3), 1+r.IntN(40))
		all := &rowStore{rows: maps.Clone(one.rows)}
		keys := 1 + r.IntN(60)
		if r.IntN(20) == 0 {
			keys *= 100
		}
		blocks := someChanges(t, r, one, 1+r.IntN(8), keys)
		if err := applyLatest(&l, all, blocks); err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(one.rows, all.rows) {
			t.Fatalf("%d blocks of %d keys leave %d rows, one after the other %d",
				len(blocks), keys, len(all.rows), len(one.rows))
		}
		if all.changes > keys {
			t.Fatalf("%d rows are changed %d times", keys, all.changes)
		}
	}
}

func TestRowsThatAreNotThereAreNotDeleted(t *testing.T) {
	encode := func(table store.Table, key string, present bool) []byte {
		var rows Rows
		_ = rows.Add(table, []byte(key), nil, present)
		b, err := rows.Append(nil, append(rowTables, store.TableInfo{ID: 3, Name: "third"}))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	ofTables := func(n int) (b []byte) {
		for i := range n {
			b = append(appendString(b, fmt.Sprint("table", i)), 1, 1, 'a', 1, 0)
		}
		return b
	}
	var l Latest
	for name, x := range map[string]struct {
		blocks [][]byte
		want   error
	}{
		"never there":           {[][]byte{encode(1, "a", false), encode(1, "b", true)}, ErrDiffers},
		"there in another":      {[][]byte{encode(1, "a", true), encode(2, "a", false)}, ErrDiffers},
		"came and went":         {[][]byte{encode(1, "a", true), encode(1, "a", false)}, nil},
		"of too many tables":    {[][]byte{encode(1, "a", true), ofTables(mostTables + 1)}, ErrDiffers},
		"of no table":           {[][]byte{encode(1, "a", true), encode(3, "a", true)}, ErrDiffers},
		"damaged":               {[][]byte{encode(1, "a", true), encode(1, "b", true)[:5]}, ErrDamaged},
		"the same in one block": {[][]byte{encode(1, "a", true)}, nil},
	} {
		s := &rowStore{rows: map[string]string{}}
		if err := applyLatest(&l, s, x.blocks); !errors.Is(err, x.want) {
			t.Errorf("%s: %v", name, err)
		}
		if x.want != nil && s.changes > 1 {
			t.Errorf("%s: %d rows are changed", name, s.changes)
		}
	}
}

// A publisher's smallest rows take no more memory than usual ones: beyond a bound they are applied block by block. What
// is kept for the next blocks has a bound, too.
func TestGatheredRowsAreBounded(t *testing.T) {
	tiny := func(table string, rows int) []byte {
		b := binary.AppendUvarint(appendString(nil, table), uint64(rows))
		return append(b, bytes.Repeat([]byte{1, 'a', 0}, rows)...) // each deletes the row "a"
	}
	room := func(l *Latest) (n int) {
		for i := range l.tables {
			n += cap(l.tables[i].rows)
		}
		return n
	}
	put := func() []byte {
		var rows Rows
		_ = rows.Add(1, []byte("a"), []byte("1"), true)
		b, err := rows.Append(nil, rowTables)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	var l Latest
	if err := l.Gather([][]byte{put(), tiny("first", 5<<20)}); err != nil || room(&l) > 0 {
		t.Errorf("%d rows are kept, %v", room(&l), err)
	}
	if err := l.Apply(&rowStore{rows: map[string]string{}}); !errors.Is(err, ErrDiffers) {
		t.Errorf("a row was deleted five million times: %v", err)
	}
	for i := range 5 {
		if err := l.Gather([][]byte{tiny(fmt.Sprint("table", i), mostRows), nil}); err != nil {
			t.Fatal(err)
		}
		if l.Clear(); room(&l) > mostRows {
			t.Fatalf("room for %d rows is kept", room(&l))
		}
	}
	s := &rowStore{rows: map[string]string{}} // and many blocks have the same result
	if err := applyLatest(&l, s, [][]byte{put(), tiny("first", 1), put(), make([]byte, 0)}); err != nil {
		t.Error(err)
	}
	if len(s.rows) != 1 {
		t.Error(s.rows)
	}
}

// What may be anything is never taken for rows of another place.
func FuzzLatest(f *testing.F) {
	r := rand.New(rand.NewPCG(6, 1))
	for range 5 {
		b := someBlock(r, point(1, 1), point(2, 1)).Rows
		f.Add(b, b)
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		one, all := &rowStore{rows: map[string]string{}}, &rowStore{rows: map[string]string{}}
		err := Apply(one, a)
		if err == nil {
			err = Apply(one, b)
		}
		var l Latest
		e := applyLatest(&l, all, [][]byte{a, b})
		if e == nil != (err == nil) && !(e == nil && errors.Is(err, ErrDiffers)) {
			t.Fatalf("%v, one after the other %v", e, err)
		}
		if err == nil && !maps.Equal(one.rows, all.rows) {
			t.Fatalf("%v, one after the other %v", all.rows, one.rows)
		}
	})
}
