package rpc

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"
)

// tracedCall is a call as callTracer tells of it.
type tracedCall struct {
	Output hexutil.Bytes
	Error  string
	Calls  []tracedCall
	Logs   []struct{ Index hexutil.Uint }
}

// indexes are those of all logs of a call, in their order.
func (c *tracedCall) indexes() (all []hexutil.Uint) {
	for i := range c.Calls {
		all = append(all, c.Calls[i].indexes()...)
	}
	for _, l := range c.Logs {
		all = append(all, l.Index)
	}
	slices.Sort(all)
	return all
}

// tracedBlock is a block as eth_getBlockByNumber tells of it.
type tracedBlock struct {
	Transactions []struct {
		From  common.Address
		Nonce hexutil.Uint64
		Hash  common.Hash
		Input hexutil.Bytes
		To    *common.Address
	}
}

// traceable returns the blocks that have a trace, by number.
func traceable(t *testing.T, c *rpc.Client) map[hexutil.Uint64]tracedBlock {
	t.Helper()
	var head hexutil.Uint64
	if err := c.Call(&head, "eth_blockNumber"); err != nil {
		t.Fatal(err)
	}
	all := map[hexutil.Uint64]tracedBlock{}
	for n := hexutil.Uint64(2); n <= head; n++ {
		var b tracedBlock
		if err := c.Call(&b, "eth_getBlockByNumber", n, true); err != nil {
			t.Fatal(err)
		}
		all[n] = b
	}
	return all
}

// Logs in a trace have the places that the receipts give them.
func TestTracedLogsHaveTheirPlaces(t *testing.T) {
	w := newWorld(t, recordedEvents, Options{})
	c := dial(t, w)
	beyond := 0
	for _, b := range traceable(t, c) {
		for _, tx := range b.Transactions {
			var call tracedCall
			if err := c.Call(&call, "debug_traceTransaction", tx.Hash,
				object{"tracer": "callTracer", "tracerConfig": object{"withLog": true}}); err != nil {
				t.Fatal(err)
			}
			var r struct {
				Logs []struct{ LogIndex hexutil.Uint }
			}
			if err := c.Call(&r, "eth_getTransactionReceipt", tx.Hash); err != nil {
				t.Fatal(err)
			}
			var want []hexutil.Uint
			for i, l := range r.Logs {
				if want = append(want, l.LogIndex); int(l.LogIndex) > i {
					beyond++
				}
			}
			if got := call.indexes(); !slices.Equal(got, want) {
				t.Errorf("logs of %v are at %v, the receipt says %v", tx.Hash, got, want)
			}
		}
	}
	if beyond == 0 {
		t.Error("no transaction with logs follows another one in its block")
	}
}

// A traced call sees the block that it asks for.
func TestTracedCallsSeeTheirBlock(t *testing.T) {
	w := newWorld(t, recordedEvents, Options{})
	c := dial(t, w)
	const tail = "60005260206000f3"
	trace := func(code string, config object) (call tracedCall, err error) {
		config["tracer"] = "callTracer"
		err = c.Call(&call, "debug_traceCall", object{"data": "0x" + code + tail}, "latest", config)
		return call, err
	}
	for member, code := range map[string]string{"number": "43", "time": "42", "difficulty": "44", "gasLimit": "45",
		"baseFeePerGas": "48"} {
		call, err := trace(code, object{"blockOverrides": object{member: "0x77"}})
		if err != nil || common.BytesToHash(call.Output) != (common.Hash{31: 0x77}) {
			t.Errorf("%s: %x, %v", member, call.Output, err)
		}
	}
	if call, err := trace("41", object{"blockOverrides": object{"feeRecipient": common.Address{19: 5}}}); err != nil ||
		common.BytesToHash(call.Output) != (common.Hash{31: 5}) {
		t.Errorf("%x, %v", call.Output, err)
	}
	for _, member := range []string{"prevRandao", "blobBaseFee", "beaconRoot", "withdrawals"} {
		_, err := trace("43", object{"blockOverrides": object{member: "0x1"}})
		fails(t, err, "blockOverrides: blocks of Opera have no "+member)
	}
	if call, err := trace("43", object{"blockOverrides": object{"prevRandao": nil}}); err != nil ||
		len(call.Output) != 32 {
		t.Error(call, err)
	}
}

