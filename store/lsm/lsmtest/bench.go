package lsmtest

import (
	"encoding/binary"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tarn/store/lsm"
)

// Workload is what Tune puts on a base: a load in random order, then flushes of
// random rows that exist, then reads.
type Workload struct {
	Name      string
	Rows      int // of 32-byte keys
	Value     int // bytes, half of them random
	Flushes   int
	FlushRows int
	Gets      int
}

// Workloads are flushes that fit a memtable many times over, and ones that are
// larger than it.
func Workloads() []Workload {
	return []Workload{
		{Name: "small-flushes", Rows: 1_000_000, Value: 120, Flushes: 60, FlushRows: 8_000, Gets: 50_000},
		{Name: "large-flushes", Rows: 1_000_000, Value: 120, Flushes: 4, FlushRows: 120_000, Gets: 50_000},
		{Name: "long-values", Rows: 40_000, Value: 4000, Flushes: 60, FlushRows: 400, Gets: 20_000},
	}
}

// Tune runs a workload on a base once and reports what it cost, as metrics of the
// benchmark: bytes written for each byte of rows, while loading and while
// flushing, the library's settling included; and nanoseconds of CPU for reads. It is for
// comparing options beside each other in one run.
func Tune(b *testing.B, w Workload, open func(dir string) (lsm.Base, error)) {
	for b.Loop() {
		base, err := open(b.TempDir())
		must(b, err)
		r := rand.New(rand.NewPCG(1, 1))
		loaded := w.commit(b, base, r, w.Rows, w.Rows/20, 0)
		load := writtenBytes(awaitSettled(base))
		start := time.Now()
		flushed := 0
		for range w.Flushes {
			flushed += w.commit(b, base, r, w.FlushRows, w.FlushRows, w.Rows)
		}
		took := time.Since(start)
		all := writtenBytes(awaitSettled(base))
		s, err := base.Snapshot()
		must(b, err)
		get, miss, seek := reads(b, s, r, w)
		must(b, s.Close())
		b.ReportMetric(float64(load)/float64(loaded), "load-WA")
		b.ReportMetric(float64(all-load)/float64(flushed), "flush-WA")
		b.ReportMetric(float64(took.Milliseconds())/float64(w.Flushes), "ms/flush")
		b.ReportMetric(get, "cpu-ns/get")
		b.ReportMetric(miss, "cpu-ns/miss")
		b.ReportMetric(seek, "cpu-ns/seek100")
		b.ReportMetric(float64(base.Metrics().Size)/float64(loaded), "size")
		must(b, base.Close())
	}
	b.ReportMetric(0, "ns/op")
}

// benchKey is row n's: 32 bytes, in no order.
func benchKey(dst []byte, n int) []byte {
	dst = append(dst, 0, 1)
	h := uint64(n)
	for range 4 {
		h = (h ^ h>>31) * 0x9e3779b97f4a7c15
		h ^= h >> 29
		dst = binary.BigEndian.AppendUint64(dst, h)
	}
	return dst
}

// commit puts rows in batches and returns their bytes: rows 0 to rows, each once,
// or so many random ones of the first among.
func (w Workload) commit(b *testing.B, base lsm.Base, r *rand.Rand, rows, batch, among int) int {
	b.Helper()
	order := r.Perm(rows)
	total := 0
	value := make([]byte, w.Value)
	for from := 0; from < rows; from += batch {
		var keys [][]byte
		for _, n := range order[from:min(from+batch, rows)] {
			if among > 0 {
				n = r.IntN(among)
			}
			keys = append(keys, benchKey(nil, n))
		}
		slices.SortFunc(keys, slices.Compare)
		keys = slices.CompactFunc(keys, slices.Equal)
		batch, err := base.Batch(int64(len(keys) * (34 + w.Value)))
		must(b, err)
		for _, k := range keys {
			for i := 0; i < w.Value/2; i += 4 {
				binary.LittleEndian.PutUint32(value[i:], r.Uint32())
			}
			must(b, batch.Put(k, value))
			total += len(k) + len(value)
		}
		must(b, batch.Commit())
	}
	return total
}

// awaitSettled waits until the library has stopped writing.
func awaitSettled(base lsm.Base) lsm.Metrics {
	m := base.Metrics()
	for quiet := 0; quiet < 8; quiet++ {
		time.Sleep(50 * time.Millisecond)
		if now := base.Metrics(); writtenBytes(now) != writtenBytes(m) {
			m, quiet = now, 0
		}
	}
	return m
}

func writtenBytes(m lsm.Metrics) int64 { return m.Log + m.Flush + m.Direct + m.Compaction + m.Meta }

// cpu is the time that this thread has run: on a busy machine it says more than
// the clock.
func cpu(b *testing.B) int64 {
	var u unix.Rusage
	must(b, unix.Getrusage(unix.RUSAGE_THREAD, &u))
	return u.Utime.Nano() + u.Stime.Nano()
}

// reads returns the nanoseconds of a get of a row, of one that is not there, and
// of a seek with 100 steps.
func reads(b *testing.B, s lsm.Snapshot, r *rand.Rand, w Workload) (get, miss, seek float64) {
	b.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	timed := func(n int, fn func()) float64 {
		start := cpu(b)
		for range n {
			fn()
		}
		return float64(cpu(b)-start) / float64(n)
	}
	var key, value []byte
	lookup := func(from int) func() {
		return func() {
			key = benchKey(key[:0], from+r.IntN(w.Rows))
			value, _ = s.Get(value[:0], key) //nolint:errcheck // missing is one of the cases
		}
	}
	timed(w.Gets, lookup(0)) // warm
	get = timed(w.Gets, lookup(0))
	miss = timed(w.Gets, lookup(w.Rows))
	seek = timed(w.Gets/50, func() {
		c, err := s.Cursor([]byte{0, 1}, []byte{0, 2})
		must(b, err)
		key = benchKey(key[:0], r.IntN(w.Rows))
		ok := c.Seek(key)
		for i := 0; ok && i < 100; i++ {
			ok = c.Next()
		}
		must(b, c.Close())
	})
	return get, miss, seek
}
