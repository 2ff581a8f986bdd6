package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"tarn/fleet"
	"tarn/store/vfs"
	"tarn/store/vfs/errorfs"
	"tarn/store/vfs/memfs"
	"tarn/store/vfs/recordfs"
)

// export gives moves to an export into a folder, from where the folder ends, until an error.
func export(t testing.TB, o Options, list []*fleet.Move) (err error) {
	t.Helper()
	w, err := openWriter(&o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	x := newOrder(&o, w)
	return tell(t, x, list, landing(list, x.From()))
}

// reference is a chain, its moves, and the folder of an export that nothing interrupts.
func reference(t *testing.T, seed uint64, blocks int) (script, []*fleet.Move, *memfs.FS) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 10))
	s := newScript(r, blocks, 6)
	list := s.moves(r)
	o, disk := options(t)
	if err := export(t, o, list); err != nil {
		t.Fatal(err)
	}
	return s, list, disk
}

// Files say what the final chain's blocks say, however small row groups are; each ends with a multiple of the blocks
// per file.
func TestFilesHaveTheFinalChain(t *testing.T) {
	s, list, disk := reference(t, *seedFlag, 150)
	got := read(t, disk)
	n := len(got.blocks)
	same(t, got, wanted(s.chain()[:n]))
	if final := int(list[len(list)-1].Final.Revision); n != final/20*20 || n < 40 {
		t.Errorf("%d blocks are in files, %d are irreversible", n, final)
	}
	want := "/export/blocks/0000000001-0000000019.parquet"
	if names := complete(disk, "blocks"); names[0] != strings.Replace(want, "19", "20", 1) || len(names) != n/20 {
		t.Errorf("the files are %q", names)
	}
	o, small := options(t)
	o.RowGroup = 500
	if err := export(t, o, list); err != nil {
		t.Fatal(err)
	}
	same(t, read(t, small), got)
	b := small.Blob(complete(small, "rows")[0]).Bytes()
	f, err := parquet.OpenFile(bytes.NewReader(b), int64(len(b)))
	if err != nil || len(f.RowGroups()) < 2 {
		t.Errorf("%d row groups: %v", len(f.RowGroups()), err)
	}
}

// An export that is killed at any change of its files, or that ends as one of them fails, and is started again, leaves
// the files of one that was not.
func TestAKillLosesNothing(t *testing.T) {
	_, list, want := reference(t, *seedFlag, 60)
	for _, killed := range []bool{true, false} {
		ends := 0
		for nth := 1; ; nth++ {
			o, disk := options(t)
			faults := errorfs.New(disk)
			fired := faults.Inject(errorfs.Fault{Ops: errorfs.Change, Nth: nth, Ever: killed, Err: errors.New("broken"),
				Part: nth%2 == 0})
			o.FS = faults
			ended := export(t, o, list)
			if fired() == 0 {
				break
			}
			ends++
			files := disk.Clone()
			o.FS = files
			if err := export(t, o, list); err != nil {
				t.Fatalf("after an end at change %d (%v): %v", nth, ended, err)
			}
			sameFiles(t, files, want)
		}
		if ends < 40 {
			t.Errorf("only %d ends", ends)
		}
	}
}

// A power cut at any moment leaves a folder that an export goes on with, to the same files.
func TestAPowerCutLosesNothing(t *testing.T) {
	_, list, want := reference(t, *seedFlag, 60)
	o, disk := options(t)
	record := recordfs.New(disk)
	o.FS = record
	if err := export(t, o, list); err != nil {
		t.Fatal(err)
	}
	states := 0
	for state := range record.Recording().Some(recordfs.Options{Count: 300, Seed: *seedFlag}) {
		states++
		o.FS = state.FS
		if err := export(t, o, list); err != nil {
			t.Fatalf("%v\n%v", err, state)
		}
		sameFiles(t, state.FS, want)
	}
	t.Logf("%d states", states)
}

// What counts is never lost to an export that fails: what export.json says is there.
func TestWhatCountsIsThere(t *testing.T) {
	_, list, _ := reference(t, *seedFlag, 60)
	o, disk := options(t)
	record := recordfs.New(disk)
	o.FS = record
	if err := export(t, o, list); err != nil {
		t.Fatal(err)
	}
	for state := range record.Recording().Some(recordfs.Options{Count: 300, Seed: *seedFlag + 1}) {
		o.FS = state.FS
		w, err := openWriter(&o)
		if err != nil {
			t.Fatalf("%v\n%v", err, state)
		}
		last, _ := w.written()
		if err := w.close(); err != nil {
			t.Fatal(err)
		}
		if got := read(t, state.FS); len(got.blocks) != int(last.Revision) {
			t.Fatalf("%d blocks are in files, %d count\n%v", len(got.blocks), last.Revision, state)
		}
	}
}

