// Package chaintest makes chains for tests and measurements: it produces and signs
// blocks on a chain of its own, with keys that everybody may know, as fast as they
// can be made. Block times are the chain's, not the clock's.
package chaintest

import (
	"encoding/binary"
	"errors"
	"fmt"

	"tarn/antelope/chain"
	"tarn/antelope/crypto"
	"tarn/antelope/execute"
	"tarn/antelope/feature"
	"tarn/antelope/types"
	"tarn/store"
)

// Maker makes a chain. One goroutine uses it.
type Maker struct {
	Chain   *chain.Chain
	Genesis types.Genesis
	Key     crypto.PrivateKey // of everything

	finalizers []*finalizer // that vote for each block
	nonce      uint32
}

// Begin is the time of the genesis.
const Begin = types.TimePoint(1_577_836_800_000_000) // 2020-01-01

// Key is the key of everything in all chains that are made here, but for users that have
// others ([Traffic.Keyed]).
func Key() (crypto.PrivateKey, error) { return numberedKey(0) }

// numberedKey is one of the keys that everybody may know. Number 0 is that of everything.
func numberedKey(number uint32) (crypto.PrivateKey, error) {
	var seed [32]byte
	copy(seed[:], "the key of all chains for testing")
	binary.BigEndian.PutUint32(seed[:], binary.BigEndian.Uint32(seed[:])^number)
	return crypto.NewPrivateKey(types.K1, seed)
}

// New makes a chain on an empty store, with limits that no test reaches.
func New(st store.Store, o chain.Options) (*Maker, error) {
	key, err := Key()
	if err != nil {
		return nil, err
	}
	g := types.DefaultGenesis()
	g.InitialTimestamp, g.InitialKey = Begin, key.Public()
	cfg := &g.InitialConfiguration
	cfg.MaxBlockCPUUsage, cfg.MaxTransactionCPUUsage, cfg.MinTransactionCPUUsage = 4_000_000, 2_000_000, 1
	cfg.MaxBlockNetUsage, cfg.MaxTransactionNetUsage = 16<<20, 8<<20
	c, err := chain.Open(st, o)
	if err != nil {
		return nil, err
	}
	m := &Maker{Chain: c, Genesis: g, Key: key}
	if err := c.Genesis(&m.Genesis); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return m, nil
}

// StartBlock begins the next block, in the slot after the head's, with the features
// that are to be activated. Whoever is scheduled makes it, and confirms all blocks
// since its last one.
func (m *Maker) StartBlock(activations ...types.Checksum256) error {
	head := m.Chain.Head()
	s := execute.Start{Time: head.Header.Timestamp + 1, Activations: activations, Status: execute.Incomplete}
	last, _ := head.LastProduced.Get(head.ScheduledProducer(s.Time).Producer)
	if since := max(last, head.Irreversible); since < head.BlockNum && !head.PrecedesProper() {
		s.Confirmed = uint16(head.BlockNum - since)
	}
	return m.Chain.StartBlock(s)
}

// EndBlock signs the pending block, and lets the finalizers vote for it.
func (m *Maker) EndBlock() (*types.SignedBlock, error) {
	b, err := m.SignBlock(m.Chain)
	if err != nil {
		return nil, err
	}
	for _, f := range m.finalizers {
		v, err := f.vote(m.Chain.Head())
		if err != nil {
			return nil, err
		}
		if v != nil {
			m.Chain.Vote(v)
		}
	}
	return b, m.Chain.LogIrreversible()
}

// SignBlock signs the pending block of any chain.
func (m *Maker) SignBlock(c *chain.Chain) (*types.SignedBlock, error) {
	sign := func(digest types.Checksum256) ([]types.Signature, error) {
		s, err := m.Key.Sign(digest)
		return []types.Signature{s}, err
	}
	// Whose signature it is, is known: to find the key takes longer than all else of a small block.
	signer := func(types.Signature, types.Checksum256) (types.PublicKey, error) { return m.Key.Public(), nil }
	b, err := c.ProduceBlock(sign, signer)
	if err != nil {
		return nil, err
	}
	return b.Block, nil
}

// Sign makes a transaction of actions.
func (m *Maker) Sign(actions ...types.Action) (*types.PackedTransaction, error) {
	return m.signAs(m.Key, actions)
}

