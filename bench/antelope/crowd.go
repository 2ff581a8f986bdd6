package antelope

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tarn/antelope/p2p"
	"tarn/antelope/p2p/lightpeer"
	"tarn/antelope/types"
	"tarn/bench/suite"
)

// crowd is light peers of a node.
type crowd struct {
	suite.Listeners[uint32]
	last  uint32 // block of the chain that is fetched
	peers []*lightpeer.Peer
}

// Crowd connects peers to a node, of which some fetch its chain again and again. With a
// source, one more listens there.
func (n *Network) Crowd(ctx context.Context, node, source suite.Node, peers, fetching int) (suite.Crowd, error) {
	ctx, cancel := context.WithCancel(ctx)
	c := &crowd{last: uint32(n.chain.Blocks)}
	c.Cancel, c.Count, c.Came = cancel, peers, c.came
	if source.URL != "" {
		if err := c.connect(ctx, source, c.Arrivals.See, false); err != nil {
			c.Close()
			return nil, err
		}
		c.peers = nil // what it is sent is not the node's
	}
	for i := range peers {
		if err := c.connect(ctx, node, c.Arrivals.Receive, i < fetching); err != nil {
			c.Close()
			return nil, fmt.Errorf("peer %d: %w", i+1, err)
		}
	}
	return c, nil
}

// Fetchable tells that peers may fetch its chain again and again.
func (n *Network) Fetchable() bool { return true }

// hello connects to a node as a peer that has all blocks.
func hello(ctx context.Context, node suite.Node) (*lightpeer.Peer, error) {
	i, err := getInfo(ctx, node.URL)
	if err != nil {
		return nil, err
	}
	p, err := lightpeer.Dial(ctx, node.Peers, i.ChainID)
	if err != nil {
		return nil, err
	}
	p.Hello.HeadNum, p.Hello.HeadID = uint32(i.Number), i.HeadID
	p.Hello.LIBNum, p.Hello.LIBID = i.LIBNumber, i.LIBID
	return p, nil
}

// connect adds a peer, which lives until ctx ends or the node sends it away.
func (c *crowd) connect(ctx context.Context, node suite.Node, told func(uint32), fetches bool) error {
	p, err := listenAt(ctx, &c.Listeners, node, func(p *lightpeer.Peer, num uint32) {
		if !fetches {
			told(num)
		} else if num == c.last {
			c.whole(p)
		}
	})
	if err != nil {
		return err
	}
	c.peers = append(c.peers, p)
	if fetches {
		return p.Send(p2p.SyncRequest{Start: 1, End: c.last})
	}
	return nil
}

// listenAt makes a peer of a node one of the listeners, which calls seen for each block that it is sent.
func listenAt(
	ctx context.Context, l *suite.Listeners[uint32], node suite.Node, seen func(p *lightpeer.Peer, num uint32),
) (*lightpeer.Peer, error) {
	p, err := hello(ctx, node)
	if err != nil {
		return nil, err
	}
	p.Seen = func(t p2p.Type, frame []byte) {
		if t == p2p.TypeBlock {
			seen(p, p2p.BlockNumber(frame))
		}
	}
	if err := p.SendHandshake(); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	l.Listen(ctx, func() error {
		defer p.Close()
		return p.Follow(ctx)
	})
	return p, nil
}

// again is how long a peer that has a chain waits before it fetches it again: nodes close
// connections over which questions come too fast.
const again = 20 * time.Millisecond

// whole counts a chain, and asks for the next. That fails only if the peer is gone, which
// is seen where it listens.
func (c *crowd) whole(p *lightpeer.Peer) {
	c.Arrivals.Whole()
	time.AfterFunc(again, func() { _ = p.Send(p2p.SyncRequest{Start: 1, End: c.last}) })
}

// came is what came to all peers so far, in bytes.
func (c *crowd) came() (sum int64) {
	for _, p := range c.peers {
		sum += p.Bytes.Load()
	}
	return sum
}

// How many transactions may be under way, which nodeos drops beyond; how long nothing may
// get into a block before no more is waited for; how long transfers are good.
const (
	underWay  = 40_000
	gossipEnd = 10 * time.Second
	good      = 20 * time.Minute
)

// Gossip sends transfers as a peer, and returns when they are in blocks, or when there come
// no more.
func (n *Network) Gossip(
	ctx context.Context, node suite.Node, seed uint64, count int, ready func() error,
) (taken int, took time.Duration, err error) {
	frames, err := n.frames(ctx, node.URL, seed, count)
	if err != nil {
		return 0, 0, err
	}
	p, err := hello(ctx, node)
	if err != nil {
		return 0, 0, err
	}
	defer p.Close()
	inBlocks := make(chan int, 1024)
	p.Seen = func(t p2p.Type, frame []byte) {
		if t != p2p.TypeBlock {
			return
		}
		if m, err := p2p.Decode(frame); err == nil {
			if b, ok := m.(*types.SignedBlock); ok {
				inBlocks <- len(b.Transactions)
			}
		}
	}
	if err := p.SendHandshake(); err != nil {
		return 0, 0, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- p.Follow(ctx) }()
	if err := ready(); err != nil {
		return 0, 0, err
	}
	return sendAll(ctx, p, frames, inBlocks, ended)
}

// frames are transfers as peers send them.
func (n *Network) frames(ctx context.Context, url string, seed uint64, count int) ([][]byte, error) {
	traffic, err := n.traffic(seed)
	if err != nil {
		return nil, err
	}
	i, err := getInfo(ctx, url)
	if err != nil {
		return nil, err
	}
	all := make([][]byte, count)
	expiration := types.TimePointSec(time.Now().Add(good).Unix())
	for k := range all {
		t, err := sign(traffic, i, traffic.Transfer(), expiration, uint32(k))
		if err != nil {
			return nil, err
		}
		if all[k], err = p2p.AppendFrame(nil, t); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func sendAll(
	ctx context.Context, p *lightpeer.Peer, frames [][]byte, inBlocks <-chan int, ended <-chan error,
) (taken int, took time.Duration, err error) {
	begin := time.Now()
	last := begin
	for sent := 0; taken < len(frames); {
		for ; sent < len(frames) && sent-taken < underWay && len(inBlocks) == 0; sent++ {
			if err := p.SendRaw(frames[sent]); err != nil {
				return taken, took, fmt.Errorf("send transfer %d: %w", sent, err)
			}
		}
		select {
		case k := <-inBlocks:
			if taken += k; k > 0 {
				last = time.Now()
				took = last.Sub(begin)
			}
		case <-ctx.Done():
			return taken, took, ctx.Err()
		case err := <-ended:
			return taken, took, fmt.Errorf("the connection ended: %w", err)
		case <-time.After(time.Until(last.Add(gossipEnd))):
			if taken == 0 {
				return 0, 0, fmt.Errorf("none of %d transfers got into a block within %s", sent, gossipEnd)
			}
			return taken, took, nil
		}
	}
	return taken, took, nil
}
