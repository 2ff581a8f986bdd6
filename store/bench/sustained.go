package bench

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"tarn/store/engine"

	"tarn/internal/figuretable"
)

// Sustained is a long run of reads, with or without writes beside them.
type Sustained struct {
	Subject  string
	Writes   bool
	Took     time.Duration
	Gets     float64 // a second
	P50, P99 float64 // ns
	Changed  int64   // bytes of keys and values that were put
	Written  int64   // bytes, by the kernel's account, in that time
	Settling int64   // bytes written after it, until all changes were durable and compactions at rest
	RSS      int64
}

const (
	sustainReaders = 2
	undoable       = 20 // blocks that stay undoable
)

func (t task) sustain(s Subject) (_ *Sustained, err error) {
	r := &Sustained{Subject: s.Name, Writes: t.Write}
	st, err := s.open(t.Data, budget{Cache: t.Config.Memory / 2, Overlay: t.Config.Memory / 4})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	if sm, ok := st.(*seam); ok {
		sm.lag = undoable
	}
	// What the library does on opening, and the first fill of its caches, is not
	// measured.
	if err := t.Config.calm(); err != nil {
		return nil, err
	}
	if _, err := readAll(st, t.Config, t.Config.Sustain/10); err != nil {
		return nil, err
	}
	before, err := fileWrites()
	if err != nil {
		return nil, err
	}
	stop, writer := make(chan struct{}), make(chan error, 1)
	if t.Write {
		go func() {
			var err error
			r.Changed, err = writeBlocks(st, t.Config, stop)
			writer <- err
		}()
	} else {
		writer <- nil
	}
	start := time.Now()
	l, readErr := readAll(st, t.Config, t.Config.Sustain)
	r.Took = time.Since(start)
	close(stop)
	if err := errors.Join(readErr, <-writer); err != nil {
		return nil, err
	}
	r.Gets = float64(l.Count) / r.Took.Seconds()
	r.P50, r.P99 = l.Quantile(0.5), l.Quantile(0.99)
	return r, r.account(st, t.Config, before)
}

func (r *Sustained) account(st subject, c Config, before int64) error {
	during, err := fileWrites()
	if err != nil {
		return err
	}
	r.Written = during - before
	if r.RSS, err = resident(); err != nil {
		return err
	}
	if r.Writes {
		if err := errors.Join(st.Settle(), c.calm()); err != nil {
			return err
		}
	}
	after, err := fileWrites()
	r.Settling = after - during
	return err
}

// readAll gets random rows on all readers. Each takes a new view after as many
// gets as a request may make.
func readAll(st subject, c Config, d time.Duration) (*figuretable.Latencies, error) {
	var (
		all  figuretable.Latencies
		errs [sustainReaders]error
		mu   sync.Mutex
		wg   sync.WaitGroup
	)
	end := time.Now().Add(d)
	for i := range sustainReaders {
		wg.Go(func() {
			var l figuretable.Latencies
			src := newSource(NewRows(c.Rows), c.Seed, uint64(10+i))
			for errs[i] == nil && time.Now().Before(end) {
				errs[i] = request(st, src.random(src.n), &l)
			}
			mu.Lock()
			defer mu.Unlock()
			all.Merge(&l)
		})
	}
	wg.Wait()
	return &all, errors.Join(errs[:]...)
}

// request reads a batch of rows from one view.
func request(st subject, b *batch, l *figuretable.Latencies) (err error) {
	r, err := st.Reader()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return timeGets(r, b, l)
}

// writeBlocks applies changes of random rows at the configured rate until
// stopped. A store that falls behind is not pressed to catch up.
func writeBlocks(st subject, c Config, stop <-chan struct{}) (changed int64, err error) {
	src := newSource(NewRows(c.Rows), c.Seed, 20)
	every := time.Duration(float64(batchRows*(KeySize+ValueSize)) / float64(c.Rate) * float64(time.Second))
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return changed, nil
		case <-tick.C:
			if err := st.Apply(src.changes()); err != nil {
				return changed, err
			}
			changed += batchRows * (KeySize + ValueSize)
		}
	}
}

// measureSustained measures each LSM engine and its library.
func (p *parent) measureSustained() (*Section, error) {
	var all []Sustained
	for _, k := range engine.Kinds() {
		if k == engine.Page {
			continue
		}
		of, err := p.sustainedOf(k)
		if err != nil {
			return nil, err
		}
		all = append(all, of...)
	}
	s := &Section{Sustained: all}
	s.sustainedTable(p.config)
	return s, nil
}

