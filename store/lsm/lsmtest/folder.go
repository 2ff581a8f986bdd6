package lsmtest

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tarn/internal/seeded"
	"tarn/store"
	"tarn/store/lsm"
)

// fillStore makes a store of a few flushes with an engine, and returns the rows
// after each revision; the store is closed, or left as a crash would leave it.
func (l Library) fillStore(t *testing.T, dir string, flushes int, crash bool) []model {
	t.Helper()
	r := seeded.Random(t, 1)
	e := l.engine(t, dir)
	table, err := e.CreateTable("t")
	must(t, err)
	states := []model{}
	now := model{}
	for rev := uint64(1); rev <= uint64(flushes); rev++ {
		for range 300 {
			long := r.IntN(20) / 19 * 4000 // a library may keep long values elsewhere
			k, v := fmt.Sprintf("%04d", r.IntN(2000)), fmt.Sprintf("%d %0*d", rev, long+r.IntN(300), r.IntN(1000))
			must(t, e.Put(table, []byte(k), []byte(v), nil))
			now[k] = v
		}
		flush(t, e, rev)
		states = append(states, clone(now))
	}
	leave(t, e, dir, crash)
	return states
}

// flush makes a revision durable.
func flush(t testing.TB, e *lsm.Engine, rev uint64) {
	t.Helper()
	c, err := e.Checkpoint(store.Image{Head: rev, Irreversible: rev})
	must(t, err)
	must(t, c.Wait())
}

// leave closes a store, or leaves its folder as a crash would.
func leave(t testing.TB, e *lsm.Engine, dir string, crash bool) {
	t.Helper()
	if !crash {
		must(t, e.Close())
		return
	}
	crashed := dir + ".crashed"
	Crash(t, dir, crashed)
	must(t, e.Close())
	must(t, os.RemoveAll(dir))
	must(t, os.Rename(crashed, dir))
}

func clone(m model) model {
	c := model{}
	for k, v := range m {
		c[k] = v
	}
	return c
}

func (l Library) engine(t testing.TB, dir string) *lsm.Engine {
	t.Helper()
	b, err := l.Open(dir, false)
	must(t, err)
	e, err := lsm.Open(b, lsm.Options{CacheBytes: lsm.MinCache, OverlayBytes: 1 << 20})
	must(t, err)
	return e
}

// Crash copies what a crash at this moment would leave of a folder: what has been
// written, synced or not, holes kept. It waits for a moment in which the library
// makes and removes no files.
func Crash(t testing.TB, from, to string) {
	t.Helper()
	for range 100 {
		before := names(t, from)
		err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name := filepath.Join(to, strings.TrimPrefix(path, from))
			if d.IsDir() {
				return os.MkdirAll(name, 0o755)
			}
			return copyFile(path, name)
		})
		if err == nil && before == names(t, from) {
			return
		}
		if !errors.Is(err, fs.ErrNotExist) {
			must(t, err)
		}
		must(t, os.RemoveAll(to))
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("%s is never quiet", from)
}

// names lists the files of a folder, with their sizes and times.
func names(t testing.TB, dir string) string {
	t.Helper()
	var list strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			fmt.Fprintf(&list, "%s %d %v\n", path, info.Size(), info.ModTime())
		}
		return err
	})
	if !errors.Is(err, fs.ErrNotExist) {
		must(t, err)
	}
	return list.String()
}

func copyFile(from, to string) error {
	b, size, err := readUsed(from)
	if err != nil {
		return err
	}
	return write(to, b, size)
}

// readUsed reads a file up to its last byte that is not zero, without reading the
// hole that may follow, and tells its size.
func readUsed(path string) ([]byte, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	end := int64(0)
	for at := int64(0); at < info.Size(); at = end {
		if at, err = unix.Seek(int(f.Fd()), at, unix.SEEK_DATA); errors.Is(err, unix.ENXIO) {
			break
		} else if err != nil {
			return nil, 0, err
		}
		if end, err = unix.Seek(int(f.Fd()), at, unix.SEEK_HOLE); err != nil {
			return nil, 0, err
		}
	}
	b := make([]byte, min(end, info.Size()))
	if _, err := f.ReadAt(b, 0); err != nil {
		return nil, 0, err
	}
	return bytes.TrimRight(b, "\x00"), info.Size(), nil
}

// write makes a file of the bytes, and of zeros up to size.
func write(path string, b []byte, size int64) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Truncate(max(size, int64(len(b)))), f.Close())
}

