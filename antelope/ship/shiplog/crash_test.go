package shiplog

import (
	"flag"
	"math/rand/v2"
	"testing"

	"tarn/antelope/logcatalog"
	"tarn/antelope/types"
	"tarn/store/vfs/memfs"
	"tarn/store/vfs/recordfs"
)

var spoilFlag = flag.Int("shiplog.spoiled", 40, "logs of each kind whose repair is cut short at each write")

var livesFlag = flag.Int("shiplog.lives", 4,
	"lives of a log of each kind that is closed, killed, or loses its power, again and again")

// crasher is a log through several ends.
type crasher struct {
	*life
	mem   *memfs.FS
	disk  *recordfs.FS
	all   map[types.Checksum256]block // that were ever appended
	floor uint32                      // blocks before it are durable
	list  []promise
}

// record begins a record of a disk on which all files are durable.
func (x *crasher) record(mem *memfs.FS) {
	x.t.Helper()
	x.mem, x.disk = mem, recordfs.New(mem)
	if err := x.disk.Adopt(mem.Paths()...); err != nil {
		x.t.Fatal(err)
	}
	x.o.FS = testFS{x.disk, mem}
	x.list = []promise{{at: x.disk.Position(), upTo: x.floor}}
}

// start opens the log, and takes what it has for what it should have: blocks that were
// appended, each after the one before, and all before the floor.
func (x *crasher) start(floor uint32) {
	x.t.Helper()
	if err := x.open(); err != nil {
		x.t.Fatal(err)
	}
	first, end := x.log.Range()
	if first == end {
		if floor > x.first && x.o.Partition == nil {
			x.t.Fatalf("nothing is left, and blocks before %d were synced", floor)
		}
		x.end = x.first
		return
	}
	if end < floor {
		x.t.Fatalf("blocks %d to %d, and those before %d were synced", first, end, floor)
	}
	x.end, x.want = end, map[uint32]block{}
	for n := first; n < end; n++ {
		id, ok, err := x.log.ID(n)
		b, known := x.all[id]
		if err != nil || !ok || !known {
			x.t.Fatalf("block %d has the id %s, %v", n, id, err)
		}
		if n > first && b.prev != x.want[n-1].id {
			x.t.Fatalf("block %d does not follow the one before", n)
		}
		read(x.t, x.log, n, b)
		x.want[n] = b
	}
}

// work does some steps, and notes what is promised after each.
func (x *crasher) work() {
	for range x.r.IntN(20) {
		before, at := x.end, x.disk.Position()
		if err := x.step(); err != nil {
			x.t.Fatal(err)
		}
		if x.end <= before { // a block is replaced: meanwhile it is gone
			x.list = append(x.list, promise{at: at, upTo: min(x.floor, x.end-1)})
		}
		for _, b := range x.want {
			x.all[b.id] = b
		}
		_, end := x.log.Range()
		x.floor = min(end, x.log.mark.end)
		if x.log.parts.Len() > 0 { // files before the live one are durable
			x.floor = max(x.floor, min(end, x.log.parts.Newest().Last+1))
		}
		x.list = append(x.list, promise{at: x.disk.Position(), upTo: x.floor})
	}
}

// stop ends the process or the power; it returns before which block all has to be there.
func (x *crasher) stop() uint32 {
	x.t.Helper()
	switch x.r.IntN(3) {
	case 0:
		if err := x.log.Close(); err != nil {
			x.t.Fatal(err)
		}
		x.floor = x.end
		x.list = append(x.list, promise{at: x.disk.Position(), upTo: x.floor})
		return x.end
	case 1:
		if err := x.log.closeFiles(); err != nil {
			x.t.Fatal(err)
		}
		return x.end
	}
	x.log.closeFiles() //nolint:errcheck // the power is cut
	begin, end := x.list[0].at, x.disk.Position()
	var states []recordfs.State
	for st := range x.disk.Recording().States(recordfs.Options{From: begin + x.r.IntN(end-begin+1), Count: 20,
		Seed: x.r.Uint64()}) {
		if states = append(states, st); len(states) > 60 {
			break
		}
	}
	st := states[x.r.IntN(len(states))]
	floor := x.list[0].upTo
	for i, p := range x.list {
		if p.at <= st.At { // between two steps either may hold
			floor = min(p.upTo, x.list[min(i+1, len(x.list)-1)].upTo)
		}
	}
	x.floor = floor
	x.record(st.FS)
	return floor
}

// A log that is closed, killed and loses its power in any order has all that was synced,
// and one branch of blocks that were appended.
func TestCrashesAfterCrashesLoseNothingThatWasSynced(t *testing.T) {
	s := seed(t)
	for name, change := range kinds() {
		t.Run(name, func(t *testing.T) {
			for n := range uint64(*livesFlag) {
				r := rand.New(rand.NewPCG(s, n))
				mem := memfs.New()
				x := &crasher{life: newLife(t, r, change, mem, mem), all: map[types.Checksum256]block{}}
				x.floor = x.end
				x.record(mem)
				floor := x.floor
				for range 8 {
					x.start(floor)
					x.work()
					floor = x.stop()
				}
			}
		})
	}
}

// An index that is lost is made again. Whatever a crash leaves of the new one, the next start
// has all blocks.
func TestACrashWhileAnIndexIsMadeAgainLosesNothing(t *testing.T) {
	s := seed(t)
	for name, change := range map[string]func(*Options){"whole": func(*Options) {},
		"pruned": func(o *Options) { o.Retain, o.step = 600, 512 }} {
		t.Run(name, func(t *testing.T) {
			x := &crasher{life: grown(t, rand.New(rand.NewPCG(s, 5)), change, 700)}
			mem := x.o.FS.(testFS).mem
			if err := mem.Remove(x.o.indexPath()); err != nil {
				t.Fatal(err)
			}
			x.record(mem)
			if err := x.open(); err != nil {
				t.Fatal(err)
			}
			if err := x.log.Close(); err != nil {
				t.Fatal(err)
			}
			for st := range x.disk.Recording().States(recordfs.Options{From: x.list[0].at, Count: 200, Seed: s}) {
				x.o.FS = testFS{st.FS, st.FS}
				if err := x.open(); err != nil {
					t.Fatalf("%v\n%v", err, st)
				}
				x.check()
				if err := x.log.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// A file in the archive that is shorter than the one that comes there is what a copy left that did not
// end: it does not cost the whole one.
func TestHalfAFileInTheArchiveDoesNotStay(t *testing.T) {
	r := rand.New(rand.NewPCG(seed(t), 12))
	mem := memfs.New()
	x := newLife(t, r, func(o *Options) { o.Partition = &Partition{folder + "/retained", folder + "/archive", 7, 0} },
		mem, mem)
	x.first, x.end = 1, 1
	o := x.o
	half := logcatalog.NewPart(o.Partition.Archive, o.Name, 1, 7).Log()
	mem.Put(half, memfs.NewBlob([]byte("half")))
	if err := x.open(); err != nil {
		t.Fatal(err)
	}
	for x.end <= 10 {
		if err := x.add(x.end); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.log.Close(); err != nil {
		t.Fatal(err)
	}
	x.o.Partition = &Partition{o.Partition.Archive, "", 7, 9}
	if err := x.open(); err != nil {
		t.Fatal(err)
	}
	x.check()
	if first, _ := x.log.Range(); first != 1 {
		t.Errorf("the log begins with block %d", first)
	}
	if err := x.log.Close(); err != nil {
		t.Fatal(err)
	}
}