// sustainedOf measures one library, with and without the seam in turns. Each run
// begins with the same files, loaded in random order, so that there are levels to
// look through and to compact.
func (p *parent) sustainedOf(k engine.Kind) ([]Sustained, error) {
	var subjects []Subject
	var loaded []string
	for _, s := range p.config.selectedSubjects() {
		if s.Kind != k {
			continue
		}
		subjects = append(subjects, s)
		if dir := p.path("random-" + s.data()); !slices.Contains(loaded, dir) {
			loaded = append(loaded, dir)
			if _, err := p.fill(s, dir, loadTask{Rows: p.config.Rows, Random: true}); err != nil {
				return nil, err
			}
		}
	}
	var all []Sustained
	for _, write := range []bool{false, true} {
		for _, s := range subjects {
			p.logf("sustained reads, writes %v: %s", write, s.Name)
			work := p.path("sustain")
			if err := p.copyFolder(p.path("random-"+s.data()), work); err != nil {
				return nil, err
			}
			r, err := call[Sustained](p, task{Work: workSustain, Subject: s.Name, Data: work, Write: write})
			if err != nil {
				return nil, err
			}
			all = append(all, r)
			if err := os.RemoveAll(work); err != nil {
				return nil, err
			}
		}
	}
	for _, dir := range loaded {
		if err := os.RemoveAll(dir); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (p *parent) copyFolder(from, to string) error {
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	if out, err := exec.Command("cp", "-a", "--sparse=always", from, to).CombinedOutput(); err != nil {
		return fmt.Errorf("copy %s: %w: %s", from, err, out)
	}
	if !p.config.Rest {
		return nil
	}
	return figuretable.FlushDisk(to)
}

func (s *Section) sustainedTable(c Config) {
	t := figuretable.Table{
		Title: "LSM engines: reads, and reads beside writes",
		How: fmt.Sprintf(
			"%s s each, %d readers of random rows that take a new view every %d gets; beside them nothing, or %s "+
				"MB/s of new values for random rows in blocks of %d, not synced by the libraries, the last %d blocks "+
				"undoable in the engines. "+
				"Each run starts with a copy of the same files, loaded in random order. %s MB of memory each: engine "+
				"1/2 cache and 1/4 overlay (twice, while one is flushed), library 3/4 block cache and 1/4 memtables; "+
				"the shape of the levels and the filters are the same. "+
				"Written: /proc/self/io write_bytes of the process in that time; settling: what was written "+
				"afterwards, until every change was durable (library: sync of the log; engine: flush) and "+
				"compactions had come to rest.",
			figuretable.Significant(c.Sustain.Seconds()), sustainReaders, batchRows,
			figuretable.Significant(float64(c.Rate)/1e6), batchRows, undoable, figuretable.Megabytes(c.Memory)),
		Head: []string{"store", "beside", "gets/s", "p50, µs", "p99, µs", "MB changed", "MB written", "settling, MB",
			"written / changed", "RSS, MB"},
	}
	by := map[string]Sustained{}
	for _, r := range s.Sustained {
		beside, changed, settling, amplification := "nothing", figuretable.None, figuretable.None, figuretable.None
		if r.Writes {
			beside, changed, settling = "writes", figuretable.Megabytes(r.Changed), figuretable.Megabytes(r.Settling)
			amplification = figuretable.Ratio(float64(r.Written+r.Settling) / float64(max(r.Changed, 1)))
		}
		t.Add(r.Subject, beside, figuretable.Count(r.Gets), figuretable.Significant(r.P50/1000),
			figuretable.Significant(r.P99/1000),
			changed, figuretable.Megabytes(r.Written), settling, amplification, figuretable.Megabytes(r.RSS))
		by[r.Subject+beside] = r
	}
	s.Tables = append(s.Tables, t)
	for _, r := range s.Sustained {
		beside := "nothing"
		if r.Writes {
			beside = "writes"
		}
		if bare, ok := by[r.Subject+" bare"+beside]; ok {
			s.noMoreThan(r, bare, beside)
		}
	}
}

// noMoreThan is the target that the seam writes no more than the library: for
// each byte changed where there are changes.
func (s *Section) noMoreThan(r, bare Sustained, beside string) {
	if !r.Writes {
		s.Targets.AtMost(fmt.Sprintf("%s beside %s: MB written", r.Subject, beside), float64(r.Written)/1e6,
			float64(bare.Written)/1e6, "MB")
		return
	}
	each := func(r Sustained) float64 { return float64(r.Written+r.Settling) / float64(max(r.Changed, 1)) }
	s.Targets.AtMost(fmt.Sprintf("%s beside %s: written / changed", r.Subject, beside), each(r), each(bare), "")
}
