package appendonly

import (
	"errors"
	"sync"
	"testing"

	"tarn/store/vfs/memfs"
)

// Readers find what was there when they began, while entries are appended, synced from
// elsewhere, sorted and merged.
func TestReadersRunBesideTheWriter(t *testing.T) {
	mem := memfs.New()
	o := smallLog(mem)
	o.SegmentBytes = 2000
	l, err := OpenLog(o)
	check(t, err)
	xo := smallIndex(mem, l)
	xo.Keys = func(number uint64, _ []byte, emit func(key, value []byte)) error {
		emit([]byte("all"), nil)
		return nil
	}
	x, err := OpenIndex(xo)
	check(t, err)
	add := func() {
		number, err := l.Append(entryOf(l.Next(), 0))
		check(t, err)
		check(t, x.Add(number, nil))
	}
	add()
	done := make(chan struct{})
	var readers sync.WaitGroup
	read := func(work func() error) {
		readers.Add(1)
		go func() {
			defer readers.Done()
			for {
				if err := work(); err != nil {
					t.Error(err)
					return
				}
				select {
				case <-done:
					return
				default:
				}
			}
		}()
	}
	read(l.Sync)
	read(func() error {
		next, want := l.Next()-1, uint64(7) // the last one may not be in the index yet
		err := x.Find([]byte("all"), 7, func(number uint64, _ []byte) bool {
			if number == want {
				want++
			}
			return true
		})
		if err == nil && want < next {
			return errors.New("an entry was not found, or not in its order")
		}
		return err
	})
	read(func() error {
		_, err := l.Read(l.Next()-1, nil)
		return err
	})
	for range 600 {
		add()
		check(t, x.Settle(l.Next()))
	}
	close(done)
	readers.Wait()
	if x.Stats().Runs == 0 {
		t.Error("nothing was sorted")
	}
	check(t, errors.Join(x.Close(), l.Close()))
}
