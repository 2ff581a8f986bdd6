// Package traffic makes transfers of money of a fakenet, and chains of them, from a seed: for
// measuring nodes, of this program and others.
//
// It owns the accounts, which everybody may know, and the chain's events: one validator's, at
// times of the chain's own, so that the same shape is the same bytes. It starts no node and
// reads no clock.
package traffic

import (
	"context"
	"crypto/ecdsa"
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"path/filepath"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"tarn/opera/chain"
	"tarn/opera/eventfile"
	"tarn/opera/genesis/fakenet"
	"tarn/opera/inter"
	"tarn/store/engine"
)

// Shape is what a chain is made of. The same shape is the same chain, to the last byte.
type Shape struct {
	Seed      uint64
	Accounts  int // that have money
	Transfers int // between them
}

// Made says what a chain became.
type Made struct {
	Blocks uint64 // the newest
	Epoch  uint64
}

const (
	eventTxs     = 100 // at most, of an event
	eventSeconds = 1   // between two events
	patience     = 600 // seconds that an event waits for gas power
	transferGas  = 21_000
	settling     = 16 // events without transfers at the end: what came before is in blocks then
)

// The price of gas, and what each account has, in wei.
func price() *big.Int  { return big.NewInt(400e9) }
func wealth() *big.Int { return new(big.Int).Mul(big.NewInt(1000), big.NewInt(1e18)) }

// Accounts are those of a seed.
type Accounts struct {
	keys   []*ecdsa.PrivateKey
	names  []common.Address
	signer types.Signer
}

// NewAccounts are so many accounts of a seed.
func NewAccounts(seed uint64, count int) (*Accounts, error) {
	a := &Accounts{signer: types.NewLondonSigner(new(big.Int).SetUint64(inter.FakeNetwork))}
	base := binary.BigEndian.AppendUint64([]byte("an account of the traffic"), seed)
	for i := range count {
		key, err := crypto.ToECDSA(crypto.Keccak256(binary.BigEndian.AppendUint64(base, uint64(i))))
		if err != nil {
			return nil, fmt.Errorf("make account %d: %w", i, err)
		}
		a.keys, a.names = append(a.keys, key), append(a.names, crypto.PubkeyToAddress(key.PublicKey))
	}
	return a, nil
}

// Name is an account's address, as requests have it.
func (a *Accounts) Name(i int) string { return a.names[i].Hex() }

// Transfer is a signed transfer from one account to another, as eth_sendRawTransaction takes it.
func (a *Accounts) Transfer(from, to int, nonce, amount uint64) (string, error) {
	tx, err := a.transfer(a.keys[from], a.names[to], nonce, new(big.Int).SetUint64(amount))
	if err != nil {
		return "", err
	}
	raw, err := tx.MarshalBinary()
	return hexutil.Encode(raw), err
}

func (a *Accounts) transfer(key *ecdsa.PrivateKey, to common.Address, nonce uint64, amount *big.Int) (*types.Transaction, error) {
	tx, err := types.SignNewTx(key, a.signer, &types.LegacyTx{Nonce: nonce, To: &to, Value: amount, Gas: transferGas, GasPrice: price()})
	if err != nil {
		return nil, fmt.Errorf("sign a transfer: %w", err)
	}
	return tx, nil
}

