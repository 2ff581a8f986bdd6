package bench

import (
	"errors"
	"fmt"
	"os"
	"time"

	"tarn/store"
	"tarn/store/engine"
	"tarn/store/page"

	"tarn/internal/figuretable"
)

// Opening is how long a store takes to open.
type Opening struct {
	Subject  string
	Skipped  string
	Disk     int64         // bytes
	Warm     time.Duration // its files in the page cache
	Cold     time.Duration // none of them in it
	FirstGet time.Duration // after a cold opening
}

// open measures one opening.
func (t task) open(s Subject) (_ *Opening, err error) {
	o := &Opening{Subject: s.Name}
	if o.Disk, err = onDisk(t.Data); err != nil {
		return nil, err
	}
	if t.Cold {
		if err := evict(t.Data); err != nil {
			return nil, err
		}
	}
	start := time.Now()
	st, err := s.open(t.Data, budget{Cache: t.Config.Memory / 2, Overlay: t.Config.Memory / 4})
	took := time.Since(start)
	if errors.Is(err, store.ErrMemory) {
		o.Skipped = err.Error()
		return o, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	if o.Warm = took; t.Cold {
		o.Warm, o.Cold = 0, took
	}
	r, err := st.Reader()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	var key [KeySize]byte
	t.openRows().Key(key[:], 0)
	start = time.Now()
	v, err := r.Get(key[:])
	if err != nil {
		return nil, err
	}
	o.FirstGet = time.Since(start)
	return o, check(v, 0)
}

// openRows is the data set of which the opened store has the first rows.
func (t task) openRows() Rows {
	return NewRows(int(t.Config.OpenBytes / (KeySize + ValueSize)))
}

// openings measures opening.
func (p *parent) openings() (*Section, error) {
	var all []Opening
	rows := 0
	for _, k := range engine.Kinds() {
		if len(p.openedSubjects(k)) == 0 && k != engine.Page { // the page store's size sets the others'
			continue
		}
		dir := p.path("open-" + string(k))
		fill := loadTask{Rows: task{Config: p.config}.openRows().Len(), First: rows}
		s := Subject{Name: string(k), Kind: k}
		if k == engine.Page {
			s.Mode, fill.Bytes = page.MappedPrivate, p.config.OpenBytes
		}
		l, err := p.fill(s, dir, fill)
		if err != nil {
			return nil, err
		}
		rows = l.Rows
		of, err := p.openingsOf(k, dir)
		if err != nil {
			return nil, err
		}
		all = append(all, of...)
		if err := os.RemoveAll(dir); err != nil {
			return nil, err
		}
	}
	s := &Section{Openings: all}
	s.openingTables(rows)
	return s, nil
}

// openedSubjects lists the subjects of a kind that are opened.
func (p *parent) openedSubjects(k engine.Kind) (some []Subject) {
	for _, s := range p.config.selectedSubjects() {
		if s.Kind == k && !s.Bare && !s.SeekCompaction {
			some = append(some, s)
		}
	}
	return some
}

// openingsOf opens a store in turns by all subjects of its kind.
func (p *parent) openingsOf(k engine.Kind, dir string) ([]Opening, error) {
	subjects := p.openedSubjects(k)
	found := map[string][]Opening{}
	for range max(p.config.Rounds, 3) {
		for _, s := range subjects {
			p.logf("open %s", s.Name)
			for _, cold := range []bool{false, true} {
				o, err := call[Opening](p, task{Work: workOpen, Subject: s.Name, Data: dir, Cold: cold})
				if err != nil {
					return nil, err
				}
				found[s.Name] = append(found[s.Name], o)
			}
		}
	}
	var all []Opening
	for _, s := range subjects {
		var warm, cold []Opening
		for _, o := range found[s.Name] {
			if o.Cold > 0 {
				cold = append(cold, o)
			} else {
				warm = append(warm, o)
			}
		}
		o := warm[0]
		if o.Skipped == "" {
			o.Warm = figuretable.MedianTime(warm, func(o Opening) time.Duration { return o.Warm })
			o.Cold = figuretable.MedianTime(cold, func(o Opening) time.Duration { return o.Cold })
			o.FirstGet = figuretable.MedianTime(cold, func(o Opening) time.Duration { return o.FirstGet })
		}
		all = append(all, o)
	}
	return all, nil
}

func (s *Section) openingTables(rows int) {
	t := figuretable.Table{
		Title: "Opening",
		How: fmt.Sprintf(
			"A store of %s rows, loaded in the order of keys until the page store had the size asked for. Warm: its "+
				"files in the page cache; cold: evicted from it before (posix_fadvise). Medians, a process for each opening.",
			figuretable.Count(float64(rows))),
		Head: []string{"store", "MB on disk", "warm, ms", "cold, ms", "first get after cold, ms"},
	}
	for _, o := range s.Openings {
		if o.Skipped != "" {
			t.Add(o.Subject, figuretable.Megabytes(o.Disk), "not here", "not here", "not here")
			t.Notes = append(t.Notes, o.Subject+": "+o.Skipped)
			continue
		}
		t.Add(o.Subject, figuretable.Megabytes(o.Disk), figuretable.Millis(o.Warm), figuretable.Millis(o.Cold),
			figuretable.Millis(o.FirstGet))
	}
	s.Tables = append(s.Tables, t)
	for _, o := range s.Openings {
		if (o.Subject == "mapped" || o.Subject == "mapped_private") && o.Skipped == "" {
			s.Targets.AtMost("open "+o.Subject+", warm", float64(o.Warm)/1e6, 50, "ms")
			s.Targets.AtMost("open "+o.Subject+", cold", float64(o.Cold)/1e6, 50, "ms")
		}
	}
}
