package state_test

import (
	"fmt"
	"os"
	"testing"

	"tarn/antelope/state"
	"tarn/internal/scratch"
	"tarn/store"
	"tarn/store/engine"
	"tarn/store/page"
)

func TestMain(m *testing.M) {
	if err := scratch.OnDisk(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// database is a store and the state in it, which can be closed and opened again.
type database struct {
	t         *testing.T
	dir       string
	opts      engine.Options
	keepsUndo bool // a checkpoint keeps what it takes to undo
	store     store.Store
	opened    *state.State
}

type databaseKind struct {
	name      string
	opts      engine.Options
	keepsUndo bool
}

var databases = []databaseKind{
	{"page", engine.Options{Kind: engine.Page, Mode: page.Heap, LimitBytes: 64 << 20}, true},
	{"pebble", engine.Options{Kind: engine.Pebble}, false},
}

func (k databaseKind) open(t *testing.T) *database {
	d := &database{t: t, dir: t.TempDir(), opts: k.opts, keepsUndo: k.keepsUndo}
	d.reopen()
	t.Cleanup(d.close)
	return d
}

func (d *database) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d *database) state() *state.State { return d.opened }

func (d *database) close() {
	if d.store == nil {
		return
	}
	d.must(d.opened.Close())
	d.must(d.store.Close())
	d.store, d.opened = nil, nil
}

// reopen makes the head durable, and opens the store anew.
func (d *database) reopen() *state.State {
	if d.store != nil {
		d.must(d.opened.Flush())
		c, err := d.store.Checkpoint()
		d.must(err)
		d.must(c.Wait())
		d.close()
	}
	var err error
	d.store, err = engine.Open(d.dir, d.opts)
	d.must(err)
	d.opened, err = state.Open(d.store)
	d.must(err)
	return d.opened
}
