package shiplog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"tarn/antelope/types"
	"tarn/internal/refdata"
	"tarn/store/vfs"
	"tarn/store/vfs/errorfs"
	"tarn/store/vfs/memfs"
	"tarn/store/vfs/recordfs"
)

var (
	seedFlag   = flag.Uint64("shiplog.seed", 1, "of the random lives of logs; 0 for a new one")
	statesFlag = flag.Int("shiplog.states", 100, "crash states of each life")
)

func seed(t *testing.T) uint64 {
	s := *seedFlag
	if s == 0 {
		s = rand.Uint64()
	}
	t.Logf("-shiplog.seed=%d", s)
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

const folder = "/history"

// block is one that was recorded.
type block struct {
	id, prev types.Checksum256
	payload  []byte
}

// large is the payload of some blocks: more than is gathered in memory.
const large = spill + spill/4

func newBlock(r *rand.Rand, num uint32, prev types.Checksum256) block {
	b := block{prev: prev, payload: make([]byte, r.IntN(300))}
	for i := range b.id {
		b.id[i] = byte(r.Uint32())
	}
	binary.BigEndian.PutUint32(b.id[:], num)
	for i := range b.payload {
		b.payload[i] = byte(r.IntN(4))
	}
	return b
}

// enlarge gives a block a large payload that cannot be packed.
func (b *block) enlarge(r *rand.Rand) {
	b.payload = make([]byte, large)
	for i := 0; i < len(b.payload); i += 8 {
		binary.LittleEndian.PutUint64(b.payload[i:], r.Uint64())
	}
}

func (l *Log) put(b block) error {
	return l.Append(b.id, b.prev, func(w io.Writer) error {
		_, err := w.Write(b.payload)
		return err
	})
}

// life is a log beside what it should have.
type life struct {
	t     testing.TB
	r     *rand.Rand
	o     Options
	log   *Log
	want  map[uint32]block
	first uint32
	end   uint32 // the next block
	big   bool
}

func (x *life) open() error {
	var err error
	x.log, err = Open(x.o)
	return err
}

func (x *life) prev(num uint32) types.Checksum256 { return x.want[num-1].id }

// deepest is how many blocks a switch of forks takes back.
const deepest = 4

// step does something. Only what the log has may be read.
func (x *life) step() error {
	switch n := x.r.IntN(20); {
	case n == 0:
		return x.log.Sync()
	case n == 1:
		if err := x.log.Close(); err != nil {
			return err
		}
		return x.open()
	case n == 2 && x.end > x.first+1: // a switch of forks
		back := uint32(1 + x.r.IntN(deepest))
		num := max(x.first+1, x.end-min(back, x.end-x.first))
		if first, _ := x.log.Range(); num <= first {
			return nil
		}
		return x.add(num)
	case n == 3 && x.end > x.first+1: // again what is there
		num := x.end - 1
		return x.log.put(x.want[num])
	case n == 4 && x.r.IntN(3) == 0:
		x.want, x.first = map[uint32]block{}, x.end
		return x.log.Clear()
	default:
		return x.add(x.end)
	}
}

func (x *life) add(num uint32) error {
	b := newBlock(x.r, num, x.prev(num))
	if x.big && x.r.IntN(15) == 0 {
		b.enlarge(x.r)
	}
	for n := num; n < x.end; n++ {
		delete(x.want, n)
	}
	x.want[num], x.end = b, num+1
	return x.log.put(b)
}

// check reads every block that the log says it has.
func (x *life) check() {
	x.t.Helper()
	first, end := x.log.Range()
	if x.end == x.first && first == end { // nothing was appended yet
		return
	}
	if end != x.end {
		x.t.Fatalf("blocks %d to %d, want %d", first, end, x.end)
	}
	if x.o.Retain == 0 && x.o.Partition == nil && first != x.first {
		x.t.Fatalf("begins with %d, want %d", first, x.first)
	}
	if x.o.Retain > 0 && end-first < min(x.o.Retain, x.end-x.first)-min(deepest, x.end-x.first) {
		x.t.Fatalf("%d blocks are left", end-first)
	}
	for n := first; n < end; n++ {
		read(x.t, x.log, n, x.want[n])
	}
}

func read(t testing.TB, l *Log, num uint32, want block) {
	t.Helper()
	e, err := l.Read(num)
	if err != nil {
		t.Fatalf("block %d: %v", num, err)
	}
	length := e.Length
	got, err := io.ReadAll(e)
	if err = errors.Join(err, e.Close()); err != nil || !bytes.Equal(got, want.payload) || e.ID != want.id ||
		length != int64(len(want.payload)) {
		t.Fatalf("block %d: %d bytes of %s, %v; want %d of %s", num, len(got), e.ID, err, len(want.payload), want.id)
	}
}

func kinds() map[string]func(*Options) {
	return map[string]func(*Options){
		"whole":       func(*Options) {},
		"pruned":      func(o *Options) { o.Retain, o.step = 5, 512 },
		"partitioned": func(o *Options) { o.Partition = &Partition{folder + "/retained", folder + "/archive", 7, 3} },
		"deleted":     func(o *Options) { o.Partition = &Partition{folder + "/retained", "", 5, 1} },
	}
}

func newLife(t testing.TB, r *rand.Rand, change func(*Options), files vfs.FS, mem *memfs.FS) *life {
	x := &life{t: t, r: r, want: map[uint32]block{}, first: uint32(1 + r.IntN(3)),
		o: Options{Name: "trace_history", Dir: folder, FS: testFS{files, mem}}}
	x.end = x.first
	change(&x.o)
	return x
}

func TestALogIsWhatWasAppended(t *testing.T) {
	s := seed(t)
	for name, change := range kinds() {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(s, 1))
			mem := memfs.New()
			x := newLife(t, r, change, mem, mem)
			x.big = true
			if err := x.open(); err != nil {
				t.Fatal(err)
			}
			for i := range 100 {
				if err := x.step(); err != nil {
					t.Fatalf("step %d: %v", i, err)
				}
				if i%20 == 0 {
					x.check()
				}
			}
			x.check()
			if err := x.log.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// promise is what must be there at a moment, and what may be.
type promise struct {
	at   int
	upTo uint32 // blocks before it, as they were
	want map[uint32]block
}

// After a power cut a log opens, has what was synced, and nothing that was not appended.
func TestAPowerCutLosesNothingThatWasSynced(t *testing.T) {
	s := seed(t)
	for name, change := range kinds() {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(s, 2))
			mem := memfs.New()
			disk := recordfs.New(mem)
			x := newLife(t, r, change, disk, mem)
			if err := x.open(); err != nil {
				t.Fatal(err)
			}
			var list []promise
			all := map[types.Checksum256]block{}
			floor := x.end
			for range 60 {
				synced := x.r.IntN(8) == 0
				before, from, was := x.end, disk.Position(), min(floor, x.log.mark.end)
				var err error
				if synced {
					err = x.log.Sync()
				} else {
					err = x.step()
				}
				if err != nil {
					t.Fatal(err)
				}
				for _, b := range x.want {
					all[b.id] = b
				}
				_, end := x.log.Range()
				if floor = min(floor, end); synced {
					floor = end
				}
				// A fork takes back what was durable; what is promised is the lower of both.
				keep := maps.Clone(x.want)
				if x.end <= before { // a block is replaced: meanwhile it is gone
					list = append(list, promise{at: from, upTo: min(was, x.end-1), want: keep})
				}
				list = append(list, promise{at: disk.Position(), upTo: min(floor, x.log.mark.end), want: keep})
			}
			x.log.closeFiles()
			at := 0
			for st := range disk.Recording().States(recordfs.Options{Count: *statesFlag, Seed: s}) {
				for at+1 < len(list) && list[at+1].at <= st.At {
					at++
				}
				checkCut(t, x, st, list[at], list[min(at+1, len(list)-1)], all)
			}
		})
	}
}

