package antelope

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"tarn/antelope/chain/chaintest"
	"tarn/antelope/types"
	"tarn/bench/load"
	"tarn/contracts/wat"
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
	return wat.Assemble(text.String())
}

// Deployments makes requests in pairs: one puts a large contract on an account, one calls it. Of
// another seed the contracts are others.
func (n *Network) Deployments(url string, seed uint64) (load.Source, error) {
	return n.source(url, seed, func(traffic *chaintest.Traffic, made uint32) (types.Action, error) {
		pair := int(made / 2)
		who := traffic.Users[pair%len(traffic.Users)]
		if made%2 == 1 {
			return chaintest.Action(who, types.N("work"), who, nil), nil
		}
		code, err := contract(seed, uint64(pair))
		if err != nil {
			return types.Action{}, fmt.Errorf("make a contract: %w", err)
		}
		return chaintest.SetCode(who, code), nil
	})
}
