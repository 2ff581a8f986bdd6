package leveldb

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	goleveldb "github.com/syndtr/goleveldb/leveldb"
	"github.com/syndtr/goleveldb/leveldb/storage"

	"tarn/store"
	"tarn/store/lsm"
	"tarn/store/lsm/lsmtest"
)

var errKilled = errors.New("killed")

// killedStorage changes its folder so many times more, as a process does that is killed then.
type killedStorage struct {
	storage.Storage
	left   int
	killed bool
}

// change tells whether the process still lives.
func (k *killedStorage) change() error {
	if k.left <= 0 {
		k.killed = true
		return errKilled
	}
	k.left--
	return nil
}

func (k *killedStorage) SetMeta(fd storage.FileDesc) error {
	if err := k.change(); err != nil {
		return err
	}
	return k.Storage.SetMeta(fd)
}

func (k *killedStorage) Remove(fd storage.FileDesc) error {
	if err := k.change(); err != nil {
		return err
	}
	return k.Storage.Remove(fd)
}

func (k *killedStorage) Rename(from, to storage.FileDesc) error {
	if err := k.change(); err != nil {
		return err
	}
	return k.Storage.Rename(from, to)
}

func (k *killedStorage) Create(fd storage.FileDesc) (storage.Writer, error) {
	if err := k.change(); err != nil {
		return nil, err
	}
	w, err := k.Storage.Create(fd)
	return &killedWriter{w, k}, err
}

type killedWriter struct {
	storage.Writer
	from *killedStorage
}

func (w *killedWriter) Write(p []byte) (int, error) {
	if err := w.from.change(); err != nil {
		return 0, err
	}
	return w.Writer.Write(p)
}

// torn makes a store of two revisions, whose log ends with half of a third one.
func torn(t *testing.T, dir string) {
	t.Helper()
	e := openEngine(t, dir)
	table, err := e.CreateTable("t")
	if err != nil {
		t.Fatal(err)
	}
	for revision := range uint64(3) {
		if revision == 2 {
			lsmtest.Crash(t, dir, dir+".durable")
		}
		for n := range 100 {
			if err := e.Put(table, fmt.Append(nil, n), fmt.Append(nil, revision), nil); err != nil {
				t.Fatal(err)
			}
		}
		c, err := e.Checkpoint(store.Image{Head: revision + 1, Irreversible: revision + 1})
		if err := errors.Join(err, c.Wait()); err != nil {
			t.Fatal(err)
		}
	}
	logs, err := filepath.Glob(filepath.Join(dir, Kind, "*.log"))
	if err != nil || len(logs) == 0 {
		t.Fatal("there is no log", err)
	}
	log := slices.Max(logs)
	whole, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	durable := filepath.Join(dir+".durable", Kind, filepath.Base(log))
	before, err := os.Stat(durable)
	if err != nil {
		t.Fatal(err)
	}
	half := before.Size() + (int64(len(whole))-before.Size())/2
	if err := errors.Join(os.WriteFile(durable, whole[:half], 0o600), e.Close(), os.RemoveAll(dir),
		os.Rename(dir+".durable", dir)); err != nil {
		t.Fatal(err)
	}
}

func openEngine(t *testing.T, dir string) *lsm.Engine {
	t.Helper()
	b, err := Open(Options{Dir: dir, CacheBytes: lsm.MinCache})
	if err != nil {
		t.Fatal(err)
	}
	e, err := lsm.Open(b, lsm.Options{CacheBytes: lsm.MinCache, OverlayBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// openUntil lets the library open a folder until it has changed it so many times.
func openUntil(t *testing.T, dir string, changes int) (ended bool) {
	t.Helper()
	f, err := openFiles(filepath.Join(dir, Kind), false)
	if err != nil {
		t.Fatal(err)
	}
	process := &killedStorage{Storage: f.Storage, left: changes}
	f.Storage = process
	db, err := goleveldb.Open(f, Options{CacheBytes: lsm.MinCache}.library())
	if err == nil {
		err = db.Close()
	}
	if err != nil && !process.killed { // the library's errors do not wrap
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return !process.killed
}

// What a killed opening leaves is opened by the next: above all the log that ended in the middle of a record when the
// opening began, and behind which it has made an empty one; and again after a second killed opening.
func TestAnOpeningMayBeKilledAnywhere(t *testing.T) {
	whole := filepath.Join(t.TempDir(), "whole")
	torn(t, whole)
	tried := 0
	for changes := 0; ; changes++ {
		for again := range 8 {
			dir := filepath.Join(t.TempDir(), "store")
			lsmtest.Crash(t, whole, dir)
			ended := openUntil(t, dir, changes)
			openUntil(t, dir, again)
			e := openEngine(t, dir)
			v, err := e.Get(1, []byte("7"))
			head := e.Recovered().Head
			if err != nil || string(v) != "1" || head != 2 {
				t.Errorf("killed after %d changes, and after %d: row is %q, revision %d: %v", changes, again, v, head, err)
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
			if tried++; ended {
				t.Logf("%d openings were killed twice", tried)
				return
			}
		}
	}
}

// A log that has lost a record that was durable is named, though a killed opening has made an empty one behind it.
func TestALogThatLostItsEndIsNamedBeforeAnEmptyOne(t *testing.T) {
	whole := filepath.Join(t.TempDir(), "whole")
	torn(t, whole)
	logs, err := filepath.Glob(filepath.Join(whole, Kind, "*.log"))
	if err != nil || len(logs) == 0 {
		t.Fatal("there is no log", err)
	}
	log := filepath.Base(slices.Max(logs))
	b, err := os.ReadFile(filepath.Join(whole, Kind, log))
	if err != nil {
		t.Fatal(err)
	}
	end, _ := soundEnd(b)
	boundary, _ := soundEnd(b[:end-1])
	for _, size := range []int{boundary, boundary + 3, end - 1} {
		dir := filepath.Join(t.TempDir(), "store")
		lsmtest.Crash(t, whole, dir)
		if err := errors.Join(os.WriteFile(filepath.Join(dir, Kind, log), b[:size], 0o600),
			os.WriteFile(filepath.Join(dir, Kind, "000077.log"), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		_, err := Open(Options{Dir: dir, CacheBytes: lsm.MinCache})
		var damage *store.CorruptError
		if !errors.As(err, &damage) || filepath.Base(damage.Path) != log {
			t.Errorf("cut at %d of %d: %v", size, len(b), err)
		}
	}
}