// Make makes a chain's events, as a file that `import events` takes. work is a new folder for
// what is needed meanwhile.
func Make(ctx context.Context, path, work string, s Shape) (made Made, err error) {
	history := chain.NewHistory(chain.HistoryOptions{Dir: filepath.Join(work, "history")})
	st, err := engine.Open(filepath.Join(work, "state"), engine.Options{Kind: engine.Page, BeforeCheckpoint: history.Sync})
	if err != nil {
		return made, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	g, err := fakenet.New(fakenet.Options{Validators: 1})
	if err != nil {
		return made, err
	}
	o := chain.Options{Store: st, History: history}
	if err := chain.ApplyGenesis(o, g); err != nil {
		return made, err
	}
	c, err := chain.Open(o)
	if err != nil {
		return made, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	out, err := eventfile.Create(path)
	if err != nil {
		return made, err
	}
	m := &maker{chain: c, out: out, now: c.Head().Time}
	err = errors.Join(m.fill(ctx, s), out.Close())
	return Made{uint64(c.Head().Number), uint64(c.Epoch().Epoch)}, err
}

// maker makes the events of the only validator.
type maker struct {
	chain *chain.Chain
	out   *eventfile.Writer
	key   *ecdsa.PrivateKey
	now   inter.Timestamp
}

// fill gives all accounts money, and has them send it to each other.
func (m *maker) fill(ctx context.Context, s Shape) (err error) {
	if m.key, err = fakenet.Key(1); err != nil {
		return err
	}
	a, err := NewAccounts(s.Seed, s.Accounts)
	if err != nil {
		return err
	}
	if err := m.events(ctx, s.Accounts, func(i int) (*types.Transaction, error) {
		return a.transfer(m.key, a.names[i], uint64(i), wealth())
	}); err != nil {
		return err
	}
	random, nonces := rand.New(rand.NewPCG(s.Seed, 1)), make([]uint64, s.Accounts)
	if err := m.events(ctx, s.Transfers, func(int) (*types.Transaction, error) {
		from := random.IntN(s.Accounts)
		to := (from + 1 + random.IntN(s.Accounts-1)) % s.Accounts
		nonces[from]++
		return a.transfer(a.keys[from], a.names[to], nonces[from]-1, big.NewInt(1+random.Int64N(1e9)))
	}); err != nil {
		return err
	}
	for range settling {
		if err := m.event(nil); err != nil {
			return err
		}
	}
	return nil
}

// events puts so many transactions into events.
func (m *maker) events(ctx context.Context, count int, tx func(i int) (*types.Transaction, error)) error {
	for at := 0; at < count; {
		var txs types.Transactions
		for ; at < count && len(txs) < eventTxs; at++ {
			t, err := tx(at)
			if err != nil {
				return err
			}
			txs = append(txs, t)
		}
		if err := errors.Join(ctx.Err(), m.event(txs)); err != nil {
			return err
		}
	}
	return nil
}

// event makes one, as late as its creator can pay for it.
func (m *maker) event(txs types.Transactions) error {
	for range patience {
		m.now += eventSeconds * 1e9
		p := m.draft(txs)
		_, err := m.chain.Propose(p)
		if errors.Is(err, chain.ErrNotEnoughGasPower) {
			continue
		}
		if err != nil {
			return fmt.Errorf("propose an event: %w", err)
		}
		return m.connect(p)
	}
	return fmt.Errorf("an event of %d transactions cannot be paid within %d s", len(txs), patience)
}

func (m *maker) draft(txs types.Transactions) *inter.Payload {
	p := &inter.Payload{Event: inter.Event{Epoch: m.chain.Epoch().Epoch, Creator: 1, Seq: 1, Lamport: 1, CreationTime: m.now}, Txs: txs}
	if m.chain.Epoch().Rules.Upgrades.Llr {
		p.Version = 1
	}
	if last, ok := m.chain.LastEvents()[1]; ok {
		self := m.chain.Header(last)
		p.Seq, p.Lamport, p.Parents = self.Seq+1, last.Lamport()+1, []inter.EventID{last}
	}
	return p
}

func (m *maker) connect(p *inter.Payload) error {
	if err := p.Seal(); err != nil {
		return fmt.Errorf("seal an event: %w", err)
	}
	hash := p.SigningHash()
	signature, err := crypto.Sign(hash[:], m.key)
	if err != nil {
		return fmt.Errorf("sign an event: %w", err)
	}
	copy(p.Signature[:], signature)
	raw, err := p.Encode()
	if err != nil {
		return fmt.Errorf("encode an event: %w", err)
	}
	if err := m.chain.Connect(p); err != nil {
		return fmt.Errorf("connect event %d of epoch %d: %w", p.Seq, p.Epoch, err)
	}
	return m.out.Write(raw)
}
