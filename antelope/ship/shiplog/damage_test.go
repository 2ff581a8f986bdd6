package shiplog

import (
	"bytes"
	"errors"
	"fmt"
	"hash/adler32"
	"io"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"tarn/antelope/types"
	"tarn/store/vfs/memfs"
)

// readAll reads an entry to its end.
func readAll(l *Log, num uint32) (types.Checksum256, []byte, error) {
	e, err := l.Read(num)
	if err != nil {
		return types.Checksum256{}, nil, err
	}
	b, err := io.ReadAll(e)
	return e.ID, b, errors.Join(err, e.Close())
}

// inParts is a log in several retained files, on the machine's own file system.
func inParts(t *testing.T, blocks uint32) (*Log, []block) {
	t.Helper()
	dir := t.TempDir()
	l, err := Open(Options{Name: "trace_history", Dir: dir,
		Partition: &Partition{Retained: dir + "/retained", Stride: 10, MaxFiles: 100}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	s := seed(t)
	r := rand.New(rand.NewPCG(s, 1))
	var list []block
	var prev block
	for num := uint32(1); num <= blocks; num++ {
		b := newBlock(r, num, prev.id)
		if err := l.put(b); err != nil {
			t.Fatal(err)
		}
		list, prev = append(list, b), b
	}
	return l, list
}

// Nobody closes a retained file that another reads: not another reader, and not the writer,
// which looks into retained files when a replay tells blocks again.
func TestReadersOfRetainedFilesAndTheWriterLeaveEachOtherTheirFiles(t *testing.T) {
	blocks := uint32(10*(16+5) + 5)
	l, list := inParts(t, blocks)
	stop := make(chan struct{})
	var reading sync.WaitGroup
	for g := range uint64(3) {
		reading.Go(func() {
			r := rand.New(rand.NewPCG(g, 7))
			for {
				select {
				case <-stop:
					return
				default:
				}
				want := list[r.IntN(len(list))]
				num := number(want.id)
				if id, b, err := readAll(l, num); err != nil || id != want.id || !bytes.Equal(b, want.payload) {
					t.Errorf("block %d: %v", num, err)
					return
				}
				if _, ok, err := l.ID(num); err != nil || !ok {
					t.Errorf("the id of block %d: %v %v", num, ok, err)
					return
				}
			}
		})
	}
	for range 10 {
		for _, b := range list {
			if err := l.put(b); err != nil {
				t.Errorf("the writer: %v", err)
				break
			}
		}
	}
	close(stop)
	reading.Wait()
	if open, users := l.parts.Handles(); open > 16 || users != 0 {
		t.Errorf("%d files are open, with %d users, and nobody reads", open, users)
	}
}

// Whatever bits of an index are damaged, all blocks are read, and the index is whole again where
// it was read.
func TestADamagedIndexIsMadeAgainFromItsLog(t *testing.T) {
	s := seed(t)
	for name, change := range kinds() {
		for round := range uint64(40) {
			r := rand.New(rand.NewPCG(s, round))
			x := grown(t, r, change, 40)
			was := contents(t, x.o.FS, x.o.indexPath())
			if len(was) == 0 { // a file was just begun
				continue
			}
			for range 1 + r.IntN(1+r.IntN(200)) {
				flip(t, x.o.FS, x.o.indexPath(), int64(r.IntN(len(was))), 1<<r.IntN(8))
			}
			if err := x.open(); err != nil {
				t.Fatalf("%s, round %d: %v", name, round, err)
			}
			first, end := x.log.Range()
			for _, n := range r.Perm(int(end - first)) {
				num := first + uint32(n)
				if id, b, err := readAll(x.log, num); err != nil || id != x.want[num].id ||
					!bytes.Equal(b, x.want[num].payload) {
					t.Fatalf("%s, round %d: block %d: %v", name, round, num, err)
				}
			}
			if err := errors.Join(x.add(x.end), x.log.Close()); err != nil {
				t.Fatalf("%s, round %d: %v", name, round, err)
			}
			if x.o.Retain > 0 || x.o.Partition != nil { // what is let go has no position; or it is another file now
				continue
			}
			if now := contents(t, x.o.FS, x.o.indexPath()); !bytes.Equal(now[:len(was)], was) {
				t.Errorf("%s, round %d: the index is %x, and was %x", name, round, now, was)
			}
		}
	}
}

// Whatever bit of a log is damaged, an entry is read as it was, or an error names the file. Only
// the id of a block has nothing to be checked with here, and no content is safer than the checksum that
// zlib's streams have.
func TestADamagedBitOfALogIsToldOrHarmless(t *testing.T) {
	s := seed(t)
	for name, change := range kinds() {
		for round := range uint64(150) {
			r := rand.New(rand.NewPCG(s, round))
			x := grown(t, r, change, 25)
			var paths []string
			for _, p := range x.o.FS.(testFS).mem.Paths() {
				if strings.HasSuffix(p, ".log") && len(contents(t, x.o.FS, p)) > 0 {
					paths = append(paths, p)
				}
			}
			if err := x.open(); err != nil {
				t.Fatal(err)
			}
			path := paths[r.IntN(len(paths))]
			at := int64(r.IntN(len(contents(t, x.o.FS, path))))
			flip(t, x.o.FS, path, at, 1<<r.IntN(8))
			first, end := x.log.Range()
			for num := first; num < end; num++ {
				id, b, err := readAll(x.log, num)
				want := x.want[num]
				switch {
				case err != nil && (!errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), path) ||
					!strings.Contains(err.Error(), "offset")):
					t.Errorf("%s, round %d: offset %d of %s: block %d: %v", name, round, at, path, num, err)
				case err == nil &&
					(adler32.Checksum(b) != adler32.Checksum(want.payload) || id != want.id && !Near(id, want.id)):
					t.Errorf("%s, round %d: offset %d of %s: block %d is %s with %x, and was %s with %x",
						name, round, at, path, num, id, b, want.id, want.payload)
				}
			}
			x.log.closeFiles() //nolint:errcheck // of memory
		}
	}
}