func checkCut(t *testing.T, x *life, st recordfs.State, now, next promise, all map[types.Checksum256]block) {
	t.Helper()
	o := x.o
	o.FS = testFS{st.FS, st.FS}
	l, err := Open(o)
	if err != nil {
		t.Fatalf("%v\n%v", err, st)
	}
	defer l.closeFiles()
	first, end := l.Range()
	if floor := min(now.upTo, next.upTo); end < floor && first != end {
		t.Fatalf("blocks %d to %d, %d was synced\n%v", first, end, floor, st)
	}
	for n := first; n < end; n++ {
		id, ok, err := l.ID(n)
		if err != nil || !ok {
			t.Fatalf("block %d: %v\n%v", n, err, st)
		}
		b, known := all[id]
		if !known {
			t.Fatalf("block %d has the id %s, which was never appended\n%v", n, id, st)
		}
		read(t, l, n, b)
	}
	// It goes on.
	if end == first {
		return
	}
	last, _, _ := l.ID(end - 1)
	b := newBlock(x.r, end, last)
	if err := l.put(b); err != nil {
		t.Fatalf("append block %d: %v\n%v", end, err, st)
	}
	read(t, l, end, b)
}

// Each call to the disk fails once: the error comes out, nothing else is appended, and
// the log opens again with what it had.
func TestACallThatFailsIsToldAndLosesNothing(t *testing.T) {
	for name, change := range kinds() {
		t.Run(name, func(t *testing.T) {
			for nth := 1; ; nth++ {
				r := rand.New(rand.NewPCG(7, 3))
				mem := memfs.New()
				bad := errorfs.New(mem)
				x := newLife(t, r, change, bad, mem)
				if err := x.open(); err != nil {
					t.Fatal(err)
				}
				fired := bad.Inject(errorfs.Fault{Ops: errorfs.All, Nth: nth, Err: syscall.ENOSPC, Part: true})
				var err error
				for i := 0; i < 25 && err == nil; i++ {
					err = x.step()
				}
				bad.Clear()
				if fired() == 0 {
					return
				}
				if err != nil && !errors.Is(err, syscall.ENOSPC) {
					t.Fatalf("call %d failed, and the error is %v", nth, err)
				}
				if x.log != nil {
					x.log.closeFiles()
				}
				l, err := Open(x.o)
				if err != nil {
					t.Fatalf("call %d failed, and then: %v", nth, err)
				}
				first, end := l.Range()
				if first == end && x.end > x.first+1 || first < end && end+1 < x.end {
					t.Fatalf("call %d failed, and blocks %d to %d are left of %d", nth, first, end, x.end)
				}
				l.closeFiles()
			}
		})
	}
}

