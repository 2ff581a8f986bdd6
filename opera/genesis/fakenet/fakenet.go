// Package fakenet makes the genesis of go-opera's networks for trying things out
// (`opera --fakenet`): the very same one, so that its nodes and ours are of one
// network.
//
// It owns what that genesis begins with, keys, balances and contracts, and executes
// its only block; the rules are those of epoch and evm. The contracts' code comes
// from go-opera's module, whose packages of contracts are linked and nothing else of
// it. It never writes a chain.
package fakenet

import (
	"crypto/ecdsa"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"iter"
	"math/big"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"tarn/opera/epoch"
	"tarn/opera/evm"
	"tarn/opera/genesis"
	"tarn/opera/inter"
	"tarn/opera/state"
)

// MaxValidators is how many keys there are.
const MaxValidators = 100

// StartTime is when every fakenet began: the time of its genesis (go-opera,
// integration/makefakegenesis).
const StartTime = inter.Timestamp(1_608_600_000e9)

// What each validator begins with (the same).
const (
	balance = 1_000_000_000 // in units of 10^18 wei
	stake   = 5_000_000
)

//go:embed keys.txt
var keys string

// Key returns the private key of the validator with that id, from 1 to
// [MaxValidators]. Everybody has it.
func Key(id inter.ValidatorID) (*ecdsa.PrivateKey, error) {
	if id < 1 || id > MaxValidators {
		return nil, fmt.Errorf("a fakenet has validators 1 to %d, not %d", MaxValidators, id)
	}
	return crypto.HexToECDSA(strings.Fields(keys)[id-1])
}

// Options of a fakenet.
type Options struct {
	// Validators is how many there are, 1 to [MaxValidators]. The first one owns the
	// contracts, which refuse to have no owner.
	Validators int
	// Rules of the network; nil are go-opera's, [inter.FakeRules]. With others it is
	// another network, which a go-opera takes as a file.
	Rules *inter.Rules
}

// Genesis is a network's beginning: one block, and the epoch after it.
type Genesis struct {
	header genesis.Header
	epoch  *inter.EpochRecord
	block  *inter.BlockRecord
	items  []genesis.Item
}

var _ genesis.Source = (*Genesis)(nil)

// New makes a genesis by executing its block.
func New(o Options) (*Genesis, error) {
	g, err := build(o)
	if err != nil {
		return nil, fmt.Errorf("make the genesis of a fakenet of %d validators: %w", o.Validators, err)
	}
	return g, nil
}

func build(o Options) (*Genesis, error) {
	rules := inter.FakeRules()
	if o.Rules != nil {
		rules = o.Rules.Copy()
	}
	validators, err := members(o.Validators)
	if err != nil {
		return nil, err
	}
	db := state.NewBlock(nothing{})
	endow(db, validators)
	block, ran, err := execute(db, &rules, validators)
	if err != nil {
		return nil, err
	}
	changes, err := db.Finish(uint64(block.Info.Number))
	if err != nil {
		return nil, err
	}
	root, items, err := export(changes)
	if err != nil {
		return nil, err
	}
	g := &Genesis{epoch: block.End(root), items: items}
	g.block = &inter.BlockRecord{
		Block: inter.BlockContent{
			// Its id is made from an event that go-opera fails to encode: from no bytes.
			Atropos:  inter.NewEventID(g.epoch.Epoch, 1, sha256.Sum256(nil)),
			Root:     root,
			Txs:      ran.Txs(),
			Receipts: storedReceipts(ran.Receipts()),
			Time:     block.Info.Time,
			GasUsed:  ran.GasUsed(),
		},
		Number: block.Info.Number,
	}
	g.header = genesis.Header{ID: g.epoch.State.Hash(), NetworkID: rules.NetworkID, NetworkName: rules.Name}
	return g, nil
}

func storedReceipts(receipts types.Receipts) []*types.ReceiptForStorage {
	list := make([]*types.ReceiptForStorage, len(receipts))
	for i, r := range receipts {
		list[i] = (*types.ReceiptForStorage)(r)
	}
	return list
}

// Header implements [genesis.Source].
func (g *Genesis) Header() genesis.Header { return g.header }

