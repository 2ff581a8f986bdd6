package page

import (
	"testing"

	"tarn/store"
)

// TestACheckpointOfNothingNewWritesNothing takes checkpoints with and without changes.
func TestACheckpointOfNothingNewWritesNothing(t *testing.T) {
	e, tb := newRows(t, Options{Mode: MappedPrivate})
	put := func(key, value string) {
		if err := e.Put(tb, []byte(key), []byte(value), nil); err != nil {
			t.Fatal(err)
		}
	}
	checkpoint := func(what string, im store.Image, writes bool) {
		t.Helper()
		before := e.Stats()
		c, err := e.Checkpoint(im)
		if err == nil {
			err = c.Wait()
		}
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		after := e.Stats()
		if (after.Written.Total() > before.Written.Total()) != writes ||
			(after.Checkpoints > before.Checkpoints) != writes {
			t.Errorf("%s: %d bytes and %d checkpoints before, %d and %d after", what,
				before.Written.Total(), before.Checkpoints, after.Written.Total(), after.Checkpoints)
		}
	}
	one := store.Image{Head: 1, Irreversible: 1}
	put("a", "1")
	checkpoint("a row", one, true)
	checkpoint("nothing", one, false)
	checkpoint("a revision", store.Image{Head: 2, Irreversible: 2}, true)
	two := store.Image{Head: 2, Irreversible: 2}
	put("a", "1")
	checkpoint("the same value", two, true)
	if err := e.Delete(tb, []byte("a"), nil); err != nil {
		t.Fatal(err)
	}
	checkpoint("the last row deleted", two, true)
	checkpoint("nothing, of no rows", two, false)
	if _, err := e.CreateTable("more"); err != nil {
		t.Fatal(err)
	}
	checkpoint("a table", two, true)
	put("b", "2")
	checkpoint("a row again", two, true)
	dir := e.opts.Dir
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	var err error
	if e, err = Open(Options{Dir: dir, Mode: MappedPrivate}); err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	checkpoint("nothing since the start", two, false)
	put("b", "3")
	checkpoint("a row after the start", two, true)
}
