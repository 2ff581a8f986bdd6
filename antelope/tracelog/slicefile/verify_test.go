package slicefile

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tarn/antelope/logfinding"
	"tarn/antelope/logfinding/logrepairtest"
	"tarn/antelope/tracelog/wire"
	"tarn/store/vfs/memfs"
)

func inspect(t testing.TB, mem *memfs.FS) []logfinding.Finding {
	t.Helper()
	return inspectAll(t, testFS{mem, mem})
}

func inspectAll(t testing.TB, files testFS) []logfinding.Finding {
	t.Helper()
	var list []logfinding.Finding
	_, err := Verify(VerifyOptions{Dir: folder, FS: files, Reporter: logfinding.Reporter{
		Found: func(f logfinding.Finding) { list = append(list, f) }, Read: func(int64) error { return nil },
	}})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// sound is a folder of traces that was closed, with a compressed slice.
func sound(t testing.TB) *memfs.FS {
	t.Helper()
	mem, l := appended(t, length)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if list := inspect(t, mem); len(list) > 0 {
		t.Fatalf("sound traces have %v", list)
	}
	return mem
}

// killed is a folder of traces whose node was killed when blocks after one were not saved.
func killed(t testing.TB, saved, last uint32) *memfs.FS {
	t.Helper()
	mem, l := appended(t, saved)
	for num := saved + 1; num <= last; num++ {
		if err := tell(l, num, 0); err != nil {
			t.Fatal(err)
		}
	}
	return mem
}

// appended is a folder of traces, all saved, with a compressed slice.
func appended(t testing.TB, last uint32) (*memfs.FS, *Log) {
	t.Helper()
	mem := memfs.New()
	l, err := Open(Options{Dir: folder, Stride: stride, FS: testFS{mem, mem}})
	if err == nil {
		err = l.Begin(Chain{Head: 1})
	}
	for num := uint32(2); num <= last && err == nil; num++ {
		err = tell(l, num, 0)
	}
	if err == nil {
		err = errors.Join(l.Sync(), l.Compress(t.Context(), 1))
	}
	if err != nil {
		t.Fatal(err)
	}
	return mem, l
}

func read(t *testing.T, mem *memfs.FS, path string) []byte {
	t.Helper()
	f, err := mem.Open(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	size, err := f.Size()
	b := make([]byte, size)
	if err == nil && size > 0 {
		_, err = f.ReadAt(b, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Each byte of an index counts: one that is damaged is found, and the index that is made again
// is the one that was there. Of other files damage is found or read over, and nothing fails;
// what is mended is sound.
func TestADamagedByteIsFound(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; not with -short")
	}
	r := rand.New(rand.NewPCG(seed(t), 9))
	mended := 0
	for range 300 {
		mem := sound(t)
		paths := mem.Paths()
		path := paths[r.IntN(len(paths))]
		was := read(t, mem, path)
		if len(was) == 0 {
			continue
		}
		f, err := mem.Open(path, true)
		if err != nil {
			t.Fatal(err)
		}
		at := r.IntN(len(was))
		_, err = f.WriteAt([]byte{was[at] ^ byte(1<<r.IntN(8))}, int64(at))
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		list := inspect(t, mem)
		isIndex := strings.Contains(path, indexPrefix)
		if len(list) == 0 && (isIndex || strings.HasSuffix(path, ".mark")) {
			t.Fatalf("%s, offset %d of %d: not found", path, at, len(was))
		}
		all := len(list) > 0
		for _, x := range list {
			all = all && x.Mend != nil
		}
		if !all {
			continue
		}
		logrepairtest.Mend(t, list)
		if left := inspect(t, mem); len(left) > 0 {
			t.Fatalf("%s, offset %d: %v, then %v", path, at, list, left)
		}
		if isIndex {
			mended++
			if !bytes.Equal(read(t, mem, path), was) {
				t.Fatalf("%s, offset %d: the index is another one", path, at)
			}
		}
	}
	if mended == 0 {
		t.Error("no index was made again")
	}
}

// An entry that goes on over the place of the next one is not cut apart there.
func TestAnEntryIsNotCutWhereTheIndexHasTheNextOne(t *testing.T) {
	for _, rest := range []string{"", "\x09", "\x01"} {
		a, idsA := told(10, 0)
		b, idsB := told(11, 0)
		inner := b.Append(nil)
		a.Transactions[0].Actions[0].ReturnValue = inner
		traces := a.Append(nil)
		index, ids := header(), []byte(nil)
		for _, p := range []wire.Position{{ID: a.ID, Number: 10},
			{ID: b.ID, Number: 11, Offset: uint64(bytes.Index(traces, inner))}} {
			index = (&wire.Entry{Block: &p}).Append(index)
		}
		for _, x := range []*wire.Transactions{idsA, idsB} {
			ids = (&wire.Entry{Transactions: x}).Append(ids)
		}
		mem, l := memfs.New(), &directory{o: Options{Dir: folder, Stride: stride}}
		for prefix, b := range map[string][]byte{tracesPrefix: append(traces, rest...), indexPrefix: index,
			idsPrefix: ids} {
			mem.Put(l.path(prefix, 2, logSuffix), memfs.NewBlob(b))
		}
		if list := inspect(t, mem); len(list) == 0 || logrepairtest.Mendable(list) {
			t.Errorf("with %q after it: %v", rest, logrepairtest.Told(list))
		}
	}
}

// The file of a slice that is cut is mended to what is whole, and the node goes on with it.
func TestACutSliceIsMended(t *testing.T) {
	for _, prefix := range prefixes {
		for cut := int64(1); cut < 40; cut += 3 {
			mem := sound(t)
			l := &directory{o: Options{Dir: folder, Stride: stride}}
			if err := mem.Remove(l.markPath()); err != nil {
				t.Fatal(err)
			}
			path := l.path(prefix, length/stride, logSuffix)
			f, err := mem.Open(path, true)
			if err != nil {
				t.Fatal(err)
			}
			size, err := f.Size()
			if err := errors.Join(err, f.Truncate(max(indexHeader, size-cut)), f.Close()); err != nil {
				t.Fatal(err)
			}
			list := inspect(t, mem)
			logrepairtest.Mend(t, list)
			if prefix == idsPrefix &&
				slices.ContainsFunc(list, func(x logfinding.Finding) bool { return x.Mend == nil }) {
				continue // the index tells of more than is left
			}
			head, _ := told(length-lag, 0)
			if left := inspect(t, mem); len(list) == 0 || len(left) > 0 {
				t.Fatalf("%s, %d bytes less: %v; then %v", path, cut, list, left)
			}
			again, err := Open(Options{Dir: folder, Stride: stride, FS: testFS{mem, mem}})
			if err == nil {
				err = errors.Join(again.Begin(Chain{Head: length - lag, ID: head.ID}), again.Close())
			}
			if err != nil {
				t.Fatalf("%s, %d bytes less: %v; then %v", path, cut, list, err)
			}
		}
	}
}

// change writes bytes into a file, which then ends behind them.
func change(t *testing.T, mem *memfs.FS, path string, at int64, b []byte) {
	t.Helper()
	f, err := mem.Open(path, true)
	if err == nil {
		_, err = f.WriteAt(b, at)
		err = errors.Join(err, f.Truncate(at+int64(len(b))), f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// The version of an index without entries is looked at: no mend cuts its slice by it.
func TestAnIndexOfAnotherVersionIsFoundWithoutEntries(t *testing.T) {
	mem, l := sound(t), &directory{o: Options{Dir: folder, Stride: stride}}
	if err := mem.Remove(l.markPath()); err != nil {
		t.Fatal(err)
	}
	index := l.path(indexPrefix, length/stride, logSuffix)
	change(t, mem, index, 0, []byte{2, 0, 0, 0})
	change(t, mem, l.path(tracesPrefix, length/stride, logSuffix), 0, []byte{9})
	list := inspect(t, mem)
	logrepairtest.Mend(t, list)
	if !slices.ContainsFunc(list, func(f logfinding.Finding) bool { return f.Path == index && f.Offset == 0 }) {
		t.Error(logrepairtest.Told(list))
	}
}

// Where a mend lets go of the mark, what the mark says was not saved goes too: nothing else
// tells that it is not the end of sound files.
func TestWhatWasNotSavedGoesWithTheMark(t *testing.T) {
	const saved = length - 4
	l := &directory{o: Options{Dir: folder, Stride: stride}}
	for _, damaged := range []string{
		l.path(indexPrefix, saved/stride, logSuffix), l.path(idsPrefix, saved/stride, logSuffix),
		l.path(tracesPrefix, length/stride, logSuffix),
	} {
		for _, number := range []uint32{saved/stride - 1, saved / stride} {
			mem := killed(t, saved, length)
			change(t, mem, damaged, mem.Blob(damaged).Size(), []byte{9, 9, 9})
			change(t, mem, l.path(tracesPrefix, number, logSuffix), 500, nil)
			list := inspect(t, mem)
			if logrepairtest.Mend(t, list) == 0 {
				t.Errorf("%s: %v", damaged, logrepairtest.Told(list))
			}
			if left := inspect(t, mem); len(left) > 0 {
				t.Errorf("%s: %v, then %v", damaged, logrepairtest.Told(list), logrepairtest.Told(left))
			}
		}
	}
}

// three are the files of a slice with three blocks, whose places the index has as a test says.
func three(t *testing.T, traces []byte, places [3]uint64) *memfs.FS {
	t.Helper()
	index, ids := header(), []byte(nil)
	for i, place := range places {
		b, told := told(uint32(10+i), 0)
		index = wire.Entry{Block: &wire.Position{ID: b.ID, Number: b.Number, Offset: place}}.Append(index)
		ids = wire.Entry{Transactions: told}.Append(ids)
	}
	mem, l := memfs.New(), &directory{o: Options{Dir: folder, Stride: stride}}
	for prefix, b := range map[string][]byte{tracesPrefix: traces, indexPrefix: index, idsPrefix: ids} {
		mem.Put(l.path(prefix, 2, logSuffix), memfs.NewBlob(slices.Clone(b)))
	}
	return mem
}

// An index whose later block begins in an entry that was read does not tell where what is whole
// ends, though the next one begins behind.
func TestAnEntryIsNotCutWhereTheIndexHasALaterOne(t *testing.T) {
	a, _ := told(10, 0)
	c, _ := told(12, 0)
	a.Transactions[0].Actions[0].ReturnValue = c.Append(nil)
	traces := a.Append(nil)
	mem := three(t, traces, [3]uint64{0, uint64(len(traces)), uint64(bytes.Index(traces, c.Append(nil)))})
	list := inspect(t, mem)
	logrepairtest.Mend(t, list)
	if path := (&directory{o: Options{Dir: folder, Stride: stride}}).path(tracesPrefix, 2, logSuffix); len(list) == 0 ||
		!bytes.Equal(read(t, mem, path), traces) {
		t.Errorf("%v, and %d of %d bytes are left", logrepairtest.Told(list), mem.Blob(path).Size(), len(traces))
	}
}

// Behind an entry that cannot be decoded reading goes on at a later one that the index has in
// the file, though it has the next one where no file ends: what is sound is not the end.
func TestAWrongPlaceHidesNoSoundEntry(t *testing.T) {
	var traces []byte
	var places [3]uint64
	for i := range places {
		b, _ := told(uint32(10+i), 0)
		places[i] = uint64(len(traces))
		traces = b.Append(traces)
	}
	traces[0], places[1] = 9, 1<<40
	if list := inspect(t, three(t, traces, places)); len(list) == 0 || logrepairtest.Mendable(list) {
		t.Error(logrepairtest.Told(list))
	}
}