func TestWhatCannotFollowIsRefused(t *testing.T) {
	mem := memfs.New()
	r := rand.New(rand.NewPCG(1, 1))
	l, err := Open(Options{Name: "x", Dir: folder, FS: testFS{mem, mem}})
	if err != nil {
		t.Fatal(err)
	}
	a := newBlock(r, 10, types.Checksum256{})
	b := newBlock(r, 11, a.id)
	if err := errors.Join(l.put(a), l.put(b)); err != nil {
		t.Fatal(err)
	}
	if err := l.put(newBlock(r, 13, b.id)); !errors.Is(err, ErrMissed) ||
		!strings.Contains(err.Error(), "block 13 follows 11") {
		t.Errorf("a gap: %v", err)
	}
	if err := l.put(newBlock(r, 12, a.id)); !errors.Is(err, ErrMissed) {
		t.Errorf("another parent: %v", err)
	}
	if err := l.put(newBlock(r, 9, a.id)); err != nil {
		t.Errorf("before the first: %v", err)
	}
	if _, err := l.Read(9); !errors.Is(err, ErrNotFound) {
		t.Errorf("reading it: %v", err)
	}
	if first, end := l.Range(); first != 10 || end != 12 {
		t.Errorf("blocks %d to %d", first, end)
	}
}

// The form of a log changes when its options do.
func TestALogIsConvertedWhereItLies(t *testing.T) {
	mem := memfs.New()
	r := rand.New(rand.NewPCG(2, 2))
	x := newLife(t, r, func(*Options) {}, mem, mem)
	x.first, x.end = 1, 1
	if err := x.open(); err != nil {
		t.Fatal(err)
	}
	for range 30 {
		if err := x.add(x.end); err != nil {
			t.Fatal(err)
		}
	}
	for _, retain := range []uint32{10, 0, 4, 4} {
		if err := x.log.Close(); err != nil {
			t.Fatal(err)
		}
		x.o.Retain = retain
		if err := x.open(); err != nil {
			t.Fatal(err)
		}
		if retain == 0 {
			x.first = 21
		}
		x.check()
		if err := x.add(x.end); err != nil {
			t.Fatal(err)
		}
		x.check()
	}
}

