package slicefile

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"tarn/antelope/logfinding"
	"tarn/antelope/logfinding/logrepairtest"
	"tarn/store/vfs"
	"tarn/store/vfs/memfs"
)

var spoiledFlag = flag.Int("slicefile.spoiled", 50, "folders of traces whose repair is cut short at each write")

// spoil damages a file of the folder in one way, and tells which.
func spoil(t *testing.T, r *rand.Rand, mem *memfs.FS) string {
	t.Helper()
	paths := slices.DeleteFunc(mem.Paths(), func(p string) bool { return mem.Blob(p).Size() == 0 })
	path := paths[r.IntN(len(paths))]
	size := mem.Blob(path).Size()
	if r.IntN(6) == 0 {
		if err := mem.Remove(path); err != nil {
			t.Fatal(err)
		}
		return path + " is removed"
	}
	f, err := mem.Open(path, true)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	at, what := r.Int64N(size), ""
	switch r.IntN(3) {
	case 0:
		err, what = f.Truncate(at), fmt.Sprintf("%s has %d of %d bytes", path, at, size)
	case 1:
		b := make([]byte, 1+r.IntN(600))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		_, err = f.WriteAt(b, size)
		what = fmt.Sprintf("%d bytes follow %s", len(b), path)
	case 2:
		b := make([]byte, min(size-at, 1+r.Int64N(9)))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		_, err = f.WriteAt(b, at)
		what = fmt.Sprintf("%d bytes at %d of %s", len(b), at, path)
	}
	if err != nil {
		t.Fatal(err)
	}
	return what
}

// A repair that a kill or a power cut ends at any write leaves files which the next repair
// brings to where the first would have come, and which have nothing left that can be mended.
func TestARepairThatIsCutShortIsEndedByTheNext(t *testing.T) {
	s := max(1, *seedFlag) // a new one is for long runs
	verify := func(files vfs.FS, disk *memfs.FS) []logfinding.Finding { return inspectAll(t, testFS{files, disk}) }
	mended := 0
	for round := range uint64(*spoiledFlag) {
		r := rand.New(rand.NewPCG(s, round))
		mem := sound(t)
		switch r.IntN(3) {
		case 0:
			mem = killed(t, length-uint32(r.IntN(lag)), length)
		case 1: // nodeos' files have no mark
			if err := mem.Remove((&directory{o: Options{Dir: folder, Stride: stride}}).markPath()); err != nil {
				t.Fatal(err)
			}
		}
		var note []string
		for range 1 + r.IntN(3) {
			note = append(note, spoil(t, r, mem))
		}
		_, n := logrepairtest.CutShort(t, mem, verify, s, note)
		mended += n
	}
	if mended == 0 {
		t.Error("nothing was mended")
	}
}

// FuzzVerify: whatever the files of a slice, plain or compressed, all of them are read to their
// end, and what is said to mend them can be done, until nothing is left that can be mended.
func FuzzVerify(f *testing.F) {
	mem := sound(f)
	l := &directory{o: Options{Dir: folder, Stride: stride}}
	of := func(prefix string, number uint32, suffix string) []byte {
		return mem.Blob(l.path(prefix, number, suffix)).Bytes()
	}
	f.Add(of(tracesPrefix, 2, logSuffix), of(indexPrefix, 2, logSuffix), of(idsPrefix, 2, logSuffix),
		[]byte(nil), []byte(nil))
	f.Add(of(tracesPrefix, 2, logSuffix), of(indexPrefix, 2, logSuffix), of(idsPrefix, 2, logSuffix), []byte(nil),
		mem.Blob(l.markPath()).Bytes())
	// a kind that is not whole
	f.Add(of(tracesPrefix, 2, logSuffix), of(indexPrefix, 2, logSuffix),
		append(of(idsPrefix, 2, logSuffix), 0xf2, 0xfb), []byte(nil), []byte(nil))
	// an index without blocks
	f.Add(append(of(tracesPrefix, 2, logSuffix), 1), header(), of(idsPrefix, 2, logSuffix), []byte(nil), []byte(nil))
	f.Add([]byte(nil), of(indexPrefix, 1, logSuffix), of(idsPrefix, 1, logSuffix),
		of(tracesPrefix, 1, clogSuffix), []byte(nil))
	mem = killed(f, 11, 13) // in slice 2 are blocks that were saved, and blocks that were not
	f.Add(of(tracesPrefix, 2, logSuffix), of(indexPrefix, 2, logSuffix), of(idsPrefix, 2, logSuffix), []byte(nil),
		mem.Blob(l.markPath()).Bytes())
	f.Add(of(tracesPrefix, 2, logSuffix)[:500], of(indexPrefix, 2, logSuffix), of(idsPrefix, 2, logSuffix), []byte(nil),
		mem.Blob(l.markPath()).Bytes())
	f.Fuzz(func(t *testing.T, traces, index, ids, packed, mark []byte) {
		mem := memfs.New()
		if err := vfs.MkdirAll(mem, folder); err != nil {
			t.Fatal(err)
		}
		number := uint32(2)
		if len(packed) > 0 {
			number = 1
		}
		for path, b := range map[string][]byte{
			l.path(tracesPrefix, number, logSuffix): traces, l.path(indexPrefix, number, logSuffix): index,
			l.path(idsPrefix, number, logSuffix):     ids,
			l.path(tracesPrefix, number, clogSuffix): packed, l.markPath(): mark,
		} {
			if len(b) == 0 {
				continue
			}
			if err := vfs.WriteDurably(mem, path, b); err != nil {
				t.Fatal(err)
			}
		}
		files := testFS{mem, mem}
		for range 3 {
			list := inspectAll(t, files)
			if !logrepairtest.Mendable(list) {
				return
			}
			logrepairtest.Mend(t, list)
		}
		if list := inspectAll(t, files); logrepairtest.Mendable(list) {
			t.Fatalf("after three repairs there is %v", logrepairtest.Told(list))
		}
	})
}
