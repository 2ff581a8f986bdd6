// Command evm lets the originals (go-opera's processor of blocks over its fork of
// go-ethereum) judge the execution of transactions. Each line of its input is a Request
// as JSON: a state, blocks to execute on it one after another, and calls for those who ask
// what would be. Each line of its output is the Answer: what the blocks and calls came to.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"runtime/debug"

	"github.com/Fantom-foundation/go-opera/evmcore"
	"github.com/Fantom-foundation/go-opera/opera"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
)

// Account is an account of a state.
type Account struct {
	Balance *hexutil.Big                `json:"balance"`
	Nonce   hexutil.Uint64              `json:"nonce"`
	Code    hexutil.Bytes               `json:"code,omitempty"`
	Storage map[common.Hash]common.Hash `json:"storage,omitempty"`
}

// Height is an entry of the upgrades by height.
type Height struct {
	Height         uint64
	Berlin, London bool
}

// Block is a block to execute.
type Block struct {
	Number  uint64
	Time    uint64 // ns
	ID      common.Hash
	BaseFee *hexutil.Big // the least gas price; null before London
	// Steps are the transactions in their binary form, in as many steps as the
	// processor is called.
	Steps [][]hexutil.Bytes
}

// Request is a state and the blocks on it.
type Request struct {
	Network  uint64
	Upgrades []Height
	// IDs are those of the blocks before the first one, which follow each other.
	IDs    []common.Hash
	State  map[common.Address]Account
	Blocks []Block
	Calls  []Call // each on the state after the last block
	Dump   bool   // whether the last state is wanted
}

// Outcome is what a block came to.
type Outcome struct {
	Root     common.Hash
	GasUsed  uint64
	Skipped  []uint32
	Receipts []*types.Receipt
	Heard    []*types.Log // by the listener
}

// Answer is what a request came to.
type Answer struct {
	Blocks []Outcome
	Calls  []Said
	State  map[common.Address]Account `json:",omitempty"`
}

func main() {
	debug.SetGCPercent(800)
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := json.NewEncoder(os.Stdout)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var r Request
		if err := json.Unmarshal(line, &r); err != nil {
			fail("read a request", err)
		}
		if err := out.Encode(answer(&r)); err != nil {
			fail("write an answer", err)
		}
	}
}

func fail(doing string, err error) {
	fmt.Fprintf(os.Stderr, "%s: %v\n", doing, err)
	os.Exit(1)
}

func answer(r *Request) *Answer {
	db := state.NewDatabase(rawdb.NewMemoryDatabase())
	root := begin(db, r.State)
	chain := &chain{headers: make(map[uint64]*evmcore.EvmHeader)}
	if len(r.Blocks) > 0 {
		first := r.Blocks[0].Number - uint64(len(r.IDs))
		for i, id := range r.IDs {
			chain.add(first+uint64(i), id)
		}
	}
	config := r.rules(nil).EvmChainConfig(r.heights())
	a := &Answer{}
	for i := range r.Blocks {
		b := &r.Blocks[i]
		chain.add(b.Number, b.ID)
		o := execute(db, root, chain, r.rules(b), config, b)
		root = o.Root
		a.Blocks = append(a.Blocks, o)
	}
	for i := range r.Calls {
		a.Calls = append(a.Calls, ask(db, root, chain, config, &r.Blocks[len(r.Blocks)-1], &r.Calls[i]))
	}
	if r.Dump {
		a.State = dump(db, root)
	}
	return a
}

func (r *Request) heights() (all []opera.UpgradeHeight) {
	for _, h := range r.Upgrades {
		all = append(all, upgrade(h))
	}
	return all
}

// rules are those of a block; nil leaves its fee out.
func (r *Request) rules(b *Block) opera.Rules {
	rules := opera.FakeNetRules()
	rules.NetworkID = r.Network
	if b != nil {
		rules.Upgrades.London = b.BaseFee != nil
		rules.Economy.MinGasPrice = (*big.Int)(b.BaseFee)
	}
	return rules
}
