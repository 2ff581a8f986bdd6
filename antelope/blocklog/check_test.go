package blocklog

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"tarn/antelope/types"
	"tarn/store/vfs/memfs"
	"tarn/store/vfs/torntail"
)

// unchecked is where a packed block has what no other block names: the producer's signature, and
// what follows the transactions.
func unchecked(b []byte) (from, to, extensions int) {
	var block types.SignedBlock
	if err := types.Decode(b, &block); err != nil {
		panic(err)
	}
	header := len(block.BlockHeader.Append(nil))
	return header, header + block.ProducerSignature.Size(), len(b) - len(block.Extensions.Append(nil))
}

// damage flips bits of a byte of a file that may be open.
func damage(t *testing.T, fs *memfs.FS, path string, at int64, bits byte) {
	t.Helper()
	f, err := fs.Open(path, true)
	must(t, err)
	var b [1]byte
	_, err = f.ReadAt(b[:], at)
	must(t, err)
	b[0] ^= bits
	_, err = f.WriteAt(b[:], at)
	must(t, err)
}

// whereIs tells where the entry of a block is, and in which file.
func whereIs(t *testing.T, l *Log, num uint32) (at, end int64, path string) {
	t.Helper()
	sp, err := l.span(num, num, 0)
	must(t, err)
	return sp.positions[0], sp.positions[1], sp.path
}

// forms are the forms that a log has on the disk.
func forms() map[string]func(*Options) {
	return map[string]func(*Options){
		"one file": func(*Options) {},
		"parts":    func(o *Options) { o.Stride, o.MaxRetainedFiles = ptr(uint32(10)), ptr(uint32(50)) },
		"pruned":   func(o *Options) { o.RetainBlocks = ptr(uint32(25)) },
	}
}

// Whatever bit of a log is damaged, a block is read as it was, or an error names file and offset. Only
// in a log that another program wrote, what no other block names may be another.
func TestADamagedBlockIsNeverReadAsAnother(t *testing.T) {
	for name, change := range forms() {
		t.Run(name, func(t *testing.T) { damagedBlocks(t, change, true) })
		t.Run(name+" of another program", func(t *testing.T) { damagedBlocks(t, change, false) })
	}
}

func damagedBlocks(t *testing.T, change func(*Options), ours bool) {
	r := newRand(t)
	fs := memory()
	o := testOptions(fs)
	change(&o)
	l := mustOpen(t, o)
	c := newChain(r, 3)
	begin(t, l, c)
	want := add(t, l, c, 40, 900)
	must(t, l.Close())
	if !ours {
		must(t, fs.Remove(testDir+"/"+SumsName))
	}
	for range 300 {
		hurt := fs.mem.Clone()
		o.FS = testFS{hurt, hurt}
		l := mustOpen(t, o) // what a start looks at is another test's
		num := want[r.IntN(len(want))].num
		at, to, place := whereIs(t, l, num)
		bit := at + r.Int64N(to-at)
		damage(t, hurt, place, bit, 1<<r.IntN(8))
		for _, s := range want {
			b, err := l.ReadRaw(s.num)
			from, to, extensions := unchecked(s.data)
			other := bytes.Clone(b)
			if err == nil && s.num == num && !ours {
				copy(other[from:to], s.data[from:to])
				copy(other[extensions:], s.data[extensions:])
			}
			told := new(torntail.Damage)
			switch {
			case err == nil && !bytes.Equal(other, s.data):
				t.Errorf("offset %d of block %d: block %d is another", bit-at, num, s.num)
			case err != nil &&
				!(errors.As(err, &told) && told.Path == place && strings.Contains(told.Remedy, "hard-replay")):
				t.Errorf("offset %d of block %d: block %d: %v", bit-at, num, s.num, err)
			case err != nil && (s.num+1 < num || s.num > num):
				t.Errorf("offset %d of block %d: block %d, which is whole: %v", bit-at, num, s.num, err)
			}
		}
		must(t, l.Close())
	}
}

