package rpc

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
)

// What a filter of traces finds is what the traces of the blocks have, and a range that is
// too wide says how to go on.
func TestFilteredTracesAreThoseOfTheBlocks(t *testing.T) {
	w := newWorld(t, recordedEvents, Options{Limits: Limits{TraceBlocks: 8}})
	c, at := dial(t, w), contractOf(t, w)
	var head hexutil.Uint64
	if err := c.Call(&head, "eth_blockNumber"); err != nil {
		t.Fatal(err)
	}
	type call = json.RawMessage
	var all, toContract []call
	for n := uint64(2); n <= uint64(head); n += 8 {
		for b := n; b <= min(n+7, uint64(head)); b++ {
			var of []call
			if err := c.Call(&of, "trace_block", hexutil.Uint64(b)); err != nil {
				t.Fatal(err)
			}
			all = append(all, of...)
		}
	}
	filter := func(what object) (found []call) {
		t.Helper()
		for n := uint64(2); n <= uint64(head); n += 8 { // block 1 came with the genesis
			what["fromBlock"], what["toBlock"] = hexutil.Uint64(n), hexutil.Uint64(min(n+7, uint64(head)))
			var part []call
			if err := c.Call(&part, "trace_filter", what); err != nil {
				t.Fatal(err)
			}
			found = append(found, part...)
		}
		return found
	}
	if got := filter(object{}); len(all) < 20 || fmt.Sprintf("%s", got) != fmt.Sprintf("%s", all) {
		t.Errorf("%d calls, want %d", len(got), len(all))
	}
	senders := map[common.Address]int{}
	for _, text := range all {
		var one struct {
			Type   string
			Action struct{ From, To *common.Address }
			Result *struct{ Address *common.Address }
		}
		if err := json.Unmarshal(text, &one); err != nil {
			t.Fatal(err)
		}
		if one.Action.From != nil {
			senders[*one.Action.From]++
		}
		if to := one.Action.To; to != nil && *to == at ||
			one.Result != nil && one.Result.Address != nil && *one.Result.Address == at {
			toContract = append(toContract, text)
		}
	}
	if got := filter(object{"toAddress": []common.Address{at, {1, 2, 3}}}); len(toContract) == 0 ||
		fmt.Sprintf("%s", got) != fmt.Sprintf("%s", toContract) {
		t.Errorf("%d calls of the contract, want %d", len(got), len(toContract))
	}
	for from, want := range senders {
		if got := filter(object{"fromAddress": []common.Address{from}}); len(got) != want {
			t.Errorf("%d calls from %v, want %d", len(got), from, want)
		}
	}
	var part, rest []call
	one := object{"fromBlock": "0x2", "toBlock": "0x9"}
	if err := c.Call(&rest, "trace_filter", one); err != nil || len(rest) < 3 {
		t.Fatalf("%d calls, %v", len(rest), err)
	}
	one["after"], one["count"] = 1, 2
	if err := c.Call(&part, "trace_filter", one); err != nil ||
		fmt.Sprintf("%s", part) != fmt.Sprintf("%s", rest[1:3]) {
		t.Errorf("%s, %v", part, err)
	}
	fails(t, c.Call(&part, "trace_filter", object{"fromBlock": "0x1", "toBlock": "latest"}),
		"too wide blocks range, the limit is 8. Try with this block range [0x1, 0x8], and go on from 0x9")
	fails(t, c.Call(&part, "trace_filter", object{"fromBlock": "0x0", "toBlock": "0x3"}), "block 0x1 cannot be traced")
	fails(t, c.Call(&part, "trace_filter", object{"fromBlock": "0x1", "toBlock": "0x3"}),
		"block 0x1 cannot be traced: this block came with the genesis or as a record: it was not executed here, and "+
			"has no trace. Leave it out, and go on from 0x2")
	for _, method := range []string{"trace_block", "debug_traceBlockByNumber"} {
		fails(t, c.Call(&part, method, "0x1"),
			"this block came with the genesis or as a record: it was not executed here, and has no trace")
	}
	fails(t, c.Call(&part, "trace_filter", object{"fromAddress": make([]common.Address, 3000)}),
		"too many addresses: 3000")
}

// A walk over many blocks pushes none out of memory that others ask for.
func TestWalksOverBlocksRememberNone(t *testing.T) {
	w := newWorld(t, recordedEvents, Options{})
	c := dial(t, w)
	remembered := func() int {
		w.service.blocks.mu.Lock()
		defer w.service.blocks.mu.Unlock()
		return len(w.service.blocks.young) + len(w.service.blocks.old)
	}
	head := w.chain.Head().Number
	var any json.RawMessage
	if err := c.Call(&any, "debug_blocksTransactionTimes", hexutil.Uint64(head-1), hexutil.Uint64(head)); err != nil {
		t.Fatal(err)
	}
	if err := c.Call(&any, "trace_filter", object{"fromBlock": hexutil.Uint64(2),
		"toBlock": hexutil.Uint64(head - 1)}); err != nil {
		t.Fatal(err)
	}
	if n := remembered(); n > 1 { // the head may be told to others
		t.Errorf("%d blocks are remembered", n)
	}
}