// nodeos' own logs are taken over, and gone on with.
func TestNodeosLogsAreOpened(t *testing.T) {
	dir := refdata.Path(t, "history-sample/state-history")
	for _, name := range []string{"trace_history", "chain_state_history"} {
		for _, index := range []bool{true, false} {
			takeOver(t, dir, name, index)
		}
	}
}

func takeOver(t *testing.T, from, name string, index bool) {
	dir := t.TempDir()
	for _, ending := range []string{".log", ".index"} {
		b, err := os.ReadFile(filepath.Join(from, name+ending))
		if err != nil {
			t.Fatal(err)
		}
		if ending == ".log" || index {
			if err := os.WriteFile(filepath.Join(dir, name+ending), b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	l, err := Open(Options{Name: name, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	first, end := l.Range()
	if end-first < 500 {
		t.Errorf("%s: blocks %d to %d", name, first, end)
	}
	for n := first; n < end; n++ {
		e, err := l.Read(n)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(e.Fill(make([]byte, e.Length)), e.Close()); err != nil {
			t.Fatal(err)
		}
	}
	last, _, _ := l.ID(end - 1)
	if err := l.put(newBlock(rand.New(rand.NewPCG(1, 1)), end, last)); err != nil {
		t.Error(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if index {
		want, _ := os.ReadFile(filepath.Join(from, name+".index"))
		got, _ := os.ReadFile(filepath.Join(dir, name+".index"))
		if !bytes.HasPrefix(got, want) {
			t.Errorf("%s: the index differs", name)
		}
	}
	if err := Remove(Options{Name: name, Dir: dir}); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// FuzzLog: whatever the files, a log opens or is refused, and what it says it has can be
// read or is refused.
func FuzzLog(f *testing.F) {
	mem := memfs.New()
	r := rand.New(rand.NewPCG(1, 1))
	l, err := Open(Options{Name: "x", Dir: folder, FS: testFS{mem, mem}})
	if err != nil {
		f.Fatal(err)
	}
	prev := types.Checksum256{}
	for n := range uint32(3) {
		b := newBlock(r, n+1, prev)
		prev = b.id
		if err := l.put(b); err != nil {
			f.Fatal(err)
		}
	}
	blob := func(name string) []byte { return slices.Clone(mem.Blob(folder + "/" + name).Bytes()) }
	f.Add(blob("x.log"), blob("x.index"), []byte(nil))
	if err := l.Close(); err != nil {
		f.Fatal(err)
	}
	f.Add(blob("x.log"), blob("x.index"), blob("x.mark"))
	f.Fuzz(func(t *testing.T, log, index, mark []byte) {
		mem := memfs.New()
		files := testFS{small{mem}, mem}
		if err := vfs.MkdirAll(files, folder); err != nil {
			t.Fatal(err)
		}
		for name, b := range map[string][]byte{"x.log": log, "x.index": index, "x.mark": mark} {
			if err := vfs.WriteDurably(files, folder+"/"+name, b); err != nil {
				t.Fatal(err)
			}
		}
		l, err := Open(Options{Name: "x", Dir: folder, FS: files})
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			return
		}
		first, end := l.Range()
		for n := first; n < min(end, first+10); n++ {
			if e, err := l.Read(n); err == nil {
				io.Copy(io.Discard, e) //nolint:errcheck // damaged streams are refused
				e.Close()              //nolint:errcheck // it was only read
			}
		}
		l.closeFiles() //nolint:errcheck // of memory
	})
}

// small is a disk of small files: in memory a hole takes room.
type small struct{ vfs.FS }

func (s small) Open(path string, writable bool) (vfs.File, error) {
	f, err := s.FS.Open(path, writable)
	return smallFile{f}, err
}

func (s small) Create(path string) (vfs.File, error) {
	f, err := s.FS.Create(path)
	return smallFile{f}, err
}

type smallFile struct{ vfs.File }

const smallBytes = 16 << 20

func (f smallFile) WriteAt(b []byte, at int64) (int, error) {
	if at > smallBytes {
		return 0, syscall.EFBIG
	}
	return f.File.WriteAt(b, at)
}

func (f smallFile) Truncate(size int64) error {
	if size > smallBytes {
		return syscall.EFBIG
	}
	return f.File.Truncate(size)
}
