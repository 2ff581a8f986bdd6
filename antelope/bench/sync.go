package bench

import (
	"fmt"
	"time"

	"tarn/antelope/blocklog"
	"tarn/internal/figures"
)

// Sync is how fast a node took the blocks of another.
type Sync struct {
	Subject, Chain string
	From           string        // what has the blocks
	Blocks         float64       // per second
	Transactions   float64       // per second
	Node           time.Duration // processor time for all
	Source         time.Duration // that of the node that had the blocks
	Took           time.Duration
}

func (b *bench) sync() (*Section, error) {
	s := &Section{}
	full, err := b.transfers()
	if err != nil {
		return nil, err
	}
	empty, err := b.emptyBlocks(b.config.Empty)
	if err != nil {
		return nil, err
	}
	for _, c := range []struct {
		name  string
		chain *chainFolder
	}{{"full blocks", full}, {"empty blocks", empty}} {
		if err := b.syncChain(s, c.name, c.chain); err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
	}
	s.syncTable(b)
	return s, nil
}

// syncChain has each subject sync a chain from a source of each kind.
func (b *bench) syncChain(s *Section, name string, c *chainFolder) error {
	for _, from := range []string{nodeos, tarn} {
		if err := b.syncFrom(s, name, c, from); err != nil {
			return fmt.Errorf("from %s: %w", from, err)
		}
	}
	return nil
}

func (b *bench) syncFrom(s *Section, name string, c *chainFolder, from string) error {
	genesis, err := blocklog.Tool{Dir: c.dir}.Genesis("")
	if err != nil {
		return err
	}
	dir := b.folder("source")
	if err := c.copyLog(dir); err != nil {
		return err
	}
	return b.with(plan{subject: from, dir: dir}, func(source *node) error {
		if err := source.AwaitHead(b.ctx, c.last, false); err != nil {
			return err
		}
		for round, subject := range b.turns() {
			b.logf("sync of %s from %s, round %d: %s", name, from, round+1, subject)
			err := b.with(plan{subject: subject, genesis: genesis, extra: []string{"--p2p-peer-address", source.P2P()}}, func(n *node) error {
				r, err := b.syncOnce(n, source, c)
				r.Chain, r.From = name, from
				s.Syncs = append(s.Syncs, r)
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// syncOnce measures from when a node has some blocks until it has all of them, so that
// its start and its greetings don't count.
func (b *bench) syncOnce(n, source *node, c *chainFolder) (r Sync, err error) {
	r.Subject = n.subject
	var first uint32
	var begin time.Time
	var used, given time.Duration
	for {
		_, _, head, err := b.head(n)
		if err != nil {
			return r, err
		}
		if begin.IsZero() && head > 1 {
			first, begin = head, time.Now()
			if used, err = n.processor(); err != nil {
				return r, err
			}
			if given, err = source.processor(); err != nil {
				return r, err
			}
		}
		if head >= c.last {
			break
		}
		select {
		case <-b.ctx.Done():
			return r, b.ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
	r.Took = time.Since(begin)
	r.Blocks = float64(c.last-first) / r.Took.Seconds()
	r.Transactions = float64(c.sums[c.last]-c.sums[first]) / r.Took.Seconds()
	if r.Node, err = n.processor(); err != nil {
		return r, err
	}
	r.Node -= used
	r.Source, err = source.processor()
	r.Source -= given
	return r, err
}

func (s *Section) syncTable(b *bench) {
	t := figures.Table{Title: "Sync from a peer",
		How: fmt.Sprintf("From a node that stands still, with all checks: %s transfers in blocks as full as nodeos made them, and %s empty blocks. "+
			"From the first block that a question found until the last.", figures.Count(float64(b.config.Full)), figures.Count(float64(b.config.Empty))),
		Head: []string{"blocks", "from", "node", "transactions/s", "blocks/s", "to nodeos", "node s", "source s", "seconds", "spread"}}
	blocks := func(x Sync) float64 { return x.Blocks }
	seconds := func(all []Sync, f func(Sync) time.Duration) string {
		return figures.Significant(figures.MedianTime(all, f).Seconds())
	}
	for _, chain := range []string{"full blocks", "empty blocks"} {
		of := func(subject, from string) []Sync {
			return figures.Only(s.Syncs, func(x Sync) bool { return x.Subject == subject && x.Chain == chain && x.From == from })
		}
		// What a network of the originals has.
		reference := figures.Median(of(nodeos, nodeos), blocks)
		for _, from := range []string{nodeos, tarn} {
			for _, name := range b.subjects(0) {
				all := of(name, from)
				t.Add(chain, from, name, figures.Count(figures.Median(all, func(x Sync) float64 { return x.Transactions })), figures.Count(figures.Median(all, blocks)),
					figures.Ratio(figures.Median(all, blocks)/reference)+"×", seconds(all, func(x Sync) time.Duration { return x.Node }),
					seconds(all, func(x Sync) time.Duration { return x.Source }), seconds(all, func(x Sync) time.Duration { return x.Took }), figures.Percent(figures.Spread(all, blocks)))
			}
			s.Targets.AtLeast("sync of "+chain+" from "+from+", to nodeos from nodeos", figures.Median(of(tarn, from), blocks)/reference, 2, "×")
		}
	}
	s.Tables = append(s.Tables, t)
}
