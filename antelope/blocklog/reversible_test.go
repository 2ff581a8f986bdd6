package blocklog

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"

	"tarn/antelope/logcatalog"
	"tarn/store/vfs/errorfs"
	"tarn/store/vfs/memfs"
	"tarn/store/vfs/recordfs"
)

const reversiblePath = testDir + "/" + ReversibleDir + "/" + ReversibleName

func openReversible(t *testing.T, fs logcatalog.FS) *Reversible {
	t.Helper()
	r, err := OpenReversible(ReversibleOptions{Dir: testDir, FS: fs, CompactBytes: 3000})
	must(t, err)
	return r
}

func contents(r *Reversible) ([][]byte, error) {
	var list [][]byte
	for b, err := range r.All() {
		if err != nil {
			return nil, err
		}
		list = append(list, b)
	}
	return list, nil
}

// prefix tells whether have is what remains of want, in order, cut at its end.
func prefix(have, want [][]byte) bool {
	return len(have) <= len(want) && bytes.Equal(bytes.Join(have, nil), bytes.Join(want[:len(have)], nil))
}

func TestReversibleBlocksSurviveEveryCrash(t *testing.T) {
	rnd := newRand(t)
	m := memfs.New()
	record := recordfs.New(m)
	fs := testFS{record, m}
	r := openReversible(t, fs)
	// What must and what may be there from a position of the record on.
	type mark struct {
		position    int
		must, may   [][]byte
		obsoleteLen int
	}
	var marks []mark
	var all [][]byte
	var from, synced int
	note := func() { marks = append(marks, mark{record.Position(), all[from:synced], all[from:], from}) }
	c := newChain(rnd, 5)
	for range 80 {
		switch n := rnd.IntN(16); {
		case n < 8 || n >= 13:
			s := c.next(rnd.IntN(1200))
			if rnd.IntN(5) == 0 {
				c.last.id[31]++ // a fork: the next one links elsewhere
			}
			all = append(all, s.data)
			note()
			if n < 8 {
				must(t, r.Append(s.data))
				break
			}
			must(t, r.AppendDurably(s.data))
			synced = len(all)
			note()
		case n < 10:
			must(t, r.Sync())
			synced = len(all)
			note()
		case n < 11 && len(all) > from:
			from += rnd.IntN(len(all) - from)
			num, _ := blockNumber(all[from])
			synced = max(synced, from)
			note()
			must(t, r.Obsolete(num-1))
			note()
		default:
			if n == 11 {
				must(t, r.Close())
			} // else it is killed: what the next process finds, it makes durable
			synced = len(all)
			r = openReversible(t, fs)
			num, _ := blockNumber(append(all, c.last.data)[from])
			if from < len(all) {
				must(t, r.Obsolete(num-1))
			}
			note()
		}
		if have, err := contents(r); err != nil || !prefix(have, all[from:]) || len(have) != len(all)-from {
			t.Fatalf("%d blocks, expected %d: %v", len(have), len(all)-from, err)
		}
	}
	for state := range record.Recording().States(recordfs.Options{Count: 1500, Seed: rnd.Uint64()}) {
		var k mark
		for _, m := range marks {
			if m.position <= state.At {
				k = m
			}
		}
		again, err := OpenReversible(ReversibleOptions{Dir: testDir, FS: testFS{state.FS, state.FS}})
		if err != nil {
			t.Fatalf("%v\n%v", err, state)
		}
		if len(k.may) > 0 {
			num, _ := blockNumber(k.may[0])
			must(t, again.Obsolete(num-1))
		}
		have, err := contents(again)
		if err != nil || !prefix(have, k.may) || len(have) < len(k.must) {
			t.Fatalf("%d blocks; %d are durable, %d were appended: %v\n%v", len(have), len(k.must),
				len(k.may), err, state)
		}
		must(t, again.Close())
	}
}