// A traced call may be amid a block.
func TestTracedCallsMayBeAmidABlock(t *testing.T) {
	w := newWorld(t, recordedEvents, Options{})
	c, at := dial(t, w), contractOf(t, w)
	found := 0
	for n, b := range traceable(t, c) {
		read := func(index any) (tracedCall, error) {
			var call tracedCall
			config := object{"tracer": "callTracer", "tracerConfig": object{"withLog": true}}
			if index != nil {
				config["txIndex"] = index
			}
			err := c.Call(&call, "debug_traceCall", deed(at, doRead), n, config)
			return call, err
		}
		number := func(index any) uint64 {
			call, err := read(index)
			if err != nil {
				t.Fatal(err)
			}
			return common.BytesToHash(call.Output).Big().Uint64()
		}
		for i, tx := range b.Transactions {
			if tx.To == nil || *tx.To != at || len(tx.Input) != 1 || tx.Input[0] != doCount {
				continue
			}
			before, after := number(hexutil.Uint(i)), uint64(0)
			if i+1 < len(b.Transactions) {
				after = number(hexutil.Uint(i + 1))
			} else {
				after = number(nil)
			}
			if found++; after != before+1 {
				t.Errorf("before transaction %d of block %d the contract has counted %d, after it %d",
					i, n, before, after)
			}
		}
		_, err := read(hexutil.Uint(len(b.Transactions) + 1))
		fails(t, err, fmt.Sprintf("transaction index %d out of range for block", len(b.Transactions)+1))
	}
	if found == 0 {
		t.Error("nothing was counted")
	}
}

// One transaction that cannot be traced does not take the others' traces with it.
func TestOneTransactionThatCannotBeTraced(t *testing.T) {
	w := newWorld(t, recordedEvents, Options{Limits: Limits{Trace: 400_000}})
	c := dial(t, w)
	tried := 0
	for n, b := range traceable(t, c) {
		if len(b.Transactions) < 2 || b.Transactions[0].To == nil || *b.Transactions[0].To != contractOf(t, w) {
			continue
		}
		tried++
		first := b.Transactions[0]
		stuck := fmt.Sprintf(
			"{step:function(log,db){ if(db.getNonce(toAddress('%v'))==%d) for(;;){} "+
				"},fault:function(){},result:function(){return 1}}", first.From, first.Nonce+1)
		for _, config := range []object{
			{"tracer": "{step:function(){},fault:function(){},result:function(c){ if(c.txIndex==0) undefined.x; return 1}}"},
			{"tracer": stuck, "timeout": "2s"},
		} {
			var list []txTraceJSON
			if err := c.Call(&list, "debug_traceBlockByNumber", n, config); err != nil ||
				len(list) != len(b.Transactions) {
				t.Fatalf("%v: %v, %v", config, list, err)
			}
			for i, one := range list {
				if (one.Error != "") != (i == 0) || i > 0 && string(one.Result) != "1" {
					t.Errorf("%v: transaction %d: %q, %s", config, i, one.Error, one.Result)
				}
			}
		}
		break
	}
	if tried == 0 {
		t.Error("no block has two transactions of which the first is to the contract")
	}
}

// trace says failures in Parity's words, and of block 0 that nothing was executed.
func TestFlatTracesAreParitys(t *testing.T) {
	w := newWorld(t, recordedEvents, Options{})
	c := dial(t, w)
	said := map[string]int{}
	for _, b := range traceable(t, c) {
		for _, tx := range b.Transactions {
			var calls []struct{ Error string }
			if err := c.Call(&calls, "trace_transaction", tx.Hash); err != nil {
				t.Fatal(err)
			}
			said[calls[0].Error]++
		}
	}
	if len(said) != 4 || said["Reverted"] == 0 || said["Bad instruction"] == 0 || said["Out of gas"] == 0 ||
		said[""] == 0 {
		t.Errorf("said %v", said)
	}
	var none []json.RawMessage
	if err := c.Call(&none, "trace_block", "0x0"); err != nil || none == nil || len(none) != 0 {
		t.Error(none, err)
	}
	for from, to := range map[string]string{"write protection": "Mutable Call In Static Context",
		"point is not on curve":          "Built-in failed",
		`\"error\":\"write protection\"`: `\"error\":\"write protection\"`} {
		list, err := flatten([]txTraceJSON{{Result: json.RawMessage(`[{"error":"` + from + `"}]`)}})
		if err != nil || len(list) != 1 || !strings.Contains(string(list[0]), `"`+to+`"`) {
			t.Errorf("%q is %s, %v", from, list, err)
		}
	}
	_, err := flatten([]txTraceJSON{{TxHash: common.Hash{1}, Error: "no"}})
	fails(t, err, "transaction 0x0100000000000000000000000000000000000000000000000000000000000000 cannot be traced: no")
}
