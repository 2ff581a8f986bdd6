package page

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"tarn/internal/seeded"
	"tarn/store"
)

// The way to a row that was got is taken again for putting it only while its pages are
// known to be sound, and not after another way could not be found.
func TestAWayWithADamagedPageIsNotTakenAgain(t *testing.T) {
	e, tb := newRows(t, Options{LimitBytes: 64 << 20})
	key := func(i int) []byte { return fmt.Appendf(nil, "key %06d", i) }
	const rows = 3000
	for i := range rows {
		if err := e.Put(tb, key(i), key(i), nil); err != nil {
			t.Fatal(err)
		}
	}
	c, err := e.Checkpoint(store.Image{Head: 1, Irreversible: 1}) // gives the pages checksums
	if err == nil {
		err = c.Wait()
	}
	if err != nil {
		t.Fatal(err)
	}
	tree := &e.tables[tb-1].tree
	leaf, _, err := e.lookup(tree, tb, key(rows/2))
	if err != nil {
		t.Fatal(err)
	}
	page, root := leaf.number, tree.root.page
	damage := func() { // and its mending
		leaf.number ^= page ^ root
		e.clearChecked(page, 1)
	}
	for _, change := range []func() error{
		func() error { return e.Put(tb, key(rows/2), []byte("changed"), nil) },
		func() error { return e.Delete(tb, key(rows/2), nil) },
	} {
		if _, err := e.Get(tb, key(rows/2)); err != nil {
			t.Fatal(err)
		}
		damage()
		if err := change(); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("a row of a damaged page was changed: %v", err)
		}
		damage()
	}

	if _, err := e.Get(tb, key(0)); err != nil {
		t.Fatal(err)
	}
	damage()
	if _, err := e.Get(tb, key(rows/2)); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("a row of a damaged page was got: %v", err)
	}
	var undo store.Journal
	if err := e.Put(tb, key(0), []byte("changed"), &undo); err != nil {
		t.Fatal(err)
	}
	if v, err := e.Get(tb, key(0)); string(v) != "changed" || err != nil || tree.rows != rows {
		t.Errorf("the row that was put is %q, %v, of %d rows", v, err, tree.rows)
	}
	damage()
	verify(t, e)
}

// Rows that are beside each other are found without a way from the root, in any order, also while leaves are divided,
// copied for a view and given back.
func TestRowsOfTheSameLeafAreFound(t *testing.T) {
	e, tb := newRows(t, Options{LimitBytes: 64 << 20})
	key := func(i int) []byte { return fmt.Appendf(nil, "key %06d", i) }
	for i := range 3 { // of a table without rows
		if _, err := e.Get(tb, key(i)); !errors.Is(err, store.ErrNotFound) {
			t.Fatal(err)
		}
	}
	r := seeded.Random(t, 1)
	model := map[int]string{}
	const keys = 4000
	for range 300 {
		from, step := r.IntN(keys), 1-2*r.IntN(2) // a run of neighbours, upward or downward
		for i := from; i >= 0 && i < keys && r.IntN(60) > 0; i += step * (1 + r.IntN(2)) {
			switch value, there := model[i]; r.IntN(4) {
			case 0:
				got, err := e.Get(tb, key(i))
				if there && (err != nil || string(got) != value) || !there && !errors.Is(err, store.ErrNotFound) {
					t.Fatalf("row %d: %q, %v; should be %q, %v", i, got, err, value, there)
				}
			case 1:
				err := e.Delete(tb, key(i), nil)
				if there && err != nil || !there && !errors.Is(err, store.ErrNotFound) {
					t.Fatalf("row %d: %v, there: %v", i, err, there)
				}
				delete(model, i)
			default:
				model[i] = strings.Repeat("x", r.IntN(300))
				if err := e.Put(tb, key(i), []byte(model[i]), nil); err != nil {
					t.Fatal(err)
				}
			}
		}
		if r.IntN(5) == 0 {
			if err := e.Publish(uint64(r.IntN(100))); err != nil {
				t.Fatal(err)
			}
		}
		if r.IntN(20) == 0 {
			if c, err := e.Checkpoint(store.Image{}); err != nil || c.Wait() != nil {
				t.Fatal(err, c.Wait())
			}
		}
	}
	c, err := e.Cursor(tb)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	rows := 0
	for ok := c.First(); ok; ok = c.Next() {
		rows++
	}
	if rows != len(model) {
		t.Errorf("%d rows, should be %d", rows, len(model))
	}
}
