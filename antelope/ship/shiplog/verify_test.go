package shiplog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/adler32"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"tarn/antelope/logfinding"
	"tarn/antelope/logfinding/logrepairtest"
	"tarn/antelope/types"
	"tarn/store/vfs"
	"tarn/store/vfs/memfs"
)

// inspect verifies a log and returns what was found.
func inspect(t *testing.T, x *life) []logfinding.Finding {
	t.Helper()
	return inspectBeside(t, x, nil)
}

// inspectBeside verifies a log beside another one, which has the ids of blocks.
func inspectBeside(t *testing.T, x *life, known map[uint32]types.Checksum256) []logfinding.Finding {
	t.Helper()
	var list []logfinding.Finding
	o := VerifyOptions{Name: x.o.Name, Dir: folder, FS: x.o.FS}
	if x.o.Partition != nil {
		o.Old = []string{x.o.Partition.Retained, x.o.Partition.Archive}
	}
	o.Reporter = logfinding.Reporter{Found: func(f logfinding.Finding) { list = append(list, f) },
		Read: func(int64) error { return nil }}
	if known != nil {
		o.ID = func(num uint32) (types.Checksum256, bool, error) {
			id, there := known[num]
			return id, there, nil
		}
	}
	if _, err := Verify(o); err != nil {
		t.Fatal(err)
	}
	return list
}

