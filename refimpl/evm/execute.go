package main

import (
	"math/big"

	"github.com/Fantom-foundation/go-opera/evmcore"
	"github.com/Fantom-foundation/go-opera/gossip/blockproc/evmmodule"
	"github.com/Fantom-foundation/go-opera/inter"
	"github.com/Fantom-foundation/go-opera/inter/iblockproc"
	"github.com/Fantom-foundation/go-opera/opera"
	"github.com/Fantom-foundation/lachesis-base/hash"
	"github.com/Fantom-foundation/lachesis-base/inter/idx"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"
)

func upgrade(h Height) opera.UpgradeHeight {
	return opera.UpgradeHeight{
		Upgrades: opera.Upgrades{Berlin: h.Berlin, London: h.London},
		Height:   idx.Block(h.Height),
	}
}

// chain is what BLOCKHASH sees.
type chain struct {
	headers map[uint64]*evmcore.EvmHeader
}

func (c *chain) add(number uint64, id common.Hash) {
	h := &evmcore.EvmHeader{Number: new(big.Int).SetUint64(number), Hash: id}
	if parent := c.headers[number-1]; parent != nil {
		h.ParentHash = parent.Hash
	}
	c.headers[number] = h
}

// GetHeader implements evmcore.DummyChain.
func (c *chain) GetHeader(_ common.Hash, number uint64) *evmcore.EvmHeader {
	return c.headers[number]
}

// begin writes a state, as a genesis does: whatever it has stays, also what is empty.
func begin(db state.Database, accounts map[common.Address]Account) common.Hash {
	s, err := state.New(common.Hash{}, db, nil)
	if err != nil {
		fail("make a state", err)
	}
	for address, a := range accounts {
		s.SetBalance(address, (*big.Int)(a.Balance))
		s.SetNonce(address, uint64(a.Nonce))
		if len(a.Code) > 0 {
			s.SetCode(address, a.Code)
		}
		for key, value := range a.Storage {
			s.SetState(address, key, value)
		}
	}
	return commit(db, s, false)
}

func commit(db state.Database, s *state.StateDB, deleteEmpty bool) common.Hash {
	root, err := s.Commit(deleteEmpty)
	if err != nil {
		fail("commit a state", err)
	}
	if err := db.TrieDB().Commit(root, false, nil); err != nil {
		fail("commit a state's nodes", err)
	}
	return root
}

func execute(
	db state.Database, root common.Hash, c *chain, rules opera.Rules, config *params.ChainConfig, b *Block,
) Outcome {
	s, err := state.New(root, db, nil)
	if err != nil {
		fail("open a state", err)
	}
	var o Outcome
	context := iblockproc.BlockCtx{Idx: idx.Block(b.Number), Time: inter.Timestamp(b.Time), Atropos: hash.Event(b.ID)}
	listen := func(l *types.Log) { o.Heard = append(o.Heard, l) }
	p := evmmodule.New().Start(context, s, c, listen, rules, config)
	for _, step := range b.Steps {
		p.Execute(decode(step))
	}
	block, skipped, receipts := p.Finalize()
	o.Root, o.GasUsed, o.Skipped, o.Receipts = block.Root, block.GasUsed, skipped, receipts
	if err := db.TrieDB().Commit(o.Root, false, nil); err != nil {
		fail("commit a state's nodes", err)
	}
	return o
}

func decode(step []hexutil.Bytes) (txs types.Transactions) {
	for _, raw := range step {
		tx := new(types.Transaction)
		if err := tx.UnmarshalBinary(raw); err != nil {
			fail("decode a transaction", err)
		}
		txs = append(txs, tx)
	}
	return txs
}

func dump(db state.Database, root common.Hash) map[common.Address]Account {
	s, err := state.New(root, db, nil)
	if err != nil {
		fail("open a state", err)
	}
	accounts := make(map[common.Address]Account)
	for address, d := range s.RawDump(&state.DumpConfig{}).Accounts {
		balance, _ := new(big.Int).SetString(d.Balance, 10)
		a := Account{Balance: (*hexutil.Big)(balance), Nonce: hexutil.Uint64(d.Nonce), Code: d.Code,
			Storage: make(map[common.Hash]common.Hash)}
		for key, value := range d.Storage {
			a.Storage[key] = common.HexToHash(value)
		}
		accounts[address] = a
	}
	return accounts
}
