package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"
	"github.com/gorilla/websocket"

	"tarn/opera/inter"
)

// overSocket is a client of WebSocket.
func overSocket(t *testing.T, w *world) *rpc.Client {
	t.Helper()
	c, err := rpc.Dial("ws" + strings.TrimPrefix(w.url, "http"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// panicky is a pool that has a fault.
type panicky struct{ noPool }

func (panicky) Get(common.Hash) *types.Transaction { panic("a fault anywhere below") }

// A request that panics ends its connection, and the node goes on.
func TestAPanicOverWebSocketEndsItsConnectionAlone(t *testing.T) {
	w := newWorld(t, recordedEvents, Options{Pool: panicky{}})
	// Not with go-ethereum's client: a connection that ends just after a request was sent leaves that waiting for ever.
	c, answer, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(w.url, "http"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	answer.Body.Close()
	err = errors.Join(c.SetReadDeadline(time.Now().Add(time.Minute)),
		c.WriteJSON(object{"jsonrpc": "2.0", "id": 1, "method": "eth_getTransactionByHash",
			"params": []any{common.Hash{1}}}))
	if err != nil {
		t.Fatal(err)
	}
	if _, b, err := c.ReadMessage(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("it is answered, or nothing ends: %s, %v", b, err)
	}
	var got json.RawMessage
	if err := overSocket(t, w).CallContext(t.Context(), &got, "eth_blockNumber"); err != nil {
		t.Errorf("the next connection: %v", err)
	}
}

// Whoever may install a filter may subscribe to the same, and whoever is refused is told so by the
// id of the request.
func TestLargeSubscriptionsAreTakenAndRefusalsHaveTheirIDs(t *testing.T) {
	w := newWorld(t, recordedEvents, Options{})
	c := overSocket(t, w)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := c.Subscribe(ctx, "eth", make(chan json.RawMessage, 1),
		"logs", object{"address": make([]common.Address, 1990)}); err != nil {
		t.Errorf("a subscription of 1,990 addresses: %v", err)
	}
	var n json.RawMessage
	mixed := []rpc.BatchElem{{Method: "eth_blockNumber", Result: &n},
		{Method: "eth_unsubscribe", Args: []any{"0x1"}, Result: &n}}
	if err := c.BatchCallContext(ctx, mixed); err != nil || mixed[0].Error == nil || mixed[1].Error == nil {
		t.Errorf("a batch that is refused: %v, %v, %v", err, mixed[0].Error, mixed[1].Error)
	}
}

// A client that has missed news hears of it: its connection ends.
func TestSubscribersThatMissNewsAreTold(t *testing.T) {
	w := newWorld(t, recordedEvents, Options{})
	got := make(chan json.RawMessage, 10)
	sub, err := overSocket(t, w).Subscribe(t.Context(), "eth", got, "newHeads")
	if err != nil {
		t.Fatal(err)
	}
	head := w.chain.Head().Number
	w.service.hub.tellBlocks(head, head)
	select {
	case <-got:
	case <-time.After(time.Minute):
		t.Fatal("the first block is not told")
	}
	for begin := time.Now(); time.Since(begin) < time.Minute; {
		// a node that catches up
		w.service.hub.tellBlocks(head+1, head+inter.BlockNumber(w.service.limits.KeptNews)+1000)
		select {
		case err := <-sub.Err():
			if err == nil || errors.Is(err, context.Canceled) {
				t.Errorf("the subscription ends with %v", err)
			}
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
	t.Error("nothing is said")
}
