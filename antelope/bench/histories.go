package bench

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"tarn/internal/figures"
	"tarn/internal/loopback"
)

// The histories that a node records.
const (
	recordsNone  = "none"
	recordsTrace = "traces"
	recordsState = "state history"
	recordsBoth  = "both"
)

// recorders are the options with which a node records what, and the address at which it
// serves its state history; "" if it has none.
func recorders(what string) (options []string, address string, err error) {
	if what == recordsTrace || what == recordsBoth {
		options = append(options, "--plugin", "eosio::trace_api_plugin", "--trace-no-abis")
	}
	if what == recordsState || what == recordsBoth {
		ports, err := loopback.Addresses(1)
		if err != nil {
			return nil, "", err
		}
		address = ports[0]
		options = append(options, "--plugin", "eosio::state_history_plugin", "--state-history-endpoint", address, "--trace-history", "--chain-state-history",
			"--disable-replay-opts", "--read-only-threads", "0")
	}
	return options, address, nil
}

// HistorySizes are the bytes of the files of histories, by what is in them.
type HistorySizes struct {
	Actions int64 // trace_history.log and its index
	Rows    int64 // chain_state_history.log and its index
	Traces  int64 // slices of trace_api, with their indexes and ids
	Finder  int64 // index of transactions, which nodeos has none of
}

// Sum is that of all.
func (h HistorySizes) Sum() int64 { return h.Actions + h.Rows + h.Traces + h.Finder }

// less is what was added since.
func (h HistorySizes) less(o HistorySizes) HistorySizes {
	return HistorySizes{h.Actions - o.Actions, h.Rows - o.Rows, h.Traces - o.Traces, h.Finder - o.Finder}
}

// histories are the sizes of the histories in a node's folder.
func (n *node) histories() (h HistorySizes) {
	// What is removed meanwhile is not counted.
	_ = filepath.WalkDir(n.Dir(), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return nil
		}
		switch {
		case strings.HasPrefix(e.Name(), "trace_history."):
			h.Actions += info.Size()
		case strings.HasPrefix(e.Name(), "chain_state_history."):
			h.Rows += info.Size()
		case strings.Contains(path, "/traces/trace_find_"):
			h.Finder += info.Size()
		case strings.Contains(path, "/traces/"):
			h.Traces += info.Size()
		}
		return nil
	})
	return h
}

// quiet is how long the files of histories must not have grown for all to be written.
const quiet = 400 * time.Millisecond

// settled waits until a node's histories grow no more, and returns their sizes and when
// they grew last.
func (b *bench) settled(n *node) (h HistorySizes, last time.Time, err error) {
	h, last = n.histories(), time.Now()
	for time.Since(last) < quiet {
		select {
		case <-b.ctx.Done():
			return h, last, b.ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
		if x := n.histories(); x != h {
			h, last = x, time.Now()
		}
	}
	return h, last, nil
}

// Replay is how a node replayed a chain with some histories.
type Replay struct {
	Subject, Records string
	Took             time.Duration // from the start of the process to the last byte of a history
	Node             time.Duration // processor time
	Written          int64         // by the process, as the kernel counts it, in bytes
	Histories        HistorySizes
}

func (b *bench) histories() (*Section, error) {
	c, err := b.transfers()
	if err != nil {
		return nil, err
	}
	s := &Section{}
	for round, subject := range b.turns() {
		for _, records := range []string{recordsNone, recordsTrace, recordsState, recordsBoth} {
			b.logf("histories, round %d: %s, %s", round+1, subject, records)
			r, err := b.replayOnce(c, subject, records)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", records, err)
			}
			s.Replays = append(s.Replays, r)
		}
	}
	s.replayTable(b, c)
	return s, nil
}

// replayOnce has a new node replay a chain while it records.
func (b *bench) replayOnce(c *chainFolder, subject, records string) (r Replay, err error) {
	r.Subject, r.Records = subject, records
	options, _, err := recorders(records)
	if err != nil {
		return r, err
	}
	dir := b.folder("node")
	if err := c.copyLog(dir); err != nil {
		return r, err
	}
	if err := figures.FlushDisk(b.config.Dir); err != nil {
		return r, err
	}
	begin := time.Now()
	err = b.with(plan{subject: subject, dir: dir, extra: options}, func(n *node) (err error) {
		if err := n.AwaitHead(b.ctx, c.last, false); err != nil {
			return err
		}
		last := time.Now()
		if records != recordsNone {
			if r.Histories, last, err = b.settled(n); err != nil {
				return err
			}
		}
		r.Took = last.Sub(begin)
		if r.Node, err = n.processor(); err != nil {
			return err
		}
		r.Written, err = n.written()
		return err
	})
	return r, err
}

func (s *Section) replayTable(b *bench, c *chainFolder) {
	t := figures.Table{Title: "Replay that records",
		How: fmt.Sprintf("A chain of %s transactions in %d blocks, from the start of the process to the last byte of a history. "+
			"What recording costs is what a replay takes more than the one that records nothing; written are the bytes that the kernel counts for the process, "+
			"more than those of the replay that records nothing.",
			figures.Count(float64(c.sums[c.last])), c.last),
		Head: []string{"records", "node", "seconds", "nodeos / it", "recording s", "node s", "written more MB", "histories MB", "of these actions MB", "rows MB", "trace_api MB", "index MB", "spread"}}
	of := func(subject, records string) []Replay {
		return only(s.Replays, func(r Replay) bool { return r.Subject == subject && r.Records == records })
	}
	took := func(r Replay) time.Duration { return r.Took }
	written := func(r Replay) float64 { return float64(r.Written) }
	for _, records := range []string{recordsNone, recordsTrace, recordsState, recordsBoth} {
		reference := figures.MedianTime(of(nodeos, records), took)
		for _, name := range b.subjects(0) {
			all, none := of(name, records), of(name, recordsNone)
			mid := figures.MedianTime(all, took)
			h := all[0].Histories // the same in each round, but for how the index was merged
			t.Add(records, name, figures.Significant(mid.Seconds()), figures.Ratio(float64(reference)/float64(mid))+"×",
				figures.Significant((mid - figures.MedianTime(none, took)).Seconds()),
				figures.Significant(figures.MedianTime(all, func(r Replay) time.Duration { return r.Node }).Seconds()),
				figures.Megabytes(int64(figures.Median(all, written)-figures.Median(none, written))), figures.Megabytes(h.Sum()),
				figures.Megabytes(h.Actions), figures.Megabytes(h.Rows), figures.Megabytes(h.Traces), figures.Megabytes(h.Finder),
				figures.Percent(figures.Spread(all, func(r Replay) float64 { return float64(r.Took) })))
			if name == tarn && records == recordsBoth {
				s.Targets.AtLeast("replay with both histories, nodeos / tarn", float64(reference)/float64(mid), 1.7, "×")
			}
		}
	}
	s.Tables = append(s.Tables, t)
}
