package rpc

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"tarn/opera/inter"
)

// object is a JSON object that somebody wrote.
type object = map[string]any

// questions are several hundred requests about a chain: all methods, right and wrong.
func questions(t *testing.T, w *world, at common.Address) []string {
	t.Helper()
	v, err := w.chain.View()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	var list []string
	ask := func(method string, params ...any) { list = append(list, request(method, params...)) }
	head := uint64(v.Head().Number)
	var txs, ids []common.Hash
	for n := range v.Head().Number {
		b, err := v.Block(n + 1)
		if err != nil || b == nil {
			t.Fatalf("block %d: %v", n+1, err)
		}
		ids = append(ids, common.Hash(b.ID))
		for _, tx := range b.Txs {
			txs = append(txs, tx.Hash())
		}
	}
	refs := []any{"latest", "pending", "earliest", "0x0", "0x1", hexutil.EncodeUint64(head),
		hexutil.EncodeUint64(head + 1), hexutil.EncodeUint64(head / 2), "0x7fffffffffffffff"}
	wrong := []any{"0x", "0x01", "1", 1, -1, nil, "", "nonsense", "0xg", true, 1.5, []any{}, "0xffffffffffffffffff",
		"0x8000000000000000"}
	askBlocks(ask, append(refs, wrong...), append(ids, common.Hash{}, common.Hash{1}), head)
	askTxs(ask, append(txs, common.Hash{}, common.Hash{1}))
	askState(ask, append(refs, wrong...), ids, at)
	askCalls(ask, refs, ids, at)
	askLogs(ask, ids, at, head)
	askEpochs(ask, append(refs, wrong...))
	askEvents(t, w, ask)
	for _, space := range []string{"eth", "ftm"} {
		for _, method := range []string{"blockNumber", "chainId", "gasPrice", "maxPriorityFeePerGas",
			"effectiveBaseFee", "syncing", "accounts", "currentEpoch", "pendingTransactions", "coinbase", "etherbase",
			"hashrate", "mining", "getWork", "protocolVersion", "newFilter", "nonsense"} {
			ask(space + "_" + method)
		}
	}
	for _, method := range []string{"net_version", "net_listening", "net_peerCount", "web3_sha3", "txpool_status",
		"txpool_content", "txpool_inspect", "admin_peers", "personal_listAccounts", "personal_listWallets",
		"debug_setHead", "rpc_nonsense", "nonsense", "", "eth", "_", "eth_"} {
		ask(method)
	}
	ask("web3_sha3", "0x68656c6c6f")
	ask("web3_sha3", "hello")
	ask("txpool_contentFrom", at)
	ask("debug_setHead", "0x1")
	for _, n := range []any{0, 1, head, head + 1, "0x1"} {
		ask("debug_getBlockRlp", n)
		ask("debug_seedHash", n)
	}
	ask("debug_testSignCliqueBlock", at, 1)
	ask("debug_blocksTransactionTimes", "latest", "0xffff")
	ask("debug_blocksTransactionTimes", "0x3", "0x2")
	ask("debug_blocksTransactionTimes", "0xffff", "0x2")
	return append(list, bodies(request("eth_blockNumber"))...)
}

// bodies are requests that are wrong as such, or many.
func bodies(good string) []string {
	return []string{
		"", "{", "[]", "{}", "[{}]", "null", `"text"`, "1", "[1,2]", good + good, good + "x", "[" + good + "," + good +
			"]", "[" + good + ",{}]",
		`{"jsonrpc":"2.0","id":"a","method":"eth_blockNumber"}`,
		`{"jsonrpc":"2.0","id":null,"method":"eth_blockNumber"}`,
		`{"jsonrpc":"2.0","id":{},"method":"eth_blockNumber"}`, `{"jsonrpc":"2.0","method":"eth_blockNumber"}`,
		`{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":{}}`,
		`{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[1]}`,
		`{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":null}`,
		`{"jsonrpc":"2.0","id":1,"method":"eth_getBalance"}`,
		`{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}`,
		`{"jsonrpc":"2.0","id":1,"method":"eth_unsubscribe","params":["0x1"]}`,
		`{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["nonsense"]}`,
		`{"jsonrpc":"2.0","id":1,"result":"0x1"}`, strings.Repeat(" ", 5<<20) + good,
	}
}

