package blocklog

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"tarn/store/vfs"
	"tarn/store/vfs/memfs"
	"tarn/store/vfs/recordfs"
)

// lettings are the options under which blocks are let go.
var lettings = map[string]Options{
	"pruned":              {RetainBlocks: ptr(uint32(3)), PruneBytes: 1024},
	"no log":              {RetainBlocks: ptr(uint32(0))},
	"archived":            {Stride: ptr(uint32(5)), MaxRetainedFiles: ptr(uint32(1))},
	"archived at once":    {Stride: ptr(uint32(5)), MaxRetainedFiles: ptr(uint32(0))},
	"deleted":             {Stride: ptr(uint32(5)), MaxRetainedFiles: ptr(uint32(1)), ArchiveDir: ptr("")},
	"deleted at once":     {Stride: ptr(uint32(5)), MaxRetainedFiles: ptr(uint32(0)), ArchiveDir: ptr("")},
	"deleted from beside": {Stride: ptr(uint32(5)), MaxRetainedFiles: ptr(uint32(0)), ArchiveDir: ptr(""), RetainedDir: ptr("retained")},
}

// has tells whether a log can be read from a block to its head.
func has(l *Log, from uint32, want []sample) error {
	head, _, _ := l.Head()
	if last := want[len(want)-1].num; head != last || l.First() > from {
		return fmt.Errorf("the log has blocks %d to %d, needed are %d to %d", l.First(), head, from, last)
	}
	return lies(l, slices.DeleteFunc(slices.Clone(want), func(s sample) bool { return s.num < from }))
}

// lies tells whether blocks are read as they were written.
func lies(l *Log, want []sample) error {
	for _, s := range want {
		if b, err := l.ReadRaw(s.num); err != nil || string(b) != string(s.data) {
			return fmt.Errorf("block %d: %v", s.num, err)
		}
	}
	return nil
}

// Whatever the options let go of, a block that a start may ask for is there: when the
// options are switched on, while blocks are appended, and after every start.
func TestNoBlockThatAStartMayNeedIsLetGo(t *testing.T) {
	for name, o := range lettings {
		t.Run(name, func(t *testing.T) {
			fs := memory()
			c := newChain(newRand(t), 1)
			l := mustOpen(t, testOptions(fs))
			want := begin(t, l, c)
			want = append(want, add(t, l, c, 27, 300)...)
			must(t, l.Close())

			needed := uint32(4)
			o.Dir, o.FS, o.Needed = testDir, fs, func() uint32 { return needed }
			o.Now = testOptions(fs).Now
			for range 3 {
				l = mustOpen(t, o)
				must(t, has(l, needed, want))
				want = append(want, add(t, l, c, 24, 300)...)
				head, _, _ := l.Head()
				must(t, l.Sync(head))
				must(t, has(l, needed, want))
				must(t, l.Close())
				needed += 20
			}

			// What nobody needs any more goes.
			needed = c.last.num + 1
			l = mustOpen(t, o)
			want = append(want, add(t, l, c, 40, 300)...)
			needed = c.last.num + 1
			want = append(want, add(t, l, c, 7, 300)...)
			head, _, _ := l.Head()
			must(t, l.Sync(head))
			must(t, l.Close())
			l = mustOpen(t, o)
			if num, _, ok := l.Head(); ok && l.First()+5 < needed {
				t.Errorf("of %d blocks there are still %d to %d", len(want), l.First(), num)
			}
			must(t, l.Close())
		})
	}
}

// Blocks that went to the archive too early are read from there.
func TestAnArchiveIsReadWhileAStartNeedsIt(t *testing.T) {
	fs := memory()
	c := newChain(newRand(t), 1)
	o := lettings["archived at once"]
	o.Dir, o.FS, o.Now = testDir, fs, testOptions(fs).Now
	l := mustOpen(t, o)
	want := begin(t, l, c)
	want = append(want, add(t, l, c, 27, 300)...)
	must(t, l.Close())
	if l = mustOpen(t, o); l.First() != 26 {
		t.Fatalf("the log begins with block %d", l.First())
	}
	must(t, l.Close())

	needed := uint32(8)
	o.Needed = func() uint32 { return needed }
	l = mustOpen(t, o)
	must(t, has(l, needed, want))
	needed = 27
	want = append(want, add(t, l, c, 1, 300)...)
	must(t, l.Sync(29))
	must(t, l.Close())
	l = mustOpen(t, o)
	must(t, check(l, want[25:]))
	must(t, l.Close())
	names, err := fs.List(filepath.Join(testDir, defaultArchiveDir))
	must(t, err)
	if len(names) != 10 {
		t.Errorf("the archive has %v", names)
	}
}

