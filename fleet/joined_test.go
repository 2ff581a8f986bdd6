package fleet

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"tarn/store"
	"tarn/store/engine"
)

// twoTables opens a store with two tables, in memory, and begins its first revision.
func twoTables(t *testing.T) store.Store {
	t.Helper()
	s, err := engine.Open(t.TempDir(), engine.Options{Kind: engine.Page, LimitBytes: 1 << 28})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	for _, name := range []string{"first", "second"} {
		if _, err := s.CreateTable(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Begin(); err != nil {
		t.Fatal(err)
	}
	return s
}

// randomBlocks are the rows of blocks that follow each other on a store, which gets them.
func randomBlocks(t *testing.T, r *rand.Rand, s store.Store, n int) (encodings [][]byte) {
	t.Helper()
	for range n {
		rows := &Rows{}
		for table := store.Table(1); table <= 2; table++ {
			for _, k := range r.Perm(40)[:r.IntN(20)] {
				key := fmt.Appendf(nil, "key %02d", k)
				_, err := s.Get(table, key)
				there := err == nil
				present := !there || r.IntN(3) > 0
				value := fmt.Appendf(nil, "%d", r.Uint32())
				if err := rows.Add(table, key, value, present); err != nil {
					t.Fatal(err)
				}
				if present {
					err = s.Put(table, key, value)
				} else {
					err = s.Delete(table, key)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		b, err := rows.Append(nil, s.Tables())
		if err != nil {
			t.Fatal(err)
		}
		encodings = append(encodings, b)
	}
	return encodings
}

// all are the rows of a store.
func all(t *testing.T, s store.Store) (list []string) {
	t.Helper()
	for table := store.Table(1); table <= 2; table++ {
		c, err := s.Cursor(table)
		if err != nil {
			t.Fatal(err)
		}
		for ok := c.First(); ok; ok = c.Next() {
			list = append(list, fmt.Sprintf("%d %s %s", table, c.Key(), c.Value()))
		}
		if err := errors.Join(c.Err(), c.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return list
}

func TestJoinedRowsAreThoseOfEachBlock(t *testing.T) {
	seed := rand.Uint64()
	t.Log("seed", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	one, both, joined := twoTables(t), twoTables(t), &JoinedRows{}
	for range 200 {
		encodings := randomBlocks(t, r, one, 1+r.IntN(6))
		if err := joined.Apply(both, encodings); err != nil {
			t.Fatal(err)
		}
		if want, got := all(t, one), all(t, both); !slices.Equal(got, want) {
			t.Fatalf("%q, want %q", got, want)
		}
	}
}

// More rows than are joined at once, and a row that is changed before and after they are full.
func TestMoreRowsAreJoinedThanHaveRoom(t *testing.T) {
	s, rows := twoTables(t), &Rows{}
	add := func(i int, value string) {
		if err := rows.Add(1, fmt.Appendf(nil, "%d", i), []byte(value), value != ""); err != nil {
			t.Fatal(err)
		}
	}
	const n = joinedRowsMost + 1000
	for i := range n {
		add(i, "1")
	}
	first, err := rows.Append(nil, s.Tables())
	if err != nil {
		t.Fatal(err)
	}
	rows = &Rows{}
	add(0, "2")
	add(1, "")
	second, err := rows.Append(nil, s.Tables())
	if err != nil {
		t.Fatal(err)
	}
	if err := new(JoinedRows).Apply(s, [][]byte{first, second}); err != nil {
		t.Fatal(err)
	}
	info := all(t, s)
	if len(info) != n-1 || info[0] != "1 0 2" {
		t.Fatalf("%d rows, the first is %q", len(info), info[0])
	}
}

func TestJoinedRowsOfAnotherStateAreRefused(t *testing.T) {
	s, joined := twoTables(t), &JoinedRows{}
	encode := func(key string, present bool) []byte {
		rows := &Rows{}
		if err := rows.Add(2, []byte(key), nil, present); err != nil {
			t.Fatal(err)
		}
		b, err := rows.Append(nil, s.Tables())
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	// It came and went: whether it was there before, nobody says.
	if err := joined.Apply(s, [][]byte{encode("a", true), encode("a", false)}); err != nil {
		t.Fatal(err)
	}
	for name, list := range map[string][][]byte{
		"a row that is not there":        {encode("a", false)},
		"the same, and it comes back":    {encode("a", false), encode("a", true)},
		"and goes again":                 {encode("a", false), encode("a", true), encode("a", false)},
		"a row that goes twice":          {encode("a", true), encode("a", false), encode("a", false)},
		"a row of a table that is not":   {{5, 't', 'h', 'i', 'r', 'd', 1, 1, 'a', 0}},
		"not an encoding":                {{5}},
		"one that ends before its bytes": {encode("a", true)[:5]},
	} {
		err := joined.Apply(s, list)
		if !errors.Is(err, ErrDiffers) && !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
		if len(joined.rows) != 0 {
			t.Errorf("%s: %d rows are kept", name, len(joined.rows))
		}
	}
}
