package page_test

import (
	"errors"
	"fmt"
	"maps"
	"syscall"
	"testing"

	"tarn/store"
	"tarn/store/page"
	"tarn/store/vfs"
	"tarn/store/vfs/errorfs"
	"tarn/store/vfs/memfs"
	"tarn/store/vfs/recordfs"
)

// faults are the ways in which a call can fail.
var faults = []struct {
	name string
	errorfs.Fault
}{
	{"EIO once", errorfs.Fault{Err: syscall.EIO}},
	{"ENOSPC once", errorfs.Fault{Err: syscall.ENOSPC}},
	{"half written, ENOSPC once", errorfs.Fault{Err: syscall.ENOSPC, Part: true}},
	{"ENOSPC from then on", errorfs.Fault{Err: syscall.ENOSPC, Ever: true, Part: true}},
	{"EROFS from then on", errorfs.Fault{Err: syscall.EROFS, Ever: true}},
}

// settings are the stores into which faults are injected. In mode mapped the
// kernel writes the pages, which no record shows.
var settings = []struct {
	name     string
	disk     func(t *testing.T) (vfs.FS, string)
	recorded bool
	page.Options
}{
	{"heap", inMemory, true, heap(16 << 20)},
	{"mapped_private", onDisk, true, page.Options{
		Mode: page.MappedPrivate, LimitBytes: 16 << 20, GrowBytes: 2 << 20, PrivateBytes: 1 << 20,
	}},
	{"mapped", onDisk, false, page.Options{Mode: page.Mapped, LimitBytes: 16 << 20, GrowBytes: 2 << 20}},
}

// script is a short life of a store in which any call may fail.
type script struct {
	*history
	faulty   *errorfs.FS
	failures []error // what the store reported
	stopped  bool    // it refuses changes until it is opened again
}

func newScript(t *testing.T, disk func(*testing.T) (vfs.FS, string), o page.Options) *script {
	inner, dir := disk(t)
	o.Dir = dir
	s := &script{faulty: errorfs.New(inner)}
	record := recordfs.New(s.faulty)
	s.history = newHistory(t, 1, record, record, o)
	s.onFailure = s.report
	s.keys, s.sizes = 60, 3000
	s.fill(50, 5)
	s.try(s.store.Publish())
	s.checkpoint()
	s.wait()
	return s
}

func (s *script) report(err error) {
	s.failures = append(s.failures, err)
	s.stopped = s.stopped || errors.Is(err, store.ErrFailed)
}

// step makes one revision by change, or takes it back if something in it fails.
func (s *script) step(change func() error) {
	s.t.Helper()
	if s.stopped {
		return
	}
	before := maps.Clone(s.now)
	err := s.store.Begin()
	if err == nil {
		err = change()
	}
	if err == nil {
		err = s.store.Push()
	}
	if err == nil {
		s.past = append(s.past, maps.Clone(s.now))
		s.commit(2)
		return
	}
	s.report(err)
	s.now = before
	for !s.stopped && s.store.Depth() > 0 {
		if err := s.store.Undo(); err != nil {
			s.report(fmt.Errorf("undo: %w", err))
		}
	}
}

// save takes a checkpoint and waits for it.
func (s *script) save() {
	if s.stopped {
		return
	}
	_, err := s.store.Checkpoint()
	if err == nil {
		err = s.finish()
	}
	if err != nil {
		s.report(err)
	}
}

func (s *script) row(table int, key string, size int) error {
	value := text(s.rand, size)
	err := s.store.Put(s.tables[table], []byte(key), []byte(value))
	if err == nil {
		s.now[tableNames[table]+"/"+key] = value
	}
	return err
}

// small changes a few rows; large more than the private bound and the growth
// step; empty leaves nothing.
func (s *script) small() error {
	for i := range 12 {
		if err := s.row(i%3, fmt.Sprint("row ", i*7%40), 20+i*150); err != nil {
			return err
		}
	}
	return nil
}

func (s *script) large() error {
	for i := range 100 {
		if err := s.row(2, fmt.Sprint("large ", i), 25_000); err != nil {
			return err
		}
	}
	return nil
}

func (s *script) empty() error {
	for t, name := range tableNames {
		if _, err := s.store.DeleteRange(s.tables[t], nil, nil); err != nil {
			return err
		}
		maps.DeleteFunc(s.now, func(k, _ string) bool { return len(k) > len(name) && k[:len(name)+1] == name+"/" })
	}
	return nil
}

// play is the script: a checkpoint, growth with spills, and shrinking.
func (s *script) play() {
	s.step(s.small)
	s.save()
	s.step(s.large)
	s.step(s.small)
	s.save()
	s.step(s.empty)
	s.commitAll()
	s.save()
	s.step(s.small)
	s.save()
	s.step(s.small)
	s.save()
}

func (s *script) commitAll() {
	if !s.stopped {
		s.commit(0)
	}
}

// TestEveryFailedCallSurfacesAndLosesNothing lets each call that changes the
// disk fail, in each way: the failure is reported, what was open goes on
// showing the right rows, the disk holds the last promised image or the one
// under way at every moment, and once the fault is gone checkpoints succeed.
func TestEveryFailedCallSurfacesAndLosesNothing(t *testing.T) {
	for _, set := range settings {
		t.Run(set.name, func(t *testing.T) {
			t.Parallel()
			calls := countCalls(t, set.disk, set.Options)
			// Where not each call fails in each way, it does so in one of them.
			runs, every := 0, min(20, max(1, fullStates/budget(*crashes)))
			for way, f := range faults {
				t.Run(f.name, func(t *testing.T) {
					for n, op := range calls {
						if f.Part && op != errorfs.Write || (n+way)%every > 0 {
							continue
						}
						f.Nth, f.Ops = n+1, errorfs.Change
						runs++
						if !t.Run(fmt.Sprintf("call %d, %v", n+1, op), func(t *testing.T) {
							s := newScript(t, set.disk, set.Options)
							s.suffer(f.Fault, op, set.recorded)
						}) {
							return
						}
					}
				})
			}
			t.Logf("%d calls, %d faults", len(calls), runs)
		})
	}
}