func TestCopiesThatDidNotEndAreRemoved(t *testing.T) {
	fs := memory()
	o := lettings["archived"]
	o.Dir, o.FS, o.Now = testDir, fs, testOptions(fs).Now
	archive := filepath.Join(testDir, defaultArchiveDir)
	must(t, vfs.MkdirAll(fs, archive))
	for _, name := range []string{"blocks-1-5.log.part", "blocks-1-5.index.part", "blocks-1-5.log.new", "mine.part"} {
		fs.mem.Put(filepath.Join(archive, name), memfs.NewBlob([]byte("half")))
	}
	must(t, mustOpen(t, o).Close())
	names, err := fs.List(archive)
	must(t, err)
	if !slices.Equal(names, []string{"mine.part"}) {
		t.Errorf("left are %v", names)
	}
}

// A process may be killed when it has renamed the rewritten file and not made the name
// durable. What the next one syncs must not be lost with that name.
func TestReversibleBlocksBehindANameThatIsNotDurableSurvive(t *testing.T) {
	mem := memfs.New()
	record := recordfs.New(mem)
	fs := testFS{record, mem}
	c := newChain(newRand(t), 5)
	r := openReversible(t, fs)
	must(t, r.Append(c.next(100).data))
	must(t, r.Sync())
	must(t, writeFile(fs, r.path+".tmp", mem.Blob(r.path).Bytes()))
	must(t, record.Rename(r.path+".tmp", r.path)) // killed here

	r = openReversible(t, fs)
	must(t, r.Append(c.next(100).data))
	must(t, r.Sync())
	for state := range record.Recording().States(recordfs.Options{From: record.Position(), Count: 50, Seed: 1}) {
		if got := openReversible(t, testFS{state.FS, state.FS}); got.Len() != 2 {
			t.Fatalf("%d blocks are left\n%v", got.Len(), state)
		}
	}
}

// A log that was pruned between two times in partitions has a gap. It begins after the gap,
// what lies before it is still read by number, and it is gone on with.
func TestAGapBetweenPartitionsIsNotCountedAsBlocks(t *testing.T) {
	parts, prunes := Options{Stride: ptr(uint32(5))}, Options{RetainBlocks: ptr(uint32(3)), PruneBytes: 1024}
	fs := memory()
	open := func(o Options) *Log {
		o.Dir, o.FS, o.Now = testDir, fs, testOptions(fs).Now
		return mustOpen(t, o)
	}
	c := newChain(newRand(t), 1)
	l := open(parts)
	want := begin(t, l, c)
	want = append(want, add(t, l, c, 11, 300)...)
	must(t, l.Close())
	l = open(prunes)
	want = append(want, add(t, l, c, 30, 300)...)
	must(t, l.Close())
	for range 2 {
		l = open(parts)
		head := want[len(want)-1].num
		first := l.First()
		if first <= 12 || first > head-2 {
			t.Fatalf("a log to %d with blocks up to 10, a gap, and the last ones, begins with %d", head, first)
		}
		must(t, has(l, first, want))
		must(t, lies(l, want[:10]))
		if _, err := l.ReadRaw(first - 1); !errors.Is(err, ErrNotFound) {
			t.Fatalf("block %d is in the gap: %v", first-1, err)
		}
		must(t, l.Truncate(head-1))
		want = want[:len(want)-1]
		c.last = want[len(want)-1]
		want = append(want, add(t, l, c, 14, 300)...)
		must(t, has(l, first, want))
		must(t, l.Close())
	}

	// A snapshot far ahead begins a log anew, behind another gap.
	c = newChain(newRand(t), 1000)
	l = open(parts)
	must(t, l.Reset(l.chain, 1000))
	must(t, l.Close())
	l = open(parts)
	if num, _, ok := l.Head(); ok || l.First() != 1000 {
		t.Fatalf("a log begun anew at block 1000 has head %d, %v, and begins with %d", num, ok, l.First())
	}
	must(t, has(l, 1000, add(t, l, c, 7, 300)))
	must(t, lies(l, want[:10]))
	must(t, l.Close())
}
