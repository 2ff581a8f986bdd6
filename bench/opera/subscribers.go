package opera

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/gorilla/websocket"

	"tarn/bench/subjectflag"
	"tarn/bench/suite"
)

// ofConnection is how many subscriptions share a connection.
const ofConnection = 10

// Subscribable is a node of which so many subscriptions may be asked for. go-opera has no bound.
func (n *Network) Subscribable(node suite.Node, count int) (suite.Node, error) {
	if slices.Contains(node.Args[:1], subjectflag.OperaNet) { // this program's
		node.Args = append(slices.Clone(node.Args), "--rpc.subscriptions", strconv.Itoa(count))
	}
	return node, nil
}

// subscribers are clients that are told of blocks over WebSocket.
type subscribers struct {
	cancel context.CancelFunc
	tasks  sync.WaitGroup

	count    int
	bytes    atomic.Int64
	before   int64 // that had come when it began
	arrivals suite.Arrivals[uint64]
}

// Subscribe makes so many subscriptions to new blocks, and one to those of the source.
func (n *Network) Subscribe(ctx context.Context, node, source suite.Node, count int) (suite.Crowd, error) {
	ctx, cancel := context.WithCancel(ctx)
	s := &subscribers{cancel: cancel, count: count}
	err := s.connect(ctx, source.Socket, 1, func(block uint64, _ int) { s.arrivals.See(block) })
	for left := count; left > 0 && err == nil; left -= ofConnection {
		err = s.connect(ctx, node.Socket, min(left, ofConnection), func(block uint64, size int) {
			s.bytes.Add(int64(size))
			s.arrivals.Receive(block)
		})
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// connect subscribes to new blocks some times over one connection, which lives until ctx ends or the
// node ends it.
func (s *subscribers) connect(ctx context.Context, url string, times int, told func(block uint64, size int)) error {
	c, _, err := websocket.DefaultDialer.DialContext(ctx, url, nil)
	if err != nil {
		return fmt.Errorf("connect to %s: %w", url, err)
	}
	for range times {
		err := c.WriteMessage(websocket.TextMessage,
			[]byte(`{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}`))
		if err != nil {
			return errors.Join(fmt.Errorf("subscribe at %s: %w", url, err), c.Close())
		}
	}
	s.tasks.Go(func() {
		defer c.Close()
		defer context.AfterFunc(ctx, func() { c.Close() })()
		if err := listen(c, told); ctx.Err() == nil {
			s.arrivals.Lose(err)
		}
	})
	return nil
}

// listen tells of each block that is named, until the connection ends.
func listen(c *websocket.Conn, told func(block uint64, size int)) error {
	for {
		_, message, err := c.ReadMessage()
		if err != nil {
			return err
		}
		if bytes.Contains(message, []byte(`"error"`)) {
			return fmt.Errorf("an error for a subscription: %.300s", message)
		}
		_, number, ok := bytes.Cut(message, []byte(`"number":"0x`))
		if !ok {
			continue // the answer that names the subscription
		}
		number, _, _ = bytes.Cut(number, []byte(`"`))
		block, err := strconv.ParseUint(string(number), 16, 64)
		if err != nil {
			return fmt.Errorf("read the number of a block: %w", err)
		}
		told(block, len(message))
	}
}

// Begin forgets what was seen until now.
func (s *subscribers) Begin() {
	s.arrivals.Begin()
	s.before = s.bytes.Load()
}

// Seen is what was seen since then.
func (s *subscribers) Seen() suite.Sight {
	seen := s.arrivals.Seen(s.count)
	seen.Bytes = s.bytes.Load() - s.before
	return seen
}

// Close ends all subscriptions, and waits for them.
func (s *subscribers) Close() {
	s.cancel()
	s.tasks.Wait()
}
