package blocklog

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tarn/store/vfs/memfs"
	"tarn/store/vfs/torntail"
)

// spoil damages a file at random, and says how, and which bytes from one to another are changed.
func spoil(r *rand.Rand, b []byte) (damaged []byte, from, to int, how string) {
	b = bytes.Clone(b)
	at := r.IntN(len(b))
	n := 1 + r.IntN(min(3000, len(b)-at))
	switch r.IntN(5) {
	case 0:
		b[at] ^= 1 << r.IntN(8)
		return b, at, at + 1, fmt.Sprintf("flipped at %d", at)
	case 1:
		clear(b[at : at+n])
		return b, at, at + n, fmt.Sprintf("%d zeros at %d", n, at)
	case 2:
		for i := range n {
			b[at+i] ^= byte(1 + r.IntN(255))
		}
		return b, at, at + n, fmt.Sprintf("%d random bytes at %d", n, at)
	case 3:
		return b[:at], at, len(b), fmt.Sprintf("cut at %d", at)
	}
	from = len(b)
	for range n {
		b = append(b, byte(r.Uint32()))
	}
	return b, from, len(b), fmt.Sprintf("extended by %d", n)
}

// stored is a file of reversible blocks and what was promised of it.
type stored struct {
	mem          *memfs.FS
	all          [][]byte
	at           [][2]int // where their records lie, or nothing
	durable      int      // how many of them are durable
	irreversible uint32
}

func store(t *testing.T, rnd *rand.Rand) stored {
	fs := memory()
	s := stored{mem: fs.mem}
	r, err := OpenReversible(ReversibleOptions{Dir: testDir, FS: fs})
	must(t, err)
	c := newChain(rnd, 2)
	for range 5 + rnd.IntN(30) {
		b := c.next(rnd.IntN(1500))
		if s.all = append(s.all, b.data); rnd.IntN(3) > 0 {
			must(t, r.Append(b.data))
		} else {
			must(t, r.AppendDurably(b.data))
			s.durable = len(s.all)
		}
		if rnd.IntN(10) == 0 {
			must(t, r.Sync())
			s.durable = len(s.all)
		}
	}
	for _, b := range r.blocks {
		s.at = append(s.at, [2]int{int(b.offset) - recordHeaderBytes, int(b.offset) + b.size})
	}
	if rnd.IntN(2) == 0 {
		must(t, r.Close())
		s.durable = len(s.all)
	}
	if rnd.IntN(2) == 0 {
		s.irreversible = 1 + uint32(rnd.IntN(s.durable+1))
	}
	return s
}

// whole are the blocks that damage from one byte to another leaves whole, of the first so many.
func (s *stored) whole(path string, from, to, most int) (list [][]byte) {
	for i, b := range s.all[:most] {
		if path != reversiblePath || s.at[i][1] <= from || s.at[i][0] >= to {
			list = append(list, b)
		}
	}
	return list
}

// above leaves out what is irreversible.
func (s *stored) above(list [][]byte) (above [][]byte) {
	for _, b := range list {
		if num, _ := blockNumber(b); num > s.irreversible {
			above = append(above, b)
		}
	}
	return above
}

