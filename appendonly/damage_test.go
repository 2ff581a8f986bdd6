package appendonly

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tarn/store/vfs/memfs"
	"tarn/store/vfs/recordfs"
	"tarn/store/vfs/torntail"
)

// hurt damages a file at random, and says how.
func hurt(r *rand.Rand, b []byte) ([]byte, string) {
	b = bytes.Clone(b)
	if len(b) == 0 {
		return append(b, 1), "extended"
	}
	at := r.IntN(len(b))
	n := 1 + r.IntN(min(64, len(b)-at))
	switch r.IntN(5) {
	case 0:
		b[at] ^= 1 << r.IntN(8)
		return b, fmt.Sprintf("flipped at %d", at)
	case 1:
		clear(b[at : at+n])
		return b, fmt.Sprintf("%d zeros at %d", n, at)
	case 2:
		for i := range n {
			b[at+i] = byte(r.Uint32())
		}
		return b, fmt.Sprintf("%d random bytes at %d", n, at)
	case 3:
		return b[:at], fmt.Sprintf("cut at %d", at)
	}
	for range n {
		b = append(b, byte(r.Uint32()))
	}
	return b, fmt.Sprintf("extended by %d", n)
}

// writtenLog makes a log of which so many entries are durable, and some more handed to the kernel.
func writtenLog(t *testing.T, r *rand.Rand) (mem *memfs.FS, durable, all uint64) {
	mem = memfs.New()
	o := smallLog(mem)
	o.SegmentBytes = int64(300 + r.IntN(3000))
	l, err := OpenLog(o)
	check(t, err)
	all = 8 + uint64(r.IntN(60))
	durable = 7
	for number := uint64(7); number < all; number++ {
		_, err := l.Append(entryOf(number, 0))
		check(t, err)
		if r.IntN(9) == 0 {
			check(t, l.Sync())
			durable = number + 1
		}
	}
	check(t, l.Close())
	return mem, durable, all
}

// Whatever happens to a file of a log, an open ends with an error that names the file, or all that was
// durable is there, entries are served as they were written or not at all, and what is given up is
// said and kept.
func TestDamageNeverTakesEntriesInSilence(t *testing.T) {
	seed := seed(t)
	for round := range uint64(*statesFlag * 4) {
		r := rand.New(rand.NewPCG(seed, 900+round))
		mem, durable, all := writtenLog(t, r)
		var paths []string
		for _, path := range mem.Paths() {
			if mem.Blob(path) != nil {
				paths = append(paths, path)
			}
		}
		path := paths[r.IntN(len(paths))]
		b, how := hurt(r, mem.Blob(path).Bytes())
		how = fmt.Sprintf("round %d: %s %s, entries 7 to %d, durable up to %d", round, path, how, all, durable)
		before := mem.Blob(path).Bytes()
		mem.Put(path, memfs.NewBlob(b))
		if err := holdsUnder(mem, durable, all, path, before, b); err != nil {
			t.Fatalf("%s: %v", how, err)
		}
	}
}

func holdsUnder(mem *memfs.FS, durable, all uint64, path string, before, damaged []byte) error {
	o := smallLog(mem)
	var said []string
	o.Notice = func(err error) { said = append(said, err.Error()) }
	l, err := OpenLog(o)
	if err != nil {
		c := new(CorruptError)
		if !errors.As(err, &c) || !bytes.Equal(mem.Blob(path).Bytes(), damaged) && !strings.HasSuffix(path, markName) {
			return fmt.Errorf("no damage with a file, or the file was changed: %w", err)
		}
		return nil
	}
	defer l.Close()
	if l.Next() < durable {
		return fmt.Errorf("it ends with %d, said %q", l.Next(), said)
	}
	if l.Next() < all && !slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, path) }) &&
		len(damaged) >= len(before) {
		return fmt.Errorf("it ends with %d, and nothing says so: %q", l.Next(), said)
	}
	for number := l.First(); number < l.Next(); number++ {
		got, err := l.Read(number, nil)
		if err != nil && !errors.As(err, new(*CorruptError)) {
			return err
		}
		if err == nil && !bytes.Equal(got, entryOf(number, 0)) {
			return fmt.Errorf("entry %d is served as %q", number, got)
		}
	}
	return nil
}

