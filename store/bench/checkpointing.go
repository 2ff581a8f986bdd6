package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"tarn/store/engine"
	"tarn/store/page"

	"tarn/internal/figuretable"
)

// Checkpoints is what checkpoints in mapped_private write and cost.
type Checkpoints struct {
	// Between: random updates at full speed, published, without a checkpoint.
	Between Between
	// Idle is what a reader reaches while nothing is written.
	Idle Readers
	// First is the checkpoint of what Between changed; Rounds are those beside
	// dd, in turns without and with a reader.
	First  Checkpoint
	Rounds []Checkpoint
	DD     []float64 // MB/s of dd, one before each round
	// Stored is the size of the state, in bytes. Before and After are the
	// anonymous memory of the process around First.
	Stored        int64
	Before, After int64
}

// Between is a stretch without a checkpoint.
type Between struct {
	Took    time.Duration
	Updates int
	Changed int64 // bytes of pages that differ from the file at its end
	Written int64 // bytes, by the kernel's account
	Grown   int64 // bytes that the store's file became longer
}

// growth and inodes: a file that grows changes its inode, which some file systems
// put down to the process as one block for each step.
const growth = "4 KB allowed for each growth of the file"

func inodes(grown int64) float64 {
	const step = 64 << 20 // page.Options.GrowBytes
	return float64((max(grown, -grown)+step-1)/step) * 4.096
}

// Checkpoint is one that was measured.
type Checkpoint struct {
	Changed int64 // bytes of pages that differed from the file
	Handed  int64 // bytes given to the kernel, by the engine's account
	Written int64 // bytes, by the kernel's account: whole folios of the page cache
	Device  int64 // bytes written to the whole disk meanwhile; -1 if unknown
	Took    time.Duration
	Pause   time.Duration // of the writer
	Reader  *Readers      // beside it
}

// Speed is in MB of changed pages a second.
func (c Checkpoint) Speed() float64 { return float64(c.Changed) / 1e6 / c.Took.Seconds() }

// Readers is what one reader reached.
type Readers struct {
	Gets          float64 // a second
	P50, P99, Max float64 // ns
}

