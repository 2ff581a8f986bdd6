package slicefile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"tarn/antelope/tracelog/wire"
	"tarn/antelope/types"
	"tarn/store/vfs"
	"tarn/store/vfs/memfs"
	"tarn/store/vfs/recordfs"
)

var (
	seedFlag   = flag.Uint64("slicefile.seed", 1, "of the random lives of traces; 0 for a new one")
	statesFlag = flag.Int("slicefile.states", 100, "crash states, at least two for each write")
)

// seed is the one that a random test begins with, which it prints.
func seed(t *testing.T) uint64 {
	s := *seedFlag
	if s == 0 {
		s = rand.Uint64()
	}
	t.Logf("-slicefile.seed=%d", s)
	return s
}

// testFS lists what a file system in memory holds.
type testFS struct {
	vfs.FS
	mem *memfs.FS
}

func (f testFS) List(dir string) ([]string, error) {
	var names []string
	for _, p := range f.mem.Paths() {
		if filepath.Dir(p) == dir {
			names = append(names, filepath.Base(p))
		}
	}
	return names, nil
}

const (
	folder = "/traces"
	stride = 5
	lag    = 7 // of the irreversible block
	length = 36
)

// told is a block that the chain tells, of one of two branches.
func told(num uint32, branch byte) (*wire.Block, *wire.Transactions) {
	id := types.Checksum256{31: branch}
	binary.BigEndian.PutUint32(id[:], num)
	t := wire.Transaction{ID: types.Checksum256{1, byte(num), branch}, Receipt: &wire.Receipt{},
		Place: &wire.Place{Number: num}}
	t.Actions = []wire.Action{{GlobalSequence: uint64(num), Data: bytes.Repeat([]byte{byte(num), branch}, int(num)*9),
		ReturnValue: []byte{}}}
	previous := types.Checksum256{31: branch}
	binary.BigEndian.PutUint32(previous[:], num-1)
	return &wire.Block{ID: id, Number: num, Previous: previous, Roots: &wire.Roots{},
			Transactions: []wire.Transaction{t}},
		&wire.Transactions{Number: num, IDs: []types.Checksum256{t.ID}}
}

// tell appends a block, and what becomes irreversible by it.
func tell(l *Log, num uint32, branch byte) error {
	if _, err := l.Append(told(num, branch)); err != nil {
		return err
	}
	if num <= lag {
		return nil
	}
	b, _ := told(num-lag, 0)
	return l.Finalise(num-lag, b.ID)
}

// check holds all blocks against what was told.
func check(l *Log, last uint32) error {
	for num := uint32(2); num <= last; num++ {
		want, wantIDs := told(num, 0)
		got, irreversible, err := l.Read(num, nil)
		if err != nil {
			return err
		}
		ids, err := l.IDs(num)
		if err != nil {
			return err
		}
		if !bytes.Equal(got.Append(nil), want.Append(nil)) || fmt.Sprint(ids) != fmt.Sprint(wantIDs.IDs) {
			return fmt.Errorf("block %d is not what was told last", num)
		}
		if irreversible != (num+lag <= last) {
			return fmt.Errorf("block %d of %d: irreversible: %v", num, last, irreversible)
		}
	}
	return nil
}

// saved is a head that a state may have after a crash at a position of the disk's record.
type saved struct {
	at   int
	head uint32
}

