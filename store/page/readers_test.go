package page

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tarn/store"
)

// Readers that work all the time, each on the newest view, must always see the
// state of one revision, while pages are copied, freed, written, dropped and used
// again under a bound so small that changed pages spill.
func TestReadersSeeOneRevision(t *testing.T) {
	for _, mode := range []Mode{Mapped, MappedPrivate, Heap} {
		t.Run(mode.String(), func(t *testing.T) {
			readersRun(t, Options{Dir: t.TempDir(), Mode: mode, LimitBytes: 512 << 20, GrowBytes: 2 << 20,
				PrivateBytes: 2 << 20})
		})
	}
}

const accounts = 3000

func readersRun(t *testing.T, o Options) {
	e, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	tb, err := e.CreateTable("accounts")
	if err != nil {
		t.Fatal(err)
	}
	w := &ledger{t: t, engine: e, table: tb, rng: rand.New(rand.NewPCG(1, 2))}
	for i := range uint32(accounts) {
		w.set(i, 1000)
	}
	w.finish()
	var (
		stop  atomic.Bool
		scans atomic.Int64
		wg    sync.WaitGroup
	)
	for range 3 {
		wg.Go(func() {
			for !stop.Load() && !t.Failed() {
				if err := scan(e, tb); err != nil {
					t.Error(err)
				}
				scans.Add(1)
			}
		})
	}
	for end := time.Now().Add(750 * time.Millisecond); time.Now().Before(end) && !t.Failed(); {
		for range 200 {
			w.transfer()
		}
		w.finish()
		if w.rng.IntN(20) == 0 {
			if _, err := e.Checkpoint(store.Image{Head: w.revision, Irreversible: w.revision}); err != nil {
				t.Fatal(err)
			}
		}
	}
	stop.Store(true)
	wg.Wait()
	s := e.Stats()
	t.Logf("revisions=%d scans=%d checkpoints=%d spilled=%d KiB",
		w.revision, scans.Load(), s.Checkpoints, s.Written.Spill>>10)
}

// ledger moves units between accounts; rows are of changing size, so that pages
// split and merge.
type ledger struct {
	t        *testing.T
	engine   *Engine
	table    store.Table
	rng      *rand.Rand
	revision uint64
}

func (w *ledger) set(i uint32, units uint64) {
	size := 8 + w.rng.IntN(300)
	if w.rng.IntN(50) == 0 {
		size += 3000
	}
	if err := w.engine.Put(w.table, binary.BigEndian.AppendUint32([]byte("account"), i),
		binary.LittleEndian.AppendUint64(nil, units)[:8:8], nil); err != nil {
		w.t.Fatal(err)
	}
	filler := binary.BigEndian.AppendUint32([]byte("filler"), i)
	if err := w.engine.Put(w.table, filler, make([]byte, size), nil); err != nil {
		w.t.Fatal(err)
	}
}

func (w *ledger) units(i uint32) uint64 {
	v, err := w.engine.Get(w.table, binary.BigEndian.AppendUint32([]byte("account"), i))
	if err != nil {
		w.t.Fatal(err)
	}
	return binary.LittleEndian.Uint64(v)
}

func (w *ledger) transfer() {
	from, to := w.rng.Uint32N(accounts), w.rng.Uint32N(accounts)
	if have := w.units(from); have > 0 && from != to {
		w.set(from, have-1)
		w.set(to, w.units(to)+1)
	}
}

func (w *ledger) finish() {
	w.revision++
	if err := w.engine.Put(w.table, []byte("revision"), binary.LittleEndian.AppendUint64(nil, w.revision),
		nil); err != nil {
		w.t.Fatal(err)
	}
	if err := w.engine.Publish(w.revision); err != nil {
		w.t.Fatal(err)
	}
}

func scan(e *Engine, tb store.Table) error {
	v, err := e.View()
	if err != nil {
		return err
	}
	defer v.Close()
	c, err := v.Cursor(tb)
	if err != nil {
		return err
	}
	defer c.Close()
	var sum, n uint64
	for ok := c.Seek([]byte("account")); ok && string(c.Key()[:7]) == "account"; ok = c.Next() {
		sum += binary.LittleEndian.Uint64(c.Value())
		n++
	}
	if err := c.Err(); err != nil {
		return err
	}
	if v.Revision() == 0 {
		return nil
	}
	r, err := v.Get(tb, []byte("revision"))
	if err != nil {
		return err
	}
	if got := binary.LittleEndian.Uint64(r); got != v.Revision() || n != accounts || sum != accounts*1000 {
		return fmt.Errorf("view of revision %d shows revision %d, %d accounts, %d units", v.Revision(), got, n, sum)
	}
	return nil
}
