package bench

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"tarn/antelope/oracle"
	"tarn/antelope/types"
	"tarn/internal/figures"
	"tarn/probe"
)

// Load is what one run of many transfers came to.
type Load struct {
	Subject  string
	Accepted int
	Rate     float64       // accepted per second
	P50, P99 float64       // of the answers, in nanoseconds; 0 where there are none
	Node     time.Duration // processor time of the node for each
	Client   time.Duration // that of the client
}

// signed makes so many transactions for the chain of a node.
func (b *bench) signed(n *node, count int) ([]*types.PackedTransaction, error) {
	chain, head, _, err := b.head(n)
	if err != nil {
		return nil, err
	}
	source := oracle.NewTransferSource(b.config.Seed, chain, head, 1)
	all := make([]*types.PackedTransaction, count)
	for i := range all {
		if all[i], err = source.Next(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// eachRound runs f with a new node of each subject that produces on the chain of
// transfers, in each round.
func (b *bench) eachRound(what string, f func(n *node) error) error {
	c, err := b.transfers()
	if err != nil {
		return err
	}
	for round, s := range b.turns() {
		b.logf("%s, round %d: %s", what, round+1, s)
		err := b.with(plan{subject: s, snapshot: c.snapshot, produce: true}, func(n *node) error {
			if err := n.Blocks(b.ctx, 2); err != nil {
				return err
			}
			return f(n)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// charged runs f and tells what processor time that took, for each of count.
func charged(n *node, count int, f func() error) (node, client time.Duration, err error) {
	before, err := n.processor()
	if err != nil {
		return 0, 0, err
	}
	own, err := probe.Self()
	if err != nil {
		return 0, 0, err
	}
	if err := f(); err != nil {
		return 0, 0, err
	}
	ended, err := probe.Self()
	if err != nil {
		return 0, 0, err
	}
	after, err := n.processor()
	return (after - before) / time.Duration(count), (ended.CPU() - own.CPU()) / time.Duration(count), err
}

const pushConnections = 32

func (b *bench) push() (*Section, error) {
	s := &Section{}
	err := b.eachRound("push", func(n *node) error {
		l, err := b.pushOnce(n)
		s.Loads = append(s.Loads, l)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.loadTable(b, "Transfers over HTTP", fmt.Sprintf("`send_transaction2` of %s transfers of `eosio.token`, signed beforehand, one a transaction, "+
		"over %d kept-alive connections, each with the next as soon as the last is answered. Processor time is that of the whole node.",
		figures.Count(float64(b.config.Transfers)), pushConnections))
	return s, nil
}

func (b *bench) pushOnce(n *node) (Load, error) {
	all, err := b.signed(n, b.config.Transfers)
	if err != nil {
		return Load{}, err
	}
	requests := pushRequests(all)
	var next atomic.Int64
	l := Load{Subject: n.subject, Accepted: len(requests)}
	b.logf("sending")
	begin := time.Now()
	l.Node, l.Client, err = charged(n, len(requests), func() error {
		took, err := over(n.URL(), pushConnections, func() []byte {
			i := next.Add(1) - 1
			if i >= int64(len(requests)) {
				return nil
			}
			return requests[i]
		})
		if err == nil {
			l.P50, l.P99 = took.Quantile(0.5), took.Quantile(0.99)
		}
		return err
	})
	l.Rate = float64(len(requests)) / time.Since(begin).Seconds()
	return l, err
}

func (b *bench) p2p() (*Section, error) {
	s := &Section{}
	err := b.eachRound("p2p", func(n *node) error {
		l, err := b.relayOnce(n)
		s.Loads = append(s.Loads, l)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.loadTable(b, "Transfers from a peer", fmt.Sprintf("%s transfers of `eosio.token`, signed beforehand, one a transaction, from one peer "+
		"that has at most %s of them under way. The rate is that of the blocks, of those that were filled from begin to end.",
		figures.Count(float64(b.config.Transfers)), figures.Count(window)))
	return s, nil
}

// window is how many transactions are sent and not in a block: nodeos drops what is too
// much.
const window = 40_000

func (b *bench) relayOnce(n *node) (Load, error) {
	all, err := b.signed(n, b.config.Transfers)
	if err != nil {
		return Load{}, err
	}
	chain, _, _, err := b.head(n)
	if err != nil {
		return Load{}, err
	}
	w, err := n.watch()
	if err != nil {
		return Load{}, err
	}
	defer w.close()
	link, err := oracle.DialPeer(b.ctx, n.P2P(), chain)
	if err != nil {
		return Load{}, err
	}
	defer link.Close()
	l := Load{Subject: n.subject}
	b.logf("sending")
	begin := time.Now()
	l.Node, l.Client, err = charged(n, len(all), func() error { return b.relay(link, w, all) })
	l.Accepted, l.Rate = w.accepted(), w.full()
	if l.Rate == 0 { // too few for a full block
		l.Rate = float64(l.Accepted) / time.Since(begin).Seconds()
	}
	return l, err
}

// How long a node may put nothing into blocks, before the load has failed, and when
// nearly all of it is in blocks: a transaction that was interrupted for long enough is
// dropped for the time that it took.
const (
	stall     = 20 * time.Second
	lastStall = 3 * time.Second
)

// relay sends transactions, and waits until they are in blocks.
func (b *bench) relay(link *oracle.PeerLink, w *logReader, all []*types.PackedTransaction) error {
	queue := make(chan *types.PackedTransaction, 1024)
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(b.ctx)
	defer cancel()
	failed := make(chan error, 1)
	wg.Go(func() {
		_, err := link.Transactions(ctx, queue, noLimit)
		failed <- err
	})
	last, since := 0, time.Now()
	for sent := 0; ; {
		for ; sent < len(all) && sent-last < window; sent++ {
			queue <- all[sent]
		}
		if sent == len(all) && queue != nil {
			close(queue)
			if err := <-failed; err != nil {
				return err
			}
			queue = nil
		}
		if err := w.read(); err != nil {
			return err
		}
		switch n := w.accepted(); {
		case n == len(all):
			return nil
		case n > last:
			last, since = n, time.Now()
		case n > len(all)-len(all)/100 && time.Since(since) > lastStall:
			return nil
		case time.Since(since) > stall:
			return fmt.Errorf("%d of %d transactions are in blocks, and there come no more", n, len(all))
		}
		select {
		case <-b.ctx.Done():
			return b.ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// noLimit is a rate per second that no node comes to.
const noLimit = 10_000_000

// loadTable adds a table of s.Loads, and what was asked.
func (s *Section) loadTable(b *bench, title, how string) {
	t := figures.Table{Title: title, How: how, Head: []string{"node", "accepted/s", "to nodeos", "p50 ms", "p99 ms", "node µs each", "client µs each", "spread"}}
	rate := func(l Load) float64 { return l.Rate }
	of := func(subject string) []Load {
		return figures.Only(s.Loads, func(l Load) bool { return l.Subject == subject })
	}
	reference := figures.Median(of(nodeos), rate)
	for _, name := range b.subjects(0) {
		all := of(name)
		p50, p99 := figures.None, figures.None
		if all[0].P50 > 0 {
			p50 = figures.Significant(figures.Median(all, func(l Load) float64 { return l.P50 }) / 1e6)
			p99 = figures.Significant(figures.Median(all, func(l Load) float64 { return l.P99 }) / 1e6)
		}
		t.Add(name, figures.Count(figures.Median(all, rate)), figures.Ratio(figures.Median(all, rate)/reference)+"×", p50, p99,
			figures.Micros(figures.MedianTime(all, func(l Load) time.Duration { return l.Node })),
			figures.Micros(figures.MedianTime(all, func(l Load) time.Duration { return l.Client })),
			figures.Percent(figures.Spread(all, rate)))
	}
	s.Tables = append(s.Tables, t)
	s.Targets.AtLeast(title+", to nodeos", figures.Median(of(tarn), rate)/reference, 2, "×")
}
