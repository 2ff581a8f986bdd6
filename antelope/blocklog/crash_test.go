package blocklog

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"syscall"
	"testing"

	"tarn/antelope/logcatalog"
	"tarn/antelope/types"
	"tarn/store/vfs"
	"tarn/store/vfs/errorfs"
	"tarn/store/vfs/memfs"
	"tarn/store/vfs/recordfs"
)

// life is a log's random life over a file system that records it, and what was
// promised when.
type life struct {
	t      *testing.T
	rand   *rand.Rand
	record *recordfs.FS
	faults *errorfs.FS
	fs     testFS
	o      Options
	log    *Log
	chain  *chain
	past   map[uint32][]sample // everything that was ever appended, by number
	first  uint32
	top    uint32
	marks  []mark
}

// mark says that from a position of the record on, blocks up to a number survive,
// and none above another can be there.
type mark struct {
	position  int
	floor     uint32
	blocks    bool // whether there is a floor
	appending uint32
	top       uint32 // a head that was truncated
}

func (l *life) mark(floor uint32, blocks bool, appending uint32) {
	l.marks = append(l.marks, mark{l.record.Position(), floor, blocks, appending, l.top})
}

func newLife(t *testing.T, r *rand.Rand, o Options, first uint32) *life {
	m := memfs.New()
	l := &life{t: t, rand: r, record: recordfs.New(m), o: o, chain: newChain(r, first),
		past: map[uint32][]sample{}, first: first}
	l.faults = errorfs.New(l.record)
	l.fs = testFS{l.faults, m}
	l.o.FS, l.o.Dir, l.o.Now = l.fs, testDir, testOptions(nil).Now
	l.open()
	return l
}

func (l *life) open() {
	log, err := Open(l.o)
	must(l.t, err)
	l.log = log
}

func (l *life) last() mark {
	if len(l.marks) == 0 {
		return mark{}
	}
	return l.marks[len(l.marks)-1]
}

func (l *life) append(size int) {
	s := l.chain.next(size)
	l.past[s.num] = append(l.past[s.num], s)
	m := l.last()
	l.mark(m.floor, m.blocks, s.num)
	must(l.t, l.log.Append(s.num, s.id, s.data))
	l.learn()
}

// learn notes what the log itself says is durable.
func (l *life) learn() {
	if d := l.log.Durable(); d >= l.first && d != 0 {
		l.mark(d, true, l.last().appending)
	}
}

func (l *life) run(steps int) {
	if l.first == 1 {
		s := l.chain.next(0)
		l.past[1] = append(l.past[1], s)
		l.mark(0, false, 1)
		must(l.t, l.log.ResetGenesis(types.DefaultGenesis(), s.data))
	} else {
		must(l.t, l.log.Reset(testChainID, l.first))
	}
	for range steps {
		switch n := l.rand.IntN(22); {
		case n < 14:
			l.append(l.rand.IntN(3) * l.rand.IntN(900))
		case n < 17:
			if num, _, ok := l.log.Head(); ok {
				must(l.t, l.log.Sync(num))
				l.learn()
			}
		case n < 18:
			must(l.t, l.log.Flush())
		case n < 19:
			must(l.t, l.log.Close())
			l.open()
			l.learn()
		case n < 20:
			l.truncate()
		default:
			l.kill()
		}
	}
}

// kill ends the process between two calls, and begins another. The page cache stays as
// it is: a power cut after that may still take what neither of them has synced.
func (l *life) kill() {
	if !l.last().blocks {
		return
	}
	l.faults.Inject(errorfs.Fault{Ops: errorfs.Change, Nth: 1 + l.rand.IntN(8), Ever: true,
		Err: syscall.EIO, Part: true})
	var err error
	for n := 0; n < 12 && err == nil; n++ {
		s := l.chain.next(l.rand.IntN(900))
		l.past[s.num] = append(l.past[s.num], s)
		l.top = max(l.top, s.num)
		m := l.last()
		l.mark(m.floor, m.blocks, s.num)
		if err = l.log.Append(s.num, s.id, s.data); err == nil && n%3 == 2 {
			err = l.log.Sync(s.num)
		}
	}
	l.faults.Clear()
	l.open()
	l.learn()
	head, id, _ := l.log.Head()
	for _, s := range l.past[head] {
		if s.id == id {
			l.chain.last = s
		}
	}
	if l.chain.last.num != head {
		l.t.Fatalf("after a kill the head is block %d, which was never appended", head)
	}
}