// An export that was started with other sizes goes on with them.
func TestSizesMayChange(t *testing.T) {
	s, list, _ := reference(t, *seedFlag, 150)
	o, disk := options(t)
	if err := export(t, o, list[:len(list)/2]); err != nil {
		t.Fatal(err)
	}
	o.BlocksPerFile = 7
	if err := export(t, o, list); err != nil {
		t.Fatal(err)
	}
	got := read(t, disk)
	same(t, got, wanted(s.chain()[:len(got.blocks)]))
	if n := len(complete(disk, "rows")); n < 6 {
		t.Errorf("%d files", n)
	}
}

// A gap ends its set of files, and the next begins behind it.
func TestAGapIsBetweenFiles(t *testing.T) {
	r := rand.New(rand.NewPCG(*seedFlag, 11))
	s := newScript(r, 100, 0)
	list := s.moves(r)
	o, disk := options(t)
	o.FromHere = true
	w, err := openWriter(&o)
	if err != nil {
		t.Fatal(err)
	}
	x := newOrder(&o, w)
	x.From()
	rest := list[landing(list, 60):]
	if err := errors.Join(tell(t, x, list[:landing(list, 35)], 0), tell(t, x, rest, 0)); err != nil {
		t.Fatal(err)
	}
	last := w.last
	w.until = last.Revision + 1
	if err := w.write(&s[last.Revision]); !errors.Is(err, errEnd) {
		t.Fatal(err)
	}
	if err := w.close(); err != nil {
		t.Fatal(err)
	}
	got := read(t, disk)
	begin := int(rest[0].Base().Revision)
	for _, name := range complete(disk, "rows") {
		var first, end int
		if _, err := fmt.Sscanf(filepath.Base(name), "%d-%d.parquet", &first, &end); err != nil ||
			first <= begin && end > begin {
			t.Errorf("%s has blocks from before and behind block %d: %v", name, begin, err)
		}
	}
	before := slices.IndexFunc(got.blocks, func(b testBlock) bool { return b.Block > 40 })
	same(t, got, wanted(slices.Concat(s[:before], s[begin:last.Revision+1])))
}

func TestFoldersThatAreRefused(t *testing.T) {
	_, list, disk := reference(t, *seedFlag, 60)
	for name, c := range map[string]struct {
		change func(*Options, *memfs.FS)
		want   string
	}{
		"of another ledger": {func(o *Options, _ *memfs.FS) { o.Ledger.name = "other" }, `of ledger "test", not of "other"`},
		"damaged":           {func(_ *Options, d *memfs.FS) { d.Put("/export/export.json", memfs.NewBlob([]byte("{"))) }, "export.json is damaged"},
		"of no set": {func(_ *Options, d *memfs.FS) {
			d.Put("/export/export.json", memfs.NewBlob([]byte(`{"version":1,"ledger":"test","set":0}`)))
		}, "export.json is damaged"},
		"too long":         {func(_ *Options, d *memfs.FS) { d.Put("/export/export.json", memfs.NewBlob(make([]byte, 1<<20))) }, "export.json is damaged"},
		"of a new version": {func(_ *Options, d *memfs.FS) { d.Put("/export/export.json", memfs.NewBlob([]byte(`{"version":2}`))) }, "version 2"},
		"in use": {func(_ *Options, d *memfs.FS) {
			if _, _, err := d.Lock("/export/LOCK", true); err != nil {
				t.Fatal(err)
			}
		}, vfs.ErrLocked.Error()},
		"with files that do not count": {func(_ *Options, d *memfs.FS) {
			if err := d.Remove("/export/export.json"); err != nil {
				t.Fatal(err)
			}
		}, "is there already"},
	} {
		o, _ := options(t)
		d := disk.Clone()
		o.FS = d
		c.change(&o, d)
		before := len(complete(d, "blocks"))
		if err := export(t, o, list); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if len(complete(d, "blocks")) != before {
			t.Errorf("%s: files are gone", name)
		}
	}
}

// A block that is none of the ledger's is an error that names it.
func TestABlockOfAnotherLedgerIsRefused(t *testing.T) {
	s, _, _ := reference(t, *seedFlag, 30)
	o, _ := options(t)
	for name, change := range map[string]func(*fleet.Block){
		"no record": func(b *fleet.Block) { b.Records = nil },
		"no rows":   func(b *fleet.Block) { b.Rows = []byte{3, 1, 2} },
	} {
		chain := s.chain()
		change(&chain[4])
		err := export(t, o, []*fleet.Move{{Final: chain[9].Point, Blocks: chain}})
		if !errors.Is(err, fleet.ErrDamaged) || !strings.Contains(err.Error(), "export block 5 (") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
