package appendonly

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"

	"tarn/store/vfs"
	"tarn/store/vfs/errorfs"
	"tarn/store/vfs/memfs"
	"tarn/store/vfs/recordfs"
)

// keysOf makes keys of a test's entries: some that many have, some that few have.
func keysOf(number uint64, entry []byte, emit func(key, value []byte)) error {
	seen := map[string]bool{}
	for i, b := range entry[:min(12, len(entry))] {
		key := fmt.Sprintf("key %d", int(b)%(1+i*7))
		if !seen[key] {
			seen[key] = true
			emit([]byte(key), fmt.Appendf(nil, "%d", i))
		}
	}
	return nil
}

func smallIndex(fs vfs.FS, l *Log) IndexOptions {
	return IndexOptions{FS: fs, Dir: "/index", Log: l, Keys: keysOf, MemoryBytes: 2000, FanIn: 3}
}

// agrees compares what an index finds with what the log has.
func agrees(t *testing.T, x *Index, l *Log, r *rand.Rand) error {
	t.Helper()
	want := map[string][]string{}
	for number := l.First(); number < l.Next(); number++ {
		entry, err := l.Read(number, nil)
		check(t, err)
		check(t, keysOf(number, entry, func(key, value []byte) {
			want[string(key)] = append(want[string(key)], fmt.Sprint(number, " ", string(value)))
		}))
	}
	if err := ascends(x, l, r, want); err != nil {
		return err
	}
	want["key of nothing"] = nil
	for _, key := range slices.Sorted(maps.Keys(want)) { // in order, so that a seed says what is drawn
		if r.IntN(6) != 0 {
			continue
		}
		all := want[key]
		from, limit := l.First(), 1+r.IntN(20)
		if len(all) != 0 && r.IntN(2) == 0 {
			skip := r.IntN(len(all))
			fmt.Sscan(all[skip], &from)
			all = all[skip:]
		}
		to := uint64(math.MaxUint64)
		if r.IntN(2) == 0 {
			to = from + uint64(r.IntN(30))
			all = slices.DeleteFunc(slices.Clone(all), func(one string) bool {
				var number uint64
				fmt.Sscan(one, &number)
				return number > to
			})
		}
		var got []string
		err := x.FindIn([]byte(key), from, to, func(number uint64, value []byte) bool {
			if number >= l.First() { // a run may have more than the log
				got = append(got, fmt.Sprint(number, " ", string(value)))
			}
			return len(got) < limit
		})
		if err != nil {
			return err
		}
		if fmt.Sprint(got) != fmt.Sprint(all[:min(limit, len(all))]) {
			return fmt.Errorf("%s from %d to %d: %v, want %v", key, from, to, got, all)
		}
	}
	return nil
}

// ascends compares a walk over a stretch of the keys with what each finds.
func ascends(x *Index, l *Log, r *rand.Rand, want map[string][]string) error {
	from, to := fmt.Sprintf("key %d", r.IntN(80)), fmt.Sprintf("key %d", r.IntN(80))
	limit := 1 + r.IntN(100)
	var expected, got []string
	for _, key := range slices.Sorted(maps.Keys(want)) {
		for _, posting := range want[key] {
			if key >= from && key < to && len(expected) < limit {
				expected = append(expected, key+": "+posting)
			}
		}
	}
	err := x.Ascend([]byte(from), []byte(to), func(key []byte, number uint64, value []byte) bool {
		if number >= l.First() {
			got = append(got, fmt.Sprintf("%s: %d %s", key, number, value))
		}
		return len(got) < limit
	})
	if err != nil {
		return err
	}
	if !slices.Equal(got, expected) {
		return fmt.Errorf("from %q to %q: %v, want %v", from, to, got, expected)
	}
	return nil
}