func (l *life) truncate() {
	head, _, ok := l.log.Head()
	if !ok || l.rand.IntN(3) > 0 || head < l.log.First()+3 {
		return
	}
	to := head - uint32(l.rand.IntN(3)) - 1
	m := l.last()
	l.top = max(l.top, head)
	l.mark(min(m.floor, to), m.blocks, m.appending)
	must(l.t, l.log.Truncate(to))
	l.learn()
	for _, s := range l.past[to] {
		if _, id, _ := l.log.Head(); s.id == id {
			l.chain.last = s
		}
	}
}

// verify opens what a crash left and compares it with what was promised. It goes on
// with the log, to see that it can.
func (l *life) verify(fs logcatalog.FS, at int) error {
	m := mark{}
	for _, k := range l.marks {
		if k.position > at {
			break
		}
		m = k
	}
	o := l.o
	o.FS = fs
	log, err := Open(o)
	if err != nil {
		return err
	}
	head, id, ok := log.Head()
	if m.blocks && (!ok || head < m.floor) {
		return fmt.Errorf("head is block %d (%v), block %d was durable", head, ok, m.floor)
	}
	if ok && head > m.appending {
		return fmt.Errorf("head is block %d, only %d was appended", head, m.appending)
	}
	if ok {
		if err := l.compare(log, m, head, id); err != nil {
			return err
		}
	}
	return l.proceed(log, o, head, id, ok)
}

func (l *life) compare(log *Log, m mark, head uint32, id types.Checksum256) error {
	first := log.First()
	expected := l.first
	if top := max(head, m.top); l.o.RetainBlocks != nil && top-expected >= *l.o.RetainBlocks {
		expected = top - *l.o.RetainBlocks + 1
	}
	if l.o.MaxRetainedFiles == nil && first > expected {
		return fmt.Errorf("first block is %d, expected %d", first, expected)
	}
	for num := head; num >= first; num-- {
		b, err := log.ReadRaw(num)
		if err != nil {
			return fmt.Errorf("blocks %d to %d: %w", first, head, err)
		}
		found := false
		for _, s := range l.past[num] {
			if s.id == id && string(s.data) == string(b) {
				found = true
			}
		}
		if !found {
			return fmt.Errorf("block %d was never appended like this", num)
		}
		record := appendSum(nil, &id, crc32.Checksum(b, castagnoli))
		if has := log.stored.read(num, 1); m.blocks && num <= m.floor && !bytes.Equal(has, record) {
			return fmt.Errorf("block %d, which was durable, has the checksum %x instead of %x", num, has, record)
		}
		k, err := decodeLink(b)
		if err != nil {
			return err
		}
		id = k.previous
	}
	return nil
}

func (l *life) proceed(log *Log, o Options, head uint32, id types.Checksum256, ok bool) error {
	if _, begun := log.ChainID(); !begun {
		return log.Close()
	}
	c := newChain(rand.New(rand.NewPCG(1, 1)), log.First())
	if ok {
		c.last = sample{head, id, []byte{}}
	}
	for range 3 {
		s := c.next(300)
		if err := log.Append(s.num, s.id, s.data); err != nil {
			return fmt.Errorf("go on: %w", err)
		}
	}
	if err := log.Close(); err != nil {
		return err
	}
	log, err := Open(o)
	if err != nil {
		return fmt.Errorf("open again: %w", err)
	}
	if num, id, _ := log.Head(); num != c.last.num || id != c.last.id {
		return fmt.Errorf("after going on, the head is block %d instead of %d", num, c.last.num)
	}
	if log.Recovery().CutBytes > 0 || log.Recovery().Index {
		return fmt.Errorf("a log that was closed was repaired: %+v", log.Recovery())
	}
	return log.Close()
}

var lives = map[string]Options{
	"basic":                   {SyncBytes: 8000},
	"buffered":                {BufferBytes: 3000, SyncBytes: 1 << 20},
	"pruned":                  {RetainBlocks: ptr(uint32(8)), PruneBytes: 4096, SyncBytes: 1 << 20},
	"partitioned":             {Stride: ptr(uint32(7)), RetainedDir: ptr("retained"), SyncBytes: 1 << 20},
	"partitioned and deleted": {Stride: ptr(uint32(5)), MaxRetainedFiles: ptr(uint32(2)), ArchiveDir: ptr(""), BufferBytes: 4000},
}

