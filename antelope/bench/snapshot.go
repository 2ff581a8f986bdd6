package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"tarn/internal/figures"
)

// Snapshot is how fast one was written and loaded.
type Snapshot struct {
	Subject string
	Bytes   int64         // of the file that was written
	Load    time.Duration // from the start of the process until it answered
	Write   time.Duration // from the call until the file was whole
	Gap     time.Duration // longest between two blocks meanwhile
	Peak    int64         // memory, in bytes
}

func (b *bench) snapshot() (*Section, error) {
	path, err := b.filled(b.config.SnapshotBytes)
	if err != nil {
		return nil, err
	}
	defer os.Remove(path)
	s := &Section{}
	for round, subject := range b.turns() {
		b.logf("snapshot, round %d: %s", round+1, subject)
		err := b.with(plan{subject: subject, snapshot: path, produce: true}, func(n *node) error {
			r, err := b.snapshotOnce(n)
			s.Snapshots = append(s.Snapshots, r)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	s.snapshotTable(b)
	return s, nil
}

// snapshotOnce has a producing node write a snapshot. The call is answered when its
// block is irreversible, so what counts is when the file has lost the name that says
// that it is not whole.
func (b *bench) snapshotOnce(n *node) (r Snapshot, err error) {
	r.Subject, r.Load = n.subject, n.took
	if err := n.Blocks(b.ctx, 3); err != nil {
		return r, err
	}
	w, err := n.watch()
	if err != nil {
		return r, err
	}
	defer w.close()
	begin := time.Now()
	answered := make(chan error, 1)
	var path string
	go func() {
		var err error
		_, path, err = n.Snapshot(b.ctx)
		answered <- err
	}()
	for running := true; running; {
		select {
		case err := <-answered:
			if err != nil {
				return r, err
			}
			running = false
		case <-time.After(2 * time.Millisecond):
		}
		whole, _ := filepath.Glob(filepath.Join(n.Dir(), "snapshots", ".pending-*")) // the pattern is good
		if r.Write == 0 && (len(whole) > 0 || !running) {
			r.Write = time.Since(begin)
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		return r, err
	}
	r.Bytes = info.Size()
	if err := n.Blocks(b.ctx, 2); err != nil {
		return r, err
	}
	if err := w.read(); err != nil {
		return r, err
	}
	for i := 1; i < len(w.blocks); i++ {
		r.Gap = max(r.Gap, w.blocks[i].said.Sub(w.blocks[i-1].said))
	}
	r.Peak, err = n.peak()
	return r, err
}

func (s *Section) snapshotTable(b *bench) {
	t := figures.Table{Title: "Snapshots", How: fmt.Sprintf("A state with %s MB of rows; the node produces empty blocks while it writes. "+
		"Loading is from the start of the process until `get_info` is answered.", figures.Megabytes(b.config.SnapshotBytes)),
		Head: []string{"node", "file MB", "write s", "write MB/s", "to nodeos", "longest gap between blocks ms", "load s", "load MB/s", "to nodeos", "memory MB"}}
	rate := func(took func(Snapshot) time.Duration) func(Snapshot) float64 {
		return func(x Snapshot) float64 { return float64(x.Bytes) / 1e6 / took(x).Seconds() }
	}
	write, load := func(x Snapshot) time.Duration { return x.Write }, func(x Snapshot) time.Duration { return x.Load }
	of := func(subject string) []Snapshot {
		return figures.Only(s.Snapshots, func(x Snapshot) bool { return x.Subject == subject })
	}
	ratio := func(subject string, took func(Snapshot) time.Duration) float64 {
		return figures.Median(of(subject), rate(took)) / figures.Median(of(nodeos), rate(took))
	}
	for _, name := range b.subjects(0) {
		all := of(name)
		t.Add(name, figures.Megabytes(all[0].Bytes),
			figures.Significant(figures.MedianTime(all, write).Seconds()), figures.Significant(figures.Median(all, rate(write))), figures.Ratio(ratio(name, write))+"×",
			figures.Millis(figures.MedianTime(all, func(x Snapshot) time.Duration { return x.Gap })),
			figures.Significant(figures.MedianTime(all, load).Seconds()), figures.Significant(figures.Median(all, rate(load))), figures.Ratio(ratio(name, load))+"×",
			figures.Megabytes(int64(figures.Median(all, func(x Snapshot) float64 { return float64(x.Peak) }))))
	}
	s.Tables = append(s.Tables, t)
	s.Targets.AtLeast("writing a snapshot, to nodeos", ratio(tarn, write), 2, "×")
	s.Targets.AtLeast("loading a snapshot, to nodeos", ratio(tarn, load), 2, "×")
}