// live tells a chain with forks, and returns what was saved when.
func live(t *testing.T, l *Log, r *rand.Rand, disk *recordfs.FS) (list []saved) {
	t.Helper()
	first, _ := told(1, 0)
	if err := l.Begin(Chain{Head: 1, ID: first.ID}); err != nil {
		t.Fatal(err)
	}
	list = append(list, saved{disk.Position(), 1})
	for num := uint32(2); num <= length; num++ {
		if forked := min(num+uint32(r.IntN(4)), length+1); r.IntN(5) == 0 { // blocks that are replaced
			for n := num; n < forked; n++ {
				if _, err := l.Append(told(n, 1)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := tell(l, num, 0); err != nil {
			t.Fatal(err)
		}
		if r.IntN(6) == 0 {
			if err := l.Sync(); err != nil {
				t.Fatal(err)
			}
			list = append(list, saved{disk.Position(), max(1, num-min(num-1, lag))})
		}
	}
	if err := check(l, length); err != nil {
		t.Fatal(err)
	}
	return list
}

// After a power cut at any moment, whatever of the writes before it survived, a chain that
// goes on from its last saved state has all its blocks in the traces.
func TestAPowerCutLeavesNoGap(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; not with -short")
	}
	s := seed(t)
	mem := memfs.New()
	disk := recordfs.New(mem)
	l, err := Open(Options{Dir: folder, Stride: stride, FS: testFS{disk, mem}})
	if err != nil {
		t.Fatal(err)
	}
	list := live(t, l, rand.New(rand.NewPCG(s, 1)), disk)
	at := 0
	for st := range disk.Recording().States(recordfs.Options{From: list[0].at, Count: *statesFlag, Seed: s}) {
		for at+1 < len(list) && list[at+1].at <= st.At {
			at++
		}
		if err := goesOn(st.FS, list[at].head); err != nil {
			t.Fatalf("a power cut at %d, the state at block %d: %v", st.At, list[at].head, err)
		}
	}
}

// goesOn opens what a crash left, and tells the blocks after a head again.
func goesOn(mem *memfs.FS, head uint32) error {
	o := Options{Dir: folder, Stride: stride, FS: testFS{mem, mem}}
	for range 2 { // the second time everything is there
		l, err := Open(o)
		if err != nil {
			return err
		}
		b, _ := told(head, 0)
		if err := l.Begin(Chain{Head: head, ID: b.ID}); err != nil {
			return err
		}
		for num := head + 1; num <= length; num++ {
			if err := tell(l, num, 0); err != nil {
				return err
			}
		}
		if err := errors.Join(check(l, length), l.Close()); err != nil {
			return err
		}
	}
	return nil
}

// What there is without a mark, as after a copy, is durable before a mark relies on it.
func TestAPowerCutAfterACopyLeavesNoGap(t *testing.T) {
	s := seed(t)
	mem := memfs.New()
	disk := recordfs.New(mem)
	o := Options{Dir: folder, Stride: stride, FS: testFS{disk, mem}}
	begin := func(head uint32) *Log {
		l, err := Open(o)
		if err == nil {
			b, _ := told(head, 0)
			err = l.Begin(Chain{Head: head, ID: b.ID})
		}
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	killed := begin(1)
	for num := uint32(2); num <= 12; num++ {
		if err := tell(killed, num, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := disk.Remove(killed.markPath()); err != nil {
		t.Fatal(err)
	}
	begin(14)
	at := disk.Position()
	for st := range disk.Recording().States(recordfs.Options{From: at, Count: *statesFlag, Seed: s}) {
		if err := goesOn(st.FS, 1); err != nil {
			t.Fatalf("a power cut at %d: %v", st.At, err)
		}
	}
}

// A chain that is another one is refused, at its head or where it is irreversible.
func TestAnotherChainIsRefused(t *testing.T) {
	mem := memfs.New()
	l, err := Open(Options{Dir: folder, Stride: stride, FS: testFS{mem, mem}})
	if err != nil {
		t.Fatal(err)
	}
	live(t, l, rand.New(rand.NewPCG(1, 1)), recordfs.New(mem))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	other, _ := told(20, 1)
	for _, head := range []uint32{20, 1} {
		if l, err = Open(Options{Dir: folder, Stride: stride, FS: testFS{mem, mem}}); err != nil {
			t.Fatal(err)
		}
		b, _ := told(head, 1)
		err := l.Begin(Chain{Head: head, ID: b.ID})
		if head == 1 {
			err = errors.Join(err, l.Finalise(20, other.ID))
		}
		if !errors.Is(err, ErrOtherChain) {
			t.Errorf("from block %d: %v", head, err)
		}
		if err := l.Close(); head == 1 && err != nil {
			t.Fatal(err)
		}
	}
}

// Whatever the files hold, reading them ends with an answer or an error.
func FuzzFiles(f *testing.F) {
	mem := memfs.New()
	l, err := Open(Options{Dir: folder, Stride: 100, FS: testFS{mem, mem}})
	if err != nil {
		f.Fatal(err)
	}
	b, _ := told(1, 0)
	err = l.Begin(Chain{Head: 1, ID: b.ID})
	for num := uint32(2); num < 12 && err == nil; num++ {
		err = tell(l, num, 0)
	}
	if err != nil {
		f.Fatal(err)
	}
	var seeds [3][]byte
	for i, t := range l.parts[0].tails() {
		seeds[i] = make([]byte, t.size)
		if _, err := t.file.ReadAt(seeds[i], 0); err != nil {
			f.Fatal(err)
		}
	}
	f.Add(seeds[0], seeds[1], seeds[2])
	f.Fuzz(func(t *testing.T, traces, index, ids []byte) {
		mem := memfs.New()
		l, err := Open(Options{Dir: folder, Stride: 100, FS: testFS{mem, mem}})
		if err != nil {
			t.Fatal(err)
		}
		for prefix, b := range map[string][]byte{tracesPrefix: traces, indexPrefix: index, idsPrefix: ids} {
			f, err := mem.Create(l.path(prefix, 0, logSuffix))
			if err == nil {
				_, err = f.WriteAt(b, 0)
			}
			if err = errors.Join(err, f.Close()); err != nil {
				t.Fatal(err)
			}
		}
		if l, err = Open(l.o); err != nil {
			t.Fatal(err)
		}
		for num := uint32(0); num < 100; num += 3 {
			l.Read(num, nil) //nolint:errcheck // it ends
			l.IDs(num)       //nolint:errcheck // as above
		}
		head, _ := told(1, 0)
		if l.Begin(Chain{Head: 1, ID: head.ID}) == nil {
			tell(l, 50, 0) //nolint:errcheck // as above
		}
		l.Close() //nolint:errcheck // it may have failed
	})
}
