package antelope

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"tarn/antelope/chain/chaintest"
	"tarn/antelope/crypto"
	"tarn/antelope/types"
	"tarn/bench/load"
)

// Transfers makes requests that send a node transfers, one a transaction, signed, with
// the node's head of the moment. Of another seed they are others.
func (n *Network) Transfers(url string, seed uint64) (load.Source, error) {
	return n.source(url, seed, func(traffic *chaintest.Traffic, _ uint32) (types.Action, error) { return traffic.Transfer(), nil })
}

// source makes requests that send a node transactions of one action each, signed, with the node's
// head of the moment. The action is told how many were made before it.
func (n *Network) source(url string, seed uint64, action func(traffic *chaintest.Traffic, made uint32) (types.Action, error)) (load.Source, error) {
	key, err := chaintest.Key()
	if err != nil {
		return nil, err
	}
	traffic, err := chaintest.NewTraffic(n.shape.Accounts, seed)
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
			packed, err := signed(key, i, a, expiration, made)
			if err != nil {
				return nil, fmt.Errorf("sign transaction %d: %w", made, err)
			}
			all[k] = sending(url, packed)
		}
		return all, nil
	}, nil
}

// signed is a transaction of one action. Of another number it is another one.
func signed(key crypto.PrivateKey, i info, action types.Action, expiration types.TimePointSec, number uint32) (*types.PackedTransaction, error) {
	t := &types.Transaction{Actions: []types.Action{action}, TransactionHeader: types.TransactionHeader{Expiration: expiration}}
	t.SetRefBlock(i.HeadID)
	t.MaxNetUsageWords = 1_000_000 + number
	signature, err := key.Sign(t.SigningDigest(i.ChainID, nil))
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

// Snapshot has a node write a snapshot of its state, and returns its path once it is
// whole.
func (n *Network) Snapshot(ctx context.Context, url string) (path string, err error) {
	var answer struct {
		Name string `json:"snapshot_name"`
	}
	if err := call(ctx, url+"/v1/producer/create_snapshot", nil, &answer); err != nil {
		return "", fmt.Errorf("ask for a snapshot: %w", err)
	}
	return answer.Name, nil
}

// Questions asks for accounts that are chosen at random, one in four for the contract's
// scopes and one in four for the chain's state.
func (n *Network) Questions(_ context.Context, url string, seed uint64, count int) ([]load.Request, error) {
	traffic, err := chaintest.NewTraffic(n.shape.Accounts, seed)
	if err != nil {
		return nil, err
	}
	all := make([]load.Request, count)
	for k := range all {
		who := traffic.Users[traffic.Random(len(traffic.Users))]
		switch k % 4 {
		case 0:
			all[k] = load.Request{URL: url + "/v1/chain/get_info", Body: []byte("{}")}
		case 1:
			all[k] = load.Request{URL: url + "/v1/chain/get_table_by_scope",
				Body: fmt.Appendf(nil, `{"code":%q,"table":"accounts","lower_bound":%q,"limit":10}`, chaintest.TokenAccount.String(), who.String())}
		default:
			all[k] = load.Request{URL: url + "/v1/chain/get_account", Body: fmt.Appendf(nil, `{"account_name":%q}`, who.String())}
		}
	}
	return all, nil
}

// Answered tells whether a question has its answer.
func (n *Network) Answered(status int, body []byte) error { return n.Accepted(status, body) }
