package engine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tarn/store"
	"tarn/store/vfs/memfs"
	"tarn/store/vfs/recordfs"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// create makes an empty store of a kind and closes it.
func create(t *testing.T, dir string, k Kind) {
	t.Helper()
	s, err := Open(dir, Options{Kind: k})
	check(t, err)
	check(t, s.Close())
}

func TestAStoreIsKnownByItsFolder(t *testing.T) {
	for _, k := range Kinds() {
		dir := filepath.Join(t.TempDir(), "store")
		create(t, dir, k)
		if got, err := Detect(dir); got != k || err != nil {
			t.Fatalf("a %s store is taken for %q, %v", k, got, err)
		}
		s, err := Open(dir, Options{}) // its kind need not be named again
		check(t, err)
		if got := s.Stats().Engine; got != string(k) {
			t.Errorf("a %s store calls itself %q", k, got)
		}
		check(t, s.Close())
	}
}

func TestAFolderWithoutAStoreIsSaidToBeOne(t *testing.T) {
	empty := t.TempDir()
	for _, dir := range []string{empty, filepath.Join(empty, "nowhere")} {
		if _, err := Detect(dir); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), dir) {
			t.Errorf("detect: %v", err)
		}
		if _, err := Open(dir, Options{}); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("open without a kind: %v", err)
		}
		if _, err := Open(dir, Options{Kind: Page, ReadOnly: true}); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("open for reading: %v", err)
		}
	}
	if entries, err := os.ReadDir(empty); err != nil || len(entries) > 0 {
		t.Errorf("looking left %v, %v", entries, err)
	}
	file := filepath.Join(empty, "file")
	check(t, os.WriteFile(file, nil, 0o644))
	if _, err := Detect(file); err == nil {
		t.Error("a file passes for a store's folder")
	}
}

func TestAnotherEnginesStoreIsRefused(t *testing.T) {
	dir := t.TempDir()
	create(t, dir, Page)
	_, err := Open(dir, Options{Kind: Pebble})
	if !errors.Is(err, store.ErrFormat) || !strings.Contains(err.Error(), "holds a page store, not pebble") {
		t.Errorf("%v", err)
	}
	check(t, os.Mkdir(filepath.Join(dir, "badger"), 0o755))
	if _, err := Open(dir, Options{}); !errors.Is(err, store.ErrFormat) ||
		!strings.Contains(err.Error(), "[page badger]") {
		t.Errorf("two stores in a folder: %v", err)
	}
}

func TestOptionsAreRefusedAllAtOnce(t *testing.T) {
	_, err := Open(t.TempDir(), Options{Kind: "paper", LimitBytes: -1, GuardBytes: -2, PrivateBytes: -3, CacheBytes: -4,
		OverlayBytes: -5})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{`unknown engine "paper": page, leveldb, pebble or badger`,
		"limit of -1", "guard of -2", "private memory of -3", "cache of -4", "overlay of -5"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %q", want, err)
		}
	}
	for _, m := range Modes() {
		if got, err := ParseMode(m.String()); got != m || err != nil {
			t.Errorf("mode %v reads as %v, %v", m, got, err)
		}
	}
	if _, err := ParseMode("paper"); err == nil {
		t.Error("a map mode paper")
	}
}

// The mark must be there before anything that it warns of, and gone with what it
// warned of: in every crash state.
func TestTheMarkOfAnUnfinishedStoreIsDurable(t *testing.T) {
	const dir = "/deep/store"
	disk := recordfs.New(memfs.New())
	check(t, markUnfinished(disk, dir, []byte("first")))
	marked := disk.Position()
	check(t, markUnfinished(disk, dir, []byte("second")))
	again := disk.Position()
	check(t, markFinished(disk, dir))
	finished := disk.Position()
	for s := range disk.Recording().States(recordfs.Options{From: marked, Count: 1000, Seed: 1}) {
		note := "none"
		if b := s.FS.Blob(filepath.Join(dir, unfinishedFile)); b != nil {
			note = string(b.Bytes())
		}
		second, none := note == "second", note == "none"
		if !(note == "first" && s.At < again || second && s.At < finished || none && s.At > again) {
			t.Fatalf("note %q\n%v", note, s)
		}
	}
}

// A mark whose remover was killed before its sync must not come back once somebody
// has gone on to work with the store.
func TestAMarkThatWasTakenAwayStaysAway(t *testing.T) {
	const dir = "/store"
	disk := recordfs.New(memfs.New())
	check(t, markUnfinished(disk, dir, []byte("note")))
	check(t, disk.Remove(filepath.Join(dir, unfinishedFile)))
	check(t, checkFinished(disk, dir, false))
	for s := range disk.Recording().States(recordfs.Options{From: disk.Position(), Count: 100, Seed: 1}) {
		check(t, checkFinished(s.FS, dir, true))
	}
}

func TestAnUnfinishedStoreOpensOnlyForThoseWhoFinishIt(t *testing.T) {
	for _, k := range Kinds() {
		dir := filepath.Join(t.TempDir(), "deep", "store")
		check(t, MarkUnfinished(dir, []byte("first")))
		check(t, MarkUnfinished(dir, []byte("second")))
		if note, err := Unfinished(dir); string(note) != "second" || err != nil {
			t.Fatalf("note %q, %v", note, err)
		}
		if _, err := Open(dir, Options{Kind: k}); !errors.Is(err, store.ErrFormat) ||
			!strings.Contains(err.Error(), "has not finished") {
			t.Fatalf("%v", err)
		}
		s, err := Open(dir, Options{Kind: k, Unfinished: true})
		check(t, err)
		check(t, s.Close())
		check(t, Remove(dir))
		if _, err := Detect(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("removed, and still there: %v", err)
		}
		s, err = Open(dir, Options{Kind: k, Unfinished: true})
		check(t, err)
		check(t, s.Close())
		check(t, MarkFinished(dir))
		create(t, dir, k) // opens the one that is there
		if err := Remove(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("a finished store was removed: %v", err)
		}
		if got, err := Detect(dir); got != k || err != nil {
			t.Fatalf("%v, %v", got, err)
		}
	}
}