func TestReversibleFileCutAnywhereOpensWithWhatIsWhole(t *testing.T) {
	fs := memory()
	r := openReversible(t, fs)
	c := newChain(newRand(t), 2)
	var want [][]byte
	var ends []int64
	for range 5 {
		s := c.next(200)
		must(t, r.Append(s.data))
		last := r.blocks[len(r.blocks)-1]
		want, ends = append(want, s.data), append(ends, last.offset+int64(last.size))
	}
	// It is killed: nothing of it is durable.
	for cut := int64(reversibleHeadBytes); cut <= ends[4]; cut++ {
		torn := fs.mem.Clone()
		f, _ := torn.Open(reversiblePath, true)
		must(t, f.Truncate(cut))
		r := openReversible(t, testFS{torn, torn})
		whole := 0
		for whole < 5 && ends[whole] <= cut {
			whole++
		}
		if have, err := contents(r); err != nil || len(have) != whole || !prefix(have, want) {
			t.Fatalf("cut at %d: %d blocks instead of %d: %v", cut, len(have), whole, err)
		}
		must(t, r.Append(c.next(10).data))
		must(t, r.Close())
		if r = openReversible(t, testFS{torn, torn}); r.Len() != whole+1 || r.CutBytes() != 0 {
			t.Fatalf("cut at %d: going on left %d blocks", cut, r.Len())
		}
	}
}

// While a chain applies what it finds, some of it becomes irreversible.
func TestReversibleBlocksMayChangeWhileTheyAreRead(t *testing.T) {
	fs := memory()
	durable := uint32(0)
	r, err := OpenReversible(ReversibleOptions{Dir: testDir, FS: fs, CompactBytes: 1, Durable: func() uint32 {
		return durable
	}})
	must(t, err)
	c := newChain(newRand(t), 2)
	for range 30 {
		must(t, r.Append(c.next(100).data))
	}
	must(t, r.Obsolete(25))
	if r.Len() != 30 {
		t.Errorf("%d blocks are left that the log may lose", r.Len())
	}
	next := uint32(2)
	for b, err := range r.Blocks() {
		must(t, err)
		if b.BlockNum() != next {
			t.Fatalf("block %d instead of %d", b.BlockNum(), next)
		}
		next++
		switch next {
		case 10:
			durable = 20
			must(t, r.Append(c.next(100).data))
			must(t, r.Obsolete(25))
			next = 21
		case 25:
			must(t, r.Sync())
		}
	}
	if next != 32 || r.Len() != 12 {
		t.Errorf("ended before block %d; %d blocks are kept", next, r.Len())
	}
	must(t, r.Close())
}

func TestReversibleFailuresSurface(t *testing.T) {
	seed := newRand(t).Uint64()
	for nth := 1; ; nth++ {
		m := memfs.New()
		faulty := errorfs.New(m)
		fired := faulty.Inject(errorfs.Fault{Ops: errorfs.Change, Nth: nth, Err: syscall.EIO, Part: true})
		err := failingReversible(testFS{faulty, m}, seed)
		if fired() == 0 {
			must(t, err)
			return
		}
		if !errors.Is(err, syscall.EIO) {
			t.Fatalf("call %d failed, and the file said %v", nth, err)
		}
	}
}

func failingReversible(fs logcatalog.FS, seed uint64) error {
	r, err := OpenReversible(ReversibleOptions{Dir: testDir, FS: fs, CompactBytes: 1000})
	if err != nil {
		return err
	}
	c := newChain(rand.New(rand.NewPCG(seed, 3)), 1)
	durable := 0
	for n := 0; n < 20 && err == nil; n++ {
		s := c.next(300)
		if n%5 == 3 {
			if err = r.AppendDurably(s.data); err == nil {
				durable = n + 1
			}
			continue
		}
		if err = r.Append(s.data); err != nil {
			break
		}
		if n%5 == 4 {
			if err = r.Sync(); err == nil {
				durable = n + 1
			}
		}
		if n == 12 && err == nil {
			err = r.Obsolete(9)
		}
	}
	if err != nil {
		if again := r.Append(c.next(1).data); !errors.Is(again, ErrFailed) {
			return fmt.Errorf("after %v it takes more: %v", err, again)
		}
	}
	if closing := r.Close(); err == nil {
		err = closing
	}
	r, again := OpenReversible(ReversibleOptions{Dir: testDir, FS: fs})
	if again != nil {
		return fmt.Errorf("open after a failure: %w", again)
	}
	if r.Len() > 0 && r.blocks[len(r.blocks)-1].num < uint32(durable) {
		return fmt.Errorf("after %v the last block is %d, %d was durable", err, r.blocks[len(r.blocks)-1].num, durable)
	}
	return errors.Join(err, r.Close())
}