// A log of an older program has no mark: a broken entry is its tail only if no whole one is behind it.
func TestWithoutAMarkAWholeEntryBehindABrokenOneIsDamage(t *testing.T) {
	seed := seed(t)
	for round := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 5000+round))
		mem := memfs.New()
		o := LogOptions{FS: mem, Dir: "/log"}
		l, err := OpenLog(o)
		check(t, err)
		var begins []int
		for number := range uint64(100) {
			begins = append(begins, int(l.last().end))
			_, err := l.Append(entryOf(number, 0))
			check(t, err)
		}
		check(t, l.Close())
		check(t, mem.Remove(markPath("/log")))
		path := segmentPath("/log", 1)
		b := bytes.Clone(mem.Blob(path).Bytes())
		at := headerSize + r.IntN(len(b)-headerSize)
		n := min(1+r.IntN(2000), len(b)-at)
		first, _ := slices.BinarySearch(begins, at+1) // the first record that is not touched, less one, is broken
		last, _ := slices.BinarySearch(begins, at+n)
		for i := at; i < at+n; i++ {
			b[i] ^= byte(1 + r.IntN(255))
		}
		mem.Put(path, memfs.NewBlob(b))
		l, err = OpenLog(o)
		if last < 100 {
			c := new(CorruptError)
			if !errors.As(err, &c) || c.Path != path || c.Offset != int64(begins[first-1]) ||
				!bytes.Equal(mem.Blob(path).Bytes(), b) {
				t.Fatalf("round %d: %d bytes at %d are broken: %v", round, n, at, err)
			}
			continue
		}
		check(t, err)
		if l.Next() != uint64(first-1) || !bytes.Equal(mem.Blob(path+torntail.KeptSuffix).Bytes(), b[begins[first-1]:]) {
			t.Fatalf("round %d: %d bytes at %d are broken: next is %d", round, n, at, l.Next())
		}
		check(t, l.Close())
	}
}

// All of a header is known: where the first entry is whole it is written again.
func TestADamagedHeaderIsWrittenAgain(t *testing.T) {
	mem, _, all := writtenLog(t, rand.New(rand.NewPCG(seed(t), 77)))
	for _, path := range mem.Paths() {
		blob := mem.Blob(path)
		if blob == nil || !strings.HasSuffix(path, ".log") || len(blob.Bytes()) <= headerSize {
			continue
		}
		for at := range headerSize {
			fs := mem.Clone()
			b := bytes.Clone(blob.Bytes())
			b[at] ^= 0x40
			fs.Put(path, memfs.NewBlob(b))
			o := smallLog(fs)
			var said []string
			o.Notice = func(err error) { said = append(said, err.Error()) }
			l, err := OpenLog(o)
			check(t, err)
			if l.Next() != all || !bytes.Equal(fs.Blob(path).Bytes(), blob.Bytes()) || len(said) != 1 ||
				!strings.HasPrefix(said[0], path+": offset 0") {
				t.Fatalf("%s, byte %d: next %d of %d, said %q", path, at, l.Next(), all, said)
			}
			check(t, l.Close())
		}
	}
}

// What is kept of a log that is cut by its owner, and written anew, is no damage when a crash tears
// the new entries (TestALogThatCrashesAgainAndAgainKeepsItsPromises); a log that lost a whole segment is.
func TestALostSegmentIsDamage(t *testing.T) {
	mem, durable, _ := writtenLog(t, rand.New(rand.NewPCG(seed(t), 78)))
	if durable < 20 {
		t.Fatal("too few entries are durable")
	}
	for sequence := uint64(1); ; sequence++ {
		path := segmentPath("/log", sequence)
		if mem.Blob(path) == nil {
			return
		}
		fs := mem.Clone()
		check(t, fs.Remove(path))
		_, err := OpenLog(smallLog(fs))
		if c := new(CorruptError); !errors.As(err, &c) || c.Path != path && c.Path != segmentPath("/log", sequence-1) {
			t.Errorf("%s is gone: %v", path, err)
		}
	}
}

