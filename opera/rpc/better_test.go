package rpc

import (
	"encoding/json"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rpc"

	"tarn/internal/racedetector"
)

// me is the validator of a fakenet of one, who has money.
const me = "0x239fa7623354ec26520de878b52f13fe84b06971"

// An access list needs neither gas nor money, and the gas that is told is enough for the
// transaction with it.
func TestAccessListsNeedNothing(t *testing.T) {
	w := newWorld(t, recordedEvents, Options{})
	c, at := dial(t, w), contractOf(t, w)
	for _, from := range []string{me, "0xaa00000000000000000000000000000000000000"} {
		for _, gas := range []any{nil, "0x20000"} {
			call := object{"from": from, "to": at, "data": hexutil.Encode([]byte{doRead})}
			if gas != nil {
				call["gas"] = gas
			}
			var got struct {
				AccessList types.AccessList
				Error      string
				GasUsed    hexutil.Uint64
			}
			if err := c.Call(&got, "eth_createAccessList", call, "latest"); err != nil || got.Error != "" ||
				len(got.AccessList) != 1 || len(got.AccessList[0].StorageKeys) != 1 {
				t.Errorf("from %s with %v gas: %+v, %v", from, gas, got, err)
			}
			var estimated hexutil.Uint64
			call["accessList"] = got.AccessList
			delete(call, "gas")
			if err := c.Call(&estimated, "eth_estimateGas", call); err != nil || gas == nil && got.GasUsed > estimated {
				t.Errorf("%d gas are estimated, %d used, %v", estimated, got.GasUsed, err)
			}
		}
	}
	var none any
	fails(t, c.Call(&none, "eth_createAccessList", object{"from": common.Address{1}, "to": at, "gas": "0x20000",
		"gasPrice": "0x174876e800"}, "latest"), "failed to apply transaction: 0x")
}

// What is no storage key is refused.
func TestStorageKeysAreHexadecimal(t *testing.T) {
	w := newWorld(t, recordedEvents, Options{})
	c, at := dial(t, w), contractOf(t, w)
	var value hexutil.Bytes
	for _, key := range []string{"", "0x", "0", "0x0", "0X00", "0x" + strings.Repeat("0", 64)} {
		if err := c.Call(&value, "eth_getStorageAt", at, key, "latest"); err != nil ||
			common.BytesToHash(value) == (common.Hash{}) {
			t.Errorf("%q: %v, %v", key, value, err)
		}
	}
	var proof any
	for key, want := range map[string]string{
		"0xasdf": "is no number in hexadecimal", "0x01zz": "is no number in hexadecimal",
		"x":                              "is no number in hexadecimal",
		"0xff" + strings.Repeat("0", 64): "is longer than 32 bytes", strings.Repeat("0", 65): "is longer than 32 bytes",
	} {
		for _, err := range []error{c.Call(&value, "eth_getStorageAt", at, key, "latest"),
			c.Call(&proof, "eth_getProof", at, []string{"0x0", key}, "latest")} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v", key, err)
			}
		}
	}
}

// What is meant for another chain is refused, whatever its form.
func TestAnotherChainsIDIsRefused(t *testing.T) {
	w := newWorld(t, recordedEvents, Options{Accounts: recordedAccounts(t)})
	c, at := dial(t, w), contractOf(t, w)
	for _, form := range []object{
		{"gasPrice": "0x2e90edd000"}, {"maxFeePerGas": "0x2e90edd000", "maxPriorityFeePerGas": "0x1"},
		{"gasPrice": "0x2e90edd000", "accessList": []any{}},
	} {
		args := object{"from": me, "to": at, "gas": "0x30000", "nonce": "0x1", "data": hexutil.Encode([]byte{doRead}),
			"chainId": "0x1"}
		maps.Copy(args, form)
		var none any
		for method, params := range map[string][]any{
			"eth_call": {args, "latest"}, "eth_estimateGas": {args}, "eth_createAccessList": {args, "latest"},
			"eth_fillTransaction": {args}, "eth_signTransaction": {args}, "eth_sendTransaction": {args},
			"personal_signTransaction": {args, ""}, "personal_sendTransaction": {args, ""},
			"eth_resend":      {args, "0x1", "0x1"},
			"debug_traceCall": {args, "latest"},
		} {
			if err := c.Call(&none, method, params...); err == nil ||
				!strings.Contains(err.Error(), "chainId does not match this chain's: have 1, want 4003") {
				t.Errorf("%s %v: %v", method, form, err)
			}
		}
		args["chainId"] = "0xfa3"
		if err := c.Call(&none, "eth_call", args, "latest"); err != nil {
			t.Error(err)
		}
	}
}

