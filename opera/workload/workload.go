// Package workload makes transfers of money and tokens of a fakenet, calls of contracts, and
// chains of them, from a seed: for measuring nodes, of this program and others.
//
// It owns the accounts, which everybody may know, the contracts, and the chain's events, at
// times of the chain's own, so that the same shape is the same bytes. It starts no node and
// reads no clock.
package workload

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"path/filepath"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm/program"
	"github.com/ethereum/go-ethereum/crypto"

	"tarn/opera/chain"
	"tarn/opera/eventfile"
	"tarn/opera/genesis/fakenet"
	"tarn/opera/inter"
	"tarn/opera/senderrecovery"
	"tarn/store/engine"
)

// Shape is what a chain is made of. The same shape is the same chain, to the last byte.
type Shape struct {
	Seed     uint64
	Accounts int // that have money and tokens, at least 2
	// Transfers is how many transactions these accounts send. Of ten transactions five move tokens
	// and leave a log each, four move money, and one calls a contract that reads. Every two
	// hundredth calls a heavy contract instead.
	Transfers int
	PerEvent  int // transactions of an event, at most; 0: as many as there usually are
	Slots     int // transactions that fill [SlotsEach] fresh slots each
	// Validators are how many make the events, one after the other; 0: one. Many events are not confirmed
	// yet with many of them, and an epoch's end leaves these out: then an event should have few transactions.
	Validators int
}

// validators is how many there are.
func (s Shape) validators() int { return max(1, s.Validators) }

// Made says what a chain became.
type Made struct {
	Blocks uint64 // the newest
	Epoch  uint64
}

const (
	eventTxs     = 100       // at most, of an event, if the shape says nothing
	eventGas     = 9_500_000 // of its transactions, at most
	eventSeconds = 1         // between two events of a validator, at least
	calmGas      = 500_000   // a second, with which the least price of gas falls; with four times as much it grows
	busyGas      = 2.3e10    // of a chain with full events, at most: its price grows by a twentieth in each of some seventy epochs
	patience     = 600       // seconds that an event waits for gas power
	settling     = 16        // events of each without transactions at the end: what came before is in blocks then
	settlings    = 20        // times in a row that this may be in vain
	parents      = 3         // of an event, at most: so many cost no gas
)

// price is what transactions pay for gas, in wei. The network's least price stays below it for some eighty epochs
// of full events.
func price() *big.Int { return big.NewInt(5000e9) }

// isLong tells whether the chain is so long that the least price would grow above what transactions pay, if its events
// came as fast as they can.
func (s *Shape) isLong() bool {
	return float64(s.Accounts)*giveGas+float64(s.Transfers)*tokenGas+float64(s.Slots)*fillGas > busyGas
}

// wealth is how much money each account is given, in wei, and as many tokens: enough for several times as many
// transactions as it is expected to send.
func (s *Shape) wealth() *big.Int {
	return new(big.Int).Mul(big.NewInt(int64(max(1000, s.Transfers/s.Accounts))), big.NewInt(1e18))
}

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
	tx, err := a.sign(a.keys[from], nonce, &a.names[to], new(big.Int).SetUint64(amount), moneyGas, nil)
	if err != nil {
		return "", err
	}
	raw, err := tx.MarshalBinary()
	return hexutil.Encode(raw), err
}

// sign makes a transaction; without an address it creates a contract.
func (a *Accounts) sign(
	key *ecdsa.PrivateKey, nonce uint64, to *common.Address, amount *big.Int, gas uint64, data []byte,
) (*types.Transaction, error) {
	tx, err := types.SignNewTx(key, a.signer, &types.LegacyTx{Nonce: nonce, To: to, Value: amount, Gas: gas,
		GasPrice: price(), Data: data})
	if err != nil {
		return nil, fmt.Errorf("sign a transaction: %w", err)
	}
	senderrecovery.Remember(a.signer, tx, crypto.PubkeyToAddress(key.PublicKey)) // to find it takes longer than to execute
	return tx, nil
}