func TestEveryCrashStateOpensWithWhatWasSynced(t *testing.T) {
	count := *statesFlag
	if testing.Short() {
		count /= 10
	}
	for name, o := range lives {
		t.Run(name, func(t *testing.T) {
			r := newRand(t)
			states := 0
			for _, first := range []uint32{1, 12} {
				l := newLife(t, r, o, first)
				l.run(60)
				for state := range l.record.Recording().States(recordfs.Options{Count: count, Seed: r.Uint64()}) {
					states++
					if err := l.verify(testFS{state.FS, state.FS}, state.At); err != nil {
						t.Fatalf("%v\n%v", err, state)
					}
				}
			}
			t.Logf("%d states", states)
		})
	}
}

// A crash while a crash is being repaired leaves no less.
func TestACrashDuringRepairLosesNothingMore(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; not with -short")
	}
	for name, o := range lives {
		t.Run(name, func(t *testing.T) {
			r := newRand(t)
			l := newLife(t, r, o, 1)
			l.run(40)
			n := 0
			for state := range l.record.Recording().States(recordfs.Options{Count: 300, Seed: r.Uint64()}) {
				if n++; n%7 != 0 {
					continue
				}
				inner := state.FS.Clone()
				record := recordfs.New(inner)
				must(t, record.Adopt(inner.Paths()...))
				from := record.Position()
				ro := l.o
				ro.FS = testFS{record, inner}
				_, err := Open(ro)
				must(t, err)
				for again := range record.Recording().
					States(recordfs.Options{From: from, Count: 20, Seed: r.Uint64()}) {
					if err := l.verify(testFS{again.FS, again.FS}, state.At); err != nil {
						t.Fatalf("%v\nfirst %v\nthen %v", err, state, again)
					}
				}
			}
		})
	}
}

// Every call that a log makes fails once. The error surfaces, nothing is taken
// after it, and what was durable is there afterwards.
func TestEveryFailureSurfacesAndLosesNothingDurable(t *testing.T) {
	for name, o := range lives {
		t.Run(name, func(t *testing.T) {
			r := newRand(t)
			seed := r.Uint64()
			for nth := 1; ; nth++ {
				m := memfs.New()
				faulty := errorfs.New(m)
				fired := faulty.Inject(errorfs.Fault{Ops: errorfs.Change, Nth: nth, Err: syscall.EIO, Part: nth%2 == 0})
				o.FS, o.Dir, o.Now = testFS{faulty, m}, testDir, testOptions(nil).Now
				err := errorLife(o, seed)
				if fired() == 0 {
					must(t, err)
					break
				}
				if err == nil || !errors.Is(err, syscall.EIO) {
					if err == nil {
						continue // a courtesy: space that could not be given back
					}
					t.Fatalf("call %d failed, and the log said %v", nth, err)
				}
			}
		})
	}
}

// errorLife appends and syncs until something fails, and then looks at what is left.
func errorLife(o Options, seed uint64) error {
	r := rand.New(rand.NewPCG(seed, 1))
	c := newChain(r, 10)
	log, err := Open(o)
	if err != nil {
		return err
	}
	var want []sample
	err = log.Reset(testChainID, 10)
	for n := 0; n < 40 && err == nil; n++ {
		s := c.next(r.IntN(1000))
		want = append(want, s)
		if err = log.Append(s.num, s.id, s.data); err == nil && n%6 == 5 {
			err = log.Sync(s.num)
		}
	}
	durable := log.Durable()
	if err != nil && len(want) > 0 {
		last := want[len(want)-1]
		if again := log.Append(last.num+1, last.id, last.data); !errors.Is(again, ErrFailed) {
			return fmt.Errorf("after %v the log takes more: %v", err, again)
		}
		if again := log.Sync(last.num); !errors.Is(again, ErrFailed) {
			return fmt.Errorf("after %v the log syncs: %v", err, again)
		}
	}
	closing := log.Close()
	if err == nil {
		err = closing
	}
	o.FS = testFS{o.FS.(testFS).FS.(*errorfs.FS), o.FS.(testFS).mem}
	log, again := Open(o)
	if again != nil {
		return fmt.Errorf("open after a failure: %w", again)
	}
	defer log.Close()
	head, _, ok := log.Head()
	if durable >= 10 && (!ok || head < durable) {
		return fmt.Errorf("after %v the head is %d, %d was durable", err, head, durable)
	}
	for num := log.First(); ok && num <= head; num++ {
		if b, err := log.ReadRaw(num); err != nil || string(b) != string(want[num-10].data) {
			return fmt.Errorf("block %d: %v", num, err)
		}
	}
	return err
}

