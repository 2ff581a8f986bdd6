package antelope

import (
	"context"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"tarn/antelope/chain/chaintest"
	"tarn/antelope/types"
	"tarn/bench/load"
	"tarn/contracts/assembler"
)

// A contract that is deployed has so many functions of so many steps: together they are about
// as large as the system contract of a network, 400 KB.
const (
	contractFunctions = 1000
	functionSteps     = 16
	functionCalled    = 50 // each so many-th is called by an action
)

// contract is a module that is another one for each number. Of what it is sent by others, such
// as transfers, it takes no notice.
func contract(seed, number uint64) ([]byte, error) {
	random := rand.New(rand.NewPCG(seed, number))
	var text strings.Builder
	text.WriteString("(module (memory 1)\n")
	for i := range contractFunctions {
		fmt.Fprintf(&text, "(func $f%d (param $x i64) (result i64)\n", i)
		for range functionSteps {
			fmt.Fprintf(&text, "(local.set $x (i64.xor (i64.mul (local.get $x) (i64.const %d)) (i64.rotl (local.get $x) (i64.const %d))))\n",
				int64(random.Uint64()), 1+random.IntN(62))
		}
		text.WriteString("(i64.store (i32.const 16) (local.get $x)) (local.get $x))\n")
	}
	text.WriteString("(func (export \"apply\") (param $self i64) (param $contract i64) (param $action i64)\n" +
		"(if (i64.eq (local.get $self) (local.get $contract)) (then\n")
	for i := 0; i < contractFunctions; i += functionCalled {
		fmt.Fprintf(&text, "(local.set $action (call $f%d (local.get $action)))\n", i)
	}
	text.WriteString("))))\n")
	return assembler.Assemble(text.String())
}

// Deployments makes requests in pairs: one puts a large contract on an account, one calls it. Of
// another seed the contracts are others.
func (n *Network) Deployments(url string, seed uint64) (load.Source, error) {
	key, err := chaintest.Key()
	if err != nil {
		return nil, err
	}
	traffic, err := chaintest.NewTraffic(n.shape.Accounts, seed)
	if err != nil {
		return nil, err
	}
	made := 0
	return func(ctx context.Context, count int, good time.Duration) ([]load.Request, error) {
		i, err := getInfo(ctx, url)
		if err != nil {
			return nil, err
		}
		expiration := types.TimePointSec(time.Now().Add(good).Unix())
		all := make([]load.Request, count)
		for k := range all {
			pair := made / 2
			who := traffic.Users[pair%len(traffic.Users)]
			action := chaintest.Action(who, types.N("work"), who, nil)
			if made%2 == 0 {
				code, err := contract(seed, uint64(pair))
				if err != nil {
					return nil, fmt.Errorf("make a contract: %w", err)
				}
				action = chaintest.SetCode(who, code)
			}
			packed, err := signed(key, i, action, expiration, uint32(made))
			if err != nil {
				return nil, fmt.Errorf("make a deployment: %w", err)
			}
			made++
			all[k] = sending(url, packed)
		}
		return all, nil
	}, nil
}

// sending is the request that sends a transaction.
func sending(url string, packed *types.PackedTransaction) load.Request {
	return load.Request{URL: url + "/v1/chain/send_transaction2", Body: fmt.Appendf(nil,
		`{"return_failure_trace":false,"retry_trx":false,"transaction":{"signatures":["%s"],"compression":"none","packed_context_free_data":"","packed_trx":"%s"}}`,
		packed.Signatures[0], hex.EncodeToString(packed.PackedTrx))}
}
