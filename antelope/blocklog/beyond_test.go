package blocklog

import (
	"bytes"
	"testing"

	"tarn/antelope/types"
	"tarn/store/vfs/memfs"
)

// foreign has another program go on with a log whose tail's file a kill left: it knows nothing of
// that file, and leaves it where it is.
func foreign(t *testing.T, fs testFS, o Options, goOn func(l *Log)) {
	t.Helper()
	const path = testDir + "/" + TailName
	left := fs.mem.Blob(path)
	must(t, fs.Remove(path))
	l := mustOpen(t, o)
	goOn(l)
	must(t, l.Close())
	fs.mem.Put(path, left)
}

// Blocks that another program appended behind those that a tail's file is about stay, but for the
// last, which no block names and which is kept aside. It stays too where the tail's file does not fit
// the log any more: a pruned one whose durable end was given back.
func TestBlocksThatAnotherProgramAppendedAreNotCut(t *testing.T) {
	pruned := Options{RetainBlocks: ptr(uint32(30)), PruneBytes: 4096}
	for name, o := range map[string]Options{"whole": {}, "pruned": pruned, "in parts": {Stride: ptr(uint32(1000))}} {
		t.Run(name, func(t *testing.T) {
			r := newRand(t)
			for range 40 {
				fs := memory()
				o.Dir, o.FS, o.Now = testDir, fs, testOptions(nil).Now
				c := newChain(r, 1)
				l := mustOpen(t, o)
				want := begin(t, l, c)
				want = append(want, add(t, l, c, 1+r.IntN(20), r.IntN(900))...)
				must(t, l.Sync(c.last.num))
				want = append(want, add(t, l, c, r.IntN(20), r.IntN(900))...)
				must(t, l.Flush())
				killed := testFS{fs.mem.Clone(), nil}
				killed.mem = killed.FS.(*memfs.FS) //nolint:forcetypeassert // as it was made
				must(t, l.Close())

				o.FS = killed
				foreign(t, killed, o, func(l *Log) { want = append(want, add(t, l, c, 1+r.IntN(10), r.IntN(900))...) })
				l = mustOpen(t, o)
				if cut := l.Recovery().CutFile; cut != "" {
					last, kept := want[len(want)-1].data, killed.mem.Blob(cut).Bytes()
					if !bytes.HasPrefix(kept, last) || len(kept) > len(last)+positionBytes+trailerBytes {
						t.Fatalf("%d bytes were cut, and the last block has %d", len(kept), len(last))
					}
					want = want[:len(want)-1]
				}
				must(t, check(l, want[l.First()-1:]))
				if o.RetainBlocks == nil && l.First() != 1 {
					t.Fatalf("the log begins with block %d", l.First())
				}
				must(t, l.Close())
			}
		})
	}
}

// Behind the checksums a block counts only if no sector of it can be missing unseen.
func TestWhatNoHashCoversIsNotBelievedWithoutAChecksum(t *testing.T) {
	extended := func(c *chain, header, block int) sample {
		c.next(300)
		b, err := decodeBlock(c.last.data)
		must(t, err)
		if header > 0 {
			b.BlockHeader.Extensions = append(b.BlockHeader.Extensions,
				types.Extension{Type: 60000, Data: bytes.Repeat([]byte{1}, header)})
		}
		if block > 0 {
			b.Extensions = append(b.Extensions, types.Extension{Type: 60001, Data: bytes.Repeat([]byte{2}, block)})
		}
		c.last = sample{b.BlockNum(), b.ID(), b.Append(nil)}
		return c.last
	}
	for name, x := range map[string]struct {
		header, block, behind int
		stays                 uint32
	}{
		"nothing is large":            {100, 100, 3, 8},
		"a large header":              {1000, 0, 1, 6},
		"a large header that is last": {1000, 0, 0, 5},
		"large extensions of a block": {0, 1000, 3, 5},
	} {
		t.Run(name, func(t *testing.T) {
			fs := memory()
			o := testOptions(fs)
			c := newChain(newRand(t), 1)
			l := mustOpen(t, o)
			begin(t, l, c)
			add(t, l, c, 4, 300)
			must(t, l.Sync(5))
			tail := fs.mem.Blob(testDir + "/" + TailName).Bytes()
			tail = bytes.Clone(tail)
			must(t, l.Close())
			fs.mem.Put(testDir+"/"+TailName, memfs.NewBlob(tail))
			foreign(t, fs, o, func(l *Log) {
				s := extended(c, x.header, x.block)
				must(t, l.Append(s.num, s.id, s.data))
				add(t, l, c, x.behind, 300)
			})
			l = mustOpen(t, o)
			if head, _, _ := l.Head(); head != x.stays {
				t.Errorf("the head is block %d, not %d", head, x.stays)
			}
			must(t, l.Close())
		})
	}
}

// A block is read from whatever pieces of the file it lies in.
func TestARowOfEntriesIsReadInPieces(t *testing.T) {
	fs := memory()
	o := testOptions(fs)
	c := newChain(newRand(t), 1)
	l := mustOpen(t, o)
	want := begin(t, l, c)
	for _, size := range []int{10, rowBytes - 700, 3 * rowBytes, 0, rowBytes} {
		want = append(want, add(t, l, c, 1, size)...)
	}
	must(t, l.Close())
	f, err := fs.Open(testDir+"/"+LogName, false)
	must(t, err)
	defer f.Close()
	s, err := openSource(f, testDir+"/"+LogName)
	must(t, err)
	row, x := row{source: s, at: s.start, offset: s.start}, new(inspector)
	for _, w := range want {
		is, ok, err := row.next(x)
		if err != nil || !ok || is.num != w.num || is.id != w.id || is.size != len(w.data) {
			t.Fatalf("block %d: %v, %v", w.num, ok, err)
		}
	}
	if _, ok, err := row.next(x); ok || err != nil {
		t.Errorf("there is more: %v", err)
	}
	if _, err := x.inspect(append(bytes.Clone(want[1].data), 0)); err == nil {
		t.Error("a block with a byte behind it was taken")
	}
}
