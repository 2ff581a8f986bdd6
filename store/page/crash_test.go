package page_test

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tarn/store"
	"tarn/store/page"
	"tarn/store/revision"
	"tarn/store/vfs"
	"tarn/store/vfs/memfs"
	"tarn/store/vfs/recordfs"
)

// fullStates is the number of crash states from which on each failing call is tried.
const fullStates = 20_000

var (
	crashSeed = flag.Uint64("crash.seed", 1, "seed of the crash tests; 0 takes one from the clock")
	crashes   = flag.Int("crash.states", fullStates/5,
		"crash states to open, over all workloads; fewer than 20,000 thin out the calls that fail")
	crashKeep = flag.String("crash.keep", "", "folder in which to leave the first bad state's files")
)

// budget is n, or a tenth of it in a short run.
func budget(n int) int {
	if testing.Short() {
		return n / 10
	}
	return n
}

func seed(t testing.TB) uint64 {
	s := *crashSeed
	if s == 0 {
		s = uint64(time.Now().UnixNano())
	}
	t.Logf("repeat with -crash.seed=%d", s)
	return s
}

// workload is a way to use a store, and its share of the crash states.
type workload struct {
	name  string
	share float64
	disk  func(t *testing.T) (inner vfs.FS, dir string)
	page.Options
	run func(h *history)
}

func inMemory(*testing.T) (vfs.FS, string) { return memfs.New(), storeDir }
func onDisk(t *testing.T) (vfs.FS, string) { return vfs.OS, t.TempDir() }
func heap(limit int64) page.Options {
	return page.Options{Mode: page.Heap, LimitBytes: limit, GrowBytes: 2 << 20}
}

var workloads = []workload{
	{"blocks", 0.5, inMemory, heap(8 << 20), blocks},
	{"growing and shrinking", 0.2, inMemory, heap(32 << 20), growAndShrink},
	{"spilling", 0.1, onDisk, page.Options{
		Mode: page.MappedPrivate, LimitBytes: 32 << 20, GrowBytes: 2 << 20, PrivateBytes: 1 << 20,
	}, spills},
	{"views and forks", 0.1, inMemory, heap(8 << 20), viewsAndForks},
	{"full", 0.1, inMemory, heap(1 << 20), full},
}

// blocks is the daily life: checkpoints with and without a writer beside them,
// forks, and a restart.
func blocks(h *history) {
	h.fill(150, 100)
	h.checkpoint()
	for n := range 24 {
		h.block(1 + h.rand.IntN(12))
		if n%5 == 3 {
			h.undo()
		}
		h.commit(3)
		if h.rand.IntN(2) == 0 {
			h.checkpoint()
			if h.rand.IntN(3) > 0 {
				h.wait()
			}
		}
		if n == 12 {
			h.reopen()
		}
	}
}

// growAndShrink takes the file over its first growth step and back.
func growAndShrink(h *history) {
	h.sizes = 400_000
	h.keys = 120
	h.fill(40, 1)
	h.checkpoint()
	for n := range 10 {
		h.try(h.store.Begin())
		for i := range 4 {
			h.large(i+n%3*4, h.sizes/2)
		}
		if n%4 == 3 {
			h.clear(2)
		}
		h.try(h.store.Push())
		h.past = append(h.past, maps.Clone(h.now))
		h.commit(n % 3)
		h.checkpoint()
		if n == 6 {
			h.reopen()
		}
	}
	h.clearAll()
	for range 4 {
		h.block(3)
		h.commit(0)
		h.checkpoint()
	}
}

// spills changes more than the bound for private memory within a revision, some
// of it while a checkpoint is under way.
func spills(h *history) {
	h.keys = 400
	h.fill(300, 1)
	h.checkpoint()
	for n := range 7 {
		h.try(h.store.Begin())
		for i := range 50 + 50*(n%2) {
			h.large(n*7+i, 20_000)
		}
		h.try(h.store.Push())
		h.past = append(h.past, maps.Clone(h.now))
		h.block(30)
		h.commit(1)
		if n%3 == 0 {
			h.checkpoint()
		}
		if n == 4 {
			h.reopen()
		}
	}
}

// large puts one of 80 large values.
func (h *history) large(i, size int) {
	h.t.Helper()
	key := fmt.Sprintf("large %d", i%80)
	value := text(h.rand, size/2+h.rand.IntN(size))
	h.try(h.store.Put(h.tables[2], []byte(key), []byte(value)))
	h.now[tableNames[2]+"/"+key] = value
}

