package opera

import (
	"context"
	"fmt"

	"tarn/bench/suite"
	"tarn/opera/inter"
	"tarn/opera/p2p/lightpeer"
)

// crowd is light peers of a node.
type crowd struct {
	suite.Listeners[inter.EventID]
	peers []*lightpeer.Peer
}

// Crowd connects peers to a node, none of which fetches its chain. With a source, one more listens there.
// What they are told are events: each block needs some.
func (n *Network) Crowd(ctx context.Context, node, source suite.Node, peers, _ int) (suite.Crowd, error) {
	ctx, cancel := context.WithCancel(ctx)
	c := &crowd{}
	c.Cancel, c.Count, c.Came = cancel, peers, c.came
	if source.URL != "" {
		if err := c.connect(ctx, source, c.Arrivals.See); err != nil {
			c.Close()
			return nil, err
		}
		c.peers = nil // what it is sent is not the node's
	}
	for i := range peers {
		if err := c.connect(ctx, node, c.Arrivals.Receive); err != nil {
			c.Close()
			return nil, fmt.Errorf("peer %d: %w", i+1, err)
		}
	}
	return c, nil
}

// connect adds a peer, which lives until ctx ends or the node sends it away.
func (c *crowd) connect(ctx context.Context, node suite.Node, told func(inter.EventID)) error {
	p, err := lightpeer.Dial(ctx, node.Peers)
	if err != nil {
		return err
	}
	p.Seen = told
	c.peers = append(c.peers, p)
	c.Listen(ctx, func() error {
		defer p.Close()
		return p.Follow(ctx)
	})
	return nil
}

// came is what came to all peers so far, in bytes.
func (c *crowd) came() (sum int64) {
	for _, p := range c.peers {
		sum += p.Bytes.Load()
	}
	return sum
}
