package state_test

import (
	"slices"
	"testing"

	"tarn/antelope/state"
	"tarn/antelope/types"
)

// Readers walk a table from any key, up and down, and never leave it.
func TestAWalkStaysInItsTable(t *testing.T) {
	d := databases[0].open(t)
	s := d.state()
	table := func(name string) state.TableKey {
		return state.TableKey{Code: types.N("code"), Scope: types.N("scope"), Table: types.N(name)}
	}
	if err := s.Begin(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b", "c"} {
		if _, err := s.Tables.Create(table(name), state.ContractTable{Key: table(name)}); err != nil {
			t.Fatal(err)
		}
		for _, p := range []uint64{0, 5, 9, 1<<64 - 1} {
			if err := s.PutRow(state.RowKey{TableKey: table(name), Primary: p}, types.N(name),
				[]byte{byte(p)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Push(); err != nil {
		t.Fatal(err)
	}
	d.must(d.store.Publish())
	v, err := s.View()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	for _, c := range []struct {
		from    uint64
		reverse bool
		want    []uint64
	}{
		{0, false, []uint64{0, 5, 9, 1<<64 - 1}},
		{6, false, []uint64{9, 1<<64 - 1}},
		{9, false, []uint64{9, 1<<64 - 1}},
		{1<<64 - 1, true, []uint64{1<<64 - 1, 9, 5, 0}},
		{9, true, []uint64{9, 5, 0}},
		{8, true, []uint64{5, 0}},
		{0, true, []uint64{0}},
	} {
		var got []uint64
		err := v.WalkRows(state.RowKey{TableKey: table("b"), Primary: c.from}, c.reverse,
			func(p uint64, payer types.Name, value []byte) (bool, error) {
				if payer != types.N("b") || len(value) != 1 || value[0] != byte(p) {
					t.Errorf("row %d is %x, paid by %s", p, value, payer)
				}
				got = append(got, p)
				return true, nil
			})
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("from %d, reverse %v: %v %v, want %v", c.from, c.reverse, got, err, c.want)
		}
	}
	for _, c := range []struct {
		from    string
		reverse bool
		want    string
	}{{"b", false, "bc"}, {"aa", false, "bc"}, {"b", true, "ba"}, {"bb", true, "ba"}} {
		got := ""
		err := v.Tables.Walk(table(c.from), c.reverse, func(r *state.ContractTable) (bool, error) {
			got += r.Key.Table.String()
			return true, nil
		})
		if err != nil || got != c.want {
			t.Errorf("tables from %s, reverse %v: %s %v, want %s", c.from, c.reverse, got, err, c.want)
		}
	}
}
