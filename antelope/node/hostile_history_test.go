package node_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"tarn/antelope/types"
)

// historyClients is how many clients of state history attack at once.
const historyClients = 100

// historyClient is a client of the victim's state history, which has been told the ABI.
func (v *victim) historyClient(ctx context.Context) (*websocket.Conn, error) {
	c, _, err := websocket.DefaultDialer.DialContext(ctx, "ws://"+v.ship, nil)
	if err != nil {
		return nil, err
	}
	if _, _, err := c.ReadMessage(); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// askBlocks asks for all that there is of the blocks from one on.
func askBlocks(c *websocket.Conn, start, credits uint32) error {
	b := []byte{1}
	for _, n := range []uint32{start, 1<<32 - 1, credits} {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	return c.WriteMessage(websocket.BinaryMessage, append(b, 0, 0, 1, 1, 1))
}

// followHistory is an honest client of state history, which notes how old each block is when it
// comes.
func (v *victim) followHistory(t *testing.T) {
	t.Helper()
	c, err := v.historyClient(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	i, err := v.Info(t.Context())
	if err == nil {
		err = askBlocks(c, i.HeadNum+1, 1<<30)
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		const block = 1 + 2*36 + 2*37 // after the kind, the head, the irreversible one, this one and the one before
		for {
			_, b, err := c.ReadMessage()
			if err != nil {
				return // it ends with the test
			}
			if len(b) < block+20 || b[block] != 1 {
				continue
			}
			_, n := binary.Uvarint(b[block+1:])
			slot := types.BlockTimestamp(binary.LittleEndian.Uint32(b[block+1+n:]))
			v.mu.Lock()
			v.delays = append(v.delays, time.Since(slot.TimePoint().Time()))
			v.mu.Unlock()
		}
	}()
}

// askForHistory is a hundred clients of state history that begin with the first block: some take
// nothing, some never acknowledge, some read all of it over and over, and some send what is no
// request, or one of many positions, and come again.
func (v *victim) askForHistory(t *testing.T, ctx context.Context) {
	for i := range historyClients {
		go func() {
			for ctx.Err() == nil {
				c, err := v.historyClient(ctx)
				if err != nil {
					time.Sleep(10 * time.Millisecond)
					continue
				}
				stop := context.AfterFunc(ctx, func() { c.Close() })
				historyAttacks[i%len(historyAttacks)](ctx, c)
				stop()
				c.Close()
			}
		}()
	}
}

// historyAttacks are what a client does until it is cut off, or is done.
var historyAttacks = []func(context.Context, *websocket.Conn){
	func(ctx context.Context, c *websocket.Conn) { // takes nothing
		if askBlocks(c, 1, 1<<32-1) == nil {
			<-ctx.Done()
		}
	},
	func(_ context.Context, c *websocket.Conn) { // never acknowledges, and reads
		if askBlocks(c, 1, 1) == nil {
			for _, _, err := c.ReadMessage(); err == nil; _, _, err = c.ReadMessage() {
			}
		}
	},
	func(_ context.Context, c *websocket.Conn) { // reads all, and asks for it again
		for askBlocks(c, 1, 1<<32-1) == nil {
			for range 20 {
				if _, _, err := c.ReadMessage(); err != nil {
					return
				}
			}
		}
	},
	func(_ context.Context, c *websocket.Conn) { // asks for the status without end, and takes no answer
		for c.WriteMessage(websocket.BinaryMessage, []byte{0}) == nil {
		}
	},
	func(_ context.Context, c *websocket.Conn) { // is no client
		if c.WriteMessage(websocket.BinaryMessage, bytes.Repeat([]byte{0xff}, 1<<20)) == nil {
			_, _, _ = c.ReadMessage() // that it is cut off
		}
	},
	func(_ context.Context, c *websocket.Conn) { // has fifty thousand other blocks
		const positions = 50_000
		b := []byte{1, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0}
		b = binary.AppendUvarint(b, positions)
		for n := range uint32(positions) {
			b = append(binary.LittleEndian.AppendUint32(b, n), make([]byte, 32)...)
		}
		if c.WriteMessage(websocket.BinaryMessage, append(b, 0, 1, 1, 1)) == nil {
			_, _, _ = c.ReadMessage()
		}
	},
}
