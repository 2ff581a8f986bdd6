package bench

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"tarn/internal/figures"
)

// Stream is how a node's blocks went while so many clients read its state history. Times
// are in nanoseconds.
type Stream struct {
	Subject string
	Clients int
	Pace
	Sent float64       // blocks per second to each client
	Node time.Duration // processor time of a second
}

func (b *bench) streams() (*Section, error) {
	c, err := b.transfers()
	if err != nil {
		return nil, err
	}
	s := &Section{}
	for round, subject := range b.turns() {
		b.logf("streams, round %d: %s replays the chain", round+1, subject)
		options, address, err := recorders(recordsState)
		if err != nil {
			return nil, err
		}
		dir := b.folder("node")
		if err := c.copyLog(dir); err != nil {
			return nil, err
		}
		err = b.with(plan{subject: subject, dir: dir, produce: true, extra: options}, func(n *node) error {
			if err := n.AwaitHead(b.ctx, c.last+2, false); err != nil {
				return err
			}
			for _, clients := range []int{0, 1, 10} {
				b.logf("%d clients", clients)
				r, err := b.streamOnce(n, address, c.last, clients)
				if err != nil {
					return fmt.Errorf("%d clients: %w", clients, err)
				}
				s.Streams = append(s.Streams, r)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	s.streamTable(b, c)
	return s, nil
}

// streamOnce gives a node steady transfers while clients read all blocks of the chain that
// it replayed, from the first, again and again.
func (b *bench) streamOnce(n *node, address string, last uint32, clients int) (r Stream, err error) {
	r.Subject, r.Clients = n.subject, clients
	w, err := n.watch()
	if err != nil {
		return r, err
	}
	defer w.close()
	ctx, stop := context.WithCancel(b.ctx)
	defer stop()
	var sent atomic.Int64
	var wg sync.WaitGroup
	failed := make(chan error, max(1, clients))
	for range clients {
		wg.Go(func() { failed <- streamBlocks(ctx, address, last, &sent) })
	}
	begin := time.Now()
	r.Node, _, err = charged(n, 1, func() error { return b.steady(n, b.config.Load, b.config.LoadRate) })
	took := time.Since(begin)
	got := sent.Load()
	stop()
	wg.Wait()
	for i := 0; i < clients && err == nil; i++ {
		err = <-failed
	}
	if err == nil {
		err = w.read()
	}
	if err != nil {
		return r, err
	}
	r.Pace = w.pace()
	r.Sent = float64(got) / took.Seconds() / float64(max(1, clients))
	r.Node = time.Duration(float64(r.Node) / took.Seconds())
	return r, nil
}

// streamBlocks reads blocks with traces and rows from 1 to last, without looking at
// them, again and again until ctx ends.
func streamBlocks(ctx context.Context, address string, last uint32, sent *atomic.Int64) error {
	for ctx.Err() == nil {
		if err := streamAll(ctx, address, last, sent); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

func streamAll(ctx context.Context, address string, last uint32, sent *atomic.Int64) error {
	c, _, err := websocket.DefaultDialer.DialContext(ctx, "ws://"+address, nil)
	if err != nil {
		return err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	// get_blocks_request_v0: from, to, messages in flight, no positions, not irreversible
	// only, block, traces, rows.
	ask := []byte{1}
	for _, n := range []uint32{1, last + 1, 1 << 30} {
		ask = binary.LittleEndian.AppendUint32(ask, n)
	}
	if err := c.WriteMessage(websocket.BinaryMessage, append(ask, 0, 0, 1, 1, 1)); err != nil {
		return err
	}
	for n := range last + 1 { // the ABI comes first
		_, r, err := c.NextReader()
		if err == nil {
			_, err = io.Copy(io.Discard, r)
		}
		if err != nil {
			return fmt.Errorf("message %d: %w", n, err)
		}
		if n > 0 {
			sent.Add(1)
		}
	}
	return nil
}

func (s *Section) streamTable(b *bench, c *chainFolder) {
	t := figures.Table{Title: "Block times while clients stream",
		How: fmt.Sprintf("A node that replayed %d blocks of %s transactions and produces on them, with %d transfers per second for %s each. "+
			"Clients read these blocks with traces and rows from block 1, again and again, as fast as they come. Between two blocks there should be 500 ms.",
			c.last, figures.Count(float64(c.sums[c.last])), b.config.LoadRate, b.config.Load),
		Head: []string{"node", "clients", "blocks", "gap p50 ms", "p99 ms", "longest ms", "longest making ms", "blocks/s to each", "node s a second"}}
	of := func(subject string, clients int) []Stream {
		return only(s.Streams, func(x Stream) bool { return x.Subject == subject && x.Clients == clients })
	}
	p99 := func(x Stream) float64 { return x.P99 }
	for _, name := range b.subjects(0) {
		for _, clients := range []int{0, 1, 10} {
			all := of(name, clients)
			ms := func(f func(Stream) float64) string { return figures.Significant(figures.Median(all, f) / 1e6) }
			t.Add(name, fmt.Sprint(clients), figures.Count(figures.Median(all, func(x Stream) float64 { return float64(x.Blocks) })),
				ms(func(x Stream) float64 { return x.P50 }), ms(p99), ms(func(x Stream) float64 { return x.Worst }),
				ms(func(x Stream) float64 { return x.Making }), figures.Count(figures.Median(all, func(x Stream) float64 { return x.Sent })),
				figures.Significant(figures.MedianTime(all, func(x Stream) time.Duration { return x.Node }).Seconds()))
			if name == tarn && clients > 0 {
				s.Targets.AtMost(fmt.Sprintf("gap p99 with %d clients, to that with none", clients), figures.Median(all, p99)/figures.Median(of(name, 0), p99), 1.1, "×")
			}
		}
	}
	s.Tables = append(s.Tables, t)
}
