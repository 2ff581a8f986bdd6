package bench

import (
	"fmt"
	"os"
	"time"

	"tarn/internal/figures"
)

// Synced is what a node cost that got a chain from another one.
type Synced struct {
	Subject   string
	Seconds   float64 // from the beginning of the process until it told the chain's last block
	Processor float64 // seconds, until then
	Feeder    float64 // seconds of the processor that the node used that had the chain
	Peak      int64   // resident memory
	Written   int64   // bytes
}

// syncs is the section of that name.
func (m *measurement) syncs() (*Section, error) {
	events, err := m.chain(&m.config.Work)
	if err != nil {
		return nil, err
	}
	f, err := m.feed(events)
	if err != nil {
		return nil, err
	}
	defer f.Kill()
	s := &Section{}
	for range m.config.Rounds {
		for _, subject := range m.subjects() {
			x, err := m.sync(f, subject)
			if err != nil {
				return s, fmt.Errorf("%s: %w", subject, err)
			}
			m.logf("%s: synced in %.2f s, processor %.2f s, of the feeder %.2f s", subject, x.Seconds, x.Processor, x.Feeder)
			s.Synced = append(s.Synced, *x)
		}
	}
	m.tellSyncs(s, f)
	return s, nil
}

// sync starts a node on an empty folder, and ends it when it has all that the feeder has.
func (m *measurement) sync(f *feeder, subject string) (*Synced, error) {
	dir, err := m.folder(subject)
	if err != nil {
		return nil, err
	}
	if err := figures.FlushDisk(dir); err != nil {
		return nil, err
	}
	fed, err := f.Now()
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	node, err := m.serve(subject, dir, life{peer: f.url})
	if err != nil {
		return nil, err
	}
	defer node.Kill()
	if _, err := m.follow(node, f.head); err != nil {
		return nil, err
	}
	x := &Synced{Subject: subject, Seconds: time.Since(begun).Seconds()}
	own, err := node.Now()
	if err != nil {
		return nil, err
	}
	after, err := f.Now()
	if err != nil {
		return nil, err
	}
	x.Processor, x.Feeder, x.Written = own.CPU().Seconds(), (after.CPU() - fed.CPU()).Seconds(), own.Disk.Net()
	if number, hash, err := node.last(); err != nil || number != f.head || hash != f.hash {
		return nil, fmt.Errorf("the last block is %d %s, %w, want %d %s", number, hash, err, f.head, f.hash)
	}
	node.Kill()
	x.Peak = node.Peak()
	return x, os.RemoveAll(dir)
}

// tellSyncs makes the table, and compares with what is wanted.
func (m *measurement) tellSyncs(s *Section, f *feeder) {
	t := figures.Table{
		Title: "Sync from a peer, from genesis",
		How: fmt.Sprintf("From the beginning of a process on an empty folder until it tells the last of %s blocks with %s transactions, which it gets from one peer, a node of ours on the same processors; it is asked for its last block each %v.",
			figures.Count(float64(f.head)), figures.Count(float64(f.txs[f.head])), lookEvery),
		Head: []string{"", "s", "tx/s", "rate by the better go-opera's", "processor, s", "of the feeder, s", "memory, MB", "written, MB"},
	}
	of := func(subject string, value func(Synced) float64) float64 {
		return figures.Median(figures.Only(s.Synced, func(x Synced) bool { return x.Subject == subject }), value)
	}
	seconds := func(x Synced) float64 { return x.Seconds }
	best := min(of(presets[0], seconds), of(presets[1], seconds))
	for _, subject := range m.subjects() {
		took := of(subject, seconds)
		name := subject
		if ours(subject) {
			s.Targets.AtLeast("sync, "+subject+", by the better go-opera's", best/took, 2, "times")
		} else {
			name = "go-opera " + subject
		}
		t.Add(name, figures.Significant(took), figures.Count(float64(f.txs[f.head])/took), figures.Ratio(best/took),
			figures.Significant(of(subject, func(x Synced) float64 { return x.Processor })), figures.Significant(of(subject, func(x Synced) float64 { return x.Feeder })),
			figures.Megabytes(int64(of(subject, func(x Synced) float64 { return float64(x.Peak) }))), figures.Megabytes(int64(of(subject, func(x Synced) float64 { return float64(x.Written) }))))
	}
	s.Tables = append(s.Tables, t)
}
