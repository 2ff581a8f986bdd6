package bench

import (
	"fmt"
	"path/filepath"
	"time"

	"tarn/internal/figures"
)

// Recording is what a producing node had written under load, in bytes.
type Recording struct {
	Subject, Records string
	Took             time.Duration
	Transfers        int
	Written          int64 // by the process, as the kernel counts it
	BlockLog         int64 // that the block log and its index grew
	Histories        HistorySizes
	Text             int64 // that the log for people grew
}

// Rest is what was written for anything but the logs: the state, for one.
func (r Recording) Rest() int64 { return r.Written - r.BlockLog - r.Histories.Sum() - r.Text }

func (b *bench) recording() (*Section, error) {
	c, err := b.transfers()
	if err != nil {
		return nil, err
	}
	s := &Section{}
	for round, subject := range b.turns() {
		for _, records := range []string{recordsNone, recordsBoth} {
			b.logf("recording, round %d: %s, %s", round+1, subject, records)
			options, _, err := recorders(records)
			if err != nil {
				return nil, err
			}
			err = b.with(plan{subject: subject, snapshot: c.snapshot, produce: true, extra: options}, func(n *node) error {
				r, err := b.recordOnce(n)
				r.Records = records
				s.Recordings = append(s.Recordings, r)
				return err
			})
			if err != nil {
				return nil, fmt.Errorf("%s: %w", records, err)
			}
		}
	}
	s.recordingTable(b)
	return s, nil
}

// recordOnce counts while transfers come.
func (b *bench) recordOnce(n *node) (r Recording, err error) {
	r.Subject = n.subject
	if err := n.Blocks(b.ctx, 2); err != nil { // the whole state at the begin is recorded with the first one
		return r, err
	}
	if err := figures.FlushDisk(b.config.Dir); err != nil {
		return r, err
	}
	w, err := n.watch()
	if err != nil {
		return r, err
	}
	defer w.close()
	blocks := filepath.Join(n.Dir(), "blocks")
	logged := func() int64 { return sizes(blocks, "blocks.log", "blocks.index") }
	text := func() int64 { return sizes(n.Dir(), filepath.Base(n.LogFile())) }
	begin := time.Now()
	written, err := n.written()
	if err != nil {
		return r, err
	}
	before, log, said := n.histories(), logged(), text()
	if err := b.steady(n, b.config.Load, b.config.LoadRate); err != nil {
		return r, err
	}
	if r.Written, err = n.written(); err != nil {
		return r, err
	}
	r.Written -= written
	r.Histories, r.BlockLog, r.Text, r.Took = n.histories().less(before), logged()-log, text()-said, time.Since(begin)
	err = w.read()
	r.Transfers = w.accepted()
	return r, err
}

func (s *Section) recordingTable(b *bench) {
	c := b.config
	t := figures.Table{Title: "Bytes written while recording",
		How: fmt.Sprintf("A node that produces, with %d transfers per second for %s, recording both histories and none. Written is what the kernel counts for the process; "+
			"the other columns are what the files grew. The rest is what was written for anything but these files, such as the state: that of a node that records is to be no more than that of one that does not.",
			c.LoadRate, c.Load),
		Head: []string{"node", "records", "transfers", "written MB", "block log MB", "actions MB", "rows MB", "trace_api MB", "index MB", "log MB", "rest MB", "rest B a transfer"}}
	rest := func(r Recording) float64 { return float64(r.Rest()) / float64(max(1, r.Transfers)) }
	of := func(subject, records string) []Recording {
		return only(s.Recordings, func(r Recording) bool { return r.Subject == subject && r.Records == records })
	}
	for _, name := range b.subjects(0) {
		for _, records := range []string{recordsNone, recordsBoth} {
			all := of(name, records)
			mega := func(f func(Recording) int64) string {
				return figures.Megabytes(int64(figures.Median(all, func(r Recording) float64 { return float64(f(r)) })))
			}
			t.Add(name, records, figures.Count(figures.Median(all, func(r Recording) float64 { return float64(r.Transfers) })),
				mega(func(r Recording) int64 { return r.Written }), mega(func(r Recording) int64 { return r.BlockLog }),
				mega(func(r Recording) int64 { return r.Histories.Actions }), mega(func(r Recording) int64 { return r.Histories.Rows }),
				mega(func(r Recording) int64 { return r.Histories.Traces }), mega(func(r Recording) int64 { return r.Histories.Finder }),
				mega(func(r Recording) int64 { return r.Text }), mega(Recording.Rest), figures.Significant(figures.Median(all, rest)))
		}
	}
	s.Tables = append(s.Tables, t)
}