// An id that was damaged is known by what follows it, and is no switch of forks: nothing is taken back.
func TestADamagedIDIsNoFork(t *testing.T) {
	s := seed(t)
	for round := range uint64(30) {
		r := rand.New(rand.NewPCG(s, round))
		x := grown(t, r, func(*Options) {}, 12)
		was := contents(t, x.o.FS, x.o.logPath())
		starts := x.entries(x.o.logPath())
		hurt := r.IntN(12) // of the last one the mark tells, of others the chain
		at := starts[hurt] + 12 + int64(r.IntN(28))
		if hurt == 11 {
			at = starts[hurt] + 8 + int64(r.IntN(32))
		}
		flip(t, x.o.FS, x.o.logPath(), at, 1<<r.IntN(8))
		if err := x.open(); err != nil {
			t.Fatal(err)
		}
		for num := x.first; num < x.end; num++ {
			if err := x.log.put(x.want[num]); err != nil {
				t.Fatalf("round %d, entry %d: %v", round, hurt, err)
			}
		}
		if err := errors.Join(x.add(x.end), x.log.Close()); err != nil {
			t.Fatalf("round %d, entry %d: %v", round, hurt, err)
		}
		if now := contents(t, x.o.FS, x.o.logPath()); !bytes.Equal(now[:len(was)], was) {
			t.Errorf("round %d, entry %d: the log is not as it was", round, hurt)
		}
	}
}

