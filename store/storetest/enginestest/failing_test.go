package enginestest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	"tarn/store"
	"tarn/store/lsm"
	"tarn/store/lsm/badger"
	"tarn/store/lsm/leveldb"
	"tarn/store/lsm/pebble"
	"tarn/store/revision"
	"tarn/store/storetest"
	"tarn/store/vfs"
	"tarn/store/vfs/errorfs"
)

var errPlanted = errors.New("planted failure")

// failing is a library whose flushes fail at a step of choice; see steps.
type failing struct {
	lsm.Base
	seal *errorfs.FS

	mu     sync.Mutex
	step   string
	rows   int  // that a batch takes before it fails
	shown  bool // the flush has taken its snapshot
	barred bool // the flush must write nothing
	joins  bool // layers are joined after a flush without a residue
}

// steps are those of a flush, in their order. A commit that lies has done all of its
// work. The seal cannot be opened, is written by half, or not synced. Memory ends for
// the new overlay of the writer and all others, or for the residue and whatever comes
// after it, until the writer needs some.
func steps() []string {
	return []string{"memory", "before", "batch", "row", "commit", "lying commit",
		"seal open", "seal write", "seal sync", "snapshot", "residue"}
}

// openFailing opens an LSM store whose flushes can be made to fail.
func openFailing(kind string) func(string, storetest.Knobs) (store.Store, storetest.Sabotage, error) {
	return func(dir string, _ storetest.Knobs) (store.Store, storetest.Sabotage, error) {
		f := &failing{seal: errorfs.New(vfs.OS)}
		var err error
		if f.Base, err = openBase(kind, dir, f.seal); err != nil {
			return nil, nil, err
		}
		e, err := lsm.Open(f, lsm.Options{BeforeCheckpoint: f.before, BeforeOverlay: f.memory})
		if err != nil {
			return nil, nil, err
		}
		s, err := revision.Open(e)
		if err != nil {
			return nil, nil, errors.Join(err, e.Close())
		}
		return s, f, nil
	}
}

func openBase(kind, dir string, files vfs.FS) (lsm.Base, error) {
	switch kind {
	case leveldb.Kind:
		return leveldb.Open(leveldb.Options{Dir: dir, FS: files})
	case pebble.Kind:
		return pebble.Open(pebble.Options{Dir: dir, FS: files})
	case badger.Kind:
		return badger.Open(badger.Options{Dir: dir, FS: files})
	}
	return nil, fmt.Errorf("no base of kind %q", kind)
}

func (f *failing) Fail(r *rand.Rand) string {
	step := steps()[r.IntN(len(steps()))]
	f.failAt(step, r.IntN(40))
	return step
}

// failAt lets flushes fail at a step; a batch takes some rows before.
func (f *failing) failAt(step string, rows int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.step, f.rows, f.shown = step, rows, false
	fault := errorfs.Fault{Path: "SEAL", Ever: true, Err: errPlanted, Part: true}
	switch step {
	case "seal open":
		fault.Ops = errorfs.Open
	case "seal write":
		fault.Ops = errorfs.Write
	case "seal sync":
		fault.Ops = errorfs.Sync
	default:
		return
	}
	f.seal.Inject(fault)
}

func (f *failing) Heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seal.Clear()
	f.step = ""
}

// before is what must succeed before anything of a flush is written.
func (f *failing) before(uint64) error {
	err := f.at("before")
	f.mu.Lock()
	defer f.mu.Unlock()
	f.barred = err != nil
	return err
}

// memory is asked for by overlays.
func (f *failing) memory() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.step == "residue" && f.shown {
		f.shown = f.joins
		f.joins = !f.joins
		return errPlanted
	}
	if f.step == "memory" {
		return errPlanted
	}
	return nil
}

// at returns the failure if this step is the one.
func (f *failing) at(step string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.step == step {
		return errPlanted
	}
	return nil
}

func (f *failing) Snapshot() (lsm.Snapshot, error) {
	if err := f.at("snapshot"); err != nil {
		return nil, err
	}
	f.mu.Lock()
	f.shown = true
	f.mu.Unlock()
	return f.Base.Snapshot()
}

func (f *failing) isBarred() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.barred
}

func (f *failing) Batch(size int64) (lsm.Batch, error) {
	if f.isBarred() {
		panic("a flush goes on although BeforeCheckpoint failed")
	}
	if err := f.at("batch"); err != nil {
		return nil, err
	}
	b, err := f.Base.Batch(size)
	if err != nil {
		return nil, err
	}
	return &failingBatch{Batch: b, base: f}, nil
}

type failingBatch struct {
	lsm.Batch
	base *failing
	rows int
}

func (b *failingBatch) row() error {
	if b.rows++; b.rows > b.base.rows {
		return b.base.at("row")
	}
	return nil
}

func (b *failingBatch) Put(key, value []byte) error {
	if err := b.row(); err != nil {
		return err
	}
	return b.Batch.Put(key, value)
}

func (b *failingBatch) Delete(key []byte) error {
	if err := b.row(); err != nil {
		return err
	}
	return b.Batch.Delete(key)
}

func (b *failingBatch) Commit() error {
	if err := b.base.at("commit"); err != nil {
		b.Discard()
		return err
	}
	return errors.Join(b.Batch.Commit(), b.base.at("lying commit"))
}