// fingerprint is of all files in a folder but the lock, and of their names.
func fingerprint(t testing.TB, dir string) string {
	t.Helper()
	h := sha256.New()
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "LOCK" || d.Name() == "LOG" {
			return err
		}
		b, size, err := readUsed(path)
		fmt.Fprintf(h, "%s %d %x\n", path, size, sha256.Sum256(b))
		return err
	}))
	return fmt.Sprintf("%x", h.Sum(nil))
}

// reopen opens a folder and reads everything. It returns the rows and the
// revision, or the first error.
func (l Library) reopen(dir string) (model, uint64, error) {
	b, err := l.Open(dir, false)
	if err != nil {
		return nil, 0, err
	}
	e, err := lsm.Open(b, lsm.Options{CacheBytes: lsm.MinCache, OverlayBytes: 1 << 20})
	if err != nil {
		return nil, 0, err
	}
	m, err := readAll(e)
	return m, e.Durable().Head, errors.Join(err, e.Close())
}

func readAll(e *lsm.Engine) (model, error) {
	m := model{}
	c, err := e.Cursor(1)
	if err != nil {
		return nil, err
	}
	for ok := c.First(); ok; ok = c.Next() {
		m[string(c.Key())] = string(c.Value())
	}
	if err := errors.Join(c.Err(), c.Close()); err != nil {
		return nil, err
	}
	for k, v := range m {
		got, err := e.Get(1, []byte(k))
		if err != nil {
			return nil, err
		}
		if string(got) != v {
			return nil, fmt.Errorf("row %s is %q to a get and %q to a cursor", k, got, v)
		}
	}
	for i := range 2000 {
		k := fmt.Sprintf("%04d", i)
		if _, ok := m[k]; ok {
			continue
		}
		if v, err := e.Get(1, []byte(k)); !errors.Is(err, store.ErrNotFound) {
			return nil, fmt.Errorf("row %s is %q (%w) to a get and missing to a cursor", k, v, err)
		}
	}
	return m, nil
}

func same(a, b model) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if w, ok := b[k]; !ok || v != w {
			return false
		}
	}
	return true
}

func (l Library) testLock(t *testing.T) {
	dir := t.TempDir()
	b := l.open(t, dir)
	for _, readOnly := range []bool{false, true} {
		_, err := l.Open(dir, readOnly)
		var locked *store.LockedError
		if !errors.As(err, &locked) || locked.PID != os.Getpid() {
			t.Errorf("second opener, read-only %v: %v", readOnly, err)
		}
	}
	must(t, b.Close())
	must(t, l.open(t, dir).Close())
}

func (l Library) readOnly(t *testing.T) {
	dir := t.TempDir()
	if _, err := l.Open(filepath.Join(dir, "none"), true); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a store that is not there: %v", err)
	}
	for _, crash := range []bool{false, true} {
		dir := t.TempDir()
		states := l.fillStore(t, dir, 3, crash)
		before := fingerprint(t, dir)
		a, err := l.Open(dir, true)
		if crash && l.RefusesDirtyReading {
			if err == nil {
				t.Error("a crashed store was opened for reading")
			}
			continue
		}
		must(t, err)
		b, err := l.Open(dir, true)
		must(t, err)
		e, err := lsm.Open(a, lsm.Options{CacheBytes: lsm.MinCache})
		must(t, err)
		if m, err := readAll(e); err != nil || !same(m, states[2]) {
			t.Errorf("rows differ: %v", err)
		}
		if err := e.Put(1, []byte("k"), nil, nil); !errors.Is(err, store.ErrReadOnly) {
			t.Errorf("put: %v", err)
		}
		if _, err := l.Open(dir, false); !errors.Is(err, store.ErrLocked) {
			t.Errorf("a writer beside readers: %v", err)
		}
		must(t, e.Close())
		must(t, b.Close())
		if fingerprint(t, dir) != before {
			t.Error("reading has changed the files")
		}
	}
}

// behind puts the library's files of an older flush under a newer seal.
func (l Library) behind(t *testing.T) {
	dir := t.TempDir()
	old, young := filepath.Join(dir, "old"), filepath.Join(dir, "young")
	l.fillStore(t, old, 2, false)
	Crash(t, old, young)
	e := l.engine(t, young)
	flush(t, e, 9)
	must(t, e.Close())
	seals, err := filepath.Glob(filepath.Join(young, "*", "SEAL"))
	if must(t, err); len(seals) == 0 {
		t.Fatal("the library has no seal")
	}
	for _, seal := range seals {
		b, err := os.ReadFile(seal)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(old, filepath.Base(filepath.Dir(seal)), "SEAL"), b, 0o644))
	}
	before := fingerprint(t, old)
	if _, _, err := l.reopen(old); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("opened, or: %v", err)
	}
	if fingerprint(t, old) != before {
		t.Error("refusing it has changed the files")
	}
}

