package bench

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"time"

	"tarn/store"

	"tarn/internal/figuretable"
)

// visitTask names the measurements of a visit.
type visitTask struct {
	Get, Update, Seek, View, GC bool
}

// Visit is what was measured on one opening of a store. What was not asked for,
// or does not apply, is nil.
type Visit struct {
	Subject string
	Skipped string // why the subject cannot be had on this machine
	Memory  string // what a page store's mode got
	RSS     int64  // bytes, after the reads
	Anon    int64  // bytes of it that no file backs

	Get     *Get // by the writer; nil for a library
	ViewGet *Get
	Seek    *Seek
	View    *View
	Update  *Update
	GC      *GC
}

func (t task) visit(s Subject) (_ *Visit, err error) {
	v := &Visit{Subject: s.Name}
	rows := NewRows(t.Config.Rows)
	var gc GC
	if t.Visit.GC {
		gc.Without = collect()
	}
	st, err := s.open(t.Data, budget{Cache: t.Config.Cache, Overlay: t.Config.Memory / 4})
	if errors.Is(err, store.ErrMemory) {
		v.Skipped = err.Error()
		return v, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	if err := warm(st, rows, t.Config.Seed, s.cachesRows()); err != nil {
		return nil, err
	}
	if t.Visit.GC {
		gc.With = collect()
		v.GC = &gc
	}
	src := newSource(rows, t.Config.Seed, 1)
	if err := v.reads(t, st, src); err != nil {
		return nil, err
	}
	if v.RSS, err = resident(); err != nil {
		return nil, err
	}
	if v.Anon, err = anonymous(); err != nil {
		return nil, err
	}
	sm, ok := st.(*seam)
	if !ok {
		return v, nil
	}
	v.Memory = sm.Stats().Memory
	if t.Visit.View {
		if v.View, err = measureView(sm, t.Config.Time); err != nil {
			return nil, err
		}
	}
	if t.Visit.Update {
		if v.Update, err = measureUpdate(sm, src, t.Config.Time); err != nil {
			return nil, err
		}
	}
	return v, nil
}

func (v *Visit) reads(t task, st subject, src *source) (err error) {
	r, err := st.Reader()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	sm, ours := st.(*seam)
	if t.Visit.Get {
		if ours {
			if v.Get, err = measureGet(sm.writer(), src, t.Config.Time); err != nil {
				return err
			}
		}
		if v.ViewGet, err = measureGet(r, src, t.Config.Time); err != nil {
			return err
		}
	}
	if t.Visit.Seek {
		if v.Seek, err = measureSeek(r, src, t.Config.Time); err != nil {
			return err
		}
	}
	return nil
}

// warm brings all rows into memory: a walk through the table, and where there is
// a cache of rows, a get of each row in random order, for at most as long as
// warmLimit. It fails if the table is not the data set.
func warm(st subject, rows Rows, seed uint64, gets bool) (err error) {
	r, err := st.Reader()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	c, err := r.Cursor()
	if err != nil {
		return err
	}
	var first [KeySize]byte
	n := uint64(0)
	for ok := c.Seek(first[:]); ok; ok = c.Next() {
		if err := check(c.Value(), n); err != nil {
			return errors.Join(err, c.Close())
		}
		n++
	}
	if err := c.Close(); err != nil {
		return err
	}
	if n != rows.n {
		return fmt.Errorf("the table has %d rows, not %d", n, rows.n)
	}
	if !gets {
		return nil
	}
	var key [KeySize]byte
	start := time.Now()
	for i, row := range newSource(rows, seed, 2).shuffledRows() {
		rows.Key(key[:], uint64(row))
		if _, err := r.Get(key[:]); err != nil {
			return err
		}
		if i%batchRows == 0 && time.Since(start) > warmLimit {
			break
		}
	}
	return nil
}

const warmLimit = time.Minute

// Get is the speed of getting a random row that exists, its number checked.
type Get struct {
	Median   float64 // ns, of the means of batches
	Mean     float64 // ns, of all
	P50, P99 float64 // ns, of single gets, reading the clock for each included
}

func measureGet(r reader, src *source, d time.Duration) (*Get, error) {
	var g Get
	var m meter
	for m.took < d {
		b := src.random(src.n)
		start := time.Now()
		for i := range b.rows {
			v, err := r.Get(b.keys[i][:])
			if err != nil {
				return nil, err
			}
			if err := check(v, b.rows[i]); err != nil {
				return nil, err
			}
		}
		m.add(time.Since(start), batchRows)
	}
	g.Median, g.Mean = m.median(), m.mean()
	var l figuretable.Latencies
	for start := time.Now(); time.Since(start) < d; {
		if err := timeGets(r, src.random(src.n), &l); err != nil {
			return nil, err
		}
	}
	g.P50, g.P99 = l.Quantile(0.5), l.Quantile(0.99)
	return &g, nil
}

// timeGets gets the rows of a batch and notes how long each took.
func timeGets(r reader, b *batch, l *figuretable.Latencies) error {
	last := time.Now()
	for i := range b.rows {
		v, err := r.Get(b.keys[i][:])
		if err != nil {
			return err
		}
		if err := check(v, b.rows[i]); err != nil {
			return err
		}
		now := time.Now()
		l.Add(now.Sub(last))
		last = now
	}
	return nil
}

// steps is how far a seek goes on.
const steps = 100

// Seek is the speed of seeking a random row and going on 100 rows.
type Seek struct {
	Steps float64 // ns; the last row's number checked
	Read  float64 // ns; every key and value looked at
	// Both are medians of the means of batches.
}

func measureSeek(r reader, src *source, d time.Duration) (_ *Seek, err error) {
	c, err := r.Cursor()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	walks := func(walk func(c cursor, row uint64) error) (float64, error) {
		var m meter
		for m.took < d {
			b := src.random(src.n - steps)
			start := time.Now()
			for i := range b.rows[:steps] {
				if !c.Seek(b.keys[i][:]) {
					return 0, fmt.Errorf("row %d is not found", b.rows[i])
				}
				if err := walk(c, b.rows[i]); err != nil {
					return 0, err
				}
			}
			m.add(time.Since(start), steps)
		}
		return m.median(), nil
	}
	var s Seek
	if s.Steps, err = walks(justStep); err != nil {
		return nil, err
	}
	s.Read, err = walks(stepAndRead)
	return &s, err
}

func justStep(c cursor, row uint64) error {
	for range steps {
		if !c.Next() {
			return fmt.Errorf("no row after %d", row)
		}
	}
	return check(c.Value(), row+steps)
}

func stepAndRead(c cursor, row uint64) error {
	for i := range uint64(steps) {
		if !c.Next() {
			return fmt.Errorf("no row after %d", row+i)
		}
		if k := c.Key(); len(k) != KeySize {
			return fmt.Errorf("row %d has a key of %d bytes", row+i+1, len(k))
		}
		if err := check(c.Value(), row+i+1); err != nil {
			return err
		}
	}
	return nil
}

// View is the speed of taking and closing a view when nothing changes.
type View struct {
	Median float64 // ns, of the means of batches
}

func measureView(s *seam, d time.Duration) (*View, error) {
	var m meter
	for m.took < d {
		start := time.Now()
		for range batchRows {
			v, err := s.View()
			if err != nil {
				return nil, err
			}
			if err := v.Close(); err != nil {
				return nil, err
			}
		}
		m.add(time.Since(start), batchRows)
	}
	return &View{Median: m.median()}, nil
}

// GC is the time of a forced garbage collection in an otherwise idle process,
// without an open store and with one whose rows have all been read.
type GC struct {
	Without, With time.Duration
}

// collect takes the least of many, because whatever else runs on the machine only
// adds.
func collect() time.Duration {
	least := time.Duration(math.MaxInt64)
	for range 25 {
		start := time.Now()
		runtime.GC()
		least = min(least, time.Since(start))
	}
	return least
}
