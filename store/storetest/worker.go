package storetest

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"tarn/store"
)

// storeDir is where a job's store is; the block log is beside it.
func storeDir(dir string) string { return filepath.Join(dir, "store") }

// worker builds revision after revision and takes many checkpoints, until its
// process is ended from outside. What it does to rows depends on the seed and
// the revision alone; when it commits, checkpoints and closes is chance.
//
// It reports "opened", "checkpointing", "logged" when an image is to become the
// durable one next, and "durable" with the label of the head
// and the irreversible revision, of the image that it opened at and of each once its
// checkpoint has returned.
type worker struct {
	engine Engine
	job    job
	rng    *rand.Rand
	log    *blockLog

	s      store.Store
	tables []store.Table
	labels store.Table
	build  uint64
	built  map[uint64]label // by revision, since the image opened
	views  []store.View

	mu  sync.Mutex // out
	out io.Writer
	// failed takes the first failure of a checkpoint.
	failed  chan error
	waiting sync.WaitGroup
}

func work(e Engine, j job, out io.Writer) error {
	w := &worker{
		engine: e, job: j, out: out,
		rng:    rand.New(rand.NewPCG(j.Seed, j.Epoch)),
		failed: make(chan error, 1),
	}
	var err error
	if w.log, err = openBlockLog(j.Dir); err != nil {
		return fmt.Errorf("block log: %w", err)
	}
	if err := w.open(); err != nil {
		return fmt.Errorf("open: %w", err)
	}
	for {
		select {
		case err := <-w.failed:
			return fmt.Errorf("checkpoint: %w", err)
		default:
		}
		if err := w.step(); err != nil {
			return fmt.Errorf("after revision %d: %w", w.s.Head(), err)
		}
	}
}

func (w *worker) report(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fmt.Fprintf(w.out, format+"\n", args...)
}

// beforeCheckpoint is a ledger's: its log first. The disk is slow at times.
func (w *worker) beforeCheckpoint(uint64) error {
	if time.Now().UnixNano()/1000%4 == 0 {
		time.Sleep(3 * time.Millisecond)
	}
	err := w.log.sync()
	w.report("logged")
	return err
}

func (w *worker) open() (err error) {
	k := Knobs{BeforeCheckpoint: w.beforeCheckpoint}
	if w.job.Epoch%3 == 0 {
		k.MemoryBytes = 8 << 20
	}
	if w.s, err = w.engine.Open(storeDir(w.job.Dir), k); err != nil {
		return err
	}
	l, err := readLabel(w.s)
	if err != nil {
		return err
	}
	// What a store opens at is durable, whatever the one before has not synced.
	w.reportDurable(l, w.s.Irreversible())
	w.report("opened")
	if w.s.Head() == w.s.Irreversible() {
		for _, name := range append(workTables(), labelTable) {
			if _, err := w.s.CreateTable(name); err != nil {
				return err
			}
		}
	}
	found := handles(w.s.Tables())
	w.tables = nil
	for _, name := range workTables() {
		w.tables = append(w.tables, found[name])
	}
	w.labels = found[labelTable]
	w.built = map[uint64]label{l.revision: l}
	if l.from != 0 { // on a fork: back to the main line
		err = w.s.UndoAll()
	}
	return err
}

// readLabel reads which revision a state is. The state before the first has no
// label.
func readLabel(s store.Store) (label, error) {
	t, err := s.Table(labelTable)
	if errors.Is(err, store.ErrNoTable) {
		return label{}, nil
	}
	if err != nil {
		return label{}, err
	}
	v, err := s.Get(t, []byte(labelTable))
	if errors.Is(err, store.ErrNotFound) {
		return label{}, nil
	}
	if err != nil {
		return label{}, err
	}
	l, ok := decodeLabel(v)
	if !ok {
		return label{}, fmt.Errorf("label is %q", v)
	}
	return l, nil
}