func (m *Maker) signAs(key crypto.PrivateKey, actions []types.Action) (*types.PackedTransaction, error) {
	m.nonce++
	t := &types.Transaction{Actions: actions}
	head := m.Chain.Head()
	t.Expiration = (head.Header.Timestamp.TimePoint() + types.TimePoint(1_000_000*(60+int64(m.nonce%3000)))).Sec()
	t.SetRefBlock(head.ID)
	t.MaxNetUsageWords = 1_000_000 + m.nonce // so that no two are the same
	s, err := key.Sign(t.SigningDigest(m.Genesis.ChainID(), nil))
	if err != nil {
		return nil, err
	}
	return types.Pack(t, []types.Signature{s}, nil, types.CompressionNone)
}

// Push executes a transaction of actions in the pending block; its failure is an
// error.
func (m *Maker) Push(actions ...types.Action) (*types.TransactionTrace, error) {
	return m.pushAs(m.Key, actions)
}

func (m *Maker) pushAs(key crypto.PrivateKey, actions []types.Action) (*types.TransactionTrace, error) {
	p, err := m.signAs(key, actions)
	if err != nil {
		return nil, err
	}
	return m.push(p, key)
}

// PushCompressed is Push for a transaction that is compressed.
func (m *Maker) PushCompressed(actions ...types.Action) (*types.TransactionTrace, error) {
	p, err := m.Sign(actions...)
	if err != nil {
		return nil, err
	}
	trx, _, err := p.Unpack()
	if err == nil {
		p, err = types.Pack(trx, p.Signatures, nil, types.CompressionZlib)
	}
	if err != nil {
		return nil, err
	}
	return m.push(p, m.Key)
}

// push executes a transaction that was signed with a key.
func (m *Maker) push(p *types.PackedTransaction, key crypto.PrivateKey) (*types.TransactionTrace, error) {
	x, err := execute.NewCandidate(p, execute.Input)
	if err != nil {
		return nil, err
	}
	x.Keys = []types.PublicKey{key.Public()}
	trace, err := m.Chain.PushTransaction(x, execute.Billing{Explicit: true, CPU: 100})
	if err == nil && trace.Except != nil {
		err = fmt.Errorf("transaction %s: %w", trace.ID, trace.Except)
	}
	return trace, err
}

// Block makes a block of transactions, one action each.
func (m *Maker) Block(actions ...types.Action) (*types.SignedBlock, error) {
	if err := m.StartBlock(); err != nil {
		return nil, err
	}
	for _, a := range actions {
		if _, err := m.Push(a); err != nil {
			return nil, err
		}
	}
	return m.EndBlock()
}

// Action is an action of contract, authorised by actor's active permission.
func Action(contract, name, actor types.Name, data []byte) types.Action {
	return types.Action{
		Account: contract, Name: name, Data: data,
		Authorization: []types.PermissionLevel{{Actor: actor, Permission: types.N("active")}},
	}
}

// CreateAccount is the action that makes an account with the one key.
func (m *Maker) CreateAccount(n types.Name) types.Action { return accountOf(n, m.Key) }

// accountOf is the action that makes an account with a key.
func accountOf(n types.Name, key crypto.PrivateKey) types.Action {
	eosio, authority := types.N("eosio"), types.KeyAuthority(key.Public())
	data := types.NewAccount{Creator: eosio, Name: n, Owner: authority, Active: authority}
	return Action(eosio, types.N("newaccount"), eosio, data.Append(nil))
}

// SetCode is the action that sets a contract.
func SetCode(n types.Name, code []byte) types.Action {
	return Action(types.N("eosio"), types.N("setcode"), n, types.SetCode{Account: n, Code: code}.Append(nil))
}

// SetABI is the action that sets a contract's ABI, packed.
func SetABI(n types.Name, abi []byte) types.Action {
	return Action(types.N("eosio"), types.N("setabi"), n, types.SetABI{Account: n, ABI: abi}.Append(nil))
}

// ActivatePreactivation activates the feature by which contracts activate the others, in
// a block of its own.
func (m *Maker) ActivatePreactivation(set *feature.Set) error {
	first, ok := set.Digest(feature.PreactivateFeature)
	if !ok {
		return errors.New("PREACTIVATE_FEATURE is not recognised")
	}
	if err := m.StartBlock(first); err != nil {
		return err
	}
	_, err := m.EndBlock()
	return err
}
