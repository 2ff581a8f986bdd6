package dbtool

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"tarn/store"
	"tarn/store/engine"
	"tarn/store/page"
)

// randomStore makes a page store with random undoable revisions, and returns what
// its only table of rows held at the irreversible revision.
func randomStore(t *testing.T, dir string, seed uint64) map[string]string {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 0))
	s, err := engine.Open(dir, engine.Options{Kind: engine.Page, Mode: page.MappedPrivate})
	check(t, err)
	table, err := s.CreateTable("rows")
	check(t, err)
	key := func() []byte { return fmt.Appendf(nil, "%03d", random.IntN(300)) }
	model := map[string]string{}
	for range random.IntN(200) {
		k, v := key(), fmt.Appendf(nil, "first %d", random.IntN(1000))
		check(t, s.Put(table, k, v))
		model[string(k)] = string(v)
	}
	check(t, s.SetRevision(100))
	for range random.IntN(6) {
		check(t, s.Begin())
		for range random.IntN(60) {
			if k := key(); random.IntN(3) == 0 {
				if err := s.Delete(table, k); err != nil && err != store.ErrNotFound {
					t.Fatal(err)
				}
			} else {
				check(t, s.Put(table, k, fmt.Appendf(nil, "later %d", random.IntN(1000))))
			}
		}
		check(t, s.Push())
	}
	c, err := s.Checkpoint()
	check(t, err)
	check(t, c.Wait())
	check(t, s.Close())
	return model
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestTheStateIsTakenBackToTheIrreversibleRevision(t *testing.T) {
	for seed := range uint64(60) {
		dir := t.TempDir()
		model := randomStore(t, dir, seed)
		e, err := engine.OpenRows(dir, engine.Options{ReadOnly: true, Mode: page.Mapped})
		check(t, err)
		undone, err := pastOf(e.Recovered())
		check(t, err)
		table := e.Tables()[len(e.Tables())-1].ID

		var keys [][]byte
		w, err := walk(e, table, undone, nil)
		check(t, err)
		for w.next() {
			want, ok := model[string(w.key)]
			if !ok || want != string(w.value) {
				t.Fatalf("seed %d: row %s is %q, want %q (there: %v)", seed, w.key, w.value, want, ok)
			}
			keys = append(keys, bytes.Clone(w.key))
		}
		check(t, w.err())
		check(t, w.close())
		if len(keys) != len(model) {
			t.Fatalf("seed %d: %d rows, want %d", seed, len(keys), len(model))
		}
		// From the middle on, at a row that is there or is not.
		for i := range 300 {
			from := fmt.Appendf(nil, "%03d", i)
			w, err := walk(e, table, undone, from)
			check(t, err)
			for _, want := range keys {
				if bytes.Compare(want, from) >= 0 && (!w.next() || !bytes.Equal(w.key, want)) {
					t.Fatalf("seed %d: from %s: row %s, want %s", seed, from, w.key, want)
				}
			}
			if w.next() {
				t.Fatalf("seed %d: from %s: row %s is too many", seed, from, w.key)
			}
			check(t, w.close())
		}
		check(t, e.Close())
	}
}

func TestTheDigestTellsStatesApart(t *testing.T) {
	sum := func(fill func(d *digest)) string {
		d := newDigest()
		fill(d)
		return string(d.sum())
	}
	row := func(d *digest, k, v string) { d.row([]byte(k), []byte(v)) }
	seen := map[string]int{}
	for i, fill := range []func(d *digest){
		func(d *digest) {},
		func(d *digest) { d.table("a"); d.endTable() },
		func(d *digest) { d.table("a"); row(d, "k", "v"); d.endTable() },
		func(d *digest) { d.table("a"); row(d, "kv", ""); d.endTable() },
		func(d *digest) { d.table("a"); d.endTable(); d.table("k"); d.endTable() },
		func(d *digest) { d.table("a"); row(d, "k", "v"); row(d, "l", "w"); d.endTable() },
		func(d *digest) {
			d.table("a")
			row(d, "k", "v")
			d.endTable()
			d.table("b")
			row(d, "l", "w")
			d.endTable()
		},
	} {
		s := sum(fill)
		if j, ok := seen[s]; ok {
			t.Errorf("states %d and %d have the same digest", i, j)
		}
		seen[s] = i
	}
}