// viewsAndForks keeps views open over several checkpoints while the head goes
// back and forth.
func viewsAndForks(h *history) {
	h.fill(120, 7)
	var views []store.View
	var shown []content
	for n := range 20 {
		h.block(8)
		if n%3 == 2 {
			h.undo()
			h.undo()
			h.block(5)
		}
		h.commit(4)
		h.try(h.store.Publish())
		v, err := h.store.View()
		h.try(err)
		views, shown = append(views, v), append(shown, maps.Clone(h.now))
		if n%2 == 0 {
			h.checkpoint()
		}
		if len(views) > 5 {
			h.try(equal(views[0], shown[0]))
			h.try(views[0].Close())
			views, shown = views[1:], shown[1:]
		}
	}
	for i, v := range views {
		h.try(equal(v, shown[i]))
		h.try(v.Close())
	}
}

// full fills the store up to its limit again and again: revisions that do not
// fit are taken back, the others kept until there is no room for any.
func full(h *history) {
	h.fill(60, 1)
	refused := 0
	for n := range 30 {
		before := maps.Clone(h.now)
		h.try(h.store.Begin())
		var err error
		for i := 0; i < 8 && err == nil; i++ {
			key, value := fmt.Sprintf("large %d", h.rand.IntN(80)), text(h.rand, 10_000+h.rand.IntN(20_000))
			if err = h.store.Put(h.tables[2], []byte(key), []byte(value)); err == nil {
				h.now[tableNames[2]+"/"+key] = value
			}
		}
		if err == nil {
			h.try(h.store.Push())
			h.past = append(h.past, maps.Clone(h.now))
		} else if errors.Is(err, store.ErrFull) {
			refused++
			h.try(h.store.Undo())
			h.now = before
			h.try(equal(h.store, h.now))
		} else {
			h.t.Fatal(err)
		}
		h.commit(2)
		if n%2 == 1 {
			h.checkpoint()
		}
	}
	if refused == 0 {
		h.t.Error("the store was never full")
	}
}

// clearAll empties the store in one irreversible revision.
func (h *history) clearAll() {
	h.try(h.store.Begin())
	for t := range h.tables {
		h.clear(t)
	}
	h.try(h.store.Push())
	h.past = append(h.past, maps.Clone(h.now))
	h.commit(0)
	h.checkpoint()
}

// statesPerRun bounds the states taken from one run of a workload; then it runs
// again with another seed.
const statesPerRun = 4000

// TestCrashStatesOpenAtAPromisedCheckpoint records workloads and opens what the
// disk may hold after a power cut at every moment of them.
func TestCrashStatesOpenAtAPromisedCheckpoint(t *testing.T) {
	first := seed(t)
	total := 0
	for _, w := range workloads {
		t.Run(w.name, func(t *testing.T) {
			n, runs, images := 0, 0, 0
			for want := int(float64(budget(*crashes)) * w.share); n < want && !t.Failed(); runs++ {
				s := first + uint64(runs)<<32
				h := w.record(t, s)
				n += h.checkStates(recordfs.Options{Seed: s, Count: min(want-n, statesPerRun)})
				images += len(h.spans)
			}
			t.Logf("%d states of %d checkpoints in %d runs", n, images, runs)
			total += n
		})
	}
	t.Logf("%d crash states opened", total)
}

// record runs a workload once.
func (w workload) record(t *testing.T, seed uint64) *history {
	t.Helper()
	inner, dir := w.disk(t)
	w.Dir = dir
	record := recordfs.New(inner)
	h := newHistory(t, seed, record, record, w.Options)
	w.run(h)
	spilled := h.engine.Stats().Written.Spill
	h.close()
	if w.PrivateBytes > 0 && spilled == 0 {
		t.Error("nothing was spilled")
	}
	return h
}

// checkStates opens the crash states that o chooses, on two goroutines, and
// reports the first bad one.
func (h *history) checkStates(o recordfs.Options) int {
	h.t.Helper()
	var (
		states  = make(chan recordfs.State)
		group   sync.WaitGroup
		bad     atomic.Bool
		checked atomic.Int64
	)
	for range 2 {
		group.Go(func() {
			for s := range states {
				if err := h.checkState(s, checked.Add(1)%8 == 0); err != nil && !bad.Swap(true) {
					h.t.Errorf("%v\n%v", err, s)
					h.keep(s)
				}
			}
		})
	}
	for s := range h.record.Recording().States(o) {
		if bad.Load() {
			break
		}
		states <- s
	}
	close(states)
	group.Wait()
	return int(checked.Load())
}

func (h *history) keep(s recordfs.State) {
	if *crashKeep == "" {
		return
	}
	clean := s.FS.Clone()
	if err := clean.Export(*crashKeep); err != nil {
		h.t.Error(err)
	}
	h.t.Logf("the files are below %s", *crashKeep)
}

// candidates are the images that the disk may give back after a crash: the last
// one that was promised, and those begun since.
func (h *history) candidates(at int) []span {
	var list []span
	for _, s := range h.spans {
		if s.done <= at {
			list = list[:0]
		}
		if s.begun <= at {
			list = append(list, s)
		}
	}
	if len(list) == 0 || list[0].done > at {
		list = append(list, span{states: []content{{}}}) // as created
	}
	return list
}

