package badger

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"tarn/store"
	"tarn/store/lsm"
	"tarn/store/lsm/lsmtest"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// beginStore opens a base in a store that an engine has begun.
func beginStore(t *testing.T, dir string, cache int64) *Base {
	t.Helper()
	b, err := Open(Options{Dir: dir, CacheBytes: cache})
	must(t, err)
	if !b.folder.New() {
		return b
	}
	e, err := lsm.Open(b, lsm.Options{})
	must(t, err)
	must(t, e.Close())
	return beginStore(t, dir, cache)
}

func rowKey(n int) []byte { return fmt.Appendf(nil, "\x00\x01%08d", n) }

func write(t *testing.T, b *Base, w lsm.Batch, from, to int, value string) lsm.Batch {
	t.Helper()
	if w == nil {
		var err error
		w, err = b.Batch(int64(to-from) * 200)
		must(t, err)
	}
	for n := from; n < to; n++ {
		must(t, w.Put(rowKey(n), fmt.Appendf(nil, "%s %0180d", value, n)))
	}
	return w
}

// want checks that the rows up to a number, and no others, have a value.
func want(t *testing.T, b *Base, rows int, value string) {
	t.Helper()
	s, err := b.Snapshot()
	must(t, err)
	defer s.Close()
	c, err := s.Cursor([]byte{0, 1}, []byte{0xff})
	must(t, err)
	defer c.Close()
	n := 0
	for ok := c.First(); ok; ok = c.Next() {
		if !bytes.Equal(c.Key(), rowKey(n)) || !bytes.HasPrefix(c.Value(), []byte(value+" ")) {
			t.Fatalf("row %d is %s=%.20s, should have value %s", n, c.Key(), c.Value(), value)
		}
		n++
	}
	must(t, c.Err())
	if n != rows {
		t.Fatalf("%d rows, should be %d", n, rows)
	}
	if _, err := s.Get(nil, rowKey(rows)); !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("the row after the last: %v", err)
	}
}

func TestHalfAFlushIsNeverSeen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	b := beginStore(t, dir, lsm.MinCache)
	must(t, write(t, b, nil, 0, 1000, "old").Commit())
	sent := b.begin()
	write(t, b, sent, 0, 50_000, "half")
	must(t, sent.send())
	want(t, b, 1000, "old")
	// A second one, as if taking the first back had been interrupted too.
	again := b.begin()
	write(t, b, again, 500, 2000, "second half")
	must(t, again.send())
	crashed := dir + ".crashed"
	lsmtest.Crash(t, dir, crashed)
	must(t, b.Close())

	c := beginStore(t, crashed, lsm.MinCache)
	want(t, c, 1000, "old")
	if c.leftover {
		t.Error("something is left above the marker")
	}
	must(t, write(t, c, nil, 0, 1000, "new").Commit())
	want(t, c, 1000, "new")
	must(t, c.Close())
	c = beginStore(t, crashed, lsm.MinCache)
	want(t, c, 1000, "new")
	must(t, c.Close())
}

func TestAFlushThatFailedIsTakenBackBeforeTheNext(t *testing.T) {
	b := beginStore(t, t.TempDir(), lsm.MinCache)
	must(t, write(t, b, nil, 0, 10, "old").Commit())
	w := write(t, b, nil, 0, 50_000, "failed")
	w.Discard()
	want(t, b, 10, "old")
	w = write(t, b, nil, 5, 10, "new")
	for n := range 5 {
		must(t, w.(*batch).Put(append(rowKey(n), 'x'), nil))
	}
	must(t, w.Commit())
	s, err := b.Snapshot()
	must(t, err)
	for n := range 10 {
		v, err := s.Get(nil, rowKey(n))
		if value := []string{"old", "new"}[n/5]; err != nil || !bytes.HasPrefix(v, []byte(value+" ")) {
			t.Errorf("row %d is %.20s, %v", n, v, err)
		}
	}
	if _, err := s.Get(nil, rowKey(11)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a row of the failed flush: %v", err)
	}
	must(t, s.Close())
	must(t, b.Close())
}

func TestASmallerCacheOpensLargerLogs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	b := beginStore(t, dir, 1<<30)
	must(t, write(t, b, nil, 0, 100_000, "large").Commit())
	lsmtest.Crash(t, dir, dir+".crashed")
	must(t, b.Close())
	c := beginStore(t, dir+".crashed", lsm.MinCache)
	want(t, c, 100_000, "large")
	must(t, c.Close())
}

func TestLogsWithoutAByteAreNoDamage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	b := beginStore(t, dir, lsm.MinCache)
	must(t, write(t, b, nil, 0, 100, "row").Commit())
	lsmtest.Crash(t, dir, dir+".crashed")
	must(t, b.Close())
	for _, name := range []string{"00077.mem", "000077.vlog"} {
		must(t, os.WriteFile(filepath.Join(dir+".crashed", Kind, name), nil, 0o644))
	}
	c := beginStore(t, dir+".crashed", lsm.MinCache)
	want(t, c, 100, "row")
	must(t, c.Close())
}