// Whatever happens to the file or its mark: a node that signs blocks has all that were durable and that it may
// need, or it does not start; another one has all that are whole of those that were durable. What is
// left out is kept.
func TestDamagedReversibleBlocksNeverGoInSilence(t *testing.T) {
	rnd := newRand(t)
	for round := range 600 {
		s := store(t, rnd)
		path := reversiblePath
		if rnd.IntN(10) == 0 {
			path += ".mark"
		}
		b, from, to, how := spoil(rnd, s.mem.Blob(path).Bytes())
		s.mem.Put(path, memfs.NewBlob(b))
		how = fmt.Sprintf("round %d: %s %s; %d of %d are durable, up to block %d irreversible, records at %d",
			round, path, how, s.durable, len(s.all), s.irreversible, s.at)
		for _, mend := range []bool{false, true} {
			mem := s.mem.Clone()
			r, err := OpenReversible(ReversibleOptions{Dir: testDir, FS: testFS{mem, mem}, Mend: mend,
				Durable: func() uint32 { return s.irreversible }})
			var damage *torntail.Damage
			if !mend && errors.As(err, &damage) {
				if damage.Path != reversiblePath || damage.Remedy == "" || !bytes.Equal(mem.Blob(path).Bytes(), b) {
					t.Fatalf("%s: %v", how, err)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%s: %v", how, err)
			}
			have, err := contents(r)
			must(t, err)
			least := s.above(s.whole(path, from, to, s.durable))
			if !mend {
				least = s.above(s.all[:s.durable])
			}
			// More may be there: those that are irreversible, and those that are not durable.
			for _, b := range have {
				if !slices.ContainsFunc(s.all, func(a []byte) bool { return bytes.Equal(a, b) }) {
					t.Fatalf("%s: a block that nobody appended", how)
				}
				if len(least) > 0 && bytes.Equal(b, least[0]) {
					least = least[1:]
				}
			}
			if len(least) > 0 {
				num, _ := blockNumber(least[0])
				t.Fatalf("%s: mend %v, block %d is gone", how, mend, num)
			}
			must(t, r.Append(newChain(rnd, 500).next(10).data))
			must(t, r.Close())
			again, err := OpenReversible(ReversibleOptions{Dir: testDir, FS: testFS{mem, mem}})
			if err != nil || again.Len() != len(have)+1 {
				t.Fatalf("%s: the next start: %v", how, err)
			}
			must(t, again.Close())
		}
	}
}

// The file gets its name when its head is durable: one that is cut within the head was cut by no crash.
func TestAReversibleFileCutInItsHeadIsDamaged(t *testing.T) {
	fs := memory()
	r := openReversible(t, fs)
	must(t, r.Append(newChain(newRand(t), 2).next(10).data))
	must(t, r.Close())
	for cut := range int64(reversibleHeadBytes) {
		for _, mend := range []bool{false, true} {
			mem := fs.mem.Clone()
			f, err := mem.Open(reversiblePath, true)
			must(t, err)
			must(t, f.Truncate(cut))
			var log bytes.Buffer
			r, err := OpenReversible(ReversibleOptions{Dir: testDir, FS: testFS{mem, mem}, Mend: mend,
				Logger: slog.New(slog.NewTextHandler(&log, nil))})
			if !mend {
				if lost := new(torntail.Damage); !errors.As(err, &lost) || lost.Remedy == "" {
					t.Fatalf("cut at %d: %v", cut, err)
				}
				continue
			}
			must(t, err)
			if r.Len() != 0 || !strings.Contains(log.String(), "level=WARN") {
				t.Errorf("cut at %d: %d blocks, and the log says %q", cut, r.Len(), log.String())
			}
			must(t, r.Close())
		}
	}
}

// Where the file was not durable yet it may end anywhere. That it ends where no write does is said once, with the
// offset, also if all records are whole that are left. Where writes end, and in a file as it was made, nothing is said.
func TestAReversibleFileThatEndsWhereNoWriteDoesIsTold(t *testing.T) {
	fs := memory()
	r := openReversible(t, fs)
	c := newChain(newRand(t), 2)
	ends := []int64{reversibleHeadBytes} // where nothing is said
	for i := range 12 {
		if must(t, r.Append(c.next(100+150*i).data)); i == 7 { // it is rewritten with two records
			must(t, r.Obsolete(7))
			ends = []int64{r.blocks[1].offset + int64(r.blocks[1].size)}
		}
		ends = append(ends, r.end)
	}
	if r.Len() != 6 || ends[1] != r.head.durable {
		t.Fatalf("%d blocks, and the file was made with %d bytes", r.Len(), r.head.durable)
	}
	whole := fs.mem.Blob(reversiblePath).Bytes()
	for cut := ends[0]; cut <= r.end; cut++ {
		mem := fs.mem.Clone()
		mem.Put(reversiblePath, memfs.NewBlob(whole[:cut]))
		for _, told := range []bool{!slices.Contains(ends, cut), false} {
			var log bytes.Buffer
			r, err := OpenReversible(ReversibleOptions{Dir: testDir, FS: testFS{mem, mem},
				Logger: slog.New(slog.NewTextHandler(&log, nil))})
			must(t, err)
			if text := log.String(); strings.Contains(text, "level=WARN") != told ||
				told && !strings.Contains(text, "offset=") {
				t.Fatalf("cut at %d, writes end at %d: the log says %q", cut, ends, text)
			}
			must(t, r.Close())
		}
	}
}

// One flipped bit anywhere in a record of a block that may be needed stops a node that signs blocks,
// also in the last one; of one that is irreversible it stops nobody.
func TestAFlippedBitStopsWhoSignsOnlyWhereItMatters(t *testing.T) {
	rnd := newRand(t)
	fs := memory()
	r := openReversible(t, fs)
	c := newChain(rnd, 2)
	for range 6 {
		must(t, r.AppendDurably(c.next(300).data))
	}
	blocks := slices.Clone(r.blocks) // killed: the mark is not synced
	for i, b := range blocks {
		at := b.offset + int64(rnd.IntN(b.size))
		for _, irreversible := range []uint32{0, b.num - 1, b.num, b.num + 1} {
			mem := fs.mem.Clone()
			file := bytes.Clone(mem.Blob(reversiblePath).Bytes())
			file[at] ^= 1
			mem.Put(reversiblePath, memfs.NewBlob(file))
			r, err := OpenReversible(ReversibleOptions{Dir: testDir, FS: testFS{mem, mem}, Durable: func() uint32 {
				return irreversible
			}})
			if last := i == len(blocks)-1; last || irreversible < b.num {
				damage := new(torntail.Damage)
				if !errors.As(err, &damage) || damage.Offset != b.offset-recordHeaderBytes ||
					!strings.Contains(damage.Remedy, "at a height that it has already signed") {
					t.Errorf("block %d, irreversible %d: %v", b.num, irreversible, err)
				}
				continue
			}
			must(t, err)
			if kept := mem.Blob(reversiblePath + torntail.KeptSuffix); r.Len() != len(blocks)-1 || kept == nil ||
				!bytes.Equal(kept.Bytes(), file[b.offset-recordHeaderBytes:blocks[i+1].offset-recordHeaderBytes]) {
				t.Errorf("block %d, irreversible %d: %d blocks", b.num, irreversible, r.Len())
			}
			must(t, r.Close())
		}
	}
}

// A producer's own newest block that a block of another branch follows is missed by no link. A flipped bit in it
// stops who signs blocks; one in the head of the file, or in the block of the other branch, takes nothing of his.
func TestAnOwnNewestBlockBeforeOneOfAnotherBranchIsNotLeftOut(t *testing.T) {
	fs := memory()
	r := openReversible(t, fs)
	c := newChain(newRand(t), 2)
	must(t, r.Append(c.next(300).data))
	must(t, r.Append(c.next(300).data))
	other := &chain{rand: c.rand, last: c.last}
	must(t, r.Append(c.next(300).data))
	must(t, r.AppendDurably(c.next(300).data))
	must(t, r.Append(other.next(300).data))
	must(t, r.Sync())
	five := fs.mem.Clone()
	must(t, r.Append(other.next(300).data)) // as high as the own one
	must(t, r.Sync())
	blocks := slices.Clone(r.blocks)
	must(t, r.Close())
	flipped := func(mem *memfs.FS, at int64) (*Reversible, error) {
		mem = mem.Clone()
		file := bytes.Clone(mem.Blob(reversiblePath).Bytes())
		file[at] ^= 1
		mem.Put(reversiblePath, memfs.NewBlob(file))
		return OpenReversible(ReversibleOptions{Dir: testDir, FS: testFS{mem, mem},
			Durable: func() uint32 { return 2 }})
	}
	damage := new(torntail.Damage)
	if _, err := flipped(five, blocks[3].offset+40); !errors.As(err, &damage) ||
		damage.Offset != blocks[3].offset-recordHeaderBytes {
		t.Errorf("the own block 5 is damaged, a block 4 follows it: %v", err)
	}
	for at, left := range map[int64]int{
		0:                     6, // the head
		blocks[3].offset + 40: 5, // another block 5 is there, so nobody signs one again
	} {
		opened, err := flipped(fs.mem, at)
		if err != nil || opened.Len() != left {
			t.Errorf("damage at %d, where %d blocks are to be left: %v", at, left, err)
			continue
		}
		must(t, opened.Close())
	}
	if _, err := flipped(fs.mem, blocks[4].offset+40); !errors.As(err, &damage) {
		t.Errorf("the other block 4 is damaged, which its block 5 links: %v", err)
	}
}

// A torn tail is kept also where a damaged record before it is left out.
func TestATornTailBehindADamagedRecordIsKept(t *testing.T) {
	fs := memory()
	r := openReversible(t, fs)
	c := newChain(newRand(t), 2)
	for range 4 {
		must(t, r.Append(c.next(300).data))
	}
	must(t, r.Sync())
	first, end := r.blocks[1], r.end
	must(t, r.Append(c.next(3000).data)) // it is killed in the middle of this
	b := bytes.Clone(fs.mem.Blob(reversiblePath).Bytes()[:end+1000])
	b[first.offset+50] ^= 1
	fs.mem.Put(reversiblePath, memfs.NewBlob(b))
	r, err := OpenReversible(ReversibleOptions{Dir: testDir, FS: fs, Mend: true})
	must(t, err)
	damaged, torn := fs.mem.Blob(reversiblePath+".bad"), fs.mem.Blob(reversiblePath+".bad.2")
	if r.Len() != 3 || damaged == nil || torn == nil ||
		!bytes.Equal(bytes.TrimRight(torn.Bytes(), "\x00"), bytes.TrimRight(b[end:], "\x00")) {
		t.Errorf("%d blocks, %v", r.Len(), fs.mem.Paths())
	}
	must(t, r.Close())
}

// A file of an older program notes nothing: what has a whole record behind it is no tail.
func TestOlderReversibleFilesAreJudgedByWhatFollows(t *testing.T) {
	rnd := newRand(t)
	fs := memory()
	r := openReversible(t, fs)
	c := newChain(rnd, 2)
	for range 6 {
		must(t, r.Append(c.next(300).data))
	}
	blocks := slices.Clone(r.blocks)
	must(t, r.Close())
	must(t, fs.Remove(reversiblePath+".mark"))
	file := bytes.Clone(fs.mem.Blob(reversiblePath).Bytes())
	clear(file[reversibleHeaderBytes:reversibleHeadBytes])
	for i, b := range blocks {
		mem := fs.mem.Clone()
		bad := bytes.Clone(file)
		bad[b.offset] ^= 1
		mem.Put(reversiblePath, memfs.NewBlob(bad))
		r, err := OpenReversible(ReversibleOptions{Dir: testDir, FS: testFS{mem, mem}})
		if i < len(blocks)-1 {
			last := fmt.Sprintf("beyond block %d and", blocks[len(blocks)-1].num)
			if damage := new(torntail.Damage); !errors.As(err, &damage) || damage.Offset != b.offset-recordHeaderBytes ||
				!strings.Contains(damage.Remedy, last) || !strings.Contains(damage.Remedy, "rename the file") {
				t.Errorf("block %d: %v", b.num, err)
			}
			must(t, mem.Rename(reversiblePath, reversiblePath+".old"))
			r := openReversible(t, testFS{mem, mem})
			must(t, r.Append(c.last.data))
			must(t, r.Close())
			continue
		}
		must(t, err)
		if r.Len() != len(blocks)-1 || r.CutBytes() == 0 || r.head.file == 0 {
			t.Errorf("%d blocks, %d bytes cut", r.Len(), r.CutBytes())
		}
		must(t, r.Close())
	}
}

// A block that the state counts on is no torn tail, and neither is one that was durable when a crash
// came. Nothing is changed then.
func TestDamagedBlocksOfTheLogThatAreNeededAreNotCut(t *testing.T) {
	for _, crashed := range []bool{false, true} {
		fs := memory()
		o := testOptions(fs)
		l := mustOpen(t, o)
		c := newChain(newRand(t), 2)
		begin(t, l, c)
		want := add(t, l, c, 20, 800)
		must(t, l.Sync(want[19].num))
		at, _, err := l.Position(want[17].num)
		must(t, err)
		if !crashed {
			must(t, l.Close())
		}
		file := bytes.Clone(fs.mem.Blob(testDir + "/" + LogName).Bytes())
		// The time of block 17 in one case: its id is another one. Of the last block the position.
		for name, damaged := range map[string]struct{ at, whole int }{"an id": {int(at), 17},
			"the last position": {len(file) - 3, 19}} {
			mem := fs.mem.Clone()
			bad := bytes.Clone(file)
			bad[damaged.at] ^= 0x40
			mem.Put(testDir+"/"+LogName, memfs.NewBlob(bad))
			o := testOptions(testFS{mem, mem})
			o.Needed = func() uint32 { return want[19].num + 1 }
			_, err := Open(o)
			lost := new(torntail.Damage)
			if crashed && name == "an id" { // in what was durable nobody looks
				continue
			}
			if !errors.As(err, &lost) || lost.Path != testDir+"/"+LogName || lost.Offset == 0 || lost.Remedy == "" ||
				!bytes.Equal(mem.Blob(testDir+"/"+LogName).Bytes(), bad) {
				t.Errorf("crashed %v, %s: %v", crashed, name, err)
			}
			o.Needed = func() uint32 { return 1 }
			l, err := Open(o)
			if crashed {
				if !errors.As(err, &lost) {
					t.Errorf("%s was durable: %v", name, err)
				}
				o.Mend = true
				l, err = Open(o)
			}
			must(t, err)
			if err := check(l, want[:damaged.whole]); err != nil || l.Recovery().CutFile == "" {
				t.Errorf("%s: %v", name, err)
			}
			must(t, l.Close())
		}
	}
}
