package shiplog

import (
	"maps"
	"math/rand/v2"
	"testing"

	"tarn/antelope/types"
	"tarn/store/vfs/memfs"
	"tarn/store/vfs/recordfs"
)

// refill gives a log other blocks, from a number on.
func (x *life) refill(num uint32, blocks int) {
	x.t.Helper()
	x.want, x.first, x.end = map[uint32]block{}, num, num
	for range blocks {
		if err := x.add(x.end); err != nil {
			x.t.Fatal(err)
		}
	}
}

// A log that was cleared has nothing, and takes any blocks after that: earlier ones, later ones.
func TestAClearedLogIsAsOneThatWasJustMade(t *testing.T) {
	s := seed(t)
	for name, change := range kinds() {
		t.Run(name, func(t *testing.T) {
			mem := memfs.New()
			x := newLife(t, rand.New(rand.NewPCG(s, 11)), change, mem, mem)
			if err := x.open(); err != nil {
				t.Fatal(err)
			}
			begin, _ := x.log.Range()
			for _, num := range []uint32{30, 100, 2} {
				x.refill(num, 25)
				x.check()
				if err := x.log.Clear(); err != nil {
					t.Fatal(err)
				}
				if first, end := x.log.Range(); first != begin || end != begin || !x.log.Empty() {
					t.Fatalf("blocks %d to %d of %d to %d", first, end, begin, begin)
				}
				for n := num; n < x.end; n++ {
					if _, ok, err := x.log.ID(n); ok || err != nil {
						t.Fatalf("block %d: %t, %v", n, ok, err)
					}
				}
				if err := x.log.Close(); err != nil {
					t.Fatal(err)
				}
				if err := x.open(); err != nil {
					t.Fatal(err)
				}
				if !x.log.Empty() {
					t.Fatal("it has blocks when it is opened again")
				}
			}
			if err := x.log.Clear(); err != nil { // of nothing
				t.Fatal(err)
			}
		})
	}
}

// A crash while a log is cleared leaves entries that were in it, without a gap, and none once it
// was cleared but those that came after.
func TestACrashWhileALogIsClearedLeavesNoGap(t *testing.T) {
	s := seed(t)
	for name, change := range kinds() {
		t.Run(name, func(t *testing.T) {
			mem := memfs.New()
			x := &crasher{life: newLife(t, rand.New(rand.NewPCG(s, 12)), change, mem, mem),
				all: map[types.Checksum256]block{}}
			if err := x.open(); err != nil {
				t.Fatal(err)
			}
			x.refill(20, 30)
			maps.Copy(x.all, byID(x.want))
			if err := x.log.Close(); err != nil {
				t.Fatal(err)
			}
			x.record(mem)
			if err := x.open(); err != nil {
				t.Fatal(err)
			}
			if err := x.log.Clear(); err != nil {
				t.Fatal(err)
			}
			cleared := x.disk.Position()
			x.refill(10, 9)
			later := byID(x.want)
			maps.Copy(x.all, later)
			x.log.closeFiles() //nolint:errcheck // the power is cut
			recording := x.disk.Recording()
			for st := range recording.States(recordfs.Options{From: x.list[0].at, Count: *statesFlag, Seed: s}) {
				x.o.FS, x.first = testFS{st.FS, st.FS}, 10
				if st.At >= cleared {
					x.all = later
				}
				x.start(0)
				if err := x.log.closeFiles(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func byID(blocks map[uint32]block) map[types.Checksum256]block {
	out := make(map[types.Checksum256]block, len(blocks))
	for _, b := range blocks {
		out[b.id] = b
	}
	return out
}