// grown is a closed log of some blocks, and its blocks.
func grown(t testing.TB, r *rand.Rand, change func(*Options), blocks int) *life {
	t.Helper()
	mem := memfs.New()
	x := newLife(t, r, change, mem, mem)
	if x.o.step == 0 {
		x.o.step = usualStep
	}
	if err := x.open(); err != nil {
		t.Fatal(err)
	}
	for range blocks {
		if err := x.add(x.end); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.log.Close(); err != nil {
		t.Fatal(err)
	}
	return x
}

func contents(t testing.TB, fs vfs.FS, path string) []byte {
	t.Helper()
	f, err := fs.Open(path, false)
	if err != nil {
		t.Fatal(err)
	}
	size, err := f.Size()
	b := make([]byte, size)
	if err == nil && size > 0 {
		_, err = f.ReadAt(b, 0)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	return b
}

func TestASoundLogHasNoFindings(t *testing.T) {
	s := seed(t)
	for name, change := range kinds() {
		for round := range uint64(5) {
			x := grown(t, rand.New(rand.NewPCG(s, round)), change, 40)
			if list := inspect(t, x); len(list) > 0 {
				t.Errorf("%s: %v", name, list)
			}
		}
	}
}

// Whatever single byte is damaged, it is found, or what is read is as it was. What is mended
// leaves a log that opens, and has all blocks as they were but those that were cut off.
func TestADamagedByteIsFoundOrHarmless(t *testing.T) {
	s := seed(t)
	for name, change := range kinds() {
		t.Run(name, func(t *testing.T) {
			for round := range uint64(60) {
				r := rand.New(rand.NewPCG(s, round))
				x := grown(t, r, change, 30)
				damageOne(t, r, x)
			}
		})
	}
}

func damageOne(t *testing.T, r *rand.Rand, x *life) {
	t.Helper()
	mem := x.o.FS.(testFS).mem
	paths := slices.DeleteFunc(mem.Paths(), func(p string) bool { return len(contents(t, x.o.FS, p)) == 0 })
	path := paths[r.IntN(len(paths))]
	size := len(contents(t, x.o.FS, path))
	at := int64(r.IntN(size))
	if r.IntN(3) == 0 { // the end, or the first header
		at = int64(max(0, size-1-r.IntN(min(size, 70))))
	} else if r.IntN(3) == 0 {
		at = int64(r.IntN(min(size, headerBytes)))
	}
	flip(t, x.o.FS, path, at, byte(1<<r.IntN(8)))
	list := inspect(t, x)
	where := fmt.Sprintf("%s, offset %d of %d", path, at, size)
	mended := true
	for _, f := range list {
		mended = mended && f.Mend != nil
	}
	logrepairtest.Mend(t, list)
	if len(list) > 0 && !mended {
		return // nothing but recording again helps
	}
	if left := inspect(t, x); len(list) > 0 && len(left) > 0 {
		t.Fatalf("%s: found %v; after mending there is %v", where, list, left)
	}
	if err := x.open(); err != nil {
		t.Fatalf("%s: found %v; after mending it does not open: %v", where, list, err)
	}
	first, end := x.log.Range()
	if end+1 < x.end {
		t.Fatalf("%s: found %v; of blocks to %d there are those to %d", where, list, x.end, end)
	}
	for num := first; num < end; num++ {
		e, err := x.log.Read(num)
		if err != nil {
			t.Fatalf("%s: found %v; block %d: %v", where, list, num, err)
		}
		b, err := io.ReadAll(e)
		if err := errors.Join(err, e.Close()); err != nil {
			t.Fatalf("%s: found %v; block %d: %v", where, list, num, err)
		}
		want := x.want[num]
		if len(list) == 0 && want.id != e.ID && filepath.Ext(path) == ".log" {
			continue // the rest of an id: only another file tells it, see TestAnIDIsHeldAgainstAnother
		}
		if len(list) == 0 && adler32.Checksum(b) == adler32.Checksum(want.payload) && e.ID == want.id {
			continue // the checksum of what is compressed does not tell it, nor can the length
		}
		if !bytes.Equal(b, want.payload) || e.ID != want.id {
			t.Fatalf("%s: found %v; block %d is another one", where, list, num)
		}
	}
	if err := x.log.Close(); err != nil {
		t.Fatal(err)
	}
}

func flip(t *testing.T, fs vfs.FS, path string, at int64, bit byte) {
	t.Helper()
	f, err := fs.Open(path, true)
	if err != nil {
		t.Fatal(err)
	}
	var b [1]byte
	_, err = f.ReadAt(b[:], at)
	b[0] ^= bit
	if err == nil {
		_, err = f.WriteAt(b[:], at)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// A log that is cut anywhere, or has anything at its end, is mended to its last whole entry.
func TestATornEndIsCutOff(t *testing.T) {
	s := seed(t)
	for _, marked := range []bool{true, false} {
		for round := range uint64(40) {
			r := rand.New(rand.NewPCG(s, round))
			x := grown(t, r, func(*Options) {}, 20)
			path := x.o.logPath()
			b := contents(t, x.o.FS, path)
			whole := int64(len(b))
			cut := 400 + r.Int64N(whole-400)
			f, err := x.o.FS.Open(path, true)
			if err != nil {
				t.Fatal(err)
			}
			if r.IntN(2) == 0 {
				err, whole = f.Truncate(cut), cut
			} else {
				_, err = f.WriteAt(b[:r.IntN(40)+1], whole)
			}
			if err := errors.Join(err, f.Close()); err != nil {
				t.Fatal(err)
			}
			if !marked {
				err = x.o.FS.Remove(x.o.markPath())
			}
			list := inspect(t, x)
			logrepairtest.Mend(t, list)
			if left := inspect(t, x); err != nil || len(list) == 0 || len(left) > 0 {
				t.Fatalf("marked %v, %d of %d bytes: %v, then %v, %v", marked, whole, len(b), list, left, err)
			}
			got := contents(t, x.o.FS, path)
			if !bytes.HasPrefix(b, got) || int64(len(got)) > whole || int64(len(got)) < whole-400 {
				t.Fatalf("%d bytes of %d are left", len(got), whole)
			}
		}
	}
}

func TestAnIDIsHeldAgainstAnother(t *testing.T) {
	x := grown(t, rand.New(rand.NewPCG(1, 1)), func(*Options) {}, 10)
	flip(t, x.o.FS, x.o.logPath(), 30, 1)
	id := x.want[x.first].id
	var list []logfinding.Finding
	o := VerifyOptions{Name: x.o.Name, Dir: folder, FS: x.o.FS}
	o.Reporter = logfinding.Reporter{Found: func(f logfinding.Finding) { list = append(list, f) },
		Read: func(int64) error { return nil }}
	ids, err := OpenIDs(o)
	if err != nil {
		t.Fatal(err)
	}
	got, ok, err := ids.ID(x.first)
	if err != nil || !ok || got == id || binary.BigEndian.Uint32(got[:]) != x.first {
		t.Fatal(got, ok, err)
	}
	o.ID = ids.ID
	if _, err := Verify(o); err != nil || len(list) > 0 {
		t.Fatal(list, err)
	}
	flip(t, x.o.FS, x.o.logPath(), 31, 1)
	want := got
	o.ID = func(uint32) (types.Checksum256, bool, error) { return want, true, nil }
	if _, err := Verify(o); err != nil || len(list) != 10 || list[0].Offset != 8 {
		t.Fatal(list, err)
	}
	if err := ids.Close(); err != nil {
		t.Fatal(err)
	}
}

// After the last number no block comes, so no entry is of it. An id that is overwritten with
// ones is found, and mended if another log tells it; a repair ends where nothing can be mended.
func TestNoEntryIsOfTheLastNumber(t *testing.T) {
	for name, change := range kinds() {
		for at := range 10 {
			for _, beside := range []bool{true, false} {
				x := grown(t, rand.New(rand.NewPCG(1, 1)), change, 10)
				// of a pruned log the first header is kept
				where := slices.Compact(append([]int64{0}, x.entries(x.o.logPath())...))
				if at >= len(where) {
					continue
				}
				was := contents(t, x.o.FS, x.o.logPath())
				for i := range int64(32) {
					flip(t, x.o.FS, x.o.logPath(), where[at]+8+i, ^was[where[at]+8+i])
				}
				for _, path := range []string{x.o.markPath(), x.o.indexPath()} {
					if err := x.o.FS.Remove(path); err != nil {
						t.Fatal(err)
					}
				}
				known := map[uint32]types.Checksum256{}
				for num, b := range x.want {
					if beside {
						known[num] = b.id
					}
				}
				told := []string{name, fmt.Sprintf("entry %d of %d", at, len(where))}
				list := inspectBeside(t, x, known)
				for round := 0; logrepairtest.Mendable(list); round++ {
					if told = append(told, logrepairtest.Told(list)...); round == 3 {
						t.Fatalf("a repair does not end: %v", told)
					}
					logrepairtest.Mend(t, list)
					list = inspectBeside(t, x, known)
				}
				if inside := at > 1 && at < len(where)-1; inside &&
					bytes.Equal(contents(t, x.o.FS, x.o.logPath()), was) != beside {
					t.Errorf("mended: %v; %v", !beside, told)
				}
				if err := x.open(); err != nil && !errors.Is(err, ErrCorrupt) {
					t.Errorf("%v: %v", told, err)
				} else if err == nil {
					x.log.closeFiles() //nolint:errcheck // of memory
				}
			}
		}
	}
}

// Where an index has a block at the place of another one, no entry that is to stay is let go.
func TestNothingIsLetGoByAWrongPosition(t *testing.T) {
	spoil := func(x *life, num, as uint32) {
		index := slices.Clone(contents(t, x.o.FS, x.o.indexPath()))
		copy(index[8*(num-x.first):], index[8*(as-x.first):][:8])
		if err := vfs.WriteDurably(x.o.FS, x.o.indexPath(), index); err != nil {
			t.Fatal(err)
		}
	}
	for _, as := range []uint32{3, 8} { // a fork takes the sixth block back
		x := grown(t, rand.New(rand.NewPCG(1, 1)), func(*Options) {}, 10)
		was, end := contents(t, x.o.FS, x.o.logPath()), x.entries(x.o.logPath())[5]
		spoil(x, x.first+5, x.first+as)
		if err := x.open(); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(x.log.truncate(x.first+5), x.log.closeFiles()); err != nil {
			t.Fatal(err)
		}
		if got := contents(t, x.o.FS, x.o.logPath()); !bytes.Equal(got, was[:end]) {
			t.Errorf("%d bytes are left, not %d", len(got), end)
		}
	}
	x := grown(t, rand.New(rand.NewPCG(1, 1)), func(*Options) {}, 10)
	spoil(x, x.first+6, x.first+8)
	x.o.Retain = 4
	if err := x.open(); err != nil {
		t.Fatal(err)
	}
	first, end := x.log.Range()
	if first != x.first+6 || end != x.first+10 {
		t.Errorf("blocks %d to %d are left", first, end)
	}
	for num := first; num < end; num++ {
		read(t, x.log, num, x.want[num])
	}
	if err := x.log.closeFiles(); err != nil {
		t.Fatal(err)
	}
}

// FuzzVerify: whatever the files, all of them are read to their end, and what is said to mend
// them can be done, until nothing is left that can be mended.
func FuzzVerify(f *testing.F) {
	for name, change := range kinds() {
		x := grown(f, rand.New(rand.NewPCG(1, uint64(len(name)))), change, 9)
		mem := x.o.FS.(testFS).mem
		f.Add(contents(f, mem, x.o.logPath()), contents(f, mem, x.o.indexPath()), contents(f, mem, x.o.markPath()))
		f.Add(contents(f, mem, x.o.logPath()), []byte(nil), []byte(nil))
	}
	f.Fuzz(func(t *testing.T, log, index, mark []byte) {
		mem := memfs.New()
		x := &life{t: t, o: Options{Name: "trace_history", Dir: folder, FS: testFS{small{mem}, mem}}}
		if err := vfs.MkdirAll(mem, folder); err != nil {
			t.Fatal(err)
		}
		for path, b := range map[string][]byte{x.o.logPath(): log, x.o.indexPath(): index, x.o.markPath(): mark} {
			if err := vfs.WriteDurably(x.o.FS, path, b); err != nil {
				t.Fatal(err)
			}
		}
		for range 3 {
			list := inspect(t, x)
			if !logrepairtest.Mendable(list) {
				return
			}
			for _, f := range list {
				if f.Mend == nil {
					continue
				}
				if err := f.Mend.Do(); errors.Is(err, syscall.EFBIG) { // an index of many blocks that are let go
					return
				} else if err != nil {
					t.Fatalf("%v: %s: %v", f, f.Mend.What, err)
				}
			}
		}
		t.Fatalf("after three repairs there is %v", logrepairtest.Told(inspect(t, x)))
	})
}