// Epochs implements [genesis.Source].
func (g *Genesis) Epochs() iter.Seq2[*inter.EpochRecord, error] {
	return func(yield func(*inter.EpochRecord, error) bool) { yield(g.epoch, nil) }
}

// Blocks implements [genesis.Source].
func (g *Genesis) Blocks() iter.Seq2[*inter.BlockRecord, error] {
	return func(yield func(*inter.BlockRecord, error) bool) { yield(g.block, nil) }
}

// Items implements [genesis.Source]. They are in the order of their keys: nodes of the
// tries, codes, and what was hashed.
func (g *Genesis) Items() iter.Seq2[genesis.Item, error] {
	return func(yield func(genesis.Item, error) bool) {
		for _, item := range g.items {
			if !yield(item, nil) {
				return
			}
		}
	}
}

// before is the state that the network's first block finds.
func before(rules *inter.Rules) (*inter.BlockState, *inter.EpochState, error) {
	none, err := inter.NewValidators(nil)
	if err != nil {
		return nil, nil, err
	}
	return &inter.BlockState{
			LastBlock:    inter.BlockInfo{Time: StartTime},
			NextProfiles: inter.Profiles{},
			// The block ends the epoch that nobody has seen.
			AdvanceEpochs: 1,
		}, &inter.EpochState{
			Epoch: 1, EpochStart: StartTime, PrevEpochStart: StartTime - 1,
			Validators: none, Profiles: inter.Profiles{}, Rules: *rules,
		}, nil
}

// execute executes the network's first block: the contracts are told of each other and
// of the validators, and the epoch ends.
func execute(db evm.State, rules *inter.Rules, validators []member) (*epoch.Block, *evm.Block, error) {
	bs, es, err := before(rules)
	if err != nil {
		return nil, nil, err
	}
	b := epoch.Begin(bs, es, inter.EventID{}, nil)
	b.Decide()
	machine := evm.NewBlock(evm.Header{
		Number:  b.Info.Number,
		Time:    b.Info.Time,
		Config:  evm.ChainConfig(rules.NetworkID, []inter.UpgradeHeight{{Upgrades: rules.Upgrades}}),
		BaseFee: evm.BaseFee(rules),
		BlockID: func(inter.BlockNumber) inter.EventID { return inter.EventID{} },
	}, db, evm.NewAnalyses(1<<20))
	defer machine.Close()
	run := func(to common.Address, calls ...[]byte) error { return call(db, machine, b, to, calls) }

	if err := run(initializer(), initialize(validators)); err != nil {
		return nil, nil, err
	}
	if err := run(epoch.Driver(), introduce(validators)...); err != nil {
		return nil, nil, err
	}
	if err := run(epoch.Driver(), b.CallsBefore()...); err != nil {
		return nil, nil, err
	}
	if err := b.Seal(); err != nil {
		return nil, nil, err
	}
	if err := run(epoch.Driver(), b.CallsAfter()...); err != nil {
		return nil, nil, err
	}
	return b, machine, nil
}

// call executes calls of a contract by nobody, of which none may fail.
func call(db evm.State, machine *evm.Block, b *epoch.Block, to common.Address, calls [][]byte) error {
	nonce := db.GetNonce(common.Address{})
	txs := make([]evm.Tx, len(calls))
	for i, data := range calls {
		txs[i] = evm.Tx{Transaction: epoch.InternalTx(nonce+uint64(i), to, data)}
	}
	var heard error
	receipts, err := machine.Execute(txs, func(l *types.Log) {
		if err := b.Log(l); err != nil {
			heard = err
		}
	})
	if err == nil {
		err = heard
	}
	if err != nil {
		return err
	}
	if len(receipts) != len(txs) {
		return fmt.Errorf("a call of %v is left out: %w", to, machine.Skipped()[0].Err)
	}
	for i, r := range receipts {
		if r.Status != types.ReceiptStatusSuccessful {
			return fmt.Errorf("call %d of %v is reverted", i, to)
		}
	}
	return nil
}

// coins returns an amount in wei.
func coins(n int64) *big.Int {
	wei := new(big.Int).Exp(big.NewInt(10), big.NewInt(18), nil)
	return wei.Mul(wei, big.NewInt(n))
}