// grow appends random entries, settles now and then, and cuts and drops.
func grow(t *testing.T, r *rand.Rand, l *Log, x *Index, steps int) error {
	fork := int(r.Uint32())
	settled := l.First()
	for range steps {
		switch k := r.IntN(40); {
		case k < 34:
			number, err := l.Append(entryOf(l.Next(), fork))
			if err != nil {
				return err
			}
			entry, err := l.Read(number, nil)
			check(t, err)
			if err := x.Add(number, entry); err != nil {
				return err
			}
		case k < 37:
			if err := l.Sync(); err != nil {
				return err
			}
			settled = l.Next()
			if err := x.Settle(settled); err != nil {
				return err
			}
		case k == 37 && l.Next() > settled:
			next := settled + uint64(r.IntN(int(l.Next()-settled)))
			fork++
			if err := errors.Join(l.Cut(next), x.Cut(next)); err != nil {
				return err
			}
		case k == 38:
			before := l.First() + uint64(r.IntN(30))
			if err := errors.Join(l.Drop(min(before, settled)), x.Drop()); err != nil {
				return err
			}
		}
	}
	return nil
}

func TestAnIndexFindsWhatTheLogHas(t *testing.T) {
	r := rand.New(rand.NewPCG(seed(t), 9))
	runs := 0
	for range 6 {
		mem := memfs.New()
		o := smallLog(mem)
		o.SegmentBytes = 4000
		l, err := OpenLog(o)
		check(t, err)
		x, err := OpenIndex(smallIndex(mem, l))
		check(t, err)
		for range 4 {
			check(t, grow(t, r, l, x, 120))
			runs = max(runs, x.Stats().Runs) // here: a cut below can take all
			check(t, agrees(t, x, l, r))
			check(t, x.Verify(func(err error) { t.Error(err) }, nil))
			// A cut that reaches into runs: a store of before that was put back.
			if r.IntN(3) == 0 && l.Next() > l.First() {
				next := l.First() + uint64(r.IntN(int(l.Next()-l.First())))
				check(t, l.Cut(next))
				check(t, x.Cut(next))
				check(t, agrees(t, x, l, r))
			}
			if r.IntN(2) == 0 {
				check(t, x.Save(l.Next()))
				check(t, agrees(t, x, l, r))
			}
			check(t, x.Close())
			x, err = OpenIndex(smallIndex(mem, l))
			check(t, err)
			check(t, agrees(t, x, l, r))
		}
		check(t, errors.Join(x.Close(), l.Close()))
	}
	if runs < 3 {
		t.Errorf("the most runs at once were %d, too few to have been merged", runs)
	}
}

func TestAnIndexSurvivesAPowerCutAnywhere(t *testing.T) {
	seed := seed(t)
	r := rand.New(rand.NewPCG(seed, 10))
	disk := recordfs.New(memfs.New())
	o := smallLog(disk)
	o.SegmentBytes = 4000
	l, err := OpenLog(o)
	check(t, err)
	x, err := OpenIndex(smallIndex(disk, l))
	check(t, err)
	from := disk.Position()
	check(t, grow(t, r, l, x, 400))
	check(t, errors.Join(l.Sync(), x.Save(l.Next()), x.Close(), l.Close()))
	for s := range disk.Recording().States(recordfs.Options{From: from, Count: *statesFlag / 3, Seed: seed}) {
		o := smallLog(s.FS)
		l, err := OpenLog(o)
		if err != nil {
			t.Fatalf("%v\n%v", err, s)
		}
		x, err := OpenIndex(smallIndex(s.FS, l))
		if err != nil {
			t.Fatalf("%v\n%v", err, s)
		}
		if err := agrees(t, x, l, r); err != nil {
			t.Fatalf("%v\n%v", err, s)
		}
		check(t, errors.Join(x.Close(), l.Close()))
	}
}