func askBlocks(ask func(string, ...any), tags []any, ids []common.Hash, head uint64) {
	for _, tag := range tags {
		for _, method := range []string{"eth_getHeaderByNumber", "eth_getUncleCountByBlockNumber",
			"eth_getBlockTransactionCountByNumber"} {
			ask(method, tag)
		}
		ask("eth_getBlockByNumber", tag, false)
		ask("ftm_getBlockByNumber", tag, true)
		for _, index := range []any{"0x0", "0x1", "0xffff"} {
			ask("eth_getTransactionByBlockNumberAndIndex", tag, index)
			ask("eth_getRawTransactionByBlockNumberAndIndex", tag, index)
		}
		ask("eth_getUncleByBlockNumberAndIndex", tag, "0x0")
	}
	for n := range head + 2 {
		ask("eth_getBlockByNumber", hexutil.EncodeUint64(n), true)
	}
	for _, id := range ids {
		ask("eth_getBlockByHash", id, true)
		ask("eth_getBlockByHash", id, false)
		for _, method := range []string{"eth_getHeaderByHash", "eth_getUncleCountByBlockHash",
			"eth_getBlockTransactionCountByHash"} {
			ask(method, id)
		}
		ask("eth_getTransactionByBlockHashAndIndex", id, "0x0")
		ask("eth_getRawTransactionByBlockHashAndIndex", id, "0x0")
		ask("eth_getUncleByBlockHashAndIndex", id, "0x0")
	}
	ask("eth_getBlockByNumber", "latest")
	ask("eth_getBlockByNumber", "latest", "yes")
	ask("eth_getBlockByNumber", "latest", true, 1)
	ask("eth_getBlockByHash", "0x12", true)
	ask("eth_getBlockByHash", "latest", true)
	ask("eth_getTransactionByBlockNumberAndIndex", "latest", 0)
	ask("eth_getTransactionByBlockNumberAndIndex", "latest", "0x00")
}

func askTxs(ask func(string, ...any), hashes []common.Hash) {
	for _, hash := range hashes {
		for _, method := range []string{"eth_getTransactionByHash", "eth_getRawTransactionByHash",
			"eth_getTransactionReceipt"} {
			ask(method, hash)
		}
	}
	for _, method := range []string{"eth_getTransactionByHash", "eth_getTransactionReceipt"} {
		for _, wrong := range []any{"0x1", "", nil, 1, strings.Repeat("z", 66), object{}} {
			ask(method, wrong)
		}
	}
	for _, raw := range []any{"0x", "0x00", "nonsense", "0xc0", "0x02c0", "0x03c0", "0x05", "0xf86b", nil} {
		ask("eth_sendRawTransaction", raw)
	}
}

func askState(ask func(string, ...any), refs []any, ids []common.Hash, at common.Address) {
	key := common.Address{18: 1, 19: 10}
	refs = append(refs, ids[len(ids)/2], common.Hash{1}, object{"blockHash": ids[0]}, object{"blockNumber": "0x2"},
		object{"blockHash": common.Hash{2}},
		object{"blockHash": ids[0], "blockNumber": "0x1"}, object{},
		object{"blockHash": ids[1], "requireCanonical": true}, object{"blockNumber": "latest"})
	for _, ref := range refs {
		for _, address := range []common.Address{at, key, {}} {
			for _, method := range []string{"eth_getBalance", "eth_getCode", "eth_getTransactionCount"} {
				if method == "eth_getCode" || address == key {
					ask(method, address, ref)
				}
			}
		}
		ask("eth_getStorageAt", at, "0x0", ref)
		ask("eth_getProof", at, []any{"0x0", "0x1"}, ref)
	}
	for _, address := range []common.Address{key, {}, {1},
		common.HexToAddress("0xfc00face00000000000000000000000000000000")} {
		ask("eth_getProof", address, []any{"0x0"}, "latest")
	}
	for _, slot := range []any{"0", "", "0x", "1", "0x" + strings.Repeat("0", 64),
		"0x" + strings.Repeat("1", 80), nil, 1} {
		ask("eth_getStorageAt", at, slot, "latest")
	}
	for _, address := range []any{"0x", at.Hex()[2:], "nonsense", nil, 1} {
		ask("eth_getBalance", address, "latest")
	}
	ask("eth_getBalance", at)
	ask("eth_getBalance")
	ask("eth_getProof", at, nil, "latest")
	ask("eth_getProof", at, []any{}, "latest")
}