// A history of so many blocks has so many, if there are.
func TestHistoriesHaveTheirLength(t *testing.T) {
	w := newWorld(t, recordedEvents, Options{})
	c := dial(t, w)
	for last := uint64(0); last < 6; last++ {
		for count := uint64(1); count < 9; count++ {
			var h struct {
				OldestBlock  hexutil.Uint64
				GasUsedRatio []float64
			}
			if err := c.Call(&h, "eth_feeHistory", hexutil.Uint64(count), hexutil.Uint64(last),
				[]float64{}); err != nil {
				t.Fatal(err)
			}
			if want := min(count, last+1); uint64(len(h.GasUsedRatio)) != want || uint64(h.OldestBlock) != last+1-want {
				t.Errorf("%d blocks up to %d: %d from %d", count, last, len(h.GasUsedRatio), h.OldestBlock)
			}
		}
	}
}

// The heads that subscribers get have all that blocks have, but for the transactions.
func TestHeadsHaveTheFieldsOfBlocks(t *testing.T) {
	w := newWorld(t, recordedEvents, Options{})
	c := dial(t, w)
	var told, head map[string]json.RawMessage
	if err := c.Call(&told, "eth_getBlockByNumber", "latest", false); err != nil {
		t.Fatal(err)
	}
	b, root := lastBlock(t, w)
	if err := json.Unmarshal(newHeadJSON(b, root), &head); err != nil {
		t.Fatal(err)
	}
	for _, member := range slices.Sorted(maps.Keys(told)) {
		got, ok := head[member]
		switch member {
		case "transactions", "uncles":
		case "extraData", "sha3Uncles": // as go-opera tells them
			if !ok {
				t.Errorf("there is no %s", member)
			}
		default:
			if string(got) != string(told[member]) {
				t.Errorf("%s is %s, in the block %s", member, got, told[member])
			}
		}
	}
}

// lastBlock is the last block as the service shows it.
func lastBlock(t *testing.T, w *world) (b *block, root common.Hash) {
	t.Helper()
	v, err := w.chain.View()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	seen := &view{View: v, service: w.service}
	if b, err = seen.block(v.Head().Number); err != nil {
		t.Fatal(err)
	}
	if root, err = seen.rootOf(b.Number); err != nil {
		t.Fatal(err)
	}
	return b, root
}

// onePool has one transaction.
type onePool struct {
	Pool
	tx *types.Transaction
}

func (p onePool) Get(hash common.Hash) *types.Transaction {
	if hash == p.tx.Hash() {
		return p.tx
	}
	return nil
}

// Who hears of transactions that come may have them whole, also those of peers that are of no chain.
func TestPendingTransactionsMayBeWhole(t *testing.T) {
	key, err := crypto.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	tx := types.MustSignNewTx(key, types.HomesteadSigner{}, &types.LegacyTx{Nonce: 7, Gas: 21_000, GasPrice: price})
	w := newWorld(t, recordedEvents, Options{Pool: onePool{tx: tx}})
	c, err := rpc.Dial(strings.Replace(w.url, "http", "ws", 1))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, whole := range []any{nil, false, true} {
		params := []any{"newPendingTransactions"}
		if whole != nil {
			params = append(params, whole)
		}
		got := make(chan json.RawMessage, 1)
		sub, err := c.Subscribe(t.Context(), "eth", got, params...)
		if err != nil {
			t.Fatal(err)
		}
		w.service.Added(types.Transactions{tx})
		select {
		case text := <-got:
			var told struct {
				Hash common.Hash
				From common.Address
			}
			if whole == true {
				if err = json.Unmarshal(text, &told); told.From != crypto.PubkeyToAddress(key.PublicKey) {
					t.Errorf("it is of %v", told.From)
				}
			} else {
				err = json.Unmarshal(text, &told.Hash)
			}
			if err != nil || told.Hash != tx.Hash() {
				t.Errorf("%v: %s, %v", whole, text, err)
			}
		case <-time.After(time.Minute):
			t.Errorf("%v: nothing is told", whole)
		}
		sub.Unsubscribe()
	}
}

// A transaction that comes is made a text once, however many subscribers have it whole.
func TestAWholePendingTransactionIsToldOnceForAll(t *testing.T) {
	racedetector.SkipMeasure(t)
	key, err := crypto.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	tx := types.MustSignNewTx(key, types.HomesteadSigner{}, &types.LegacyTx{Gas: 21_000, GasPrice: price,
		Data: make([]byte, 100<<10)})
	w := newWorld(t, recordedEvents, Options{Pool: onePool{tx: tx}})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 1000 {
		if text, err := w.service.pendingText(tx.Hash()); err != nil || len(text) < 200<<10 {
			t.Fatal(len(text), err)
		}
	}
	runtime.ReadMemStats(&after)
	if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 16<<20 {
		t.Errorf("a thousand subscribers take %d MiB for a transaction of 100 KiB", bytes>>20)
	}
}
