package badger

import (
	"encoding/binary"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"tarn/store/lsm"
)

// What the library holds while it is filled follows from CacheBytes: the tables that it is
// making would take half a gigabyte of any machine.
func TestMemoryFollowsTheCache(t *testing.T) {
	const (
		rows, value = 600_000, 200
		flush       = 50_000 // rows
		most        = 320 << 20
	)
	base := beginStore(t, t.TempDir(), lsm.MinCache)
	defer func() { must(t, base.Close()) }()
	defer debug.SetGCPercent(debug.SetGCPercent(20)) // the heap is little more than what is held
	peak := make(chan uint64)
	end := make(chan struct{})
	go func() {
		var highest uint64
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			highest = max(highest, m.HeapAlloc)
			select {
			case <-end:
				peak <- highest
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	r := rand.New(rand.NewPCG(1, 1))
	for n := 0; n < rows; n += flush {
		fill(t, base, r, n, flush, value)
	}
	close(end)
	if got := <-peak; got > most {
		t.Errorf("the heap had %d MiB with a cache of %d MiB, bound %d", got>>20, lsm.MinCache>>20, most>>20)
	} else {
		t.Logf("the heap had %d MiB", got>>20)
	}
}

// fill commits rows whose values are mostly zeros, as those of contracts are: tables of them
// are several times their file's size while they are made. Their keys ascend, but for the
// first byte after the table's number, so that every flush meets the tables of those before.
func fill(t *testing.T, base *Base, r *rand.Rand, from, rows, size int) {
	t.Helper()
	w, err := base.Batch(int64(rows) * int64(size))
	must(t, err)
	value := make([]byte, size)
	for n := range rows {
		key := []byte{0, 1, byte(n * 256 / rows)}
		key = binary.BigEndian.AppendUint64(key, uint64(from+n))
		binary.LittleEndian.PutUint64(value, r.Uint64())
		must(t, w.Put(key, value))
	}
	must(t, w.Commit())
}
