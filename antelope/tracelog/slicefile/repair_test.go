package slicefile

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tarn/antelope/survey"
	"tarn/store/vfs"
	"tarn/store/vfs/memfs"
	"tarn/store/vfs/recordfs"
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

// repair verifies a folder and makes all mends, as `tarn history repair` does.
func repair(t *testing.T, files testFS) []survey.Finding {
	t.Helper()
	list := inspectAll(t, files)
	for _, f := range list {
		if f.Mend != nil {
			if err := f.Mend.Do(); err != nil {
				t.Fatalf("%v: %s: %v", f, f.Mend.What, err)
			}
		}
	}
	return list
}

// files are the contents of files, without what is left of those that were not finished.
func files(mem *memfs.FS) map[string]string {
	all := map[string]string{}
	for _, p := range mem.Paths() {
		if !strings.HasSuffix(p, vfs.NewSuffix) {
			all[p] = string(bytes.Clone(mem.Blob(p).Bytes()))
		}
	}
	return all
}

// differing names the files that are not the same.
func differing(a, b map[string]string) (list []string) {
	for p, was := range a {
		if is, there := b[p]; !there || is != was {
			list = append(list, fmt.Sprintf("%s, %d bytes and %d", p, len(was), len(is)))
		}
	}
	for p := range b {
		if _, there := a[p]; !there {
			list = append(list, p)
		}
	}
	slices.Sort(list)
	return list
}

// listed are findings as text, with what mends them.
func listed(list []survey.Finding) (text []string) {
	for _, f := range list {
		s := "\n" + f.String()
		if f.Mend != nil {
			s += " => " + f.Mend.What
		}
		text = append(text, s)
	}
	return text
}

// A repair that a kill or a power cut ends at any write leaves files which the next repair
// brings to where the first would have come, and which have nothing left that can be mended.
func TestARepairThatIsCutShortIsEndedByTheNext(t *testing.T) {
	s := max(1, *seedFlag) // a new one is for long runs
	mended := 0
	for round := range uint64(*spoiledFlag) {
		r := rand.New(rand.NewPCG(s, round))
		mem := sound(t)
		if r.IntN(2) == 0 { // nodeos' files have no mark
			if err := mem.Remove((&Log{directory: directory{o: Options{Dir: folder, Stride: stride}}}).markPath()); err != nil {
				t.Fatal(err)
			}
		}
		var note []string
		for range 1 + r.IntN(3) {
			note = append(note, spoil(t, r, mem))
		}
		disk := recordfs.New(mem)
		for _, p := range mem.Paths() { // all that there is is durable
			f, err := disk.Open(p, false)
			if err := errors.Join(err, f.Close()); err != nil {
				t.Fatal(err)
			}
		}
		from := disk.Position()
		list := repair(t, testFS{disk, mem})
		end := files(mem)
		for _, f := range list {
			if f.Mend != nil {
				mended++
			}
		}
		for _, f := range inspect(t, mem) {
			if f.Mend != nil {
				t.Fatalf("%v\nfound %v\nand when that was mended %v => %s", note, listed(list), f, f.Mend.What)
			}
		}
		for st := range disk.Recording().States(recordfs.Options{From: from, Count: 60, Seed: s}) {
			again := repair(t, testFS{st.FS, st.FS})
			if odd := differing(end, files(st.FS)); len(odd) > 0 {
				t.Fatalf("%v\nfirst found %v\nthen %v\nother than without the crash: %v\n%v", note, listed(list), listed(again), odd, st)
			}
		}
	}
	if mended == 0 {
		t.Error("nothing was mended")
	}
}

// FuzzVerify: whatever the files of a slice, plain or compressed, all of them are read to their
// end, and what is said to mend them can be done.
func FuzzVerify(f *testing.F) {
	mem := sound(f)
	l := &Log{directory: directory{o: Options{Dir: folder, Stride: stride}}}
	of := func(prefix string, number uint32, suffix string) []byte {
		return bytes.Clone(mem.Blob(l.path(prefix, number, suffix)).Bytes())
	}
	f.Add(of(tracesPrefix, 2, logSuffix), of(indexPrefix, 2, logSuffix), of(idsPrefix, 2, logSuffix), []byte(nil), []byte(nil))
	f.Add(of(tracesPrefix, 2, logSuffix), of(indexPrefix, 2, logSuffix), of(idsPrefix, 2, logSuffix), []byte(nil), bytes.Clone(mem.Blob(l.markPath()).Bytes()))
	f.Add([]byte(nil), of(indexPrefix, 1, logSuffix), of(idsPrefix, 1, logSuffix), of(tracesPrefix, 1, clogSuffix), []byte(nil))
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
			l.path(tracesPrefix, number, logSuffix): traces, l.path(indexPrefix, number, logSuffix): index, l.path(idsPrefix, number, logSuffix): ids,
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
		repair(t, files)
		inspectAll(t, files)
	})
}
