package opera

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"

	"tarn/bench/load"
	"tarn/opera/workload"
)

// noncesAtOnce is how many accounts are asked for in one question.
const noncesAtOnce = 500

// Transfers makes requests that send a node transfers, one a transaction, each of another
// account until all had their turn.
func (n *Network) Transfers(url string, seed uint64) (load.Source, error) {
	random := rand.New(rand.NewPCG(seed, 2))
	turn, at := random.Perm(n.shape.Accounts), 0
	nonces := map[int]uint64{}
	return func(ctx context.Context, count int, _ time.Duration) ([]load.Request, error) {
		if err := n.nonces(ctx, url, nonces, turn, at, count); err != nil {
			return nil, fmt.Errorf("make transfers: %w", err)
		}
		all := make([]load.Request, count)
		for i := range all {
			from := turn[at%len(turn)]
			at++
			to := (from + 1 + random.IntN(n.shape.Accounts-1)) % n.shape.Accounts
			raw, err := n.accounts.Transfer(from, to, nonces[from], 1+random.Uint64N(1e9))
			if err != nil {
				return nil, err
			}
			nonces[from]++
			all[i] = load.Request{URL: url,
				Body: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"eth_sendRawTransaction","params":[%q]}`, raw)}
		}
		return all, nil
	}, nil
}

// nonces asks for those of the next accounts in turn that are not known.
func (n *Network) nonces(ctx context.Context, url string, known map[int]uint64, turn []int, at, count int) error {
	var want []int
	for i := range min(count, len(turn)) {
		if who := turn[(at+i)%len(turn)]; !has(known, who) {
			want = append(want, who)
		}
	}
	for len(want) > 0 {
		part := want[:min(noncesAtOnce, len(want))]
		want = want[len(part):]
		params := make([][]any, len(part))
		for i, who := range part {
			params[i] = []any{n.accounts.Name(who), "pending"}
		}
		answers, err := call(ctx, url, "eth_getTransactionCount", params)
		if err != nil {
			return err
		}
		for i, who := range part {
			if known[who], err = number(answers[i]); err != nil {
				return fmt.Errorf("read an account's number of transactions: %w", err)
			}
		}
	}
	return nil
}

func has(known map[int]uint64, who int) bool { _, ok := known[who]; return ok }

// Accepted tells whether an answer has a result.
func (n *Network) Accepted(status int, body []byte) error {
	if status/100 != 2 || bytes.Contains(body, []byte(`"error"`)) || !bytes.Contains(body, []byte(`"result"`)) {
		return fmt.Errorf("refused with %d: %.300s", status, body)
	}
	return nil
}

// Calls that are asked for.
const (
	callBalance = "eth_getBalance"
	callNonce   = "eth_getTransactionCount"
	callBlock   = "eth_getBlockByNumber" // with whole transactions
	callCall    = "eth_call"             // of a contract that reads 20 slots and writes one
	callLogs    = "eth_getLogs"          // of transfers of tokens to an account, in logBlocks blocks
	callReceipt = "eth_getTransactionReceipt"
	callOld     = "old eth_getBalance" // of a block anywhere in the chain
)

// logBlocks is over how many blocks logs are searched for.
const logBlocks = 1000

// Calls are those that can be asked for alone.
func (n *Network) Calls() []string {
	return []string{callBalance, callNonce, callBlock, callCall, callLogs, callReceipt, callOld}
}

// mixed is asked for in turn where no call is named, of the newest block and state.
var mixed = []string{callBlock, callNonce, callBalance, callCall}

// Questions asks a call again and again, or several in turn, for accounts, blocks and
// transactions that are chosen at random.
func (n *Network) Questions(
	ctx context.Context, url string, seed uint64, call string, count int,
) (all []load.Request, err error) {
	random := rand.New(rand.NewPCG(seed, 3))
	calls, some := mixed, sample{blocks: []string{"latest"}}
	if call != "" {
		calls = []string{call}
	}
	if call == callBlock || call == callReceipt {
		if some, err = n.sample(ctx, url, random); err != nil {
			return nil, fmt.Errorf("look for blocks with transactions: %w", err)
		}
	}
	for i := range count {
		method := calls[i%len(calls)]
		params, err := json.Marshal(n.parameters(method, some, random))
		if err != nil {
			return nil, err
		}
		if method == callOld {
			method = callBalance
		}
		all = append(all, load.Request{URL: url,
			Body: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)})
	}
	return all, nil
}

// sample is what is asked for of the chain: numbers of blocks with transactions, and hashes of
// these.
type sample struct{ blocks, transactions []string }

// parameters are those of one question.
func (n *Network) parameters(call string, some sample, random *rand.Rand) []any {
	who := n.accounts.Name(random.IntN(n.shape.Accounts))
	switch call {
	case callBlock:
		return []any{some.blocks[random.IntN(len(some.blocks))], true}
	case callCall:
		return []any{map[string]string{"from": who, "to": n.made.Reader.Hex(), "data": "0x01"}, "latest"}
	case callLogs:
		from := 1 + random.Uint64N(max(1, n.chain.Blocks-min(logBlocks, n.chain.Blocks)))
		return []any{map[string]any{"fromBlock": hexutil.EncodeUint64(from),
			"toBlock": hexutil.EncodeUint64(min(from+logBlocks-1, n.chain.Blocks)),
			"topics":  []any{workload.Transferred().Hex(), nil, common.HexToHash(who).Hex()}}}
	case callReceipt:
		return []any{some.transactions[random.IntN(len(some.transactions))]}
	}
	if call == callOld {
		return []any{who, hexutil.EncodeUint64(1 + random.Uint64N(n.chain.Blocks))}
	}
	return []any{who, "latest"}
}

// sampled is how many blocks are looked at.
const sampled = 200

// sample looks at blocks that are chosen at random.
func (n *Network) sample(ctx context.Context, url string, random *rand.Rand) (some sample, err error) {
	params := make([][]any, sampled)
	for i := range params {
		params[i] = []any{hexutil.EncodeUint64(1 + random.Uint64N(n.chain.Blocks)), false}
	}
	answers, err := call(ctx, url, callBlock, params)
	if err != nil {
		return some, err
	}
	for i, raw := range answers {
		var b struct{ Transactions []string }
		if err := json.Unmarshal(raw, &b); err != nil {
			return some, fmt.Errorf("read block %v: %w", params[i][0], err)
		}
		if len(b.Transactions) > 0 {
			some.blocks, some.transactions = append(some.blocks, params[i][0].(string)),
				append(some.transactions, b.Transactions...)
		}
	}
	if len(some.blocks) == 0 {
		err = fmt.Errorf("none of %d blocks has any", sampled)
	}
	return some, err
}

// Answered tells whether a question has its answer. Its beginning says so.
func (n *Network) Answered(status int, body []byte) error {
	_, result, ok := bytes.Cut(body[:min(len(body), 100)], []byte(`"result":`))
	if status/100 != 2 || !ok || bytes.HasPrefix(bytes.TrimLeft(result, " "), []byte("null")) {
		return fmt.Errorf("no result, with %d: %.300s", status, body)
	}
	return nil
}

// Confirmed counts those of some transfers that a node has in blocks.
func (n *Network) Confirmed(ctx context.Context, url string, transfers []load.Request) (count int, err error) {
	for len(transfers) > 0 {
		part := transfers[:min(noncesAtOnce, len(transfers))]
		transfers = transfers[len(part):]
		params := make([][]any, len(part))
		for i, t := range part {
			var sent struct{ Params []hexutil.Bytes }
			if err := json.Unmarshal(t.Body, &sent); err != nil || len(sent.Params) != 1 {
				return 0, fmt.Errorf("%.100s is no transfer: %w", t.Body, err)
			}
			params[i] = []any{crypto.Keccak256Hash(sent.Params[0]).Hex()}
		}
		answers, err := call(ctx, url, callReceipt, params)
		if err != nil {
			return 0, fmt.Errorf("look for transfers in blocks: %w", err)
		}
		for _, raw := range answers {
			if len(raw) > 0 && string(raw) != "null" {
				count++
			}
		}
	}
	return count, nil
}
