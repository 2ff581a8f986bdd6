package antelope

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/gorilla/websocket"

	"tarn/bench/suite"
)

// Stream reads blocks with traces and rows from the first to last, without looking at them,
// and tells of each.
func (b *blocks) Stream(ctx context.Context, node suite.Node, last uint64, told func()) error {
	c, err := openHistory(ctx, node, 1, uint32(last)+1)
	if err != nil {
		return err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	for n := range last + 1 { // the ABI comes first
		_, r, err := c.NextReader()
		if err == nil {
			_, err = io.Copy(io.Discard, r)
		}
		if err != nil {
			return fmt.Errorf("read message %d of the state history: %w", n, err)
		}
		if n > 0 {
			told()
		}
	}
	return nil
}

// openHistory asks a node's state history for blocks with traces and rows, from the first to the one
// before end.
func openHistory(ctx context.Context, node suite.Node, first, end uint32) (*websocket.Conn, error) {
	c, _, err := websocket.DefaultDialer.DialContext(ctx, "ws://"+node.History, nil)
	if err != nil {
		return nil, fmt.Errorf("connect to the state history at %s: %w", node.History, err)
	}
	// get_blocks_request_v0: from, to, messages in flight, no positions, not irreversible
	// only, block, traces, rows.
	ask := []byte{1}
	for _, n := range []uint32{first, end, 1 << 30} {
		ask = binary.LittleEndian.AppendUint32(ask, n)
	}
	if err := c.WriteMessage(websocket.BinaryMessage, append(ask, 0, 0, 1, 1, 1)); err != nil {
		return nil, errors.Join(fmt.Errorf("ask for the state history: %w", err), c.Close())
	}
	return c, nil
}
