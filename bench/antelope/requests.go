package antelope

import (
	"context"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"time"

	"tarn/antelope/chain/chaintest"
	"tarn/antelope/types"
	"tarn/bench/load"
)

// Transfers makes requests that send a node transfers, one a transaction, signed, with
// the node's head of the moment. Of another seed they are others.
func (n *Network) Transfers(url string, seed uint64) (load.Source, error) {
	return n.source(url, seed, func(traffic *chaintest.Traffic, _ uint32) (types.Action, error) {
		return traffic.Transfer(), nil
	})
}

// source makes requests that send a node transactions of one action each, signed, with the node's
// head of the moment. The action is told how many were made before it.
func (n *Network) source(
	url string, seed uint64, action func(traffic *chaintest.Traffic, made uint32) (types.Action, error),
) (load.Source, error) {
	traffic, err := n.traffic(seed)
	if err != nil {
		return nil, err
	}
	made := uint32(0)
	return func(ctx context.Context, count int, good time.Duration) ([]load.Request, error) {
		i, err := getInfo(ctx, url)
		if err != nil {
			return nil, err
		}
		expiration := types.TimePointSec(time.Now().Add(good).Unix())
		all := make([]load.Request, count)
		for k := range all {
			a, err := action(traffic, made)
			if err != nil {
				return nil, err
			}
			made++
			packed, err := sign(traffic, i, a, expiration, made)
			if err != nil {
				return nil, fmt.Errorf("sign transaction %d: %w", made, err)
			}
			all[k] = sending(url, packed)
		}
		return all, nil
	}, nil
}

// sign makes a transaction of one action of a user. Of another number it is another one.
func sign(
	traffic *chaintest.Traffic, i info, action types.Action, expiration types.TimePointSec, number uint32,
) (*types.PackedTransaction, error) {
	t := &types.Transaction{Actions: []types.Action{action},
		TransactionHeader: types.TransactionHeader{Expiration: expiration}}
	t.SetRefBlock(i.HeadID)
	t.MaxNetUsageWords = 1_000_000 + number
	signature, err := traffic.KeyOf(action.Authorization[0].Actor).Sign(t.SigningDigest(i.ChainID, nil))
	if err != nil {
		return nil, err
	}
	return types.Pack(t, []types.Signature{signature}, nil, types.CompressionNone)
}

// sending is the request that sends a transaction.
func sending(url string, packed *types.PackedTransaction) load.Request {
	return load.Request{URL: url + "/v1/chain/send_transaction2", Body: fmt.Appendf(nil,
		`{"return_failure_trace":false,"retry_trx":false,"transaction":{"signatures":["%s"],"compression":"none","packed_context_free_data":"","packed_trx":"%s"}}`,
		packed.Signatures[0], hex.EncodeToString(packed.PackedTrx))}
}

// Accepted tells whether an answer says that the transaction was taken.
func (n *Network) Accepted(status int, body []byte) error {
	if status/100 != 2 {
		return fmt.Errorf("refused with %d: %.300s", status, body)
	}
	return nil
}

// pendingEvery is how often it is looked for a snapshot that is whole.
const pendingEvery = 2 * time.Millisecond

// Snapshot has a node write a snapshot of its state, and returns its path and when it was
// whole: the answer comes later, when the snapshot's block is irreversible.
func (n *Network) Snapshot(ctx context.Context, url, dir string) (path string, whole time.Time, err error) {
	var answer struct {
		Name string `json:"snapshot_name"`
	}
	answered := make(chan error, 1)
	go func() { answered <- call(ctx, url+"/v1/producer/create_snapshot", nil, &answer) }()
	for {
		select {
		case err := <-answered:
			if err != nil {
				return "", whole, fmt.Errorf("ask for a snapshot: %w", err)
			}
			if whole.IsZero() {
				whole = time.Now()
			}
			return answer.Name, whole, nil
		case <-time.After(pendingEvery):
		}
		// It has this name until its block is irreversible.
		if all, _ := filepath.Glob(filepath.Join(dir, "snapshots", ".pending-*")); len(all) > 0 && whole.IsZero() {
			whole = time.Now()
		}
	}
}

// Calls that are asked for. Tables are asked for ten rows as JSON.
const (
	callInfo    = "get_info"
	callAccount = "get_account"
	callRows    = "get_table_rows"
	callScopes  = "get_table_by_scope"
)

// Calls are those that can be asked for alone.
func (n *Network) Calls() []string { return []string{callInfo, callAccount, callRows, callScopes} }

// mixed is asked for in turn where no call is named.
var mixed = []string{callInfo, callScopes, callAccount, callAccount}

// Questions asks a call again and again, or several in turn, for accounts and rows that are
// chosen at random.
func (n *Network) Questions(
	_ context.Context, url string, seed uint64, call string, count int,
) ([]load.Request, error) {
	traffic, err := n.traffic(seed)
	if err != nil {
		return nil, err
	}
	calls := mixed
	if call != "" {
		calls = []string{call}
	}
	all := make([]load.Request, count)
	for k := range all {
		who := traffic.Users[traffic.Random(len(traffic.Users))].String()
		call, body := calls[k%len(calls)], []byte("{}")
		switch call {
		case callAccount:
			body = fmt.Appendf(nil, `{"account_name":%q}`, who)
		case callRows:
			body = fmt.Appendf(nil, `{"json":true,"code":%q,"scope":%q,"table":%q,"lower_bound":"%d","limit":10}`,
				rowAccount.String(), rowAccount.String(), rowTable.String(), traffic.Random(rowCount(n.shape.Rows)-10))
		case callScopes:
			body = fmt.Appendf(nil, `{"code":%q,"table":"accounts","lower_bound":%q,"limit":10}`,
				chaintest.TokenAccount.String(), who)
		}
		all[k] = load.Request{URL: url + "/v1/chain/" + call, Body: body}
	}
	return all, nil
}

// Answered tells whether a question has its answer.
func (n *Network) Answered(status int, body []byte) error { return n.Accepted(status, body) }
