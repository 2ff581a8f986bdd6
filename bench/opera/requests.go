package opera

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"tarn/bench/load"
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
			all[i] = load.Request{URL: url, Body: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"eth_sendRawTransaction","params":[%q]}`, raw)}
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
	callBlock   = "eth_getBlockByNumber"
)

// Calls are those that can be asked for alone.
func (n *Network) Calls() []string { return []string{callBalance, callNonce, callBlock} }

// mixed is asked for in turn where no call is named.
var mixed = []string{callBlock, callNonce, callBalance, callBalance}

// Questions asks a call again and again, or several in turn, for accounts that are chosen at
// random, and for the newest block.
func (n *Network) Questions(_ context.Context, url string, seed uint64, call string, count int) ([]load.Request, error) {
	calls := mixed
	if call != "" {
		calls = []string{call}
	}
	random := rand.New(rand.NewPCG(seed, 3))
	all := make([]load.Request, count)
	for i := range all {
		method, params := calls[i%len(calls)], []any{n.accounts.Name(random.IntN(n.shape.Accounts)), "latest"}
		if method == callBlock {
			params = []any{"latest", false}
		}
		body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
		if err != nil {
			return nil, err
		}
		all[i] = load.Request{URL: url, Body: body}
	}
	return all, nil
}

// Answered tells whether a question has its answer.
func (n *Network) Answered(status int, body []byte) error { return n.Accepted(status, body) }
