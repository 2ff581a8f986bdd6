package bench

import (
	"fmt"
	"time"

	"tarn/store/engine"

	"tarn/internal/figuretable"
)

// comparedSubjects lists the subjects of the sections get, update, seek, view and gc.
func (c Config) comparedSubjects() []Subject {
	var some []Subject
	for _, s := range c.selectedSubjects() {
		reference := s.Kind == engine.Pebble || s.Kind == bolt
		if !s.SeekCompaction && (!s.Bare || reference) {
			some = append(some, s)
		}
	}
	return some
}

// visits are the rounds of the comparison that several sections share.
type visits struct {
	subjects []Subject
	rounds   map[string][]Visit
}

// visit goes round all compared subjects, once in a run, with the measurements
// that the chosen sections want.
func (p *parent) visit() (*visits, error) {
	if p.visits != nil {
		return p.visits, nil
	}
	v := &visits{subjects: p.config.comparedSubjects(), rounds: map[string][]Visit{}}
	want := visitTask{
		Get: p.wants("get"), Update: p.wants("update"), Seek: p.wants("seek"), View: p.wants("view"), GC: p.wants("gc"),
	}
	for _, s := range v.subjects {
		if _, err := p.dataset(s); err != nil {
			return nil, err
		}
	}
	for round := range p.config.Rounds {
		for i := range v.subjects {
			s := v.subjects[(i+round)%len(v.subjects)]
			dir, err := p.dataset(s)
			if err != nil {
				return nil, err
			}
			p.logf("round %d of %d: %s", round+1, p.config.Rounds, s.Name)
			got, err := call[Visit](p, task{Work: workVisit, Subject: s.Name, Data: dir, Visit: want})
			if err != nil {
				return nil, err
			}
			v.rounds[s.Name] = append(v.rounds[s.Name], got)
		}
	}
	p.visits = v
	return v, nil
}

// each calls row for each subject that could be measured and has what has tells.
func (v *visits) each(t *figuretable.Table, has func(Visit) bool, row func(s Subject, rounds []Visit)) {
	for _, s := range v.subjects {
		rounds := v.rounds[s.Name]
		if why := rounds[0].Skipped; why != "" {
			t.Notes = append(t.Notes, fmt.Sprintf("`%s` could not be had here: %s.", s.Name, why))
		} else if has(rounds[0]) {
			row(s, rounds)
		}
	}
}

func (p *parent) gets() (*Section, error) {
	v, err := p.visit()
	if err != nil {
		return nil, err
	}
	t := figuretable.Table{
		Title: "Random get",
		How: fmt.Sprintf(
			"A row that exists, its number in the value checked; all rows were read before, and each LSM engine or "+
				"library has %s MB to keep them in. "+
				"Writer: the writer's own state. View: a reader's; for a library, its own snapshot or transaction. "+
				"Medians of the means of batches of %d, whose keys are made out of the measured time; p50 and p99 of "+
				"single gets from the view, reading the clock included. "+
				"RSS counts mapped files, anonymous is what the kernel cannot drop.",
			figuretable.Megabytes(p.config.Cache), batchRows),
		Head: []string{"store", "writer, ns", "view, ns", "p50, ns", "p99, ns", "to pebble bare", "spread", "RSS, MB",
			"anonymous, MB"},
	}
	typical := func(v Visit) float64 { return v.ViewGet.Median }
	reference := figuretable.Median(v.rounds["pebble bare"], typical)
	s := &Section{}
	v.each(&t, func(v Visit) bool { return v.ViewGet != nil }, func(of Subject, r []Visit) {
		writer := figuretable.None
		if r[0].Get != nil {
			writer = figuretable.Nanos(figuretable.Median(r, func(v Visit) float64 { return v.Get.Median }))
		}
		m := figuretable.Median(r, typical)
		faster := figuretable.None
		if reference > 0 {
			faster = figuretable.Ratio(reference/m) + "×"
		}
		if kind := r[0].Memory; kind != "" {
			t.Notes = append(t.Notes, fmt.Sprintf("Memory of `%s`: %s.", of.Name, kind))
		}
		t.Add(of.Name, writer, figuretable.Nanos(m),
			figuretable.Nanos(figuretable.Median(r, func(v Visit) float64 { return v.ViewGet.P50 })),
			figuretable.Nanos(figuretable.Median(r, func(v Visit) float64 { return v.ViewGet.P99 })),
			faster, figuretable.Percent(figuretable.Spread(r, typical)),
			figuretable.Megabytes(int64(figuretable.Median(r, func(v Visit) float64 { return float64(v.RSS) }))),
			figuretable.Megabytes(int64(figuretable.Median(r, func(v Visit) float64 { return float64(v.Anon) }))))
		if of.Kind == engine.Page && reference > 0 {
			s.Targets.AtLeast("get, "+of.Name+": speed to pebble bare", reference/m, 4, "×")
		}
		if of.Kind == engine.Page {
			s.Targets.AtMost("get, "+of.Name, m/1000, 1, "µs")
		}
	})
	return v.with(s, t), nil
}

func (v *visits) with(s *Section, t figuretable.Table) *Section {
	s.Tables = append(s.Tables, t)
	for _, of := range v.subjects {
		s.Visits = append(s.Visits, v.rounds[of.Name]...)
	}
	return s
}

