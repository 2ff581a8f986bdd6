package revision_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"tarn/store"
	"tarn/store/revision"
)

// asker is a store whose changes are asked for after each revision, beside what its rows should be.
type asker struct {
	t      *testing.T
	r      *rand.Rand
	s      *revision.Store
	tables []store.Table
	now    map[string]string   // by table and key
	open   []map[string]string // before each session
	heads  []map[string]string // before each revision that can be undone
}

func (a *asker) must(err error) {
	a.t.Helper()
	if err != nil {
		a.t.Fatal(err)
	}
}

// change puts or deletes a row, of few when rows are to change twice in a revision.
func (a *asker) change(keys int) {
	table, key := a.tables[a.r.IntN(len(a.tables))], fmt.Sprint(a.r.IntN(keys))
	at := fmt.Sprint(table, " ", key)
	_, there := a.now[at]
	switch {
	case a.r.IntN(3) > 0:
		value := fmt.Sprint(a.r.IntN(4))[:a.r.IntN(2)]
		a.must(a.s.Put(table, []byte(key), []byte(value)))
		a.now[at] = value
	case there:
		a.must(a.s.Delete(table, []byte(key)))
		delete(a.now, at)
	default:
		if err := a.s.Delete(table, []byte(key)); !errors.Is(err, store.ErrNotFound) {
			a.t.Fatalf("a row that is not there: %v", err)
		}
	}
}

// revise makes a revision, with sessions in it.
func (a *asker) revise(keys int) {
	begin := func() {
		a.must(a.s.Begin())
		a.open = append(a.open, maps.Clone(a.now))
	}
	begin()
	for range a.r.IntN(30) {
		n := len(a.open)
		switch k := a.r.IntN(10); {
		case k == 0 && n < 4:
			begin()
		case k == 1 && n > 1:
			a.must(a.s.Squash())
			a.open = a.open[:n-1]
		case k == 2 && n > 1:
			a.must(a.s.Undo())
			a.now, a.open = a.open[n-1], a.open[:n-1]
		default:
			a.change(keys)
		}
	}
	for ; len(a.open) > 1; a.open = a.open[:len(a.open)-1] {
		a.must(a.s.Squash())
	}
	a.must(a.s.Push())
	a.heads, a.open = append(a.heads, a.open[0]), nil
}

// compare asks what the head changed, of one table or of all.
func (a *asker) compare() {
	a.t.Helper()
	var of func(store.Table) bool
	if a.r.IntN(2) == 0 {
		of = func(t store.Table) bool { return t == a.tables[0] }
	}
	got, want := map[string]string{}, map[string]string{}
	err := a.s.Changes(of, func(t store.Table, key, value []byte, present bool) error {
		at := fmt.Sprint(t, " ", string(key))
		if _, twice := got[at]; twice {
			return fmt.Errorf("%s is told twice", at)
		}
		got[at] = fmt.Sprintf("%q %v", value, present)
		return nil
	})
	before := a.heads[len(a.heads)-1]
	differ := func(at string) {
		old, was := before[at]
		value, is := a.now[at]
		var t store.Table
		fmt.Sscan(at, &t)
		if (old != value || was != is) && (of == nil || of(t)) {
			want[at] = fmt.Sprintf("%q %v", value, is)
		}
	}
	for at := range before {
		differ(at)
	}
	for at := range a.now {
		differ(at)
	}
	if err != nil || !maps.Equal(got, want) {
		a.t.Fatalf("%v, %v; want %v", got, err, want)
	}
}

// A revision in which rows change more often than is noted is read, and holds no room for the next ones.
func TestChangesOfARowThatChangesOften(t *testing.T) {
	s := openInMemory(t, 64<<20)
	a := &asker{t: t, s: s}
	rows, err := s.CreateTable("rows")
	a.must(err)
	for _, puts := range []int{1, 3, 1<<16 + 1, 1<<16 + 2, 70_000, 2} { // the first one is of its own
		a.must(s.Begin())
		for i := range puts {
			a.must(s.Put(rows, []byte("a"), fmt.Append(nil, puts, i)))
		}
		a.must(s.Put(rows, []byte("b"), fmt.Append(nil, puts)))
		a.must(s.Push())
		var got []string
		a.must(s.Changes(nil, func(_ store.Table, key, value []byte, _ bool) error {
			got = append(got, string(key)+" "+string(value))
			return nil
		}))
		if want := []string{fmt.Sprint("a ", puts, " ", puts-1), fmt.Sprint("b ", puts)}; !slices.Equal(got, want) {
			t.Errorf("%d puts: %q, want %q", puts, got, want)
		}
	}
}

// Whoever asks for the changes of each revision gets what was noted, or what is read: the same.
func TestChangesAreWhatTheRevisionChanged(t *testing.T) {
	seed := rand.Uint64()
	t.Log("seed", seed)
	s := openInMemory(t, 64<<20)
	a := &asker{t: t, r: rand.New(rand.NewPCG(seed, 1)), s: s, now: map[string]string{}}
	for _, name := range []string{"first", "second"} {
		table, err := s.CreateTable(name)
		a.must(err)
		a.tables = append(a.tables, table)
	}
	for range 3000 {
		a.revise([]int{10, 500}[a.r.IntN(2)])
		if a.r.IntN(8) > 0 {
			a.compare()
			if a.r.IntN(4) == 0 {
				a.compare()
			}
		}
		for a.r.IntN(3) == 0 && len(a.heads) > 1 {
			n := len(a.heads) - 1
			a.must(s.Undo())
			a.now, a.heads = a.heads[n], a.heads[:n]
			a.compare()
		}
		if a.r.IntN(4) == 0 && len(a.heads) > 3 {
			a.must(s.Commit(s.Irreversible() + 2))
			a.heads = a.heads[2:]
		}
	}
}
