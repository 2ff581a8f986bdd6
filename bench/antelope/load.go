package antelope

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"tarn/antelope/p2p"
	"tarn/antelope/p2p/lightpeer"
	"tarn/antelope/types"
	"tarn/bench/suite"
)

// How often a load sends what is due, and how long its transfers are good.
const (
	loadEvery = 10 * time.Millisecond
	loadGood  = 2 * time.Minute
)

// After a load, what the node has of it and has not yet put into blocks is waited for: until
// there came none for a time, and no longer than another.
const (
	drained   = 1500 * time.Millisecond
	drainMost = 30 * time.Second
)

// pacer sees a node's blocks as they come to a peer.
type pacer struct {
	mu      sync.Mutex
	counts  bool
	last    time.Time // when the last block came, of those that count
	busy    time.Time // when the last one with transactions came
	pace    suite.Pace
	failure error
}

func (c *pacer) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts = true
}

// arrive counts a block that arrives.
func (c *pacer) arrive(t p2p.Type, frame []byte) {
	if t != p2p.TypeBlock {
		return
	}
	now := time.Now()
	m, err := p2p.Decode(frame)
	b, ok := m.(*types.SignedBlock)
	if err == nil && !ok {
		err = errors.New("it is no block")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil && c.failure == nil {
		c.failure = fmt.Errorf("read a block that the node sent: %w", err)
	}
	if err != nil || !c.counts {
		return
	}
	c.pace.Taken += len(b.Transactions)
	if len(b.Transactions) > 0 {
		c.busy = now
	}
	late := now.Sub(time.UnixMicro(int64(b.Timestamp.TimePoint()))) + types.BlockIntervalMS*time.Millisecond
	if c.pace.Blocks++; c.pace.Blocks == 1 {
		c.pace.Late = late
	} else {
		gap := now.Sub(c.last)
		c.pace.Gaps.Add(gap)
		c.pace.Longest, c.pace.Late = max(c.pace.Longest, gap), max(c.pace.Late, late)
	}
	c.last = now
}

// Load sends transfers as a peer at a rate, each signed when it is due, and sees the node's
// blocks meanwhile. What the node does not keep up with, it drops.
func (n *Network) Load(ctx context.Context, node suite.Node, o suite.Load) (suite.Pace, error) {
	p, err := hello(ctx, node)
	if err != nil {
		return suite.Pace{}, err
	}
	defer p.Close()
	c := &pacer{}
	p.Seen = c.arrive
	if err := p.SendHandshake(); err != nil {
		return suite.Pace{}, err
	}
	sent := 0
	followed, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- p.Follow(followed) }()
	if err = o.Ready(); err == nil {
		c.begin()
		if sent, err = n.sendSteadily(ctx, p, node.URL, o, ended); err == nil {
			err = c.drain(ctx, sent+o.Besides, ended)
		}
	}
	cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pace.Sent, c.pace.Taken = sent, max(0, c.pace.Taken-o.Besides)
	return c.pace, errors.Join(err, c.failure)
}

// drain waits until transfers are in blocks, or there come no more.
func (c *pacer) drain(ctx context.Context, sent int, ended <-chan error) error {
	for begin := time.Now(); ; {
		c.mu.Lock()
		whole, busy := c.pace.Taken >= sent, c.busy
		c.mu.Unlock()
		if busy.Before(begin) {
			busy = begin
		}
		if whole || time.Since(busy) > drained || time.Since(begin) > drainMost {
			return nil
		}
		select {
		case <-time.After(loadEvery):
		case err := <-ended:
			return fmt.Errorf("the connection ended: %w", err)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// sendSteadily sends the transfers of a load, and says how many.
func (n *Network) sendSteadily(
	ctx context.Context, p *lightpeer.Peer, url string, o suite.Load, ended <-chan error,
) (sent int, err error) {
	traffic, err := n.traffic(o.Seed)
	if err != nil {
		return 0, err
	}
	i, err := getInfo(ctx, url)
	if err != nil {
		return 0, err
	}
	tick := time.NewTicker(loadEvery)
	defer tick.Stop()
	begin := time.Now()
	var frames []byte
	for since := time.Duration(0); since < o.For; since = time.Since(begin) {
		frames = frames[:0]
		expiration := types.TimePointSec(time.Now().Add(loadGood).Unix())
		for due := int(since.Seconds() * o.Rate); sent < due && len(frames) < 1<<20; sent++ {
			t, err := sign(traffic, i, traffic.Transfer(), expiration, uint32(sent))
			if err != nil {
				return sent, err
			}
			if frames, err = p2p.AppendFrame(frames, t); err != nil {
				return sent, err
			}
		}
		if err := p.SendRaw(frames); err != nil {
			return sent, fmt.Errorf("send transfer %d: %w", sent, err)
		}
		select {
		case <-tick.C:
		case err := <-ended:
			return sent, fmt.Errorf("the connection ended: %w", err)
		case <-ctx.Done():
			return sent, ctx.Err()
		}
	}
	return sent, nil
}
