package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"tarn/internal/figures"
)

// Start is how long a node takes to begin and to end.
type Start struct {
	Subject string
	First   time.Duration // from the snapshot
	State   int64         // files of the state, in bytes
	Second  time.Duration // and all after it: the state is there
	Stop    time.Duration // from SIGTERM to the end
	Dirty   int64         // written to disks meanwhile, in bytes
}

func (b *bench) start() (*Section, error) {
	path, err := b.filled(b.config.StateBytes)
	if err != nil {
		return nil, err
	}
	defer os.Remove(path)
	s := &Section{}
	for _, subject := range b.subjects(0) {
		if err := b.startSubject(s, subject, path); err != nil {
			return nil, fmt.Errorf("%s: %w", subject, err)
		}
	}
	s.startTable(b)
	return s, nil
}

// startSubject starts a node from a snapshot, and then again and again.
func (b *bench) startSubject(s *Section, subject, path string) error {
	dir := b.folder("node")
	defer os.RemoveAll(dir)
	b.logf("start: %s, from the snapshot", subject)
	n, err := b.starts(plan{subject: subject, dir: dir, snapshot: path, produce: true})
	if err != nil {
		return err
	}
	first := n.took
	if err := n.Stop(); err != nil {
		return err
	}
	for range b.config.Rounds {
		b.logf("start: %s", subject)
		r := Start{Subject: subject, First: first, State: stateBytes(dir)}
		n, err := b.starts(plan{subject: subject, dir: dir, produce: true})
		if err != nil {
			return err
		}
		r.Second = n.took
		if err := b.steady(n, b.config.Reads, b.config.LoadRate); err != nil {
			n.Kill()
			return err
		}
		before, err := n.written()
		if err != nil {
			n.Kill()
			return err
		}
		begin := time.Now()
		r.Dirty, err = n.stopCounting()
		r.Stop, r.Dirty = time.Since(begin), r.Dirty-before
		s.Starts = append(s.Starts, r)
		if err != nil {
			return err
		}
	}
	return nil
}

// stopCounting stops a node and returns the last count of what it wrote that could be
// read before it was gone.
func (n *node) stopCounting() (last int64, err error) {
	if err := syscall.Kill(n.PID(), syscall.SIGTERM); err != nil {
		return 0, err
	}
	stopped := make(chan error, 1)
	go func() { stopped <- n.Stop() }() // a second SIGTERM changes nothing
	for {
		if w, err := n.written(); err == nil {
			last = w
		}
		select {
		case err := <-stopped:
			return last, err
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// stateBytes is what the files in a node's state folder occupy.
func stateBytes(dir string) (sum int64) {
	names, _ := filepath.Glob(filepath.Join(dir, "state", "*")) // the pattern is good
	for _, name := range names {
		var st syscall.Stat_t
		if syscall.Stat(name, &st) == nil {
			sum += st.Blocks * 512
		}
	}
	return sum
}

func (s *Section) startTable(b *bench) {
	t := figures.Table{Title: "Start and stop", How: fmt.Sprintf("A state with %s MB of rows. From the start of the process until `get_info` is answered; "+
		"%d transfers per second for %s; from SIGTERM until the process is gone, with what it had written meanwhile.",
		figures.Megabytes(b.config.StateBytes), b.config.LoadRate, b.config.Reads),
		Head: []string{"node", "state MB", "from the snapshot s", "start s", "longest s", "stop s", "written MB"}}
	for _, name := range b.subjects(0) {
		all := figures.Only(s.Starts, func(x Start) bool { return x.Subject == name })
		longest := time.Duration(0)
		for _, x := range all {
			longest = max(longest, x.Second)
		}
		t.Add(name, figures.Megabytes(all[0].State), figures.Significant(all[0].First.Seconds()),
			figures.Significant(figures.MedianTime(all, func(x Start) time.Duration { return x.Second }).Seconds()), figures.Significant(longest.Seconds()),
			figures.Significant(figures.MedianTime(all, func(x Start) time.Duration { return x.Stop }).Seconds()),
			figures.Megabytes(int64(figures.Median(all, func(x Start) float64 { return float64(x.Dirty) }))))
		if name == tarn {
			s.Targets.AtMost("longest start", longest.Seconds(), 2, "s")
		}
	}
	s.Tables = append(s.Tables, t)
}