// checkState opens one crash state and compares it with what was promised. If
// asked it also goes on working with it.
func (h *history) checkState(s recordfs.State, further bool) error {
	if s.At >= h.opened {
		if ok, err := s.FS.Exists(h.options.Dir + "/state.tarn"); err != nil || !ok {
			return errors.Join(errors.New("no state file although the store was open"), err)
		}
	}
	o := page.Options{
		Dir: h.options.Dir, FS: s.FS, Mode: page.Heap,
		LimitBytes: h.options.LimitBytes, GrowBytes: h.options.GrowBytes,
	}
	if err := vfs.MkdirAll(s.FS, o.Dir); err != nil {
		return err
	}
	found, err := h.verify(o, h.candidates(s.At))
	if err != nil {
		return err
	}
	if found.image.Head > 0 {
		ok, err := hasLogged(s.FS, o.Dir+"/blocks.log", found.image.Head)
		if err != nil || !ok {
			return errors.Join(fmt.Errorf("the block log does not know revision %d of the image", found.image.Head),
				err)
		}
	}
	if further {
		return goOn(o, found)
	}
	return nil
}

// verify opens a store, reads all of it and returns which candidate it is.
func (h *history) verify(o page.Options, candidates []span) (found span, err error) {
	e, err := page.Open(o)
	if err != nil {
		return found, fmt.Errorf("open: %w", err)
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	var broken []error
	if err := e.Verify(func(err error) { broken = append(broken, err) }); err != nil {
		return found, fmt.Errorf("verify: %w", err)
	}
	if len(broken) > 0 {
		return found, fmt.Errorf("verify: %w", errors.Join(broken...))
	}
	st, err := revision.Open(e)
	if err != nil {
		return found, err
	}
	return match(st, candidates)
}

// match finds the candidate that a store holds, undo data included, and takes
// the store back to its irreversible revision.
func match(st *revision.Store, candidates []span) (span, error) {
	var errs []error
	for _, c := range slices.Backward(candidates) {
		if st.Durable() != c.image {
			errs = append(errs, fmt.Errorf("is at %+v, not at %+v", st.Durable(), c.image))
			continue
		}
		err := equal(st, c.states[len(c.states)-1])
		if err != nil {
			errs = append(errs, fmt.Errorf("at %+v: %w", c.image, err))
			continue
		}
		for i := len(c.states) - 2; i >= 0; i-- {
			if err := st.Undo(); err != nil {
				return c, fmt.Errorf("undo to %d: %w", i, err)
			}
			if err := equal(st, c.states[i]); err != nil {
				return c, fmt.Errorf("%d revisions above the irreversible one: %w", i, err)
			}
		}
		if err := st.Undo(); !errors.Is(err, store.ErrNothingToUndo) {
			return c, fmt.Errorf("undo below the irreversible revision: %w", err)
		}
		return c, nil
	}
	return span{}, fmt.Errorf("holds none of the images that it may: %w", errors.Join(errs...))
}

// goOn works with a store that was opened after a crash: its free pages must be
// free, and its next image whole, unless the store was and is full.
func goOn(o page.Options, from span) (err error) {
	e, err := page.Open(o)
	if err != nil {
		return fmt.Errorf("open again: %w", err)
	}
	defer func() {
		if errors.Is(err, store.ErrFull) {
			err = clean(e)
		}
		err = errors.Join(err, e.Close())
	}()
	st, err := revision.Open(e)
	if err != nil {
		return err
	}
	t, err := st.Table(tableNames[0])
	if errors.Is(err, store.ErrNoTable) {
		t, err = st.CreateTable(tableNames[0])
	}
	if err != nil {
		return err
	}
	want := maps.Clone(from.states[len(from.states)-1])
	if err := st.Begin(); err != nil {
		return err
	}
	for i := range 60 {
		key, value := fmt.Sprint("after the crash ", i), fmt.Sprintf("%0*d", i*40, i)
		if err := st.Put(t, []byte(key), []byte(value)); err != nil {
			return err
		}
		want[tableNames[0]+"/"+key] = value
	}
	if err := st.Push(); err != nil {
		return err
	}
	for range 2 {
		c, err := st.Checkpoint()
		if err == nil {
			err = c.Wait()
		}
		if err != nil {
			return fmt.Errorf("checkpoint after the crash: %w", err)
		}
	}
	if err := equal(st, want); err != nil {
		return fmt.Errorf("after more work: %w", err)
	}
	return clean(e)
}

// clean is what Verify reports.
func clean(e *page.Engine) error {
	var broken []error
	err := e.Verify(func(err error) { broken = append(broken, err) })
	return errors.Join(append(broken, err)...)
}
