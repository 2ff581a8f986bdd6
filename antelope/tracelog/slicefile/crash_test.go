package slicefile

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tarn/antelope/types"
	"tarn/store/vfs/memfs"
	"tarn/store/vfs/recordfs"
)

var roundsFlag = flag.Int("slicefile.rounds", 60,
	"starts of a folder that is closed, killed, or loses its power, again and again")

// folderLife is a folder of traces through starts, and what must be in it.
type folderLife struct {
	t    *testing.T
	r    *rand.Rand
	mem  *memfs.FS
	disk *recordfs.FS
	log  *Log
	tip  uint32 // newest block of the chain
	head uint32 // that a state was saved with
	safe uint32 // the first blocks, up to it, are durable whatever comes
	// Since blocks are missing, or came after later ones, more of them can be taken back.
	mixed bool
	list  []promised
	gap   map[uint32]bool // blocks that may be missing
	note  []string
}

// promised is what holds of the disk from a position of its record on.
type promised struct {
	at         int
	head, safe uint32
	gap        map[uint32]bool
}

func (x *folderLife) say(format string, args ...any) {
	x.note = append(x.note, fmt.Sprintf(format, args...))
}

func (x *folderLife) fail(err error) {
	x.t.Helper()
	if err != nil {
		x.t.Fatalf("%v, after:\n%s", err, strings.Join(x.note, ", "))
	}
}

// record begins a record of a disk on which all files are durable.
func (x *folderLife) record(mem *memfs.FS) {
	x.mem, x.disk = mem, recordfs.New(mem)
	x.fail(x.disk.Adopt(mem.Paths()...))
	x.list = nil
	x.promise()
}

func (x *folderLife) promise() {
	x.list = append(x.list, promised{x.disk.Position(), x.head, x.safe, maps.Clone(x.gap)})
}

// known are ids of blocks that a chain can tell before its head: all, none, or some.
func (x *folderLife) known() func(uint32) (types.Checksum256, bool, error) {
	all, from := x.r.IntN(3), x.r.Uint32N(x.tip+1)
	return func(num uint32) (types.Checksum256, bool, error) {
		b, _ := told(num, 0)
		return b.ID, all == 0 || all == 1 && num >= from, nil
	}
}

// choose is the state that the folder is opened for: the one that was saved, or in its place
// a newer one, or none.
func (x *folderLife) choose() {
	switch x.r.IntN(4) {
	case 0:
		x.head = 1
	case 1:
		x.head += x.r.Uint32N(20)
		x.tip = max(x.tip, x.head)
		x.mixed = true
		for num := x.safe + 1; num <= x.head; num++ {
			x.gap[num] = true
		}
	}
	x.promise()
}

// start opens the folder.
func (x *folderLife) start() {
	x.say("a start at %d", x.head)
	var err error
	x.log, err = Open(Options{Dir: folder, Stride: stride, FS: testFS{x.disk, x.mem}})
	x.fail(err)
	b, _ := told(x.head, 0)
	x.fail(x.log.Begin(Chain{Head: x.head, ID: b.ID, Known: x.known()}))
}

// mostReplaced is how many blocks a switch of forks replaces.
const mostReplaced = 3

// replaced tells blocks of another branch after one.
func (x *folderLife) replaced(num uint32) {
	for n := num + 1; n <= num+x.r.Uint32N(mostReplaced+1); n++ {
		x.say("%d'", n)
		_, err := x.log.Append(told(n, 1))
		x.fail(err)
	}
}

// run tells blocks after the head.
func (x *folderLife) run() {
	head := x.head
	num := head
	for x.tip += x.r.Uint32N(8); num < x.tip; {
		if num++; x.r.IntN(5) == 0 {
			x.replaced(num - 1)
		}
		x.say("%d", num)
		x.fail(tell(x.log, num, 0))
		if x.r.IntN(8) == 0 {
			x.save(head, num)
		}
	}
	x.right(head)
	if x.r.IntN(3) == 0 {
		x.replaced(num)
	}
}

// save makes durable what is told since a head, and a state after it.
func (x *folderLife) save(head, num uint32) {
	x.say("sync")
	for n := head + 1; n+lag <= num; n++ {
		delete(x.gap, n)
	}
	x.fail(x.log.Sync())
	x.head = max(1, num-min(num-1, lag))
	if lib := x.log.Irreversible(); lib > mostReplaced && !x.mixed {
		x.safe = max(x.safe, min(lib, num)-mostReplaced)
	}
	x.promise()
}