func askCalls(ask func(string, ...any), refs []any, ids []common.Hash, at common.Address) {
	me := common.HexToAddress("0x239fa7623354ec26520de878b52f13fe84b06971")
	for deed := range byte(deeds) {
		call := object{"to": at, "data": hexutil.Encode([]byte{deed})}
		if deed == doSee {
			for _, ref := range refs {
				ask("eth_call", call, ref)
			}
			ask("eth_call", call, ids[2])
		}
		ask("eth_call", call, "latest")
		if deed != doLoop {
			ask("eth_estimateGas", call)
			ask("eth_createAccessList", call, "latest")
		}
	}
	count, see := hexutil.Encode([]byte{doCount}), hexutil.Encode([]byte{doSee})
	for _, call := range []object{
		{}, {"to": at}, {"data": count}, {"data": "0xfe"}, {"data": "0x5f5ff3"}, {"data": "0xb0"}, {"data": "0x49"},
		{"data": "0x600160015560016000f3"},
		{"to": at, "data": see, "from": me}, {"to": at, "data": see, "from": me, "gasPrice": "0x1"},
		{"to": at, "data": see, "from": me, "value": "0x5"},
		{"to": at, "data": see, "from": me, "maxFeePerGas": "0x174876e800"},
		{"to": at, "data": see, "from": me, "maxFeePerGas": "0x5d21dba000", "maxPriorityFeePerGas": "0x1"},
		{"to": at, "data": see, "gasPrice": "0x1", "maxFeePerGas": "0x1"}, {"to": at, "input": count, "data": see},
		{"to": at, "input": count},
		{"to": at, "data": count, "gas": "0x5208"}, {"to": at, "data": count, "gas": "0x1"},
		{"to": at, "data": count, "gas": "0x5300"}, {"to": at, "data": count, "gas": "0xffffffffffff"},
		{"to": at, "value": "0xffffffffffffffffffffffffffffff", "from": me}, {"to": at, "value": "0x1"},
		{"to": at, "gasPrice": "0x1", "gas": "0x30000"},
		{"to": me, "value": "0x1", "from": me}, {"to": common.Address{18: 9}, "value": "0x1", "from": me},
		{"to": me, "data": "0x00ff00"},
		{"to": at, "data": count, "accessList": []object{{"address": at, "storageKeys": []common.Hash{{}}}}},
		{"to": at, "data": "0x0"}, {"to": at, "data": "zz"}, {"to": "0x1"}, {"to": at, "gas": 1},
		{"to": at, "nonce": "0x7"}, {"to": at, "value": "-0x1"},
		{"to": "0x0000000000000000000000000000000000000001", "data": "0x01"},
		{"to": "0x0000000000000000000000000000000000000004", "data": "0x0102"},
		{"to": "0xd100ec0000000000000000000000000000000000", "data": "0xe30443bc"},
		{"to": "0xfc00face00000000000000000000000000000000", "data": "0x7cacb1d6"},
	} {
		ask("eth_call", call, "latest")
		ask("eth_estimateGas", call)
		ask("eth_estimateGas", call, "0x1")
		ask("eth_createAccessList", call, "latest")
		ask("eth_fillTransaction", call)
	}
	askOverrides(ask, at)
	for _, params := range [][]any{{}, {object{"to": at}}, {object{"to": at}, "0xffffff"},
		{object{"to": at}, "latest", nil}, {object{"to": at}, common.Hash{1}}, {[]any{}, "latest"}, {nil, "latest"}} {
		ask("eth_call", params...)
		ask("eth_estimateGas", params...)
		ask("eth_createAccessList", params...)
	}
	for _, method := range []string{"eth_sendTransaction", "eth_signTransaction"} {
		ask(method, object{"from": me, "to": at})
		ask(method, object{"from": me, "to": at, "gas": "0x5208", "gasPrice": "0x1", "nonce": "0x1"})
	}
	ask("eth_sign", me, "0x00")
	ask("eth_resend", object{"from": me, "to": at}, "0x1", "0x1")
	ask("eth_resend", object{"from": me, "to": at, "nonce": "0x1", "gas": "0x5208"}, "0x1", "0x5208")
	ask("personal_sign", "0x00", me, "")
	ask("personal_unlockAccount", me, "", 1)
	ask("personal_lockAccount", me)
	ask("personal_initializeWallet", "keystore://nowhere")
	ask("personal_unpair", "keystore://nowhere", "")
	ask("personal_ecRecover", "0x00", "0x00")
	ask("personal_ecRecover", "0x00", "0x"+strings.Repeat("01", 64)+"1b")
	ask("personal_signTransaction", object{"to": at}, "")
}

