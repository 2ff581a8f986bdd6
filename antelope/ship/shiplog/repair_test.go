package shiplog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tarn/antelope/logfinding"
	"tarn/antelope/logfinding/logrepairtest"
	"tarn/antelope/types"
	"tarn/store/vfs"
	"tarn/store/vfs/memfs"
)

// spoil damages a log in one way, and tells which.
func spoil(t *testing.T, r *rand.Rand, mem *memfs.FS, whole map[string][]int64) string {
	t.Helper()
	paths := slices.DeleteFunc(mem.Paths(), func(p string) bool { return mem.Blob(p).Size() == 0 })
	logs := slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return !strings.HasSuffix(p, ".log") })
	if len(logs) == 0 {
		return "nothing"
	}
	path := logs[r.IntN(len(logs))]
	size := mem.Blob(path).Size()
	if size < smallest || len(whole[path]) == 0 {
		return "nothing"
	}
	at := whole[path][r.IntN(len(whole[path]))]
	change := func(path string, do func(f vfs.File) error) {
		f, err := mem.Open(path, true)
		if err == nil {
			err = errors.Join(do(f), f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	garble := func(at, n int64) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		change(path, func(f vfs.File) error { _, err := f.WriteAt(b, at); return err })
		return fmt.Sprintf("%d bytes at %d of %s", n, at, path)
	}
	switch r.IntN(8) {
	case 0:
		return garble(at, 8) + ": a magic number"
	case 1:
		return garble(at+8, 1+r.Int64N(32)) + ": an id"
	case 2:
		return garble(at+40, 8) + ": a length"
	case 3:
		if at < trailerBytes {
			at = size
		}
		return garble(at-trailerBytes, 8) + ": what an entry says at its end"
	case 4:
		left := r.Int64N(size)
		change(path, func(f vfs.File) error { return f.Truncate(left) })
		return fmt.Sprintf("%s has %d of %d bytes", path, left, size)
	case 5:
		return garble(size, 1+r.Int64N(3000)) + ": after the end"
	case 6:
		path = strings.TrimSuffix(path, ".log") + ".index"
		if !slices.Contains(paths, path) {
			return "nothing"
		}
		if r.IntN(2) == 0 {
			if err := mem.Remove(path); err != nil {
				t.Fatal(err)
			}
			return path + " is removed"
		}
		size = mem.Blob(path).Size()
		return garble(r.Int64N(size), 1+r.Int64N(20))
	}
	path = paths[r.IntN(len(paths))]
	return garble(r.Int64N(mem.Blob(path).Size()), 1)
}

// entries are the positions in a file of its entries, as its index tells them.
func (x *life) entries(path string) (list []int64) {
	b, index := contents(x.t, x.o.FS, path), contents(x.t, x.o.FS, strings.TrimSuffix(path, ".log")+".index")
	for ; len(index) >= indexBytes; index = index[indexBytes:] {
		at := int64(binary.LittleEndian.Uint64(index))
		_, back, err := readEnds(bytes.NewReader(b), at, int64(len(b)))
		if err == nil && back == at && binary.LittleEndian.Uint32(b[at+headerBytes:]) == 1 { // else it is in a hole
			list = append(list, at)
		}
	}
	return list
}

// A repair that a kill or a power cut ends at any write leaves files which the next repair
// brings to where the first would have come.
func TestARepairThatIsCutShortIsEndedByTheNext(t *testing.T) {
	s := max(1, *seedFlag) // a new one is for long runs
	for name, change := range kinds() {
		t.Run(name, func(t *testing.T) {
			mended := 0
			for round := range uint64(*spoilFlag) {
				mended += cutShort(t, rand.New(rand.NewPCG(s, round)), change, s)
			}
			if mended == 0 {
				t.Error("nothing was mended")
			}
		})
	}
}

func cutShort(t *testing.T, r *rand.Rand, change func(*Options), s uint64) (mended int) {
	t.Helper()
	x := grown(t, r, change, 10+r.IntN(30))
	mem := x.o.FS.(testFS).mem
	was, whole := mem.Clone(), map[string][]int64{}
	for _, p := range mem.Paths() {
		if strings.HasSuffix(p, ".log") {
			whole[p] = x.entries(p)
		}
	}
	var note []string
	for range 1 + r.IntN(3) {
		note = append(note, spoil(t, r, mem, whole))
	}
	var known map[uint32]types.Checksum256
	if r.IntN(2) == 0 {
		known = map[uint32]types.Checksum256{}
		for num, b := range x.want {
			known[num] = b.id
		}
	}
	spoiled := mem.Clone()
	list, mended := logrepairtest.CutShort(t, mem, func(files vfs.FS, disk *memfs.FS) []logfinding.Finding {
		x.o.FS = testFS{files, disk}
		return inspectBeside(t, x, known)
	}, s, note)
	for p, at := range whole {
		before, now, after := contents(t, was, p), contents(t, spoiled, p), contents(t, mem, p)
		for _, at := range at {
			h, err := readHeader(bytes.NewReader(before), at, int64(len(before)))
			if err != nil {
				t.Fatal(err)
			}
			sound := before[at : at+h.span()]
			if holds(now, at, sound) && !holds(after, at, sound) {
				t.Fatalf("%v\nfound %v\nthe entry at %d of %s was sound, and is gone",
					note, logrepairtest.Told(list), at, p)
			}
		}
	}
	return mended
}

// holds tells whether a file has something at a position.
func holds(file []byte, at int64, what []byte) bool {
	return int64(len(file)) >= at && bytes.HasPrefix(file[at:], what)
}