// Whatever bits of an index are damaged, all blocks are read, and the index is as it was where it was
// read.
func TestADamagedBlockIndexIsMadeAgainFromItsLog(t *testing.T) {
	r := newRand(t)
	for name, change := range forms() {
		fs := memory()
		o := testOptions(fs)
		change(&o)
		l := mustOpen(t, o)
		c := newChain(r, 3)
		begin(t, l, c)
		want := add(t, l, c, 40, 900)
		must(t, l.Close())
		for range 100 {
			hurt := fs.mem.Clone()
			o.FS = testFS{hurt, hurt}
			l := mustOpen(t, o)
			was := map[string][]byte{}
			for _, path := range hurt.Paths() {
				if filepath.Ext(path) == ".index" && hurt.Blob(path).Size() > 0 {
					was[path] = bytes.Clone(hurt.Blob(path).Bytes())
				}
			}
			for path, b := range was {
				for range r.IntN(20) {
					at := r.Int64N(int64(len(b)))
					damage(t, hurt, path, at, byte(r.Uint32()))
				}
				if r.IntN(5) == 0 {
					f, err := hurt.Open(path, true)
					must(t, err)
					must(t, f.Truncate(r.Int64N(int64(len(b)))))
				}
			}
			for _, n := range r.Perm(len(want)) {
				s := want[n]
				if b, err := l.ReadRaw(s.num); err != nil || !bytes.Equal(b, s.data) {
					t.Fatalf("%s: block %d: %v", name, s.num, err)
				}
			}
			for path, b := range was {
				if !bytes.Equal(hurt.Blob(path).Bytes(), b) {
					t.Errorf("%s: %s is not as it was", name, path)
				}
			}
			must(t, l.Close())
		}
	}
}

// What was checked stays checked by its checksum: damage that comes later is found too, also of what no
// other block names.
func TestABlockThatWasCheckedIsHeldToWhatItWas(t *testing.T) {
	fs := memory()
	o := testOptions(fs)
	l := mustOpen(t, o)
	c := newChain(newRand(t), 3)
	begin(t, l, c)
	want := add(t, l, c, 5, 900)
	must(t, l.Close())
	l = mustOpen(t, o)
	defer l.Close()
	if _, ok := l.sums.get(want[1].num); ok {
		t.Fatal("a block is known that nobody has read")
	}
	must(t, check(l, want))
	at, _, path := whereIs(t, l, want[1].num)
	from, _, _ := unchecked(want[1].data)
	damage(t, fs.mem, path, at+int64(from)+9, 1)
	if _, err := l.ReadRaw(want[1].num); !errors.As(err, new(*torntail.Damage)) {
		t.Errorf("a signature that has changed: %v", err)
	}
	it := l.Blocks(context.Background(), want[0].num, want[4].num)
	defer it.Close()
	n := 0
	for it.Next() {
		n++
	}
	if !errors.As(it.Err(), new(*torntail.Damage)) {
		t.Errorf("%d blocks in a row, then %v", n, it.Err())
	}
}

// What is known of checksums has a bound.
func TestTheSumsOfBlocksHaveABound(t *testing.T) {
	var s sums
	for page := range uint32(mostPages + 10) {
		s.set(page*sumsOfPage, page+1)
	}
	if len(s.pages) != mostPages || len(s.order) != mostPages {
		t.Errorf("%d pages, %d in order", len(s.pages), len(s.order))
	}
	for page := range uint32(mostPages + 10) {
		if sum, ok := s.get(page * sumsOfPage); ok != (page >= 10) || ok && sum != page+1 {
			t.Errorf("page %d: %d %v", page, sum, ok)
		}
	}
}

// A hard replay keeps no block that is damaged, and none that may be.
func TestARepairKeepsNoDamagedBlock(t *testing.T) {
	r := newRand(t)
	fs := memory()
	o := testOptions(fs)
	l := mustOpen(t, o)
	c := newChain(r, 3)
	begin(t, l, c)
	want := add(t, l, c, 20, 900)
	var places [][2]int64
	for _, s := range want {
		at, end, _ := whereIs(t, l, s.num)
		places = append(places, [2]int64{at, end})
	}
	must(t, l.Close())
	for round := range 100 {
		hurt := fs.mem.Clone()
		o.FS = testFS{hurt, hurt}
		n := r.IntN(len(want) - 1)
		damage(t, hurt, testDir+"/"+LogName, places[n][0]+r.Int64N(places[n][1]-places[n][0]), 1<<r.IntN(8))
		done, err := Tool{Dir: testDir, FS: o.FS, Now: o.Now}.Repair(0)
		must(t, err)
		l := mustOpen(t, o)
		num, _, ok := l.Head()
		if !ok {
			must(t, l.Close())
			continue
		}
		for _, s := range want[:num-want[0].num+1] {
			b, err := l.ReadRaw(s.num)
			if err != nil || !bytes.Equal(b, s.data) {
				t.Errorf("round %d: block %d was hurt, %d kept, %v: block %d: %v",
					round, want[n].num, done.Head, done.Reason, s.num, err)
			}
		}
		must(t, l.Close())
	}
}