func askOverrides(ask func(string, ...any), at common.Address) {
	read, see := object{"to": at, "data": hexutil.Encode([]byte{doRead})}, object{"to": at,
		"data": hexutil.Encode([]byte{doSee})}
	zero, seven := common.Hash{}.Hex(), common.Hash{31: 7}.Hex()
	for _, o := range []any{
		object{}, object{at.Hex(): object{"stateDiff": object{zero: seven}}},
		object{at.Hex(): object{"state": object{zero: seven}}}, object{at.Hex(): object{"state": object{}}},
		object{at.Hex(): object{"state": object{}, "stateDiff": object{}}},
		object{at.Hex(): object{"code": "0x60056000f3"}}, object{at.Hex(): object{"balance": "0x7"}},
		object{at.Hex(): object{"nonce": "0x7"}}, object{at.Hex(): object{"balance": 7}}, object{"nonsense": object{}},
		object{at.Hex(): object{"stateDiff": object{"0x0": seven}}}, []any{},
	} {
		ask("eth_call", read, "latest", o)
		ask("eth_call", see, "latest", o)
		ask("eth_call", object{"to": at, "data": hexutil.Encode([]byte{doCount})}, "latest", o)
	}
}

func askLogs(ask func(string, ...any), ids []common.Hash, at common.Address, head uint64) {
	topic := func(b byte) common.Hash { return common.Hash{31: b} }
	all := object{"fromBlock": "0x0", "toBlock": "latest"}
	with := func(more object) object {
		o := object{}
		for k, v := range all {
			o[k] = v
		}
		for k, v := range more {
			o[k] = v
		}
		return o
	}
	for _, more := range []object{
		{}, {"address": at}, {"address": []any{at}}, {"address": []any{}}, {"address": []any{at, common.Address{1}}},
		{"address": common.Address{1}},
		{"topics": []any{topic(0xa1)}}, {"topics": []any{nil, topic(0xb2)}},
		{"topics": []any{[]any{topic(0xa1), topic(0xa2)}}}, {"topics": []any{topic(0xa1), topic(0xb2), topic(0xc3)}},
		{"topics": []any{nil, nil, nil, nil}}, {"topics": []any{}}, {"topics": []any{[]any{}}},
		{"topics": []any{[]any{nil, topic(1)}}}, {"topics": []any{topic(1)}},
		{"address": at, "topics": []any{nil, nil, topic(0xc3)}}, {"address": at, "toBlock": "0x3"},
		{"address": at, "fromBlock": hexutil.EncodeUint64(head)},
		{"address": at, "fromBlock": "0xffff"}, {"address": at, "toBlock": "0xffffff"},
		{"address": at, "fromBlock": "pending"}, {"toBlock": "0x2"}, {"toBlock": "0xffff"},
		{"address": "0x1"}, {"address": 1}, {"address": []any{1}}, {"address": []any{"0x1"}}, {"topics": "0x1"},
		{"topics": []any{"0x1"}}, {"topics": []any{1}}, {"topics": []any{[]any{1}}},
		{"topics": []any{object{}}}, {"fromBlock": "nonsense"}, {"fromBlock": 1}, {"blockHash": ids[0]},
		{"topics": []any{nil, nil, nil, nil, nil}},
	} {
		ask("eth_getLogs", with(more))
	}
	for _, o := range []any{object{}, object{"address": at}, nil, "latest", object{"blockHash": common.Hash{1}},
		object{"blockHash": "0x1"}, object{"blockHash": common.Hash{}}} {
		ask("eth_getLogs", o)
	}
	for i, id := range ids {
		ask("eth_getLogs", object{"blockHash": id, "topics": []any{topic(0xa1)}})
		ask("eth_getLogs", object{"blockHash": id})
		n := hexutil.EncodeUint64(uint64(i + 1))
		ask("eth_getLogs", object{"fromBlock": n, "toBlock": n})
		ask("eth_getLogs", object{"fromBlock": n, "toBlock": n, "address": at})
	}
	ask("eth_getLogs", object{"fromBlock": "0x5", "toBlock": "0x2"})
	ask("eth_getLogs", object{"fromBlock": "0x5", "toBlock": "0x2", "address": at})
	ask("eth_newFilter", object{"fromBlock": "0x5", "toBlock": "0x2"})
	ask("eth_newFilter", object{"fromBlock": "latest", "toBlock": "0x2"})
	ask("eth_newFilter", object{"address": 1})
	for _, method := range []string{"eth_getFilterChanges", "eth_getFilterLogs", "eth_uninstallFilter"} {
		ask(method, "0x1")
		ask(method)
		ask(method, 1)
	}
}

