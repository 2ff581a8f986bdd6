package bench

import "testing"

// BenchmarkStores has the hot paths of each store in the form that tools for
// comparing benchmarks read. The report measures the same beside each other, in
// rounds, and with everything that does not fit here.
func BenchmarkStores(b *testing.B) {
	for _, s := range (Config{}).comparedSubjects() {
		b.Run(s.Name, func(b *testing.B) {
			st, err := s.open(b.TempDir(), budget{Cache: 1 << 30})
			if err != nil {
				b.Skip(err)
			}
			b.Cleanup(func() { st.Close() })
			if _, err := (loadTask{Rows: *benchRows, Random: s.Mode != 0}).fill(st, 1); err != nil {
				b.Fatal(err)
			}
			if err := st.Settle(); err != nil {
				b.Fatal(err)
			}
			rows := NewRows(*benchRows)
			if err := warm(st, rows, 1, s.cachesRows()); err != nil {
				b.Fatal(err)
			}
			src := newSource(rows, 1, 1)
			benchReads(b, st, src)
			if sm, ok := st.(*seam); ok {
				benchSeam(b, sm, src)
			}
		})
	}
}

func benchReads(b *testing.B, st subject, src *source) {
	r, err := st.Reader()
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	batch, n := src.random(src.n-steps), 0
	next := func() int { // batches are made out of the measured time
		if n++; n%batchRows == 0 {
			b.StopTimer()
			src.random(src.n - steps)
			b.StartTimer()
		}
		return n % batchRows
	}
	b.Run("get", func(b *testing.B) {
		for b.Loop() {
			i := next()
			if v, err := r.Get(batch.keys[i][:]); err != nil || check(v, batch.rows[i]) != nil {
				b.Fatal(err)
			}
		}
	})
	c, err := r.Cursor()
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	b.Run("seek100", func(b *testing.B) {
		for b.Loop() {
			i := next()
			if !c.Seek(batch.keys[i][:]) {
				b.Fatal("a row is missing")
			}
			if err := justStep(c, batch.rows[i]); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func benchSeam(b *testing.B, s *seam, src *source) {
	b.Run("view", func(b *testing.B) {
		for b.Loop() {
			v, err := s.View()
			if err != nil {
				b.Fatal(err)
			}
			v.Close()
		}
	})
	if err := s.copyAll(src); err != nil {
		b.Fatal(err)
	}
	// An operation is a long session, or a revision of 1000 updates.
	for range 2 { // the journal's buffer grows to its size
		if err := s.session(src, new(meter), new(meter)); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("session", func(b *testing.B) {
		b.ReportAllocs()
		var puts meter
		for b.Loop() {
			if err := s.session(src, &puts, new(meter)); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(puts.cost().Mean, "ns/update")
	})
	b.Run("published", func(b *testing.B) {
		b.ReportAllocs()
		n := 0
		for b.Loop() {
			if err := s.Apply(src.changes()); err != nil {
				b.Fatal(err)
			}
			n += batchRows
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/update")
	})
}
