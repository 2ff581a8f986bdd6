package network

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"testing"

	"github.com/gorilla/websocket"

	"tarn/antelope/abi"
	"tarn/antelope/types"
)

// indexer is a client of a node's state history.
type indexer struct {
	conn *websocket.Conn
	text []byte // the ABI, as the node says it
	abi  *abi.Codec
}

// connect begins a conversation. The names of tables in the ABI are longer than those of contracts.
func connect(ctx context.Context, address string) (*indexer, error) {
	c, _, err := websocket.DefaultDialer.DialContext(ctx, "ws://"+address, nil)
	if err != nil {
		return nil, err
	}
	x := &indexer{conn: c}
	if _, x.text, err = c.ReadMessage(); err != nil {
		return x, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(x.text, &members); err != nil {
		return x, err
	}
	delete(members, "tables")
	text, err := json.Marshal(members)
	if err != nil {
		return x, err
	}
	d, err := abi.Parse(string(text))
	if err != nil {
		return x, err
	}
	x.abi, err = abi.New(d, nil)
	return x, err
}

// kept is what a history has of a block.
type kept struct {
	ThisBlock json.RawMessage `json:"this_block"`
	PrevBlock json.RawMessage `json:"prev_block"`
	Block     string          `json:"block"`
	Traces    string          `json:"traces"`
	Deltas    string          `json:"deltas"`
	Finality  string          `json:"finality_data"`
}

// elapsed is what execution took.
var elapsed = regexp.MustCompile(`"elapsed":"?-?\d+"?`)

// blocks asks for all that there is of the blocks from one number up to and without another.
func (x *indexer) blocks(from, end uint32) (list []kept, err error) {
	ask := fmt.Sprintf(`["get_blocks_request_v1",{"start_block_num":%d,"end_block_num":%d,"max_messages_in_flight":4294967295,`+
		`"have_positions":[],"irreversible_only":false,"fetch_block":true,"fetch_traces":true,"fetch_deltas":true,"fetch_finality_data":true}]`, from, end)
	b, err := x.abi.EncodeJSON(nil, "request", ask, nil)
	if err == nil {
		err = x.conn.WriteMessage(websocket.BinaryMessage, b)
	}
	for err == nil && uint32(len(list)) < end-from {
		_, b, err = x.conn.ReadMessage()
		if err != nil {
			return list, err
		}
		var text []byte
		if text, err = x.abi.Decode(nil, "result", b, nil); err != nil {
			return list, err
		}
		var answer [2]json.RawMessage
		var k kept
		if err = json.Unmarshal(text, &answer); err == nil {
			err = json.Unmarshal(answer[1], &k)
		}
		if err == nil {
			k.Traces, err = x.timeless(k.Traces)
		}
		list = append(list, k)
	}
	return list, err
}

// timeless is traces as JSON, without what they took.
func (x *indexer) timeless(traces string) (string, error) {
	b, err := hex.DecodeString(traces)
	if err != nil || len(b) == 0 {
		return "", err
	}
	text, err := x.abi.Decode(nil, "transaction_trace[]", b, nil)
	return elapsed.ReplaceAllString(string(text), `"elapsed":0`), err
}

// rows are deltas as JSON, for reports.
func (x *indexer) rows(deltas string) string {
	b, err := hex.DecodeString(deltas)
	if err == nil {
		if b, err = x.abi.Decode(nil, "table_delta[]", b, nil); err == nil {
			return string(b)
		}
	}
	return deltas
}

// sameHistories holds what members' histories have of blocks against those of the first.
func sameHistories(t *testing.T, q *Quorum, from, end uint32) {
	t.Helper()
	var first *indexer
	var want []kept
	for _, m := range q.Members() {
		x, err := connect(t.Context(), m.History)
		if err != nil {
			t.Fatalf("%s: %v", m.Name, err)
		}
		t.Cleanup(func() { x.conn.Close() })
		list, err := x.blocks(from, end)
		if err != nil {
			t.Fatalf("%s, after %d blocks: %v", m.Name, len(list), err)
		}
		if first == nil {
			first, want = x, list
			continue
		}
		if !bytes.Equal(x.text, first.text) {
			t.Errorf("%s has another ABI", m.Name)
		}
		compareHistories(t, first, want, list, m.Name)
	}
	sum := types.Hash(fmt.Append(nil, want))
	t.Logf("histories of blocks %d to %d are compared: %x", from, end-1, sum[:4])
}

// compareHistories says each member of an entry that differs.
func compareHistories(t *testing.T, x *indexer, want, got []kept, name string) {
	t.Helper()
	finality := 0
	for i, w := range want {
		g := got[i]
		for _, c := range [][3]string{{"this_block", string(w.ThisBlock), string(g.ThisBlock)},
			{"prev_block", string(w.PrevBlock), string(g.PrevBlock)},
			{"block", w.Block, g.Block}, {"traces", w.Traces, g.Traces}, {"deltas", w.Deltas, g.Deltas},
			{"finality_data", w.Finality, g.Finality}} {
			if c[1] == c[2] {
				continue
			}
			if c[0] == "deltas" {
				c[1], c[2] = x.rows(c[1]), x.rows(c[2])
			}
			t.Errorf("%s: %s of %s differ:\n%.3000s\n%.3000s", name, c[0], w.ThisBlock, c[1], c[2])
		}
		if w.Finality != "" {
			finality++
		}
	}
	if finality == 0 {
		t.Errorf("no block has finality data")
	}
}