// A clean end leaves nothing for the next start to read from the log again; little is not worth a file.
func TestASavedIndexIsNotMadeAgain(t *testing.T) {
	r := rand.New(rand.NewPCG(seed(t), 12))
	for _, x := range []struct {
		room int64 // for memory
		runs int
	}{{2 << 20, 1}, {64 << 20, 0}} {
		mem := memfs.New()
		l, err := OpenLog(LogOptions{FS: mem, Dir: "/log"})
		check(t, err)
		o := smallIndex(mem, l)
		o.MemoryBytes = x.room
		index, err := OpenIndex(o)
		check(t, err)
		for index.Stats().MemoryBytes < 1<<20-1000 || x.runs > 0 && index.Stats().MemoryBytes < 1<<20+1000 {
			entry := make([]byte, 40)
			for i := range entry {
				entry[i] = byte(r.Uint32())
			}
			number, err := l.Append(entry)
			check(t, errors.Join(err, index.Add(number, entry)))
		}
		check(t, errors.Join(l.Sync(), index.Save(l.Next()), index.Close()))
		index, err = OpenIndex(o)
		check(t, err)
		if s := index.Stats(); s.Runs != x.runs || (s.MemoryBytes == 0) != (x.runs == 1) {
			t.Errorf("with room for %d bytes it opens with %d runs, %d bytes in memory", x.room, s.Runs, s.MemoryBytes)
		}
		check(t, agrees(t, index, l, r))
		check(t, errors.Join(index.Close(), l.Close()))
	}
}

// An index whose call to the disk fails says so; opened anew it finds everything.
func TestAFailedCallOfAnIndexIsAnErrorAndNothingIsLost(t *testing.T) {
	for nth := 1; ; nth += 1 + nth/8 {
		mem := memfs.New()
		o := smallLog(mem)
		o.SegmentBytes = 4000
		l, err := OpenLog(o)
		check(t, err)
		bad := errorfs.New(mem)
		x, err := OpenIndex(smallIndex(bad, l))
		check(t, err)
		r := rand.New(rand.NewPCG(3, 3))
		fired := bad.Inject(errorfs.Fault{Ops: errorfs.All, Nth: nth, Err: syscall.EIO, Part: true})
		err = grow(t, r, l, x, 300)
		if fired() == 0 {
			check(t, err)
			break
		}
		if !errors.Is(err, syscall.EIO) {
			t.Fatalf("call %d failed, and the error is %v", nth, err)
		}
		x.Close()
		x, err = OpenIndex(smallIndex(mem, l))
		check(t, err)
		if err := agrees(t, x, l, r); err != nil {
			t.Fatalf("call %d failed: %v", nth, err)
		}
		check(t, errors.Join(x.Close(), l.Close()))
	}
}

// A run with a byte that is not what it was is an error, or is made again from the log;
// it never finds something else.
func TestEachDamagedByteOfARunIsFound(t *testing.T) {
	mem := memfs.New()
	l, err := OpenLog(smallLog(mem))
	check(t, err)
	x, err := OpenIndex(smallIndex(mem, l))
	check(t, err)
	r := rand.New(rand.NewPCG(4, 4))
	check(t, grow(t, r, l, x, 60))
	x.o.MemoryBytes = 1
	check(t, x.Settle(l.Next()))
	check(t, x.Close())
	path := x.runs[len(x.runs)-1].path
	whole := mem.Blob(path).Bytes()
	for at := 0; at < len(whole); at += 3 {
		fs := mem.Clone()
		b := bytes.Clone(whole)
		b[at] ^= 4
		fs.Put(path, memfs.NewBlob(b))
		again := 0
		o := smallIndex(fs, l)
		o.Notice = func(error) { again++ }
		x, err := OpenIndex(o)
		check(t, err)
		found := 0
		check(t, x.Verify(func(error) { found++ }, nil))
		if again+found == 0 {
			t.Fatalf("byte %d is damaged, and nothing finds it", at)
		}
		if err := agrees(t, x, l, r); err != nil {
			var damage *CorruptError
			if !errors.As(err, &damage) {
				t.Fatalf("byte %d: %v", at, err)
			}
		}
		check(t, x.Close())
	}
	check(t, l.Close())
}

