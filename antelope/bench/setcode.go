package bench

import (
	"fmt"
	"io"
	"slices"
	"time"

	"tarn/antelope/oracle"
	"tarn/internal/figures"
)

// Deployment is how a node's blocks went under steady transfers, alone or while a
// large contract was put on accounts. Times are in nanoseconds, sizes in bytes.
type Deployment struct {
	Subject   string
	Deploying bool
	Pace
	Peak int64 // memory since the node's start

	// Of Go's runtime, for tarn: see GODEBUG=gctrace=1.
	Collections int
	Pause99     float64 // of the pauses
	PauseWorst  float64
	Heap        int64   // most when a collection began
	Garbage     float64 // allocated for each transfer
}

const deployed = "eosio.system"

func (b *bench) setcode() (*Section, error) {
	c, err := b.transfers()
	if err != nil {
		return nil, err
	}
	s := &Section{}
	for _, subject := range b.subjects(0) {
		for _, deploying := range []bool{false, true} {
			b.logf("setcode: %s, deploying %v", subject, deploying)
			p := plan{subject: subject, snapshot: c.snapshot, produce: true}
			if subject != nodeos {
				p.env = []string{"GODEBUG=gctrace=1", "GOGC=50"} // twice as often, that there is something to count
			}
			err := b.with(p, func(n *node) error {
				d, err := b.deployOnce(n, deploying)
				s.Deployments = append(s.Deployments, d)
				return err
			})
			if err != nil {
				return nil, err
			}
		}
	}
	s.deployTable(b)
	return s, nil
}

// deployOnce gives a node steady transfers, and maybe contracts at the same time.
func (b *bench) deployOnce(n *node, deploying bool) (d Deployment, err error) {
	d.Subject, d.Deploying = n.subject, deploying
	if err := n.Blocks(b.ctx, 2); err != nil {
		return d, err
	}
	w, err := n.watch()
	if err != nil {
		return d, err
	}
	defer w.close()
	chain, _, _, err := b.head(n)
	if err != nil {
		return d, err
	}
	load := make(chan error, 1)
	length := time.Duration(b.config.Deployments+1) * b.config.Pause
	go func() { load <- b.steady(n, length, b.config.LoadRate) }()
	if deploying {
		// A node of its own: that one is for one goroutine.
		_, _, err = b.peer.Drive(b.ctx, oracle.Attach(n.URL()[len("http://"):], n.P2P()), oracle.Deployments(deployed, b.config.Deployments, b.config.Pause),
			b.config.Seed, chain, length, io.Discard)
	}
	if loadErr := <-load; err == nil {
		err = loadErr
	}
	if err != nil {
		return d, err
	}
	if err := w.read(); err != nil {
		return d, err
	}
	d.Pace = w.pace()
	d.collected(w)
	d.Peak, err = n.peak()
	return d, err
}

// collected takes what the log has of garbage collections.
func (d *Deployment) collected(w *watcher) {
	var pauses []time.Duration
	for _, c := range w.collections {
		pauses = append(pauses, c.pauses[:]...)
		d.Heap = max(d.Heap, c.before)
	}
	if d.Collections = len(w.collections); d.Collections == 0 {
		return
	}
	slices.Sort(pauses)
	d.Pause99, d.PauseWorst = float64(pauses[len(pauses)*99/100]), float64(pauses[len(pauses)-1])
	d.Garbage = w.garbage()
}

func (s *Section) deployTable(b *bench) {
	c := b.config
	t := figures.Table{Title: "Block times while a contract is deployed",
		How: fmt.Sprintf("%d transfers per second, for %s; with and without `setcode` of `%s` (another code each time, called at once) %d times meanwhile. "+
			"Between two blocks there should be 500 ms. Pauses are those of Go's garbage collector; garbage is counted in whole MB a collection (GOGC=50), while the last two thirds of the transfers came.",
			c.LoadRate, time.Duration(c.Deployments+1)*c.Pause, deployed, c.Deployments),
		Head: []string{"node", "deploying", "blocks", "gap p50 ms", "p99 ms", "longest ms", "longest making ms", "memory MB", "collections", "pause p99 ms", "longest pause ms", "heap MB", "garbage B a transfer"}}
	ms := func(ns float64) string { return figures.Significant(ns / 1e6) }
	for _, d := range s.Deployments {
		with := "no"
		if d.Deploying {
			with = "yes"
		}
		collections, p99, worst, heap, garbage := figures.None, figures.None, figures.None, figures.None, figures.None
		if d.Collections > 0 {
			collections, p99, worst = figures.Count(float64(d.Collections)), ms(d.Pause99), ms(d.PauseWorst)
			heap = figures.Megabytes(d.Heap)
		}
		if d.Garbage > 0 {
			garbage = figures.Count(d.Garbage)
		}
		t.Add(d.Subject, with, figures.Count(float64(d.Blocks)), ms(d.P50), ms(d.P99), ms(d.Worst), ms(d.Making), figures.Megabytes(d.Peak), collections, p99, worst, heap, garbage)
		if d.Subject == tarn && !d.Deploying {
			if d.Garbage > 0 {
				s.Targets.AtMost("garbage for each transfer", d.Garbage/1024, 4, "KiB")
			}
			s.Targets.AtMost("longest pause of the garbage collector", d.PauseWorst/1e6, 5, "ms")
		}
	}
	s.Tables = append(s.Tables, t)
}
