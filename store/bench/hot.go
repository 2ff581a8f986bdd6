package bench

import (
	"errors"
	"fmt"
	"os"
	"time"

	"tarn/store/engine"

	"tarn/internal/figuretable"
)

// Hot is what rows cost that change at every revision.
type Hot struct {
	Subject   string
	Revisions int
	Flushes   int
	Changed   int64 // bytes of keys and values that were put
	Written   int64 // bytes, by the kernel's account, until all was durable
	Took      time.Duration
}

// hotEvery is the number of revisions between flushes. The memory is little, so
// that memtables fill and are written out.
const (
	hotEvery  = 50
	hotMemory = 64 << 20
)

// hot changes the same rows at every revision, in a store of its own.
func (t task) hot(s Subject) (_ *Hot, err error) {
	h := &Hot{Subject: s.Name, Revisions: t.Config.HotFlushes * hotEvery, Flushes: t.Config.HotFlushes}
	st, err := s.open(t.Data, budget{Cache: hotMemory / 2, Overlay: hotMemory / 4})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	src := newSource(NewRows(t.Config.Rows), t.Config.Seed, 3)
	b := src.changes()
	for i := range b.rows { // each row once
		b.rows[i] = uint64(i)
		src.Key(b.keys[i][:], b.rows[i])
	}
	if err := errors.Join(st.Append(b, batchRows), st.Settle()); err != nil {
		return nil, err
	}
	before, err := fileWrites()
	if err != nil {
		return nil, err
	}
	start := time.Now()
	for revision := range uint64(h.Revisions) {
		for i := range b.rows {
			src.Value(b.values[i][:], b.rows[i], revision+1)
		}
		if err := st.Apply(b); err != nil {
			return nil, err
		}
		h.Changed += batchRows * (KeySize + ValueSize)
		if (revision+1)%hotEvery == 0 {
			if err := st.Settle(); err != nil {
				return nil, err
			}
		}
	}
	h.Took = time.Since(start)
	after, err := fileWrites()
	h.Written = after - before
	return h, err
}

// hotRows measures each LSM engine and its library.
func (p *parent) hotRows() (*Section, error) {
	s := &Section{}
	for _, of := range p.config.selectedSubjects() {
		if of.Kind == engine.Page && of.Mode.String() != "mapped_private" || of.Kind == bolt || of.SeekCompaction {
			continue
		}
		p.logf("rows that change at every revision: %s", of.Name)
		dir := p.path("hot")
		h, err := call[Hot](p, task{Work: workHot, Subject: of.Name, Data: dir})
		if err != nil {
			return nil, err
		}
		s.Hot = append(s.Hot, h)
		if err := os.RemoveAll(dir); err != nil {
			return nil, err
		}
	}
	once := float64(p.config.HotFlushes * batchRows * (KeySize + ValueSize))
	t := figuretable.Table{
		Title: "Rows that change at every revision",
		How: fmt.Sprintf(
			"The same %s rows are changed in each of %s revisions; everything is made durable %d times in that time, "+
				"evenly spread (engine: checkpoint; library: sync of its log). Written: /proc/self/io write_bytes. "+
				"Once a flush would be %s MB. %s MB of memory each.",
			figuretable.Count(batchRows), figuretable.Count(float64(p.config.HotFlushes*hotEvery)), p.config.HotFlushes,
			figuretable.Significant(once/1e6), figuretable.Megabytes(hotMemory)),
		Head: []string{"store", "MB changed", "MB written", "written / changed", "times written a flush",
			"revisions/s"},
	}
	for _, h := range s.Hot {
		times := float64(h.Written) / once
		t.Add(h.Subject, figuretable.Megabytes(h.Changed), figuretable.Megabytes(h.Written),
			figuretable.Ratio(float64(h.Written)/float64(h.Changed)), figuretable.Ratio(times),
			figuretable.Count(float64(h.Revisions)/h.Took.Seconds()))
	}
	s.Tables = append(s.Tables, t)
	return s, nil
}
