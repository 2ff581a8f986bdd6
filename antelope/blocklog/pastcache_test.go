package blocklog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"sync/atomic"
	"testing"

	"tarn/store/vfs"
	"tarn/store/vfs/memfs"
)

// A file that grows, or moves on the disk, at each sync costs the file system's journal
// several times what a block takes.
func TestADurableBlockChangesNothingButItsSectors(t *testing.T) {
	var written atomic.Int64
	mem := memfs.New()
	r := openReversible(t, testFS{vfs.Count(mem, &written), mem})
	c := newChain(newRand(t), 2)
	must(t, r.AppendDurably(c.next(1000).data))
	size, err := r.file.Size()
	must(t, err)
	for range 40 {
		written.Store(0)
		b := c.next(1000).data
		must(t, r.AppendDurably(b))
		const mark = vfs.Sector // in the page cache, where the next one overwrites it
		if got, most := written.Load(), int64(len(b)+recordHeaderBytes+vfs.Sector-1+mark); got > most {
			t.Fatalf("a block of %d bytes wrote %d", len(b), got)
		}
		if now, err := r.file.Size(); err != nil || now != size {
			t.Fatalf("the file grew from %d to %d bytes: %v", size, now, err)
		}
	}
	must(t, r.Append(c.next(100).data))
	must(t, r.AppendDurably(c.next(largeRecord).data))
	want, err := contents(r)
	must(t, err)
	r = openReversible(t, testFS{mem, mem}) // the one before was killed
	if have, err := contents(r); err != nil || len(have) != 43 || !prefix(have, want) || r.CutBytes() != 0 {
		t.Errorf("%d blocks are left of 43, %d bytes were cut: %v", len(have), r.CutBytes(), err)
	}
}

// undirected has no way past the page cache: it is not opened, or its writes are refused.
type undirected struct {
	testFS
	opens bool
}

func (u undirected) OpenDirect(path string) (vfs.File, error) {
	if !u.opens {
		return nil, fmt.Errorf("open: %w", errors.ErrUnsupported)
	}
	f, err := u.testFS.OpenDirect(path)
	return refusing{f}, err
}

type refusing struct{ vfs.File }

func (refusing) WriteAt([]byte, int64) (int, error) {
	return 0, fmt.Errorf("write: %w", errors.ErrUnsupported)
}

func TestBlocksAreDurableWhereThereIsNoWayPastTheCache(t *testing.T) {
	for _, opens := range []bool{false, true} {
		fs := undirected{memory(), opens}
		r := openReversible(t, fs)
		c := newChain(newRand(t), 2)
		for range 5 {
			must(t, r.AppendDurably(c.next(100).data))
		}
		if size, err := r.file.Size(); err != nil || size != r.end {
			t.Errorf("the file has %d bytes, its blocks end at %d: %v", size, r.end, err)
		}
		if again := openReversible(t, fs); again.Len() != 5 {
			t.Errorf("%d blocks are left of 5", again.Len())
		}
	}
}

// The first version had record after record without a gap.
func TestReversibleBlocksOfTheFirstVersionAreReadAndGoneOnWith(t *testing.T) {
	fs := memory()
	c := newChain(newRand(t), 2)
	head := append([]byte(reversibleMagic), reversibleUnaligned, 0, 0, 0)
	file := binary.LittleEndian.AppendUint32(head, crc32.Checksum(head, castagnoli))
	var want [][]byte
	for range 4 {
		b := c.next(300).data
		want, file = append(want, b), appendReversible(file, b)
	}
	must(t, vfs.MkdirAll(fs, testDir+"/"+ReversibleDir))
	fs.mem.Put(reversiblePath, memfs.NewBlob(append(file, "torn"...)))
	for _, cut := range []int64{4, 0} {
		r := openReversible(t, fs)
		if have, err := contents(r); err != nil || len(have) != len(want) || !prefix(have, want) {
			t.Fatalf("%d blocks are left of %d: %v", len(have), len(want), err)
		}
		if r.CutBytes() != cut {
			t.Errorf("%d bytes were cut, not %d", r.CutBytes(), cut)
		}
		b := c.next(300).data
		want = append(want, b)
		must(t, r.AppendDurably(b))
	}
}
