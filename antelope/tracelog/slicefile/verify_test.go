package slicefile

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tarn/antelope/survey"
	"tarn/antelope/survey/surveytest"
	"tarn/antelope/tracelog/wire"
	"tarn/store/vfs/memfs"
)

func inspect(t testing.TB, mem *memfs.FS) []survey.Finding {
	t.Helper()
	return inspectAll(t, testFS{mem, mem})
}

func inspectAll(t testing.TB, files testFS) []survey.Finding {
	t.Helper()
	var list []survey.Finding
	_, err := Verify(VerifyOptions{Dir: folder, FS: files, Reporter: survey.Reporter{
		Found: func(f survey.Finding) { list = append(list, f) }, Read: func(int64) error { return nil },
	}})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// sound is a folder of traces that was closed, with a compressed slice.
func sound(t testing.TB) *memfs.FS {
	t.Helper()
	mem := memfs.New()
	l, err := Open(Options{Dir: folder, Stride: stride, FS: testFS{mem, mem}})
	if err == nil {
		err = l.Begin(Chain{Head: 1})
	}
	for num := uint32(2); num <= length && err == nil; num++ {
		err = tell(l, num, 0)
	}
	if err == nil {
		err = errors.Join(l.Sync(), l.Compress(t.Context(), 1), l.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	if list := inspect(t, mem); len(list) > 0 {
		t.Fatalf("sound traces have %v", list)
	}
	return mem
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
		surveytest.Mend(t, list)
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
		for _, p := range []wire.Position{{ID: a.ID, Number: 10}, {ID: b.ID, Number: 11, Offset: uint64(bytes.Index(traces, inner))}} {
			index = (&wire.Entry{Block: &p}).Append(index)
		}
		for _, x := range []*wire.Transactions{idsA, idsB} {
			ids = (&wire.Entry{Transactions: x}).Append(ids)
		}
		mem, l := memfs.New(), &directory{o: Options{Dir: folder, Stride: stride}}
		for prefix, b := range map[string][]byte{tracesPrefix: append(traces, rest...), indexPrefix: index, idsPrefix: ids} {
			mem.Put(l.path(prefix, 2, logSuffix), memfs.NewBlob(b))
		}
		if list := inspect(t, mem); len(list) == 0 || surveytest.Mendable(list) {
			t.Errorf("with %q after it: %v", rest, surveytest.Told(list))
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
			surveytest.Mend(t, list)
			if prefix == idsPrefix && slices.ContainsFunc(list, func(x survey.Finding) bool { return x.Mend == nil }) {
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
