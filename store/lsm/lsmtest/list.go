package lsmtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tarn/internal/seeded"
	"tarn/store"
)

// cutList cuts the library's list of its files everywhere, while the newest flush is in a log: the head row is there,
// whatever tables the list has lost. Somebody says so, and names the list, or no row is missing. What writes is closed,
// or killed, before a flush and after it.
func (l Library) cutList(t *testing.T) {
	r := seeded.Random(t, 1)
	cuts := 30
	if testing.Short() {
		cuts = 4
	}
	for round := range 16 {
		// An opening writes what logs have into tables.
		flushes, openings, crash := round%4, round/4%2, round/8 > 0
		dir := t.TempDir()
		whole := filepath.Join(dir, "whole")
		states := l.fillStore(t, whole, 3, true)
		for range openings {
			must(t, l.engine(t, whole).Close())
		}
		want := l.flushAgain(t, whole, states[2], flushes, crash)
		list := listFile(t, whole)
		b, err := os.ReadFile(filepath.Join(whole, list))
		must(t, err)
		named, tried := 0, 0
		for _, at := range append(r.Perm(len(b))[:min(len(b), cuts)], 0, len(b)-1) {
			cut := filepath.Join(dir, "cut")
			Crash(t, whole, cut)
			must(t, os.WriteFile(filepath.Join(cut, list), b[:at], 0o600))
			m, _, err := l.reopen(cut)
			must(t, os.RemoveAll(cut))
			tried++
			what := fmt.Sprintf("%d openings, %d flushes, crash %v: %s cut at %d of %d",
				openings, flushes, crash, list, at, len(b))
			switch {
			case errors.Is(err, store.ErrCorrupt) && strings.Contains(err.Error(), "MANIFEST"):
				named++
			case err != nil:
				t.Errorf("%s: the error does not name the file: %v", what, err)
			case !same(m, want):
				t.Fatalf("%s: %d rows of %d, or others, and nobody said so", what, len(m), len(want))
			}
		}
		t.Logf("%d openings, %d flushes, crash %v: %d of %d named, the rest harmless",
			openings, flushes, crash, named, tried)
	}
}

// flushAgain makes flushes in a store that has rows already, and returns the rows.
func (l Library) flushAgain(t *testing.T, dir string, rows model, flushes int, crash bool) model {
	t.Helper()
	want := clone(rows)
	e := l.engine(t, dir)
	for i := range flushes {
		rows, size := 1, 5
		if i == 1 { // too large for a log
			rows, size = 2000, 1000
		}
		for n := range rows {
			k, v := fmt.Sprintf("%04d", n), fmt.Sprintf("%0*d", size, i)
			must(t, e.Put(1, []byte(k), []byte(v), nil))
			want[k] = v
		}
		flush(t, e, uint64(4+i))
	}
	leave(t, e, dir, crash)
	return want
}

// listFile is the newest list's, in a store's folder.
func listFile(t testing.TB, dir string) (newest string) {
	t.Helper()
	for _, name := range libraryFiles(t, dir) {
		if strings.HasPrefix(filepath.Base(name), "MANIFEST") && !strings.HasSuffix(name, ".bak") {
			newest = max(newest, name)
		}
	}
	if newest == "" {
		t.Fatal("no list")
	}
	return newest
}