// Make makes a chain's events, as a file that `import events` takes. work is a new folder for
// what is needed meanwhile.
func Make(ctx context.Context, path, work string, s Shape) (made Made, err error) {
	if s.Accounts < 2 {
		return made, fmt.Errorf("a chain of traffic: %d accounts, at least 2 are needed: each pays another", s.Accounts)
	}
	history := chain.NewHistory(chain.HistoryOptions{Dir: filepath.Join(work, "history")})
	st, err := engine.Open(filepath.Join(work, "state"),
		engine.Options{Kind: engine.Page, BeforeCheckpoint: history.Sync})
	if err != nil {
		return made, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	g, err := fakenet.New(fakenet.Options{Validators: s.validators()})
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
	m := &maker{chain: c, out: out, now: c.Head().Time, calm: s.isLong()}
	for i := range s.validators() {
		key, err := fakenet.Key(inter.ValidatorID(i + 1))
		if err != nil {
			return made, errors.Join(err, out.Close())
		}
		m.keys = append(m.keys, key)
	}
	err = errors.Join(m.fill(ctx, s), out.Close())
	return Made{uint64(c.Head().Number), uint64(c.Epoch().Epoch)}, err
}

// maker makes the events of all validators.
type maker struct {
	chain  *chain.Chain
	out    *eventfile.Writer
	keys   []*ecdsa.PrivateKey // of the validators, from 1 on
	events int                 // that it has made
	now    inter.Timestamp
	calm   bool // an event comes when the one before it has had its time at calmGas
	epoch  inter.Epoch
	issued []types.Transactions // of the epoch's events, in their order
}

// fill creates the contracts, gives all accounts money and tokens, and has them use these.
func (m *maker) fill(ctx context.Context, s Shape) (err error) {
	a, err := NewAccounts(s.Seed, s.Accounts)
	if err != nil {
		return err
	}
	c, err := NewContracts()
	if err != nil {
		return err
	}
	perEvent := cmp.Or(s.PerEvent, eventTxs)
	m.epoch = m.chain.Epoch().Epoch
	own, nothing := uint64(0), new(big.Int) // the validator's nonce
	given := func(to *common.Address, amount *big.Int, gas uint64, data []byte) (*types.Transaction, error) {
		own++
		return a.sign(m.keys[0], own-1, to, amount, gas, data)
	}
	made := codes()
	for _, part := range []struct {
		count int
		tx    func(i int) (*types.Transaction, error)
	}{
		{len(made), func(i int) (*types.Transaction, error) {
			return given(nil, nothing, createGas, program.New().ReturnViaCodeCopy(made[i]).Bytes())
		}},
		{s.Accounts, func(i int) (*types.Transaction, error) {
			return given(&c.Token, s.wealth(), giveGas, common.LeftPadBytes(a.names[i][:], 32))
		}},
		{s.Transfers, a.uses(s, c)},
		{s.Slots, func(i int) (*types.Transaction, error) {
			return given(&c.Filler, nothing, fillGas, word(uint64(i)*SlotsEach))
		}},
	} {
		if err := m.emitAll(ctx, part.count, perEvent, part.tx); err != nil {
			return err
		}
	}
	return m.settle(ctx)
}

// settle makes events without transactions until all that came before is in blocks. If an epoch ends
// meanwhile, what it leaves out has just come again.
func (m *maker) settle(ctx context.Context) error {
	for left, vain := math.MaxInt, 0; ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		for calm := 0; calm < settling*len(m.keys); calm++ {
			epoch := m.epoch
			if err := m.emit(nil); err != nil {
				return err
			}
			if m.epoch != epoch {
				calm = 0
			}
		}
		lost, err := m.lostTransactions()
		if err != nil || len(lost) == 0 {
			return err
		}
		if vain++; len(lost) < left {
			vain = 0
		}
		if vain > settlings {
			return fmt.Errorf("transactions of %d events are in no block, however often they come", len(lost))
		}
		m.issued, left = nil, min(left, len(lost))
		for _, txs := range lost {
			if err := m.emit(txs); err != nil {
				return err
			}
		}
	}
}

// uses makes what accounts do with what they have.
func (a *Accounts) uses(s Shape, c Contracts) func(i int) (*types.Transaction, error) {
	random, nonces := rand.New(rand.NewPCG(s.Seed, 1)), make([]uint64, s.Accounts)
	return func(i int) (*types.Transaction, error) {
		from := random.IntN(s.Accounts)
		to, amount := a.names[(from+1+random.IntN(s.Accounts-1))%s.Accounts], 1+random.Uint64N(1e9)
		nonces[from]++
		key, nonce, nothing := a.keys[from], nonces[from]-1, new(big.Int)
		switch {
		case i%200 == 199:
			return a.sign(key, nonce, &c.Worker, nothing, workGas, nil)
		case i%10 == 9:
			return a.sign(key, nonce, &c.Reader, nothing, readGas, nil)
		case i%2 == 0:
			return a.sign(key, nonce, &c.Token, nothing, tokenGas, transferCall(to, amount))
		}
		return a.sign(key, nonce, &to, new(big.Int).SetUint64(amount), moneyGas, nil)
	}
}

// emitAll puts so many transactions into events.
func (m *maker) emitAll(ctx context.Context, count, perEvent int, tx func(i int) (*types.Transaction, error)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var txs types.Transactions
	gas := uint64(0)
	for s := range signAhead(ctx, count, tx) {
		t, err := s.tx, s.err
		if err != nil {
			return err
		}
		if len(txs) == perEvent || gas+t.Gas() > eventGas {
			if err := errors.Join(ctx.Err(), m.emit(txs)); err != nil {
				return err
			}
			txs, gas = nil, 0
		}
		txs, gas = append(txs, t), gas+t.Gas()
	}
	if err := ctx.Err(); err != nil || len(txs) == 0 {
		return err
	}
	return m.emit(txs)
}

// signed is a transaction, or why there is none.
type signed struct {
	tx  *types.Transaction
	err error
}

