package seven

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"

	"tarn/store"
	"tarn/store/lsm"
	"tarn/store/lsm/badger"
	"tarn/store/lsm/leveldb"
	"tarn/store/lsm/pebble"
	"tarn/store/revision"
	"tarn/store/storetest"
)

var errPlanted = errors.New("planted failure")

// failing is a library whose flushes fail at a step of choice; see steps.
type failing struct {
	lsm.Base
	seal string

	mu   sync.Mutex
	step string
	rows int // that a batch takes before it fails
}

// steps are those of a flush, in their order. A commit that lies has done all of its
// work.
func steps() []string {
	return []string{"batch", "row", "commit", "lying commit", "seal", "snapshot"}
}

// openFailing opens an LSM store whose flushes can be made to fail.
func openFailing(kind string) func(string, storetest.Knobs) (store.Store, storetest.Sabotage, error) {
	return func(dir string, _ storetest.Knobs) (store.Store, storetest.Sabotage, error) {
		base, err := openBase(kind, dir)
		if err != nil {
			return nil, nil, err
		}
		f := &failing{Base: base, seal: filepath.Join(base.Site().Path(), "SEAL")}
		e, err := lsm.Open(f, lsm.Options{})
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

func openBase(kind, dir string) (lsm.Base, error) {
	switch kind {
	case leveldb.Kind:
		return leveldb.Open(leveldb.Options{Dir: dir})
	case pebble.Kind:
		return pebble.Open(pebble.Options{Dir: dir})
	}
	return badger.Open(badger.Options{Dir: dir})
}

func (f *failing) Fail(r *rand.Rand) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.step, f.rows = steps()[r.IntN(len(steps()))], r.IntN(40)
	if f.step == "seal" {
		f.rename(f.seal, f.seal+".away")
	}
	return f.step
}

func (f *failing) Heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.step == "seal" {
		f.rename(f.seal+".away", f.seal)
	}
	f.step = ""
}

func (f *failing) rename(from, to string) {
	if err := os.Rename(from, to); err != nil {
		panic(err)
	}
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
	return f.Base.Snapshot()
}

func (f *failing) Batch(size int64) (lsm.Batch, error) {
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