// damage flips bits and cuts files all over a store. Either somebody says so, and names the
// file, or the rows are those of the newest flush.
func (l Library) damage(t *testing.T) {
	rounds := *damageFlag
	for _, crash := range []bool{false, true} {
		r := seeded.Random(t, 1)
		whole := filepath.Join(t.TempDir(), "whole")
		states := l.fillStore(t, whole, 4, crash)
		files := libraryFiles(t, whole)
		found := 0
		for round := range rounds {
			dir := filepath.Join(t.TempDir(), "damaged")
			Crash(t, whole, dir)
			name := files[r.IntN(len(files))]
			path := filepath.Join(dir, name)
			b, size, err := readUsed(path)
			must(t, err)
			if len(b) == 0 {
				continue
			}
			at := r.IntN(len(b))
			what := fmt.Sprintf("round %d: %s cut at %d of %d", round, name, at, len(b))
			if r.IntN(8) == 0 {
				b, size = b[:at], 0
			} else {
				bit := byte(1) << r.IntN(8)
				b[at] ^= bit
				what = fmt.Sprintf("round %d: %s, bit %#x of byte %d of %d", round, name, bit, at, len(b))
			}
			must(t, write(path, b, size))
			m, head, err := l.reopen(dir)
			must(t, os.RemoveAll(dir))
			if err != nil {
				found++
				if kind, _, _ := strings.Cut(filepath.Base(name), "-"); !strings.Contains(err.Error(), kind) {
					t.Errorf("%s: the error does not name the file: %v", what, err)
				}
				continue
			}
			if head != uint64(len(states)) || !same(m, states[len(states)-1]) {
				t.Errorf("%s: opened at revision %d with other rows, and nobody said so", what, head)
			}
		}
		t.Logf("crash %v: %d of %d found, the rest harmless", crash, found, rounds)
		if found < rounds/10 {
			t.Errorf("only %d of %d were found", found, rounds)
		}
	}
}

// libraryFiles are the names of all files but the lock.
func libraryFiles(t testing.TB, dir string) []string {
	t.Helper()
	var files []string
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "LOCK" || d.Name() == "LOG" {
			return err
		}
		files = append(files, strings.TrimPrefix(path, dir))
		return nil
	}))
	return files
}

// cut interrupts the writing of a flush at every point that a log can end at:
// the library's files grow from what they were after one flush to what they were
// after the next, and the seal still tells the first.
func (l Library) cut(t *testing.T) {
	r := seeded.Random(t, 1)
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	states := l.fillStore(t, one, 3, true)
	Crash(t, one, two)
	e := l.engine(t, two)
	now := clone(states[2])
	for i := range 400 {
		k, v := fmt.Sprintf("%04d", r.IntN(2000)), fmt.Sprintf("next %d", i)
		must(t, e.Put(1, []byte(k), []byte(v), nil))
		now[k] = v
	}
	before := filepath.Join(dir, "before")
	Crash(t, two, before)
	flush(t, e, 4)
	after := filepath.Join(dir, "after")
	Crash(t, two, after)
	must(t, e.Close())

	tried := 0
	for _, name := range libraryFiles(t, after) {
		if strings.HasSuffix(name, "SEAL") {
			continue
		}
		a, size, err := readUsed(filepath.Join(before, name))
		b, _, _ := readUsed(filepath.Join(after, name)) //nolint:errcheck // it may be gone
		if err != nil || len(a) >= len(b) || bytes.Equal(a, b) {
			continue
		}
		from := 0
		for from < len(a) && a[from] == b[from] {
			from++
		}
		end := len(b)
		for range 25 {
			at := from + r.IntN(end-from)
			torn := filepath.Join(dir, "torn")
			Crash(t, before, torn)
			must(t, write(filepath.Join(torn, name), b[:at], size))
			m, head, err := l.reopen(torn)
			must(t, os.RemoveAll(torn))
			tried++
			switch {
			case err != nil:
				t.Errorf("%s written up to %d of %d..%d: %v", name, at, from, end, err)
			case head == 3 && same(m, states[2]), head == 4 && same(m, now):
			default:
				t.Errorf("%s written up to %d of %d..%d: opened at revision %d with %d rows",
					name, at, from, end, head, len(m))
			}
		}
	}
	if tried == 0 {
		t.Error("no log grew")
	}
}