// right holds all blocks up to the tip against what was told. Those after the head of the
// start were told in it.
func (x *folderLife) right(head uint32) {
	x.t.Helper()
	for num := uint32(2); num <= x.tip; num++ {
		want, wantIDs := told(num, 0)
		got, _, err := x.log.Read(num, nil)
		if errors.Is(err, ErrNotFound) && x.gap[num] && (num <= head || num+lag > x.tip) {
			continue
		}
		if err != nil {
			x.fail(fmt.Errorf("block %d: %w", num, err))
		}
		ids, err := x.log.IDs(num)
		x.fail(err)
		if got.ID != want.ID || string(got.Append(nil)) != string(want.Append(nil)) ||
			fmt.Sprint(ids) != fmt.Sprint(wantIDs.IDs) {
			x.fail(fmt.Errorf("block %d is %s, and ids %v", num, got.ID, ids))
		}
	}
}

// end closes the folder, kills who has it, or cuts the power.
func (x *folderLife) end() {
	switch x.r.IntN(3) {
	case 0:
		x.say("closed")
		x.fail(x.log.Close())
	case 1:
		x.say("killed")
		for _, p := range x.log.parts {
			x.fail(p.close())
		}
	case 2:
		x.cut()
	}
}

// cut makes one of the states of the disk that a power cut may leave the one that there is.
func (x *folderLife) cut() {
	var states []recordfs.State
	begin, end := x.list[0].at, x.disk.Position()
	for st := range x.disk.Recording().States(recordfs.Options{From: begin + x.r.IntN(end-begin+1), Count: 20,
		Seed: x.r.Uint64()}) {
		if states = append(states, st); len(states) > 100 {
			break
		}
	}
	st := states[x.r.IntN(len(states))]
	var p promised
	for _, p = range slices.Backward(x.list) {
		if p.at <= st.At {
			break
		}
	}
	x.say("the power is cut at %d of %d, with a state at %d", st.At, end, p.head)
	x.head, x.safe, x.gap = p.head, p.safe, maps.Clone(p.gap)
	x.record(st.FS)
}

// A folder that is closed, killed and loses its power in any order, and whose chain goes on
// from a saved state, a newer one or the first block, never has a block of a branch that has
// lost, nor a torn one; it has all blocks that the chain has told or that were safe.
func TestCrashesAfterCrashesLeaveOnlyBlocksOfTheChain(t *testing.T) {
	s := seed(t)
	for life := range uint64(max(1, *roundsFlag/6)) {
		x := &folderLife{t: t, r: rand.New(rand.NewPCG(s, life)), tip: 1, head: 1, gap: map[uint32]bool{}}
		x.record(memfs.New())
		for range 6 {
			x.choose()
			x.start()
			x.run()
			x.end()
		}
		x.head = 1
		x.start()
		x.run()
		x.fail(x.log.Close())
	}
}

// A node whose chain is at a block was started once with an empty folder, and left a mark. The slices that
// somebody puts there then, as nodeos leaves them, stay where the chain does not tell their blocks again, and
// what is taken of the slice in which it begins to is kept.
func TestSlicesThatAnotherPutThereAreNotRemoved(t *testing.T) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	begun := func(fs *memfs.FS, head uint32) *Log {
		l, err := Open(Options{Dir: folder, Stride: stride, FS: testFS{fs, fs}})
		must(err)
		b, _ := told(head, 0)
		must(l.Begin(Chain{Head: head, ID: b.ID, Known: func(num uint32) (types.Checksum256, bool, error) {
			b, _ := told(num, 0)
			return b.ID, true, nil
		}}))
		return l
	}
	const head = 29
	from := memfs.New()
	l := begun(from, 1)
	at := l.Slice(head)
	for num := uint32(2); num <= head+7; num++ {
		must(tell(l, num, 0))
	}
	mark := l.markPath()
	must(l.Close())
	for _, last := range []uint32{at - 1, 100} { // of what is put there
		to := memfs.New()
		must(begun(to, head).Close())
		for _, p := range from.Paths() {
			if b := from.Blob(p); b != nil && p != mark && !strings.HasSuffix(p, clogSuffix) {
				is := false
				for number := range last + 1 {
					for _, prefix := range prefixes {
						is = is || p == l.path(prefix, number, logSuffix)
					}
				}
				if is {
					to.Put(p, memfs.NewBlob(slices.Clone(b.Bytes())))
				}
			}
		}
		if last < 100 { // the last one was being written
			f, err := to.Open(l.path(tracesPrefix, last, logSuffix), true)
			must(err)
			size, err := f.Size()
			must(err)
			must(f.Truncate(size - 3))
			must(f.Close())
		}
		l := begun(to, head)
		for num := uint32(2); num < at*stride-1; num++ {
			want, _ := told(num, 0)
			if got, _, err := l.Read(num, nil); err != nil || got.ID != want.ID {
				t.Fatalf("up to slice %d: block %d: %v", last, num, err)
			}
		}
		if kept := to.Blob(l.path(tracesPrefix, min(last, at), logSuffix) + ".bad"); kept == nil &&
			from.Blob(l.path(tracesPrefix, at, logSuffix)) != nil {
			t.Errorf("up to slice %d: nothing is kept of what was cut", last)
		}
		must(tell(l, head+1, 0))
		must(l.Close())
	}
}