// checkpoint measures on a store of its own.
func (t task) checkpoint(s Subject) (_ *Checkpoints, err error) {
	st, err := openSeam(s, t.Data, budget{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	if err := warm(st, NewRows(t.Config.Rows), t.Config.Seed, false); err != nil {
		return nil, err
	}
	r := &Checkpoints{Stored: st.Stats().Used}
	src := newSource(NewRows(t.Config.Rows), t.Config.Seed, 4)
	if err := r.between(t.Config, st, src); err != nil {
		return nil, err
	}
	if r.Before, err = anonymous(); err != nil {
		return nil, err
	}
	if r.First, err = checkpointNow(st, t.Data); err != nil {
		return nil, err
	}
	if r.After, err = anonymous(); err != nil {
		return nil, err
	}
	idle := startReader(st, t.Config)
	time.Sleep(max(t.Config.Time, 100*time.Millisecond))
	if r.Idle, err = idle(); err != nil {
		return nil, err
	}
	amount := min(t.Config.CheckpointBytes, r.Stored*3/5)
	for round := range 2 * max(t.Config.Rounds, 3) {
		if err := r.round(t, st, src, amount, round%2 == 1); err != nil {
			return nil, err
		}
	}
	r.Stored = st.Stats().Used
	return r, nil
}

func (r *Checkpoints) between(c Config, st *seam, src *source) error {
	before, err := fileWrites()
	if err != nil {
		return err
	}
	size := st.Stats().Size
	start := time.Now()
	for time.Since(start) < max(c.Time, time.Second) {
		if err := st.Apply(src.changes()); err != nil {
			return err
		}
		r.Between.Updates += batchRows
	}
	r.Between.Took = time.Since(start)
	r.Between.Changed, r.Between.Grown = st.Stats().DirtyBytes, st.Stats().Size-size
	after, err := fileWrites()
	r.Between.Written = after - before
	return err
}

// round runs dd and then a checkpoint of as much.
func (r *Checkpoints) round(t task, st *seam, src *source, amount int64, read bool) error {
	for st.Stats().DirtyBytes < amount {
		if err := st.change(src.changes()); err != nil {
			return err
		}
	}
	if err := st.Publish(); err != nil {
		return err
	}
	dd, err := copySpeed(filepath.Dir(t.Data), amount)
	if err != nil {
		return err
	}
	r.DD = append(r.DD, dd)
	if !read {
		c, err := checkpointNow(st, t.Data)
		r.Rounds = append(r.Rounds, c)
		return err
	}
	stop := startReader(st, t.Config)
	c, err := checkpointNow(st, t.Data)
	beside, readErr := stop()
	c.Reader = &beside
	r.Rounds = append(r.Rounds, c)
	return errors.Join(err, readErr)
}

// checkpointNow makes the present state durable.
func checkpointNow(st *seam, dir string) (c Checkpoint, err error) {
	if err := st.Publish(); err != nil {
		return c, err
	}
	c.Changed = st.Stats().DirtyBytes
	before, err := fileWrites()
	if err != nil {
		return c, err
	}
	handed, device := st.Stats().Written.Total(), figuretable.DeviceWrites(dir)
	start := time.Now()
	under, err := st.Checkpoint()
	if err != nil {
		return c, err
	}
	c.Pause = time.Since(start)
	if err := under.Wait(); err != nil {
		return c, err
	}
	c.Took = time.Since(start)
	after, err := fileWrites()
	if err != nil {
		return c, err
	}
	c.Written = after - before
	c.Handed = st.Stats().Written.Total() - handed
	if c.Device = -1; device >= 0 {
		c.Device = figuretable.DeviceWrites(dir) - device
	}
	if d := st.Durable(); d.Head != st.Head() {
		return c, fmt.Errorf("revision %d is durable after a checkpoint at %d", d.Head, st.Head())
	}
	return c, st.Publish() // the writer takes the outcome in
}

// copySpeed is what dd reaches, in MB/s, into a new file that it syncs.
func copySpeed(dir string, amount int64) (float64, error) {
	to := filepath.Join(dir, "dd")
	blocks := (amount + 1<<20 - 1) >> 20
	start := time.Now()
	out, err := exec.Command("dd", "if=/dev/zero", "of="+to, "bs=1M", fmt.Sprint("count=", blocks),
		"conv=fdatasync").CombinedOutput()
	took := time.Since(start)
	if err != nil {
		return 0, fmt.Errorf("dd: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return float64(blocks<<20) / 1e6 / took.Seconds(), os.Remove(to)
}

// startReader reads random rows until the returned function is called.
func startReader(st *seam, c Config) (stop func() (Readers, error)) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	var l figuretable.Latencies
	start := time.Now()
	go func() {
		src := newSource(NewRows(c.Rows), c.Seed, 5)
		var err error
		for err == nil && ctx.Err() == nil {
			err = request(st, src.random(src.n), &l)
		}
		done <- err
	}()
	return func() (Readers, error) {
		cancel()
		err := <-done
		took := time.Since(start).Seconds()
		return Readers{Gets: float64(l.Count) / took, P50: l.Quantile(0.5), P99: l.Quantile(0.99),
			Max: l.Quantile(1 - 1e-9)}, err
	}
}

// checkpoints measures checkpoints.
func (p *parent) checkpoints() (*Section, error) {
	s := Subject{Kind: engine.Page, Mode: page.MappedPrivate, Name: page.MappedPrivate.String()}
	dir, err := p.copyOf(s)
	if err != nil {
		return nil, err
	}
	p.logf("checkpoints")
	r, err := call[Checkpoints](p, task{Work: workCheckpoint, Subject: s.Name, Data: dir})
	if err != nil {
		return nil, err
	}
	section := &Section{Checkpoints: &r}
	section.checkpointTables(r)
	return section, os.RemoveAll(dir)
}

// copyOf copies a subject's data set, for what changes it for good.
func (p *parent) copyOf(s Subject) (string, error) {
	dir, err := p.dataset(s)
	if err != nil {
		return "", err
	}
	work := p.path("work")
	return work, p.copyFolder(dir, work)
}

func (s *Section) checkpointTables(r Checkpoints) {
	written := figuretable.Table{
		Title: "Checkpoints: bytes and memory",
		How: "mapped_private; random updates at full speed in revisions of 1000, each published, and then a " +
			"checkpoint. Changed: pages that differ from the file, by the engine's gauge just before. Handed: what " +
			"the engine gave to the kernel. Counted: /proc/self/io write_bytes; the kernel counts whole folios of " +
			"the page cache, which may hold more than was written. Disk: what the whole device was written meanwhile " +
			"(/proc/diskstats), by others too. " +
			"Anonymous memory: RssAnon of the process, Go's heap included.",
		Head: []string{"step", "seconds", "updates", "MB changed", "MB handed", "MB counted", "MB to disk",
			"handed / changed", "counted / changed", "anonymous after, MB", "of the store"},
	}
	share := func(anon int64) string { return figuretable.Percent(float64(anon) / float64(r.Stored)) }
	written.Add("between checkpoints", figuretable.Significant(r.Between.Took.Seconds()),
		figuretable.Count(float64(r.Between.Updates)), figuretable.Megabytes(r.Between.Changed),
		figuretable.None, figuretable.Megabytes(r.Between.Written), figuretable.None, figuretable.None, figuretable.None,
		figuretable.Megabytes(r.Before), share(r.Before))
	handed := func(c Checkpoint) float64 { return float64(c.Handed) / float64(c.Changed) }
	counted := func(c Checkpoint) float64 { return float64(c.Written) / float64(c.Changed) }
	disk := func(c Checkpoint) string {
		if c.Device < 0 {
			return figuretable.None
		}
		return figuretable.Megabytes(c.Device)
	}
	written.Add("checkpoint", figuretable.Significant(r.First.Took.Seconds()), figuretable.None,
		figuretable.Megabytes(r.First.Changed), figuretable.Megabytes(r.First.Handed), figuretable.Megabytes(r.First.Written),
		disk(r.First), figuretable.Ratio(handed(r.First)), figuretable.Ratio(counted(r.First)),
		figuretable.Megabytes(r.After), share(r.After))
	s.Targets.AtMost("KB written between checkpoints, "+growth, float64(r.Between.Written)/1e3,
		inodes(r.Between.Grown), "KB")
	s.Targets.AtMost("handed to the kernel by a checkpoint / changed pages", handed(r.First), 1.1, "")
	s.Targets.AtMost("counted by the kernel / changed pages", counted(r.First), 1.1, "")
	s.Targets.AtMost("anonymous memory after a checkpoint / store", float64(r.After)/float64(r.Stored), 0.05, "")

	speed := figuretable.Table{
		Title: "Checkpoints: speed",
		How: fmt.Sprintf(
			"Checkpoints of %s MB of changed pages, in turns without and with a reader beside, each after a dd of as "+
				"much (if=/dev/zero bs=1M conv=fdatasync) into a new file of the same disk. "+
				"Time from the call until all is durable. Pause: how long the writer stood still. The reader takes a "+
				"new view every 1000 gets; times include reading the clock.", figuretable.Megabytes(r.Rounds[0].Changed)),
		Head: []string{"round", "dd, MB/s", "checkpoint, MB/s", "to dd", "counted / changed", "to disk / changed",
			"pause, ms", "reader: gets/s", "p50, µs", "p99, µs", "longest, µs"},
	}
	us := func(ns float64) string { return figuretable.Significant(ns / 1000) }
	speed.Add("no checkpoint", figuretable.None, figuretable.None, figuretable.None, figuretable.None, figuretable.None, figuretable.None,
		figuretable.Count(r.Idle.Gets), us(r.Idle.P50), us(r.Idle.P99), us(r.Idle.Max))
	var alone, beside, ddAlone, ddBeside []float64
	for i, c := range r.Rounds {
		row := []string{fmt.Sprint(i + 1), figuretable.Significant(r.DD[i]), figuretable.Significant(c.Speed()),
			figuretable.Percent(c.Speed() / r.DD[i]), figuretable.Ratio(counted(c)),
			figuretable.Ratio(float64(c.Device) / float64(c.Changed)), figuretable.Millis(c.Pause)}
		if g := c.Reader; g != nil {
			row = append(row, figuretable.Count(g.Gets), us(g.P50), us(g.P99), us(g.Max))
			beside, ddBeside = append(beside, c.Speed()), append(ddBeside, r.DD[i])
		} else {
			row = append(row, figuretable.None, figuretable.None, figuretable.None, figuretable.None)
			alone, ddAlone = append(alone, c.Speed()), append(ddAlone, r.DD[i])
		}
		speed.Add(row...)
	}
	self := func(x float64) float64 { return x }
	dd := figuretable.Median(append(ddAlone, ddBeside...), self)
	s.Targets.AtLeast("checkpoint / dd, medians", figuretable.Median(alone, self)/dd, 0.8, "")
	s.Targets.AtLeast("checkpoint with a reader beside / dd, medians", figuretable.Median(beside, self)/dd, 0.8, "")
	s.Tables = append(s.Tables, written, speed)
}
