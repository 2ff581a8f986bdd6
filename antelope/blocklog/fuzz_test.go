package blocklog

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tarn/antelope/serial"
	"tarn/antelope/types"
	"tarn/store/vfs/memfs"
)

// seedFiles are a small log's files, while it is open.
func seedFiles(keep *uint32) (log, index, tail []byte) {
	fs := memory()
	o := testOptions(fs)
	o.RetainBlocks = keep
	l, err := Open(o)
	if err != nil {
		return nil, nil, nil
	}
	c := newChain(rand.New(rand.NewPCG(1, 1)), 7)
	if l.Reset(testChainID, 7) != nil {
		return nil, nil, nil
	}
	for range 4 {
		s := c.next(100)
		if l.Append(s.num, s.id, s.data) != nil {
			return nil, nil, nil
		}
	}
	base := workingBase(testDir)
	return fs.mem.Blob(base.Log()).Bytes(), fs.mem.Blob(base.Index()).
		Bytes(), fs.mem.Blob(testDir + "/" + TailName).Bytes()
}

// Whatever the files hold, opening ends with an error or a log whose blocks link,
// and which can be gone on with.
func FuzzOpen(f *testing.F) {
	for _, keep := range []*uint32{nil, ptr(uint32(3))} {
		log, index, tail := seedFiles(keep)
		f.Add(log, index, tail, false)
		f.Add(log, index, []byte{}, true)
		f.Add(log[:len(log)-20], index, tail, false)
		f.Add(log, index[:11], []byte{}, true)
		// of each block the same
		for _, place := range []uint64{0, 5, minBlockBytes, math.MaxInt64, 1 << 63, math.MaxUint64} {
			f.Add(log, appendPositions(nil, slices.Repeat([]uint64{place}, len(index)/positionBytes)), []byte{}, true)
		}
		near := make([]uint64, len(index)/positionBytes) // as if no block fit between two of them
		for i := range near {
			near[i] = uint64(minBlockBytes - 5*(len(near)-i))
		}
		f.Add(log, appendPositions(nil, near), []byte{}, true)
		near[1] |= 1 << 63 // where a distance does not fit into 64 bits
		f.Add(log, appendPositions(nil, near), []byte{}, true)
	}
	f.Fuzz(func(t *testing.T, log, index, tail []byte, keep bool) {
		fs := memory()
		base := workingBase(testDir)
		fs.mem.Put(base.Log(), memfs.NewBlob(log))
		fs.mem.Put(base.Index(), memfs.NewBlob(index))
		fs.mem.Put(testDir+"/"+TailName, memfs.NewBlob(tail))
		o := testOptions(fs)
		if keep {
			o.RetainBlocks = ptr(uint32(2))
		}
		l, err := Open(o)
		if err != nil {
			return
		}
		head, id, ok := l.Head()
		if _, begun := l.ChainID(); begun {
			c := newChain(rand.New(rand.NewPCG(1, 1)), l.First())
			if ok {
				c.last = sample{head, id, []byte{}}
			}
			if c.last.num < 1<<32-4 {
				s := c.next(50)
				if err := l.Append(s.num, s.id, s.data); err != nil {
					t.Fatal(err)
				}
				if got, err := l.ReadRaw(s.num); err != nil || !bytes.Equal(got, s.data) {
					t.Fatalf("what was appended is not read: %v", err)
				}
			}
		}
		for num := l.First(); ok && num <= head && num-l.First() < 100; num++ {
			l.ReadRaw(num) //nolint:errcheck // must only return
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzPreamble(f *testing.F) {
	g := types.DefaultGenesis()
	for _, p := range []Preamble{newPreamble(1, &g, g.ChainID()), newPreamble(9, nil, testChainID),
		{Version: 1, First: 1, Genesis: &g}} {
		f.Add(p.Append(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var p Preamble
		r := serial.NewReader(b)
		p.Read(r)
		if r.Err() != nil {
			return
		}
		again := p.Append(nil)
		var q Preamble
		r.Reset(again)
		q.Read(r)
		if r.End() != nil || !bytes.Equal(q.Append(nil), again) {
			t.Errorf("%x is encoded as %x: %v", b, again, r.Err())
		}
	})
}

func FuzzReversible(f *testing.F) {
	fs := memory()
	r, err := OpenReversible(ReversibleOptions{Dir: testDir, FS: fs})
	if err != nil {
		f.Fatal(err)
	}
	c := newChain(rand.New(rand.NewPCG(1, 1)), 7)
	for range 3 {
		if err := r.Append(c.next(30).data); err != nil {
			f.Fatal(err)
		}
	}
	b := fs.mem.Blob(reversiblePath).Bytes()
	f.Add(b)
	f.Add(b[:len(b)-5])
	f.Fuzz(func(t *testing.T, b []byte) {
		fs := memory()
		fs.mem.Put(reversiblePath, memfs.NewBlob(b))
		r, err := OpenReversible(ReversibleOptions{Dir: testDir, FS: fs})
		if err != nil {
			return
		}
		n := r.Len()
		if have, err := contents(r); err != nil || len(have) != n {
			t.Fatalf("%d of %d blocks: %v", len(have), n, err)
		}
		s := newChain(rand.New(rand.NewPCG(2, 2)), 3).next(10)
		if err := r.Append(s.data); err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if r, err = OpenReversible(ReversibleOptions{Dir: testDir, FS: fs}); err != nil || r.Len() != n+1 {
			t.Fatalf("after going on there are %d blocks, not %d: %v", r.Len(), n+1, err)
		}
	})
}
