package lsmtest

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"tarn/store"
	"tarn/store/lsm"
)

// Failing makes a base go on after a failure of its disk as it must: what was read
// can still be read, no batch is taken, closing ends, and the next opening finds
// one of the two images. rows is how many there are in the batch that fails.
//
// open opens a base in a folder; from a call of fail on, what the library writes
// where it must not fail does, until heal.
func Failing(t *testing.T, l Library, open func(dir string) (lsm.Base, error), fail, heal func(), rows int) {
	t.Helper()
	dir := t.TempDir()
	must(t, l.engine(t, dir).Close())
	b, err := open(dir)
	must(t, err)
	old, young := model{}, model{}
	old.commit(t, b, map[string][]byte{string(key(1)): []byte("old"), string(key(2)): []byte("old")})
	s, err := b.Snapshot()
	must(t, err)
	defer heal()
	w, err := b.Batch(int64(rows) * 200)
	must(t, err)
	fail()
	failed := false
	for n := range rows {
		k, v := fmt.Appendf(nil, "\x00\x01%08d", n), bytes.Repeat([]byte{byte(n)}, 150)
		if err = w.Put(k, v); err != nil {
			failed = true
			break
		}
		young[string(k)] = string(v)
	}
	if failed {
		w.Discard()
	} else {
		err = w.Commit()
	}
	if err == nil {
		t.Fatal("the batch was committed")
	}
	for k, v := range old {
		young[k] = v
	}
	old.check(t, s)
	if _, again := b.Batch(100); !errors.Is(again, store.ErrFailed) && errors.Is(err, store.ErrFailed) {
		t.Errorf("after %v the next batch is taken: %v", err, again)
	}
	must(t, s.Close())
	closed := make(chan error, 1)
	go func() { closed <- b.Close() }()
	select {
	case <-closed: // what it says of its logs does not matter any more
	case <-time.After(2 * time.Minute):
		t.Fatal("closing does not end")
	}
	heal()
	b, err = l.Open(dir, false)
	must(t, err)
	s, err = b.Snapshot()
	must(t, err)
	if _, err := s.Get(nil, fmt.Appendf(nil, "\x00\x01%08d", 0)); err == nil {
		young.check(t, s)
	} else {
		old.check(t, s)
	}
	must(t, s.Close())
	old.commit(t, b, map[string][]byte{string(key(1)): []byte("new")})
	must(t, b.Close())
}
