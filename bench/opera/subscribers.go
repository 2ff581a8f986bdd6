package opera

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/gorilla/websocket"

	"tarn/bench/subjectflag"
	"tarn/bench/suite"
	"tarn/opera/workload"
)

// ofConnection is how many subscriptions share a connection.
const ofConnection = 10

// Subscribable is a node of which so many subscriptions may be asked for. go-opera has no bound.
func (n *Network) Subscribable(node suite.Node, o suite.Subscriptions) (suite.Node, error) {
	if node.Args[0] == subjectflag.OperaNet { // this program's
		node.Args = append(slices.Clone(node.Args), "--rpc.subscriptions", strconv.Itoa(o.Count),
			"--rpc.filters", strconv.Itoa(o.Filters))
	}
	return node, nil
}

// subscribers are clients that are told of blocks over WebSocket.
type subscribers struct {
	suite.Listeners[uint64]
	bytes atomic.Int64
}

// Subscribe makes subscriptions to new blocks and filters, and one subscription to the blocks of the source.
func (n *Network) Subscribe(
	ctx context.Context, node, source suite.Node, o suite.Subscriptions,
) (suite.Crowd, error) {
	ctx, cancel := context.WithCancel(ctx)
	s := &subscribers{}
	s.Cancel, s.Count, s.Came = cancel, o.Count, s.bytes.Load
	err := s.connect(ctx, source.Socket, 1, func(block uint64, _ int) { s.Arrivals.See(block) })
	for left := o.Count; left > 0 && err == nil; left -= ofConnection {
		err = s.connect(ctx, node.Socket, min(left, ofConnection), func(block uint64, size int) {
			s.bytes.Add(int64(size))
			s.Arrivals.Receive(block)
		})
	}
	if err == nil {
		err = s.filter(ctx, node.URL, o.Filters, n.accounts.Name)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// askedFor is how long it takes to ask for the news of all filters once, and in how many turns.
const (
	askedFor = 10 * time.Second
	turns    = 20
)

// filter installs filters, half of them for new blocks, half for tokens that come to an account, and has
// all of them asked for their news again and again until ctx ends.
func (s *subscribers) filter(ctx context.Context, url string, count int, account func(int) string) error {
	var ids []json.RawMessage
	for len(ids) < count {
		part := make([][]any, min(noncesAtOnce, (count-len(ids)+1)/2))
		for i := range part {
			to := common.HexToHash(account(i % 2)).Hex()
			part[i] = []any{map[string]any{"topics": []any{workload.Transferred().Hex(), nil, to}}}
		}
		logs, err := call(ctx, url, "eth_newFilter", part)
		if err != nil {
			return fmt.Errorf("install filters: %w", err)
		}
		ids = append(ids, logs...)
		none := make([][]any, min(len(part), count-len(ids)))
		for i := range none {
			none[i] = []any{}
		}
		if len(none) == 0 {
			break
		}
		blocks, err := call(ctx, url, "eth_newBlockFilter", none)
		if err != nil {
			return fmt.Errorf("install filters: %w", err)
		}
		ids = append(ids, blocks...)
	}
	if count > 0 {
		s.Tasks.Go(func() { s.poll(ctx, url, ids) })
	}
	return nil
}

// poll asks for the news of filters again and again until ctx ends.
func (s *subscribers) poll(ctx context.Context, url string, ids []json.RawMessage) {
	beat := time.NewTicker(askedFor / turns)
	defer beat.Stop()
	for turn := 0; ; turn = (turn + 1) % turns {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
		}
		var ask [][]any
		for _, id := range ids[len(ids)*turn/turns : len(ids)*(turn+1)/turns] {
			ask = append(ask, []any{id})
		}
		if len(ask) == 0 {
			continue
		}
		if _, err := call(ctx, url, "eth_getFilterChanges", ask); err != nil && ctx.Err() == nil {
			s.Arrivals.Lose(err)
			return
		}
	}
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
	s.Listen(ctx, func() error {
		defer c.Close()
		defer context.AfterFunc(ctx, func() { c.Close() })()
		return listen(c, told)
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