// What the owner cuts anyway stops no open, with a mark and without one, and is kept. A crash before the cut
// changes nothing of that; damage of what is counted on stops it all the same.
func TestDamageOfWhatTheOwnerCutsStopsNoOpen(t *testing.T) {
	seed := seed(t)
	for round := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 7000+round))
		mem := recordfs.New(memfs.New())
		o := LogOptions{FS: mem, Dir: "/log", Spare: true}
		l, err := OpenLog(o)
		check(t, err)
		var begins []int
		for number := range uint64(60) {
			begins = append(begins, int(l.last().end))
			_, err := l.Append(entryOf(number, 0))
			check(t, err)
		}
		check(t, errors.Join(l.Sync(), l.Close()))
		if r.IntN(3) == 0 {
			check(t, mem.Remove(markPath("/log")))
		}
		path := segmentPath("/log", 1)
		f, err := mem.Open(path, true)
		check(t, err)
		size, err := f.Size()
		check(t, err)
		was := make([]byte, size)
		_, err = f.ReadAt(was, 0)
		check(t, err)
		at := headerSize + r.IntN(len(was)-headerSize-(len(was)-begins[58]))
		first, _ := slices.BinarySearch(begins, at+1)
		hurt := uint64(first - 1)
		_, err = f.WriteAt([]byte{was[at] ^ 1}, int64(at))
		check(t, errors.Join(err, f.Sync(), f.Close()))
		from := mem.Position()
		o.Need = hurt + 1
		if _, err := OpenLog(o); !errors.As(err, new(*CorruptError)) {
			t.Fatalf("round %d: entry %d is counted on: %v", round, hurt, err)
		}
		o.Need = uint64(r.IntN(int(hurt) + 1))
		checkOwned(t, o)
		for state := range mem.Recording().States(recordfs.Options{From: from, Count: 5, Seed: seed}) {
			s := o
			s.FS = state.FS
			for state.FS.Blob(path) != nil && s.Need < 70 { // again, and with what was written since
				checkOwned(t, s)
				s.Need += 20
			}
		}
	}
}

// checkOwned opens a log as who cuts at Need does, and goes on with it.
func checkOwned(t *testing.T, o LogOptions) {
	t.Helper()
	l, err := OpenLog(o)
	check(t, err)
	check(t, l.Cut(o.Need))
	if l.Next() != o.Need {
		t.Fatalf("next is %d of %d", l.Next(), o.Need)
	}
	for range 20 {
		_, err := l.Append(entryOf(l.Next(), 0))
		check(t, err)
	}
	check(t, l.Sync())
	for number := range l.Next() {
		if got, err := l.Read(number, nil); err != nil || !bytes.Equal(got, entryOf(number, 0)) {
			t.Fatalf("entry %d: %q, %v", number, got, err)
		}
	}
	check(t, l.Close())
}

// An open that ends with an error has changed nothing, whatever could be mended before the damage.
func TestAnOpenThatEndsWithDamageChangesNothing(t *testing.T) {
	mem := memfs.New()
	l, err := OpenLog(smallLog(mem))
	check(t, err)
	for len(l.segments) < 4 || l.last().count == 0 {
		_, err := l.Append(entryOf(l.Next(), 0))
		check(t, err)
	}
	durable, sequences := l.Next(), l.last().sequence
	check(t, errors.Join(l.Sync(), l.Close()))
	header, copied := segmentPath("/log", 1), segmentPath("/log", 2)
	b := bytes.Clone(mem.Blob(header).Bytes())
	b[3] ^= 1
	mem.Put(header, memfs.NewBlob(b))
	mem.Put(segmentPath("/old", 2), memfs.NewBlob(bytes.Clone(mem.Blob(copied).Bytes()))) // a move that did not end
	for _, need := range []uint64{0, durable} {
		fs := mem.Clone()
		if need == 0 { // the mark tells, not the owner
			last := segmentPath("/log", sequences)
			fs.Put(last, memfs.NewBlob(bytes.Clone(fs.Blob(last).Bytes()[:headerSize])))
		} else {
			check(t, fs.Remove(segmentPath("/log", sequences)))
		}
		before := fs.Clone()
		o := smallLog(fs)
		o.Need = need
		if l, err := OpenLog(o); !errors.As(err, new(*CorruptError)) {
			t.Fatalf("need %d: next is %v, %v", need, l, err)
		}
		for _, path := range before.Paths() {
			if was, is := before.Blob(path), fs.Blob(path); was != nil &&
				(is == nil || !bytes.Equal(was.Bytes(), is.Bytes())) {
				t.Errorf("need %d: %s was changed", need, path)
			}
		}
	}
}
