package bench

import (
	"errors"
	"fmt"
	"os"
	"time"

	"tarn/store/engine"
	"tarn/store/page"

	"tarn/internal/figuretable"
)

// loadTask says what to load.
type loadTask struct {
	Rows   int  // of the data set
	First  int  // load only so many of them; 0 all
	Random bool // in random order, else in the order of keys
	Bytes  int64
}

// Load is how a store was filled.
type Load struct {
	Subject string
	Random  bool
	Rows    int
	Took    time.Duration // until all was durable
	Written int64         // bytes, by the kernel's account
	Disk    int64         // bytes that the files occupy
	Used    int64         // bytes in use by the engine's own account; 0 if it has none
}

// RowsPerSecond is the speed of loading.
func (l Load) RowsPerSecond() float64 { return float64(l.Rows) / l.Took.Seconds() }

func (t task) load(s Subject) (_ Load, err error) {
	l := Load{Subject: s.Name, Random: t.Load.Random}
	before, err := fileWrites()
	if err != nil {
		return l, err
	}
	start := time.Now()
	st, err := s.open(t.Data, budget{Cache: t.Config.Memory / 2, Overlay: t.Config.Memory / 4})
	if err != nil {
		return l, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, st.Close())
		}
	}()
	if l.Rows, err = t.Load.fill(st, t.Config.Seed); err != nil {
		return l, err
	}
	if err := st.Settle(); err != nil {
		return l, err
	}
	l.Took = time.Since(start)
	l.Used = usedBytes(st)
	if err := t.Config.calm(); err != nil {
		return l, err
	}
	if err := st.Close(); err != nil {
		return l, err
	}
	after, err := fileWrites()
	if err != nil {
		return l, err
	}
	l.Written = after - before
	l.Disk, err = onDisk(t.Data)
	return l, err
}

// fill adds the rows, or as many as make the store as large as asked for.
func (t loadTask) fill(st subject, seed uint64) (int, error) {
	src := newSource(NewRows(t.Rows), seed, 0)
	var order []uint32
	if t.Random {
		order = src.shuffledRows()
	}
	last := t.Rows
	if t.First > 0 {
		last = t.First
	}
	b := &src.batch
	for at := 0; at < last; {
		n := min(batchRows, last-at)
		for i := range n {
			b.rows[i] = uint64(at + i)
			if order != nil {
				b.rows[i] = uint64(order[at+i])
			}
			src.Key(b.keys[i][:], b.rows[i])
			src.Value(b.values[i][:], b.rows[i], 0)
		}
		if err := st.Append(b, n); err != nil {
			return at, err
		}
		if at += n; t.Bytes > 0 && usedBytes(st) >= t.Bytes {
			return at, nil
		}
	}
	if t.Bytes > 0 {
		return last, fmt.Errorf("%d rows do not make a store of %d bytes", last, t.Bytes)
	}
	return last, nil
}

// usedBytes is what a page store's state occupies, in bytes.
func usedBytes(st subject) int64 {
	if s, ok := st.(*seam); ok && s.paged {
		return s.Stats().Used
	}
	return 0
}

// dataset makes the rows that a subject works on, once: page stores in random
// order, as a chain does, and the others in the order of keys, which leaves them
// nothing to compact.
func (p *parent) dataset(s Subject) (dir string, err error) {
	dir = p.path(s.data())
	if _, ok := p.loaded[s.data()]; ok {
		return dir, nil
	}
	l, err := p.fill(s, dir, loadTask{Rows: p.config.Rows, Random: !s.Bare && s.Mode != 0})
	if err != nil {
		return "", err
	}
	p.loaded[s.data()] = l
	return dir, nil
}

func (p *parent) fill(s Subject, dir string, t loadTask) (Load, error) {
	order := "in the order of keys"
	if t.Random {
		order = "in random order"
	}
	if s.Mode != 0 {
		s.Name = "mapped_private" // the format does not depend on the mode
	}
	p.logf("load %s %s", s.Name, order)
	return call[Load](p, task{Work: workLoad, Subject: s.Name, Data: dir, Load: t})
}

// loads measures loading: the data sets of this run, and the page engine's in the
// order of keys beside them.
func (p *parent) loads() (*Section, error) {
	dir := p.path("sorted")
	sorted, err := p.fill(Subject{Kind: engine.Page, Mode: page.MappedPrivate}, dir, loadTask{Rows: p.config.Rows})
	if err == nil {
		err = os.RemoveAll(dir)
	}
	if err != nil {
		return nil, err
	}
	all := []Load{sorted}
	seen := map[string]bool{}
	for _, s := range p.config.comparedSubjects() {
		if _, err := p.dataset(s); err != nil {
			return nil, err
		}
		if d := s.data(); !seen[d] {
			seen[d] = true
			all = append(all, p.loaded[d])
		}
	}
	return &Section{Loads: all, Tables: []figuretable.Table{loadTable(all)}}, nil
}

func loadTable(all []Load) figuretable.Table {
	t := figuretable.Table{
		Title: "Loading",
		How: "The data set of the sections below, loaded once and made durable at the end, no undo data. Written " +
			"is /proc/self/io write_bytes of the loading process, compactions that follow and the closing of the " +
			"store included.",
		Head: []string{"store", "order", "rows/s", "MB written", "MB on disk", "written / keys and values"},
	}
	for _, l := range all {
		order, name := "of keys", l.Subject
		if l.Random {
			order = "random"
		}
		payload := float64(l.Rows) * (KeySize + ValueSize)
		t.Add(name, order, figuretable.Count(l.RowsPerSecond()), figuretable.Megabytes(l.Written), figuretable.Megabytes(l.Disk),
			figuretable.Ratio(float64(l.Written)/payload))
	}
	return t
}