// Whatever happens to a file of an index: a start succeeds, what was damaged is made again when
// somebody meets it, each time that is said with file and offset, and no file stays that is in no list.
func TestADamagedIndexIsMadeAgainFromTheLog(t *testing.T) {
	seed := seed(t)
	for round := range uint64(*statesFlag / 4) {
		r := rand.New(rand.NewPCG(seed, 7000+round))
		mem := memfs.New()
		l, err := OpenLog(smallLog(mem))
		check(t, err)
		var said []string
		o := smallIndex(mem, l)
		o.Notice = func(err error) { said = append(said, err.Error()) }
		x, err := OpenIndex(o)
		check(t, err)
		check(t, grow(t, r, l, x, 60+r.IntN(200)))
		check(t, x.Close())
		var paths []string
		for _, path := range mem.Paths() {
			if strings.HasSuffix(path, ".run") || strings.HasSuffix(path, listName) {
				paths = append(paths, path)
			}
		}
		if len(paths) == 0 {
			continue
		}
		path := paths[r.IntN(len(paths))]
		b, how := hurt(r, mem.Blob(path).Bytes())
		before := mem.Blob(path).Bytes()
		if r.IntN(8) == 0 {
			check(t, mem.Remove(path))
			how = "removed"
		} else {
			mem.Put(path, memfs.NewBlob(b))
		}
		how = fmt.Sprintf("round %d: %s %s", round, path, how)
		if x, err = OpenIndex(o); err != nil {
			t.Fatalf("%s: %v", how, err)
		}
		for range 3 {
			err := agrees(t, x, l, r)
			if err == nil {
				continue
			}
			// Told, and mended next.
			if !errors.As(err, new(*CorruptError)) || !strings.Contains(err.Error(), path) {
				t.Fatalf("%s: %v", how, err)
			}
			check(t, x.Settle(0))
			if len(said) == 0 || !strings.Contains(said[0], path+": offset ") {
				t.Fatalf("%s: said %q", how, said)
			}
		}
		for range 2 { // a run may be met here for the first time
			err = errors.Join(grow(t, r, l, x, 100), agrees(t, x, l, r))
			if err == nil {
				break
			}
			check(t, x.Settle(0))
		}
		if err != nil {
			t.Fatalf("%s: %v, said %q", how, err, said)
		}
		if now := mem.Blob(path); len(said) == 0 && now != nil && !bytes.Equal(now.Bytes(), before) &&
			!strings.HasSuffix(path, listName) {
			check(t, x.Verify(func(err error) { t.Errorf("%s: %v, and nobody was told", how, err) }, nil))
		}
		runs := 0
		for _, path := range mem.Paths() {
			if strings.HasSuffix(path, ".run") {
				runs++
			}
		}
		// of a list that is lost nobody knows the files
		if runs != x.Stats().Runs && !strings.HasSuffix(path, listName) {
			t.Fatalf("%s: %d files of %d runs", how, runs, x.Stats().Runs)
		}
		check(t, errors.Join(x.Close(), l.Close()))
	}
}

