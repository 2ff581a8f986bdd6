package page

import (
	"errors"
	"fmt"
	"testing"

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