func askEpochs(ask func(string, ...any), tags []any) {
	for _, tag := range append(tags, "0x2", "0x3", "0x100000001") {
		for _, method := range []string{"eth_getRules", "eth_getEpochBlock", "ftm_getEpochStats", "abft_getValidators",
			"dag_getHeads"} {
			ask(method, tag)
		}
	}
	for _, id := range []any{"0x0", "0x1", "0x2", "0x100000001", 1, "nonsense"} {
		for _, method := range []string{"abft_getDowntime", "abft_getEpochUptime", "abft_getOriginatedEpochFee"} {
			ask(method, id)
		}
	}
	for _, params := range [][]any{
		{0, "latest", []any{}}, {"0x0", "latest", nil}, {2, "latest", []any{}}, {"0x5", "latest", nil},
		{1, "latest", []any{50}}, {1, "0x2", []any{0, 10, 20, 60, 80, 99, 100}}, {1, "earliest", []any{1}},
		{3, "0xffff", []any{}}, {1, "latest", []any{101}}, {1, "latest", []any{-1}}, {1, "latest", []any{5, 4}},
		{2000, "latest", []any{}}, {-1, "latest", []any{}},
		{"x", "latest", []any{}}, {1}, {1, "latest"}, {1, "pending", []any{50.5}}, {1, "latest", "x"},
	} {
		ask("eth_feeHistory", params...)
	}
}

func askEvents(t *testing.T, w *world, ask func(string, ...any)) {
	t.Helper()
	n := 0
	if err := w.chain.Events(inter.EventID{}, func(id inter.EventID, _ []byte) bool {
		if n++; n%5 != 1 {
			return true
		}
		ask("dag_getEvent", id.String())
		ask("dag_getEventPayload", id.String(), true)
		ask("dag_getEventPayload", id.String(), false)
		ask("dag_getEvent", fmt.Sprintf("%d:%d:%x", id.Epoch(), id.Lamport(), id[8:12]))
		return true
	}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []any{"", "0x", "1:2", "1:2:3:4", "1:1:", "1:9999:00", "x:1:00", "1:x:00", "99999999999:1:00",
		"1:1:zz", common.Hash{1}, 1, nil} {
		ask("dag_getEvent", id)
		ask("dag_getEventPayload", id, true)
	}
	ask("dag_getEventPayload", "1:1:")
}