// A log that is damaged where a run has to be made again is an error at each start, and no start
// leaves a file.
func TestTriesToMakeARunAgainLeaveNoFiles(t *testing.T) {
	mem := memfs.New()
	l, err := OpenLog(LogOptions{FS: mem, Dir: "/log", SegmentBytes: 400})
	check(t, err)
	x, err := OpenIndex(smallIndex(mem, l))
	check(t, err)
	for number := range uint64(100) {
		entry := entryOf(number, 0)
		_, err := l.Append(entry)
		check(t, errors.Join(err, x.Add(number, entry), x.Settle(number)))
	}
	path := x.runs[0].path
	check(t, errors.Join(l.Sync(), x.Close()))
	spoiled := func(path string, at int) {
		b := bytes.Clone(mem.Blob(path).Bytes())
		b[at] ^= 1
		mem.Put(path, memfs.NewBlob(b))
	}
	spoiled(path, len(mem.Blob(path).Bytes())-1)          // its end
	spoiled(segmentPath("/log", 1), headerSize+entryHead) // its first entry
	l.files.Forget(segmentPath("/log", 1))                //nolint:errcheck // opened anew
	before := mem.Paths()
	for range 3 {
		if _, err := OpenIndex(smallIndex(mem, l)); !errors.As(err, new(*CorruptError)) ||
			!strings.Contains(err.Error(), segmentPath("/log", 1)) {
			t.Fatalf("opened: %v", err)
		}
		if now := mem.Paths(); len(now) != len(before) {
			t.Fatalf("there are %d files, and were %d: %v", len(now), len(before), now)
		}
	}
	l.Close()
}

// FuzzRun reads a run that is anything.
func FuzzRun(f *testing.F) {
	fs := memfs.New()
	check(f, fs.Mkdir("/index"))
	r := &run{sequence: 1, from: 3, to: 9, path: runPath("/index", 1)}
	check(f, writeRun(fs, r, func(add func(*posting) error) error {
		return errors.Join(add(&posting{[]byte("a"), 3, []byte("x")}), add(&posting{[]byte("ab"), 5, nil}))
	}))
	f.Add(fs.Blob(r.path).Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		fs := memfs.New()
		fs.Put("/run", memfs.NewBlob(data))
		file, err := fs.Open("/run", false)
		check(t, err)
		r := &run{from: 3, to: 9, path: "/run"}
		if r.open(file) == nil {
			r.scan(file, 0, func(*posting) (bool, error) { return true, nil }) //nolint:errcheck // no panic
		}
	})
}

// A list of runs that is damaged is made again with all that it listed.
func TestADamagedListOfRunsIsMadeAgain(t *testing.T) {
	mem := memfs.New()
	l, err := OpenLog(smallLog(mem))
	check(t, err)
	x, err := OpenIndex(smallIndex(mem, l))
	check(t, err)
	r := rand.New(rand.NewPCG(4, 4))
	check(t, grow(t, r, l, x, 200))
	check(t, x.Close())
	whole := mem.Blob(x.listPath()).Bytes()
	for at := range whole {
		fs := mem.Clone()
		b := bytes.Clone(whole)
		b[at] ^= 4
		fs.Put(x.listPath(), memfs.NewBlob(b))
		said := 0
		o := smallIndex(fs, l)
		o.Notice = func(error) { said++ }
		for range 2 { // the second time it is whole
			x, err := OpenIndex(o)
			check(t, err)
			check(t, agrees(t, x, l, r))
			check(t, x.Close())
		}
		if said != 1 {
			t.Fatalf("byte %d is damaged, and that was said %d times", at, said)
		}
	}
	check(t, l.Close())
}

// Files of runs that cannot be removed are removed later.
func TestARunThatCannotBeRemovedIsRemovedLater(t *testing.T) {
	mem := memfs.New()
	l, err := OpenLog(smallLog(mem))
	check(t, err)
	bad := errorfs.New(mem)
	x, err := OpenIndex(smallIndex(bad, l))
	check(t, err)
	r := rand.New(rand.NewPCG(4, 4))
	fired := bad.Inject(errorfs.Fault{Ops: errorfs.Remove, Err: syscall.EIO})
	for fired() == 0 {
		if err := grow(t, r, l, x, 20); err != nil && !errors.Is(err, syscall.EIO) {
			t.Fatal(err)
		}
	}
	check(t, x.Cut(l.First()))
	for _, path := range mem.Paths() {
		if strings.HasSuffix(path, ".run") {
			t.Errorf("%s is still there", path)
		}
	}
	check(t, errors.Join(x.Close(), l.Close()))
}
