package shiplog

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"tarn/antelope/types"
	"tarn/store/vfs/memfs"
)

// springLog is a log as Spring writes it: after a switch of forks the blocks that have lost stay in it,
// and its index leads to those that came in their places (Spring: log.hpp, pack_and_write_entry).
type springLog struct {
	t          *testing.T
	first, end uint32
	log, index []byte
	want       map[uint32]block
}

func (s *springLog) put(b block) {
	s.t.Helper()
	num := number(b.id)
	at := uint64(len(s.log))
	s.log = append(s.log, entryOf(s.t, b)...)
	binary.LittleEndian.PutUint64(s.log[len(s.log)-trailerBytes:], at)
	s.index = append(s.index[:int(num-s.first)*indexBytes], binary.LittleEndian.AppendUint64(nil, at)...)
	s.want[num], s.end = b, num+1
}

// entryOf is an entry by itself.
func entryOf(t *testing.T, b block) []byte {
	t.Helper()
	mem := memfs.New()
	l, err := Open(Options{Name: "one", Dir: folder, FS: testFS{mem, mem}})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.put(b); err != nil {
		t.Fatal(err)
	}
	out := make([]byte, l.live.size)
	if _, err := l.live.log.ReadAt(out, 0); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return out
}

// newSpringLog is one of some blocks with switches of forks, the last of which may end with a lower block.
func newSpringLog(t *testing.T, r *rand.Rand) *springLog {
	s := &springLog{t: t, first: 1 + r.Uint32N(20), want: map[uint32]block{}}
	s.end = s.first
	for range 60 {
		num := s.end
		if back := r.Uint32N(4); r.IntN(4) == 0 && num > s.first+back {
			num -= back
		}
		s.put(newBlock(r, num, s.want[num-1].id))
	}
	return s
}

// write writes the files.
func (s *springLog) write(o Options, withIndex bool) {
	s.t.Helper()
	mem := o.FS.(testFS).mem
	log := append([]byte(nil), s.log...)
	if o.Retain > 0 {
		log[2] |= featureGone >> 16
		log = binary.LittleEndian.AppendUint32(log, s.end-s.first)
	}
	files := map[string][]byte{".log": log, ".index": s.index}
	if !withIndex {
		delete(files, ".index")
	}
	if there, err := mem.Exists(o.Dir); err != nil || !there && mem.Mkdir(o.Dir) != nil {
		s.t.Fatal(err)
	}
	for ending, b := range files {
		f, err := mem.Create(filepath.Join(o.Dir, o.Name+ending))
		if err == nil {
			_, err = f.WriteAt(b, 0)
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
}

// A log of Spring's is taken over with the blocks that have lost in it, pruned or not, with its index or
// without: each block is the one that came last, nothing is taken for damage, and the log goes on.
func TestALogOfSpringWithForksIsTakenOver(t *testing.T) {
	sd := seed(t)
	for name, change := range map[string]func(*Options){"whole": func(*Options) {},
		"pruned": func(o *Options) { o.Retain, o.step = 15, 512 }} {
		for _, withIndex := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, index %t", name, withIndex), func(t *testing.T) {
				for i := range uint64(8) {
					r := rand.New(rand.NewPCG(sd, 100+i))
					s := newSpringLog(t, r)
					mem := memfs.New()
					x := newLife(t, r, change, mem, mem)
					s.write(x.o, withIndex)
					x.want, x.first, x.end = s.want, s.first, s.end
					for k := range x.want { // of longer branches that have lost
						if k >= x.end {
							delete(x.want, k)
						}
					}
					s.takenOver(x, withIndex)
				}
			})
		}
	}
}

func (s *springLog) takenOver(x *life, withIndex bool) {
	t := s.t
	t.Helper()
	sound := func(when string) {
		t.Helper()
		if list := inspect(t, x); len(list) > 0 {
			t.Fatalf("%s: %v", when, list)
		}
	}
	if withIndex {
		sound("as Spring left it")
	}
	if err := x.open(); err != nil {
		t.Fatal(err)
	}
	x.check()
	if first, end := x.log.Range(); first != s.first || end != s.end {
		t.Fatalf("blocks %d to %d, want %d to %d", first, end, s.first, s.end)
	}
	if !withIndex {
		if err := x.log.Sync(); err != nil {
			t.Fatal(err)
		}
		sound("with its index made again")
	}
	// A position that is damaged is found again, and is that of the last entry of its block.
	num := s.first + uint32(len(s.want))/2
	if err := x.log.live.setPosition(num, 5); err != nil {
		t.Fatal(err)
	}
	x.check()
	for _, num := range []uint32{x.end, x.end - 1, x.end - 1, x.end} {
		if err := x.add(num); err != nil {
			t.Fatal(err)
		}
	}
	for range 30 {
		if err := x.add(x.end); err != nil {
			t.Fatal(err)
		}
	}
	x.check()
	if err := x.log.Close(); err != nil {
		t.Fatal(err)
	}
	sound("after it went on")
}

// What Spring appended behind a mark of ours is not in the way: it is recorded again.
func TestWhatSpringAppendedBehindAMarkIsRecordedAgain(t *testing.T) {
	r := rand.New(rand.NewPCG(seed(t), 13))
	x := grown(t, r, func(*Options) {}, 20)
	s := &springLog{t: t, first: x.first, end: x.end, want: map[uint32]block{}}
	s.log, s.index = contents(t, x.o.FS, x.o.logPath()), contents(t, x.o.FS, x.o.indexPath())
	for n, b := range x.want {
		s.want[n] = b
	}
	prev := x.want[x.end-3].id
	for num := x.end - 2; num < x.end+3; num++ { // a switch of forks, to before the mark
		b := newBlock(r, num, prev)
		s.put(b)
		prev = b.id
	}
	s.write(x.o, true)
	if err := x.open(); err != nil {
		t.Fatal(err)
	}
	var before types.Checksum256
	for num := x.end - 2; num < s.end; num++ {
		b := s.want[num]
		if before = b.prev; before.IsZero() {
			t.Fatal("a block without the one before")
		}
		if err := x.log.put(b); err != nil {
			t.Fatal(err)
		}
	}
	x.want, x.end = s.want, s.end
	x.check()
	if err := x.log.Close(); err != nil {
		t.Fatal(err)
	}
	if list := inspect(t, x); len(list) > 0 {
		t.Fatal(list)
	}
}