func (p *parent) updates() (*Section, error) {
	v, err := p.visit()
	if err != nil {
		return nil, err
	}
	t := figuretable.Table{
		Title: "Random update",
		How: fmt.Sprintf(
			"A new value for a row that exists, undo data recorded. Session: the puts of sessions of %s updates, in "+
				"pages that were copied in this generation already; push: finishing such a session (its undo data is "+
				"compacted and kept) and committing it. "+
				"Published: revisions of %d updates, each pushed, committed and published, so that each copies its "+
				"pages anew. An LSM engine flushes beside it when its overlay is full. Medians of batches of 1000, "+
				"and the mean of all where it may differ. Allocations are the Go heap's, of one update.",
			figuretable.Count(float64(NewRows(p.config.Rows).sessionBatches()*batchRows)), batchRows),
		Head: []string{"store", "session, ns", "allocs", "bytes", "push, ns", "bytes", "published, ns", "mean, ns",
			"allocs", "bytes", "spread"},
	}
	session := func(v Visit) float64 { return v.Update.Session.Median }
	s := &Section{}
	v.each(&t, func(v Visit) bool { return v.Update != nil }, func(of Subject, r []Visit) {
		of1 := func(f func(*Update) float64) float64 {
			return figuretable.Median(r, func(v Visit) float64 { return f(v.Update) })
		}
		allocs := of1(func(u *Update) float64 { return u.Session.Allocs })
		t.Add(of.Name, figuretable.Nanos(figuretable.Median(r, session)), figuretable.Small(allocs),
			figuretable.Small(of1(func(u *Update) float64 { return u.Session.Bytes })),
			figuretable.Nanos(of1(func(u *Update) float64 { return u.Push.Median })),
			figuretable.Small(of1(func(u *Update) float64 { return u.Push.Bytes })),
			figuretable.Nanos(of1(func(u *Update) float64 { return u.Published.Median })),
			figuretable.Nanos(of1(func(u *Update) float64 { return u.Published.Mean })),
			figuretable.Small(of1(func(u *Update) float64 { return u.Published.Allocs })),
			figuretable.Small(of1(func(u *Update) float64 { return u.Published.Bytes })),
			figuretable.Percent(figuretable.Spread(r, session)))
		if of.Kind == engine.Page {
			s.Targets.AtMost("update, "+of.Name, figuretable.Median(r, session)/1000, 1.5, "µs")
			s.Targets.AtMost("allocations of an update, "+of.Name, allocs, 0.001, "")
		}
	})
	return v.with(s, t), nil
}

func (p *parent) seeks() (*Section, error) {
	v, err := p.visit()
	if err != nil {
		return nil, err
	}
	t := figuretable.Table{
		Title: "Seek and 100 steps forward",
		How: "From a random row, through a cursor that stays open, in a view (for a library, its snapshot or " +
			"transaction). Steps: the last row's value checked; read: every key and value taken, every value " +
			"checked. Medians of the means of batches.",
		Head: []string{"store", "steps, µs", "read, µs", "spread"},
	}
	bare := func(v Visit) float64 { return v.Seek.Steps }
	s := &Section{}
	v.each(&t, func(v Visit) bool { return v.Seek != nil }, func(of Subject, r []Visit) {
		t.Add(of.Name, figuretable.Significant(figuretable.Median(r, bare)/1000),
			figuretable.Significant(figuretable.Median(r, func(v Visit) float64 { return v.Seek.Read })/1000),
			figuretable.Percent(figuretable.Spread(r, bare)))
		if of.Kind == engine.Page {
			s.Targets.AtMost("seek and 100 steps, "+of.Name, figuretable.Median(r, bare)/1000, 6, "µs")
			s.Targets.AtMost("seek and 100 rows read, "+of.Name,
				figuretable.Median(r, func(v Visit) float64 { return v.Seek.Read })/1000, 6, "µs")
		}
	})
	return v.with(s, t), nil
}

func (p *parent) views() (*Section, error) {
	v, err := p.visit()
	if err != nil {
		return nil, err
	}
	t := figuretable.Table{
		Title: "View",
		How:   "Taking and closing one, while nothing changes. Medians of the means of batches.",
		Head:  []string{"store", "ns", "spread"},
	}
	typical := func(v Visit) float64 { return v.View.Median }
	s := &Section{}
	v.each(&t, func(v Visit) bool { return v.View != nil }, func(of Subject, r []Visit) {
		t.Add(of.Name, figuretable.Nanos(figuretable.Median(r, typical)), figuretable.Percent(figuretable.Spread(r, typical)))
		s.Targets.AtMost("view, "+of.Name, figuretable.Median(r, typical)/1000, 2, "µs")
	})
	return v.with(s, t), nil
}

func (p *parent) collections() (*Section, error) {
	v, err := p.visit()
	if err != nil {
		return nil, err
	}
	t := figuretable.Table{
		Title: "Garbage collection",
		How: "runtime.GC() in a process that does nothing else: before the store is opened, and after all of its " +
			"rows were read. The least of 25, and the median of the rounds.",
		Head: []string{"store", "without, µs", "with, µs", "added, µs"},
	}
	s := &Section{}
	v.each(&t, func(v Visit) bool { return v.GC != nil }, func(of Subject, r []Visit) {
		without := figuretable.MedianTime(r, func(v Visit) time.Duration { return v.GC.Without })
		with := figuretable.MedianTime(r, func(v Visit) time.Duration { return v.GC.With })
		t.Add(of.Name, figuretable.Micros(without), figuretable.Micros(with), figuretable.Micros(with-without))
		if of.Kind == engine.Page {
			s.Targets.AtMost("GC time added, "+of.Name, float64(with-without)/1e3, 100, "µs")
		}
	})
	return v.with(s, t), nil
}