// Wherever a log is cut off, it opens with the blocks before that.
func TestALogCutAnywhereOpensAtTheLastWholeBlock(t *testing.T) {
	for name, o := range map[string]Options{"basic": {}, "pruned": {RetainBlocks: ptr(uint32(100))}} {
		for _, first := range []uint32{1, 7} {
			fs := memory()
			o.FS, o.Dir, o.Now = fs, testDir, testOptions(nil).Now
			l := mustOpen(t, o)
			c := newChain(newRand(t), first)
			want := append(begin(t, l, c), add(t, l, c, 4, 300)...)
			ends := []int64{}
			for _, s := range want {
				at, _, err := l.Position(s.num)
				must(t, err)
				ends = append(ends, int64(at)+int64(len(s.data))+positionBytes)
			}
			must(t, l.Close())
			size := fs.mem.Blob(testDir + "/" + LogName).Size()
			for cut := range size {
				torn := fs.mem.Clone()
				f, err := torn.Open(testDir+"/"+LogName, true)
				must(t, err)
				must(t, f.Truncate(cut))
				o.FS = testFS{torn, torn}
				l, err := Open(o)
				if err != nil {
					t.Fatalf("%s, cut at %d: %v", name, cut, err)
				}
				whole := 0
				for whole < len(ends) && ends[whole] <= cut {
					whole++
				}
				if whole == 0 {
					if _, _, ok := l.Head(); ok {
						t.Fatalf("%s, cut at %d: there is a head", name, cut)
					}
				} else if err := check(l, want[:whole]); err != nil {
					t.Fatalf("%s, cut at %d: %v", name, cut, err)
				}
				r := l.Recovery()
				if r.CutBytes > 0 && torn.Blob(r.CutFile).Size() != r.CutBytes {
					t.Fatalf("%s, cut at %d: what was cut is not kept", name, cut)
				}
				must(t, l.Close())
			}
		}
	}
}

func TestJunkBehindALogIsSetAside(t *testing.T) {
	fs := memory()
	o := testOptions(fs)
	l := mustOpen(t, o)
	c := newChain(newRand(t), 1)
	want := append(begin(t, l, c), add(t, l, c, 20, 300)...)
	must(t, l.Close())
	junk := []byte("12345678901231876983271649837")
	f, err := fs.Open(testDir+"/"+LogName, true)
	must(t, err)
	size, _ := f.Size()
	_, err = f.WriteAt(junk, size)
	must(t, err)
	l = mustOpen(t, o)
	must(t, check(l, want))
	const name = testDir + "/blocks-bad-tail-2023-11-14T22:13:20.000.log"
	if b := fs.mem.Blob(name); l.Recovery().CutFile != name || b == nil || string(b.Bytes()) != string(junk) {
		t.Errorf("the junk is not kept: %+v", l.Recovery())
	}
	must(t, l.Close())
}

var _ vfs.FS = testFS{}

// One byte of an entry that was never whole may have replaced the count's first.
func TestTheCountOfATornLogIsNotBelieved(t *testing.T) {
	fs := memory()
	o := testOptions(fs)
	o.RetainBlocks = ptr(uint32(100))
	l := mustOpen(t, o)
	c := newChain(newRand(t), 12)
	begin(t, l, c)
	want := add(t, l, c, 9, 400)
	torn := fs.mem.Clone() // as after a kill
	b := torn.Blob(testDir + "/" + LogName)
	_, err := b.WriteAt([]byte{1}, b.Size()-trailerBytes)
	must(t, err)
	torn.Put(testDir+"/"+LogName, b)
	must(t, l.Close())
	o.FS = testFS{torn, torn}
	l = mustOpen(t, o)
	must(t, check(l, want))
	must(t, l.Close())
}