// A broken entry with whole ones behind it is damage: the start says so, and nothing is cut. What is
// cut as a torn end is kept beside the log.
func TestOnlyATornEndIsCutOffAndItIsKept(t *testing.T) {
	s := seed(t)
	for round := range uint64(40) {
		r := rand.New(rand.NewPCG(s, round))
		x := grown(t, r, func(*Options) {}, 12)
		path, starts := x.o.logPath(), x.entries(x.o.logPath())
		size := int64(len(contents(t, x.o.FS, path)))
		marked := round%2 == 0
		hurt := 1 + r.IntN(9)
		if marked { // the last durable entry
			hurt = 11
		} else if err := x.o.FS.Remove(x.o.markPath()); err != nil {
			t.Fatal(err)
		}
		f, err := x.o.FS.Open(path, true)
		if err != nil {
			t.Fatal(err)
		}
		if !marked { // nodeos was killed
			size -= 1 + r.Int64N(20)
			if err := f.Truncate(size); err != nil {
				t.Fatal(err)
			}
		}
		torn := contents(t, x.o.FS, path)
		flip(t, x.o.FS, path, starts[hurt]+[]int64{0, 1, 4, 5, 6, 7}[r.IntN(6)], 1<<r.IntN(8)) // of the magic number
		was := contents(t, x.o.FS, path)
		if err := x.open(); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), path) ||
			!strings.Contains(err.Error(), fmt.Sprint(starts[hurt])) || !strings.Contains(err.Error(), "tarn history") {
			t.Fatalf("round %d: entry %d of 12 at %d: %v", round, hurt, starts[hurt], err)
		}
		if !bytes.Equal(contents(t, x.o.FS, path), was) {
			t.Errorf("round %d: the log was changed", round)
		}
		if marked {
			continue
		}
		if _, err := f.WriteAt(torn, 0); err != nil {
			t.Fatal(err)
		}
		if err := x.open(); err != nil {
			t.Fatal(err)
		}
		if first, end := x.log.Range(); first != x.first || end != x.end-1 {
			t.Errorf("round %d: blocks %d to %d", round, first, end)
		}
		if kept := contents(t, x.o.FS, path+".bad"); !bytes.Equal(kept, torn[starts[11]:]) {
			t.Errorf("round %d: %d bytes are kept of %d", round, len(kept), len(torn)-int(starts[11]))
		}
		x.log.closeFiles() //nolint:errcheck // of memory
	}
}

// A node that was started once without blocks leaves a mark of nothing. The pruned log that is put there then,
// without a mark of its own, is taken over as it is where nothing was.
func TestAPrunedLogInThePlaceOfAnEmptyOneIsTakenOver(t *testing.T) {
	from := memfs.New()
	x := newLife(t, rand.New(rand.NewPCG(seed(t), 2)), kinds()["pruned"], from, from)
	if err := x.open(); err != nil {
		t.Fatal(err)
	}
	for range 60 {
		if err := x.add(x.end); err != nil {
			t.Fatal(err)
		}
	}
	first, end := x.log.Range()
	if err := x.log.Close(); err != nil {
		t.Fatal(err)
	}
	if first == x.first {
		t.Fatal("nothing was let go")
	}
	log := from.Blob(x.o.logPath()).Bytes()
	for _, torn := range []int{0, 1, countBytes + 10} { // what of ours is torn at its beginning is no entry
		to := memfs.New()
		x.o.FS = testFS{to, to}
		if err := x.open(); err != nil {
			t.Fatal(err)
		}
		if err := x.log.Close(); err != nil {
			t.Fatal(err)
		}
		to.Put(x.o.logPath(), memfs.NewBlob(bytes.Clone(log[:len(log)-torn])))
		to.Put(x.o.indexPath(), memfs.NewBlob(bytes.Clone(from.Blob(x.o.indexPath()).Bytes())))
		if err := x.open(); err != nil {
			t.Fatal(err)
		}
		f, e := x.log.Range()
		if torn == 0 && (f != first || e != end) {
			t.Errorf("blocks %d to %d of %d to %d", f, e, first, end)
		}
		if kept := to.Blob(x.o.logPath() + ".bad"); torn > 0 && (kept == nil || f != e) {
			t.Errorf("%d bytes are torn off: blocks %d to %d, kept is %v", torn, f, e, kept)
		}
		for n := f; n < e; n++ {
			read(t, x.log, n, x.want[n])
		}
		if err := x.log.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Without its mark a log is taken for one of nodeos', whose last entry is looked at. If the mark is there
// and damaged, somebody has to know.
func TestADamagedMarkIsTold(t *testing.T) {
	x := grown(t, rand.New(rand.NewPCG(seed(t), 21)), kinds()["whole"], 40)
	for _, damaged := range []bool{false, true} {
		if damaged {
			flip(t, x.o.FS, x.o.markPath(), 5, 1)
		}
		var told strings.Builder
		x.o.Logger = slog.New(slog.NewTextHandler(&told, nil))
		if err := x.open(); err != nil {
			t.Fatal(err)
		}
		x.check()
		if err := x.log.Close(); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(told.String(), "mark of a history log is damaged") != damaged {
			t.Errorf("damaged %v, and told is %q", damaged, told.String())
		}
	}
}