// countCalls plays the script without faults and lists its changing calls.
func countCalls(t *testing.T, disk func(*testing.T) (vfs.FS, string), o page.Options) (calls []errorfs.Op) {
	s := newScript(t, disk, o)
	s.faulty.Trace(func(op errorfs.Op, _ string) {
		if op&errorfs.Change != 0 {
			calls = append(calls, op)
		}
	})
	s.play()
	s.faulty.Trace(nil)
	s.try(errors.Join(s.failures...))
	s.close()
	return calls
}

// suffer plays the script with a fault and judges what came of it.
func (s *script) suffer(f errorfs.Fault, op errorfs.Op, recorded bool) {
	t := s.t
	v, err := s.store.View()
	s.try(err)
	shown := maps.Clone(s.now)
	from := s.position()
	fired := s.faulty.Inject(f)
	s.play()
	if fired() == 0 {
		t.Fatal("the call was not made")
	}
	// Space that cannot be given back now is given back another time.
	silent := op == errorfs.Truncate || op == errorfs.Punch
	// A disk that refuses a whole growth step once may have room for less.
	silent = silent || op == errorfs.Allocate && !f.Ever && errors.Is(f.Err, syscall.ENOSPC)
	if len(s.failures) == 0 && !silent {
		t.Error("the failure did not surface")
	}
	for _, err := range s.failures {
		if !errors.Is(err, f.Err) {
			t.Errorf("reported %v, injected %v", err, f.Err)
		}
	}
	if err := equal(v, shown); err != nil {
		t.Errorf("view: %v", err)
	}
	if err := v.Close(); err != nil {
		t.Error(err)
	}
	s.faulty.Clear()
	s.after(f, op)
	to := s.position()
	if err := s.store.Close(); err != nil && !s.stopped {
		t.Error(err)
	}
	if recorded {
		if n := s.checkStates(recordfs.Options{From: from, To: to, Count: 16, Seed: uint64(f.Nth)}); n < 8 {
			t.Errorf("only %d crash states", n)
		}
	}
	s.openAgain()
}

// mayStop: after a failed sync, pages that private memory does not hold cannot
// be written again. Reopening is then the remedy.
func (s *script) mayStop(f errorfs.Fault, op errorfs.Op) bool {
	return (f.Ever || op == errorfs.Sync) &&
		(s.options.Mode == page.Mapped || s.engine.Stats().Written.Spill > 0)
}

// after uses the store once the fault is gone.
func (s *script) after(f errorfs.Fault, op errorfs.Op) {
	reported := errors.Join(s.failures...)
	s.failures = nil
	if !s.stopped {
		if err := equal(s.store, s.now); err != nil && !errors.Is(err, store.ErrFailed) {
			s.t.Errorf("rows after the failure: %v", err)
		}
		s.step(s.small)
		s.save()
	}
	switch {
	case s.stopped && s.mayStop(f, op):
		return
	case s.stopped, len(s.failures) > 0:
		s.t.Errorf("the fault is gone, and still: %v\nbefore that: %v", errors.Join(s.failures...), reported)
		return
	}
	if err := equal(s.store, s.now); err != nil {
		s.t.Errorf("rows once the fault is gone: %v", err)
	}
	if err := clean(s.engine); err != nil {
		s.t.Errorf("verify once the fault is gone: %v", err)
	}
}

// openAgain opens the file as it is.
func (s *script) openAgain() {
	o := s.options
	o.BeforeCheckpoint = nil
	if _, err := s.verify(o, s.candidates(s.position())); err != nil {
		s.t.Errorf("opened again: %v", err)
	}
}

// TestFailedCreationCanBeRepeated lets each call of the making of a store fail.
func TestFailedCreationCanBeRepeated(t *testing.T) {
	for n := 1; ; n++ {
		mem := memfs.New()
		faulty := errorfs.New(mem)
		record := recordfs.New(faulty)
		fired := faulty.Inject(errorfs.Fault{Ops: errorfs.All &^ errorfs.Close, Nth: n, Err: syscall.EIO})
		o := heap(4 << 20)
		o.Dir, o.FS = storeDir, record
		e, err := page.Open(o)
		if fired() == 0 {
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d calls", n-1)
			e.Close()
			return
		}
		if !errors.Is(err, syscall.EIO) {
			t.Errorf("call %d fails: Open says %v", n, err)
		}
		for s := range record.Recording().States(recordfs.Options{Count: 50}) {
			o.FS = s.FS
			e, err := page.Open(o)
			if err != nil {
				t.Fatalf("call %d fails, then power: %v\n%v", n, err, s)
			}
			if err := errors.Join(clean(e), e.Close()); err != nil {
				t.Fatalf("call %d fails, then power: %v\n%v", n, err, s)
			}
		}
		o.FS = record
		if e, err = page.Open(o); err != nil {
			t.Fatalf("call %d failed once, then: %v", n, err)
		}
		if err := errors.Join(clean(e), e.Close()); err != nil {
			t.Error(err)
		}
	}
}
