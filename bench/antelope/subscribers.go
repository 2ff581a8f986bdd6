package antelope

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/gorilla/websocket"

	"tarn/antelope/p2p/lightpeer"
	"tarn/bench/suite"
)

// Subscribable is a node that has a state history.
func (b *blocks) Subscribable(n suite.Node, o suite.Subscriptions) (suite.Node, error) {
	if o.Filters > 0 {
		return n, errors.New("a node of Antelope has no filters")
	}
	return b.Keep(n, suite.KeepStates)
}

// subscribers are clients of the state history that are told of new blocks.
type subscribers struct {
	suite.Listeners[uint32]
	bytes atomic.Int64
}

// Subscribe makes so many clients, and one peer of the source.
func (n *Network) Subscribe(
	ctx context.Context, node, source suite.Node, o suite.Subscriptions,
) (suite.Crowd, error) {
	head, err := n.Head(ctx, node.URL)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &subscribers{}
	s.Cancel, s.Count, s.Came = cancel, o.Count, s.bytes.Load
	_, err = listenAt(ctx, &s.Listeners, source, func(_ *lightpeer.Peer, num uint32) { s.Arrivals.See(num) })
	for range o.Count {
		if err == nil {
			err = s.connect(ctx, node, uint32(head)+1)
		}
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// connect adds a client, which lives until ctx ends or the node ends its connection.
func (s *subscribers) connect(ctx context.Context, node suite.Node, first uint32) error {
	c, err := openHistory(ctx, node, first, math.MaxUint32)
	if err != nil {
		return err
	}
	s.Listen(ctx, func() error {
		defer c.Close()
		defer context.AfterFunc(ctx, func() { c.Close() })()
		return s.listen(c)
	})
	return nil
}

// Where a message of the state history has the number of its block: behind a byte for its kind, two
// positions of 36 bytes, and a byte that says that there is a block.
const (
	blockPresent = 1 + 2*36
	blockNumber  = blockPresent + 1
)

// listen notes each block that comes, until the connection ends.
func (s *subscribers) listen(c *websocket.Conn) error {
	if _, _, err := c.ReadMessage(); err != nil { // the ABI
		return err
	}
	for {
		_, message, err := c.ReadMessage()
		if err != nil {
			return err
		}
		if len(message) < blockNumber+4 || message[blockPresent] != 1 {
			return fmt.Errorf("a message of %d bytes without a block", len(message))
		}
		s.bytes.Add(int64(len(message)))
		s.Arrivals.Receive(binary.LittleEndian.Uint32(message[blockNumber:]))
	}
}