// step builds the next revision of the main line, after a fork that it takes
// back if there is one, and does some of what else a ledger does.
func (w *worker) step() error {
	n := w.s.Head() + 1
	if fork := forkAt(w.job.Seed, n); fork > 0 {
		if err := w.fork(n, fork); err != nil {
			return fmt.Errorf("fork: %w", err)
		}
		if w.s.Head()+1 != n { // all was taken back
			return nil
		}
	}
	if err := w.revision(lineage{revision: n}); err != nil {
		return err
	}
	if w.rng.IntN(3) > 0 {
		lag := w.rng.Uint64N(10)
		if err := w.s.Commit(max(w.s.Head(), lag) - lag); err != nil {
			return err
		}
	}
	if err := w.look(); err != nil {
		return err
	}
	if w.rng.IntN(3) == 0 {
		if err := w.checkpoint(); err != nil {
			return err
		}
	}
	if w.rng.IntN(60) == 0 {
		return w.reopen()
	}
	return nil
}

func (w *worker) fork(n uint64, length int) error {
	for i := range uint64(length) {
		if err := w.revision(lineage{n + i, n}); err != nil {
			return err
		}
	}
	if w.rng.IntN(2) == 0 {
		if err := w.checkpoint(); err != nil {
			return err
		}
	}
	if w.rng.IntN(8) == 0 {
		return w.s.UndoAll()
	}
	for range length {
		if err := w.s.Undo(); err != nil {
			return err
		}
	}
	return nil
}

func (w *worker) revision(p lineage) error {
	if err := w.s.Begin(); err != nil {
		return err
	}
	if err := build(onStore{w.s, w.tables}, w.job.Seed, p); err != nil {
		return err
	}
	w.build++
	l := label{w.job.Epoch, w.build, p}
	if err := w.s.Put(w.labels, []byte(labelTable), l.encode()); err != nil {
		return err
	}
	w.log.append(l)
	w.built[p.revision] = l
	return w.s.Push()
}

// look publishes and keeps some views open, so that pages are held.
func (w *worker) look() error {
	if err := w.s.Publish(); err != nil {
		return err
	}
	if w.rng.IntN(4) == 0 && len(w.views) < 4 {
		v, err := w.s.View()
		if err != nil {
			return err
		}
		w.views = append(w.views, v)
	}
	if len(w.views) > 0 && w.rng.IntN(5) == 0 {
		v := w.views[0]
		w.views = w.views[1:]
		return v.Close()
	}
	return nil
}

func (w *worker) checkpoint() error {
	w.report("checkpointing")
	c, err := w.s.Checkpoint()
	if err != nil {
		return err
	}
	irreversible := w.s.Irreversible()
	l := w.built[w.s.Head()]
	if !w.engine.StoresUndo {
		l = w.built[irreversible]
	}
	w.waiting.Go(func() {
		if err := c.Wait(); err != nil {
			select {
			case w.failed <- err:
			default:
			}
			return
		}
		w.reportDurable(l, irreversible)
	})
	return nil
}

func (w *worker) reportDurable(l label, irreversible uint64) {
	w.report("durable %d %d %d %d %d", l.epoch, l.build, l.revision, l.from, irreversible)
}

// parseDurable reads such a report.
func parseDurable(line string) (l label, irreversible uint64, ok bool) {
	if !strings.HasPrefix(line, "durable ") {
		return label{}, 0, false
	}
	_, err := fmt.Sscanf(line, "durable %d %d %d %d %d", &l.epoch, &l.build, &l.revision, &l.from, &irreversible)
	return l, irreversible, err == nil
}

// reopen closes the store, which loses what is not durable, and opens it again.
func (w *worker) reopen() error {
	for _, v := range w.views {
		if err := v.Close(); err != nil {
			return err
		}
	}
	w.views = nil
	if err := w.s.Close(); err != nil {
		return err
	}
	w.waiting.Wait()
	return w.open()
}
