package page_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"

	"tarn/store/vfs"
	"tarn/store/vfs/errorfs"
	"tarn/store/vfs/memfs"
	"tarn/store/vfs/recordfs"
)

// killed is what every call gets from the moment at which a process is killed.
const killed = syscall.ESRCH

// processRun is one process at work on a disk, from its start to a kill or a power cut.
// Its calls pass a layer that a kill shuts, the record, and a layer that fails
// single calls, which the record sees fail.
type processRun struct {
	*script
	kill *errorfs.FS
}

// TestAStoreThatCrashesAgainAndAgainKeepsItsPromises kills processes, fails their
// syncs and cuts the power, each followed by a start that goes on with what it
// finds: in the page cache after a kill, on the disk after a cut. At every moment of
// every life a cut leaves an image that was promised or begun since.
func TestAStoreThatCrashesAgainAndAgainKeepsItsPromises(t *testing.T) {
	first, states, kills, cuts := seed(t), 0, 0, 0
	for run := uint64(0); states < budget(*crashes)/10 && !t.Failed(); run++ {
		r := rand.New(rand.NewPCG(first, run))
		l := newProcessRun(t, r, memfs.New(), nil)
		for range 12 {
			l.work()
			if r.IntN(2) == 0 {
				kills++
				l.goOnAfterKill()
				continue
			}
			cuts++
			n, next := l.cut()
			if states += n; next == nil {
				break
			}
			l = next
		}
		if !t.Failed() {
			n, _ := l.cut()
			states += n
		}
		if t.Failed() {
			t.Logf("in run %d", run)
		}
	}
	t.Logf("%d states, %d kills and %d cuts with another life behind them", states, kills, cuts)
}

// newProcessRun starts a process on a disk that holds a promised image, or nothing.
func newProcessRun(t *testing.T, r *rand.Rand, disk *memfs.FS, on *span) *processRun {
	t.Helper()
	l := &processRun{script: &script{faulty: errorfs.New(disk)}}
	record := recordfs.New(l.faulty)
	l.kill = errorfs.New(record)
	if on == nil {
		l.history = newHistory(t, r.Uint64(), l.kill, record, heap(16<<20))
		l.keys, l.sizes = 60, 3000
		l.fill(50, 5)
		l.checkpoint()
		l.wait()
	} else {
		l.history = &history{t: t, fs: l.kill, record: record, options: heap(16 << 20), keys: 60, sizes: 3000}
		l.options.Dir = storeDir
		l.try(record.Adopt(disk.Paths()...))
		l.opened = l.position()
		l.spans = []span{*on}
		l.start(*on)
	}
	l.rand, l.onFailure = r, l.report
	return l
}

// start opens the store, which holds on, and notes that this is promised from now on.
func (l *processRun) start(on span) {
	l.t.Helper()
	l.options.FS, l.options.BeforeCheckpoint = l.fs, l.appendLog
	l.stopped, l.failures, l.waiting, l.tables = false, nil, false, nil
	log, err := l.fs.Open(storeDir+"/blocks.log", true)
	l.try(err)
	l.log = log
	l.open()
	on.begun = min(on.begun, l.position())
	on.done = l.position()
	l.spans = append(l.spans, on)
	l.past = slices.Clone(on.states)
	l.now = maps.Clone(on.states[len(on.states)-1])
	l.try(equal(l.store, l.now))
}

// work makes blocks and checkpoints until some call is the last one. A sync of the
// store's file may fail before that.
func (l *processRun) work() {
	dead := l.kill.Inject(errorfs.Fault{Ops: errorfs.All &^ errorfs.Close, Nth: 1 + l.rand.IntN(60), Ever: true,
		Err: killed, Part: true})
	if l.rand.IntN(3) == 0 {
		l.faulty.Inject(errorfs.Fault{Ops: errorfs.Sync, Path: "state.tarn", Nth: 1 + l.rand.IntN(6), Err: syscall.EIO})
	}
	for n := 0; dead() == 0 && !l.stopped && n < 100; n++ {
		l.step(l.small)
		if n%7 == 6 {
			l.step(l.empty)
		}
		if l.rand.IntN(3) > 0 {
			l.save()
		}
	}
	l.store.Close() //nolint:errcheck // it is dead
	l.log.Close()   //nolint:errcheck // it is dead
}

// goOnAfterKill starts a process that finds all that the one before wrote.
func (l *processRun) goOnAfterKill() {
	l.t.Helper()
	l.faulty.Clear()
	l.fs = errorfs.New(l.record)
	l.kill = l.fs.(*errorfs.FS)
	o := l.options
	o.FS, o.BeforeCheckpoint = l.fs, nil
	found, err := l.verify(o, l.candidates(l.position()))
	l.try(err)
	l.start(found)
}

// cut opens what the disk may hold after a power cut at any moment of this life, and
// goes on with one of these states.
func (l *processRun) cut() (states int, next *processRun) {
	l.t.Helper()
	to := l.position()
	states = l.checkStates(recordfs.Options{From: l.opened, To: to, Count: 600, Seed: l.rand.Uint64()})
	chosen, seen := recordfs.State{}, 0
	from := l.opened + l.rand.IntN(to-l.opened+1)
	for s := range l.record.Recording().States(recordfs.Options{From: from, To: min(from+3, to), Count: 30,
		Seed: l.rand.Uint64()}) {
		if seen++; l.rand.IntN(seen) == 0 {
			chosen = s
		}
	}
	if l.t.Failed() {
		return states, nil
	}
	o := l.options
	o.FS, o.BeforeCheckpoint = chosen.FS.Clone(), nil
	l.try(vfs.MkdirAll(o.FS, storeDir))
	found, err := l.verify(o, l.candidates(chosen.At))
	if err != nil {
		l.t.Errorf("%v\n%v", err, chosen)
		return states, nil
	}
	if found.image.Head == 0 { // nothing but an empty store: begin with the first life
		return states, newProcessRun(l.t.(*testing.T), l.rand, memfs.New(), nil)
	}
	found.begun, found.done = 0, 0
	return states, newProcessRun(l.t.(*testing.T), l.rand, chosen.FS, &found)
}
