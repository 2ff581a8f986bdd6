package network

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"tarn/antelope/blocklog"
	"tarn/antelope/chain"
	"tarn/antelope/chain/chaintest"
	"tarn/antelope/crypto"
	"tarn/antelope/serial"
	"tarn/antelope/types"
	"tarn/contracts"
	"tarn/store/engine"
)

// Shape is what a chain is made of.
type Shape struct {
	Blocks    int      // in all, about
	Transfers int      // in each of them
	Users     int      // accounts with tokens
	Producers []string // of the schedule; none for eosio alone
}

// Chain is a chain that networks work with: its blocks lie in a folder, and one key
// signs everything. Its blocks are of the past, so that it takes no time to make
// them. [Chain.Transfer] may be called by any goroutine.
type Chain struct {
	Dir     string // with a folder blocks
	Genesis types.Genesis
	Key     crypto.PrivateKey
	Head    uint32 // the last block of the log

	mu    sync.Mutex
	token *chaintest.Token
	nonce uint32
}

// NewChain makes a chain in a folder that is not there yet.
func NewChain(dir string, s Shape) (c *Chain, err error) {
	work := filepath.Join(dir, "state")
	st, err := engine.Open(work, engine.Options{Kind: engine.Page, LimitBytes: 4 << 30})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, st.Close(), os.RemoveAll(work)) }()
	log, err := blocklog.Open(blocklog.Options{Dir: filepath.Join(dir, "blocks"), BufferBytes: 1 << 20})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	m, err := chaintest.New(st, chain.Options{Blocks: log})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.Chain.Close()) }()
	if err := log.ResetGenesis(m.Genesis, m.Chain.Head().Block.Append(nil)); err != nil {
		return nil, err
	}
	c = &Chain{Dir: dir, Genesis: m.Genesis, Key: m.Key}
	if err := c.fill(m, s); err != nil {
		return nil, fmt.Errorf("making a chain: %w", err)
	}
	c.Head, _, _ = log.Head()
	return c, nil
}

// fill makes the blocks.
func (c *Chain) fill(m *chaintest.Maker, s Shape) (err error) {
	if c.token, err = chaintest.NewToken(m, contracts.Token().Code, max(2, s.Users)); err != nil {
		return err
	}
	if err := schedule(m, s.Producers); err != nil {
		return err
	}
	for m.Chain.Head().BlockNum < uint32(s.Blocks) {
		if _, err := c.token.Transfers(s.Transfers, 1); err != nil {
			return err
		}
	}
	// What is irreversible goes to the log, but for the last two blocks.
	for range 3 {
		if _, err := m.Block(); err != nil {
			return err
		}
	}
	return nil
}

// schedule makes producers, and goes on until the log has their first block.
func schedule(m *chaintest.Maker, producers []string) error {
	if len(producers) == 0 {
		return nil
	}
	eosio := types.N("eosio")
	actions := []types.Action{chaintest.SetCode(eosio, chaintest.SystemCode())}
	list := serial.AppendCount(nil, len(producers))
	for _, p := range producers {
		actions = append(actions, m.CreateAccount(types.N(p)))
		list = types.LegacyProducerKey{Producer: types.N(p), Key: m.Key.Public()}.Append(list)
	}
	if _, err := m.Block(append(actions, chaintest.Action(eosio, types.N("setprods"), eosio, list))...); err != nil {
		return err
	}
	rounds := 12 * 8 * len(producers) // far more blocks than it takes
	for begun := uint32(0); begun == 0 || m.Chain.Fork().Root().BlockNum <= begun; rounds-- {
		if rounds == 0 {
			return errors.New("the schedule does not become active")
		}
		if _, err := m.Block(); err != nil {
			return err
		}
		if begun == 0 && m.Chain.Head().ActiveSchedule.Version > 0 {
			begun = m.Chain.Head().BlockNum
		}
	}
	return nil
}

// Copy puts the blocks into a node's data folder. The node replays them.
func (c *Chain) Copy(dir string) error {
	return os.CopyFS(filepath.Join(dir, "blocks"), os.DirFS(filepath.Join(c.Dir, "blocks")))
}

// Transfer is a transfer between two users that refers to a block and expires in a
// few minutes. No two are the same.
func (c *Chain) Transfer(ref types.Checksum256) (*types.PackedTransaction, error) {
	c.mu.Lock()
	c.nonce++
	a, nonce := c.token.Transfer(), c.nonce
	c.mu.Unlock()
	t := &types.Transaction{Actions: []types.Action{a}}
	t.Expiration = types.TimePointSec(time.Now().Add(5 * time.Minute).Unix())
	t.SetRefBlock(ref)
	t.MaxNetUsageWords = 10_000_000 + nonce // beyond those of the chain's own
	s, err := c.Key.Sign(t.SigningDigest(c.Genesis.ChainID(), nil))
	if err != nil {
		return nil, err
	}
	return types.Pack(t, []types.Signature{s}, nil, types.CompressionNone)
}