// signAhead makes so many transactions, in their order, some before they are taken: a signature takes about as
// long as the rest that a transaction of an event needs. It ends after an error, or with ctx.
func signAhead(ctx context.Context, count int, tx func(i int) (*types.Transaction, error)) <-chan signed {
	made := make(chan signed, 256)
	go func() {
		defer close(made)
		for i := range count {
			t, err := tx(i)
			select {
			case made <- signed{t, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return made
}

// emit makes an event with txs. If an epoch has ended since the last event, the transactions of
// its unconfirmed events are in no block: emit first makes events with these again.
func (m *maker) emit(txs types.Transactions) error {
	for waiting := []types.Transactions{txs}; len(waiting) > 0; waiting = waiting[1:] {
		if now := m.chain.Epoch().Epoch; now != m.epoch {
			lost, err := m.lostTransactions()
			if err != nil {
				return err
			}
			m.epoch, m.issued, waiting = now, nil, append(lost, waiting...)
		}
		m.issued = append(m.issued, waiting[0])
		if err := m.event(waiting[0]); err != nil {
			return err
		}
	}
	return nil
}

// lostTransactions are the transactions of the epoch's events that are in no block, as events. Of one
// validator these are the last events. Of several a block has many events, and leaves out the first of them
// if they have more gas than a block may have.
func (m *maker) lostTransactions() (all []types.Transactions, err error) {
	v, err := m.chain.View()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	for _, txs := range slices.Backward(m.issued) {
		var list types.Transactions
		for _, tx := range txs {
			found, err := isExecuted(v, tx.Hash())
			if err != nil {
				return nil, err
			}
			if !found {
				list = append(list, tx)
			}
		}
		if len(list) > 0 {
			all = append(all, list)
		} else if len(txs) > 0 && len(m.keys) == 1 {
			break
		}
	}
	slices.Reverse(all)
	return all, nil
}

// isExecuted tells whether a transaction is in a block.
func isExecuted(v *chain.View, hash common.Hash) (found bool, err error) {
	var failed error
	err = v.Places(hash, func(p chain.TxPlace) bool {
		b, err := v.Block(p.Block)
		failed = err
		found = b != nil && b.Txs[p.Index].Hash() == hash
		return !found && err == nil
	})
	return found, errors.Join(err, failed)
}

// event makes an event with txs and connects it. The event's time is put off, second by second,
// until its creator has the gas power for it; after patience seconds that is an error.
func (m *maker) event(txs types.Transactions) error {
	for range patience {
		m.now += eventSeconds * 1e9 / inter.Timestamp(len(m.keys))
		p := m.draft(txs)
		_, err := m.chain.Propose(p)
		if errors.Is(err, chain.ErrNotEnoughGasPower) {
			continue
		}
		if err != nil {
			return fmt.Errorf("propose an event: %w", err)
		}
		if m.calm {
			m.now += rest(txs) / inter.Timestamp(len(m.keys))
		}
		return m.connect(p)
	}
	return fmt.Errorf("an event of %d transactions cannot be paid within %d s", len(txs), patience)
}

// rest is how much longer than eventSeconds an event's transactions take at calmGas.
func rest(txs types.Transactions) inter.Timestamp {
	gas := uint64(0)
	for _, tx := range txs {
		gas += tx.Gas()
	}
	return inter.Timestamp(max(gas, calmGas*eventSeconds)-calmGas*eventSeconds) * (1e9 / calmGas)
}

// draft is an event of the validator whose turn it is, which follows its own last event and what it can
// see of the others'.
func (m *maker) draft(txs types.Transactions) *inter.Payload {
	creator := inter.ValidatorID(m.events%len(m.keys) + 1)
	p := &inter.Payload{Event: inter.Event{Epoch: m.chain.Epoch().Epoch, Creator: creator, Seq: 1, Lamport: 1,
		CreationTime: m.now}, Txs: txs}
	if m.chain.Epoch().Rules.Upgrades.Llr {
		p.Version = 1
	}
	last, ok := m.chain.LastEvents()[creator]
	if ok {
		p.Seq, p.Parents = m.chain.Header(last).Seq+1, []inter.EventID{last}
	}
	for _, tip := range m.chain.Tips() {
		if tip != last && len(p.Parents) < parents {
			p.Parents = append(p.Parents, tip)
		}
	}
	for _, id := range p.Parents {
		p.Lamport = max(p.Lamport, id.Lamport()+1)
	}
	return p
}

func (m *maker) connect(p *inter.Payload) error {
	if err := p.Seal(); err != nil {
		return fmt.Errorf("seal an event: %w", err)
	}
	hash := p.SigningHash()
	signature, err := crypto.Sign(hash[:], m.keys[p.Creator-1])
	if err != nil {
		return fmt.Errorf("sign an event: %w", err)
	}
	copy(p.Signature[:], signature)
	raw, err := p.Encode()
	if err != nil {
		return fmt.Errorf("encode an event: %w", err)
	}
	if err := m.chain.Connect(p, nil); err != nil {
		return fmt.Errorf("connect event %d of epoch %d: %w", p.Seq, p.Epoch, err)
	}
	m.events++
	return m.out.Write(raw)
}
