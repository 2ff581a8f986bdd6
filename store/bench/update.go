package bench

import (
	"bytes"
	"fmt"
	"runtime"
	"time"

	"tarn/internal/figuretable"
)

// Update is the speed of putting a new value at a random row that exists, and
// what it takes from the Go heap. All numbers are of one update.
type Update struct {
	// Session: the puts of a long session, undo data recorded, in the steady
	// state: what has to be copied is copied already.
	Session Cost
	// Push: what finishing that session and making it irreversible adds.
	Push Cost
	// Published: revisions of 1000 updates, each pushed, made irreversible and
	// published, all of that included.
	Published Cost
}

// Cost is that of one operation of many.
type Cost struct {
	Median        float64 // ns, of the means of batches
	Mean          float64 // ns, of all
	Allocs, Bytes float64 // on the Go heap, means
}

// sessionBatches is the length of the long session, by the size of the data set:
// at most what lets the journal be kept from one session to the next.
func (r Rows) sessionBatches() int { return min(max(r.Len()/50_000, 1), 100) }

func measureUpdate(s *seam, src *source, d time.Duration) (*Update, error) {
	if err := s.copyAll(src); err != nil {
		return nil, err
	}
	var puts, pushes, published meter
	// The first sessions make the journal's buffer as large as it gets.
	for range 2 {
		if err := s.session(src, new(meter), new(meter)); err != nil {
			return nil, err
		}
	}
	for puts.took < d {
		if err := s.session(src, &puts, &pushes); err != nil {
			return nil, err
		}
	}
	if err := s.Publish(); err != nil {
		return nil, err
	}
	for range src.sessionBatches() { // the first round of generations
		if err := s.Apply(src.changes()); err != nil {
			return nil, err
		}
	}
	published.begin()
	for published.took < d {
		b := src.changes()
		start := time.Now()
		if err := s.Apply(b); err != nil {
			return nil, err
		}
		published.add(time.Since(start), batchRows)
	}
	published.end()
	u := &Update{Session: puts.cost(), Push: pushes.cost(), Published: published.cost()}
	return u, s.confirm(&src.batch)
}

// copyAll changes each 8th row in the order of keys, which is at least one in
// each page.
func (s *seam) copyAll(src *source) error {
	if err := s.Publish(); err != nil {
		return err
	}
	b := &src.batch
	for at := uint64(0); at+8*batchRows < src.n; {
		for i := range b.rows {
			b.rows[i] = at
			src.Key(b.keys[i][:], at)
			src.Value(b.values[i][:], at, 0)
			at += 8
		}
		if err := s.change(b); err != nil {
			return err
		}
	}
	return nil
}

// session is a long one.
func (s *seam) session(src *source, puts, pushes *meter) error {
	if err := s.Begin(); err != nil {
		return err
	}
	puts.begin()
	for range src.sessionBatches() {
		b := src.changes()
		start := time.Now()
		if err := s.put(b, batchRows); err != nil {
			return err
		}
		puts.add(time.Since(start), batchRows)
	}
	puts.end()
	pushes.begin()
	start := time.Now()
	if err := s.finish(); err != nil {
		return err
	}
	pushes.add(time.Since(start), src.sessionBatches()*batchRows)
	pushes.end()
	return nil
}

// confirm checks that what was last applied is there.
func (s *seam) confirm(b *batch) error {
	newest := map[uint64]int{}
	for i, row := range b.rows {
		newest[row] = i
	}
	for row, i := range newest {
		v, err := s.Get(s.table, b.keys[i][:])
		if err != nil {
			return err
		}
		if !bytes.Equal(v, b.values[i][:]) {
			return fmt.Errorf("row %d does not have the value that was last put", row)
		}
	}
	return nil
}

// meter adds up the time of batches of equal size, and allocations between begin
// and end. The median of the batches is what an operation costs when nothing else
// wants the processor.
type meter struct {
	took          time.Duration
	n             int
	batch         int
	batches       figuretable.Latencies
	allocs, bytes uint64
}

func (m *meter) add(took time.Duration, n int) {
	m.took += took
	m.n += n
	m.batch = n
	m.batches.Add(took)
}

func (m *meter) median() float64 { return m.batches.Quantile(0.5) / float64(m.batch) }
func (m *meter) mean() float64   { return float64(m.took) / float64(m.n) }

func (m *meter) begin() {
	allocs, bytes := heap()
	m.allocs, m.bytes = m.allocs-allocs, m.bytes-bytes
}

func (m *meter) end() {
	allocs, bytes := heap()
	m.allocs, m.bytes = m.allocs+allocs, m.bytes+bytes
}

func (m *meter) cost() Cost {
	n := float64(m.n)
	return Cost{Median: m.median(), Mean: m.mean(), Allocs: float64(m.allocs) / n, Bytes: float64(m.bytes) / n}
}

// heap is what was allocated so far.
func heap() (allocs, bytes uint64) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs, m.TotalAlloc
}
