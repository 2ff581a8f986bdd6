package bench

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"path/filepath"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/core/vm/program"
	"github.com/ethereum/go-ethereum/crypto"

	"tarn/opera/chain"
	"tarn/opera/chain/chaintest"
	"tarn/opera/eventfile"
	"tarn/opera/genesis/fakenet"
	"tarn/opera/inter"
	"tarn/opera/oracle"
)

// Readable is what a chain is made of that is asked about: its blocks have some transfers of
// tokens, with a log each, some of money, and a call of a contract that reads. It is made here, in
// a time of its own, with an event for each block.
type Readable struct {
	Seed     uint64
	Blocks   int
	Accounts int
}

// eachBlock is how many transactions of each kind a block has.
const eachBlock = 4

// readable is a chain that was made.
type readable struct {
	events   string // the file
	accounts []common.Address
	txs      []common.Hash
	first    inter.BlockNumber // that has such transactions
	last     inter.BlockNumber
	reader   common.Address
}

// readerSlots is how many slots the reader reads.
const readerSlots = 20

// reader is a contract that adds up twenty slots, and keeps one more than the sum in one of
// them.
func reader() []byte {
	p := program.New().Push(1)
	for slot := range readerSlots {
		p.Push(slot).Op(vm.SLOAD, vm.ADD)
	}
	return p.Op(vm.DUP1).Push(7).Op(vm.SSTORE).Push(0).Op(vm.MSTORE).Return(0, 32).Bytes()
}

// maker makes the events of a fakenet of one validator.
type maker struct {
	chain  *chaintest.Chain
	out    *eventfile.Writer
	key    *oracle.Account
	clock  inter.Timestamp
	epoch  inter.Epoch
	last   *inter.Payload // of the epoch
	signer types.Signer
	recent []types.Transactions // of the last events
}

// unconfirmed is the most events that may not be confirmed yet.
const unconfirmed = 8

// eventTime is between two events.
const eventTime = inter.Timestamp(1e9)

// emit makes an event with some transactions. What the end of an epoch has lost comes first.
func (m *maker) emit(txs types.Transactions) error {
	if now := m.chain.Epoch(); m.epoch != now.Epoch {
		m.epoch, m.last = now.Epoch, nil
		recent := m.recent
		m.recent = nil
		for _, list := range recent {
			lost, err := m.lost(list)
			if err != nil {
				return err
			}
			if err := m.event(lost); err != nil {
				return err
			}
		}
	}
	return m.event(txs)
}

// lost are those of some transactions that were not executed.
func (m *maker) lost(txs types.Transactions) (list types.Transactions, err error) {
	v, err := m.chain.View()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	for _, tx := range txs {
		found := false
		var failed error
		err := v.Places(tx.Hash(), func(p chain.TxPlace) bool {
			b, err := v.Block(p.Block)
			failed = err
			found = b != nil && b.Txs[p.Index].Hash() == tx.Hash()
			return !found && err == nil
		})
		if err := errors.Join(err, failed); err != nil {
			return nil, err
		}
		if !found {
			list = append(list, tx)
		}
	}
	return list, nil
}

// event makes the next event of the epoch.
func (m *maker) event(txs types.Transactions) error {
	now := m.chain.Epoch()
	m.recent = append(m.recent, txs)
	m.recent = m.recent[max(0, len(m.recent)-unconfirmed):]
	m.clock += eventTime
	p := &inter.Payload{Event: inter.Event{Epoch: m.epoch, Creator: 1, Seq: 1, Lamport: 1, CreationTime: m.clock}, Txs: txs}
	if now.Rules.Upgrades.Llr {
		p.Version = 1
	}
	if m.last != nil {
		p.Seq, p.Lamport, p.Parents = m.last.Seq+1, m.last.Lamport+1, []inter.EventID{m.last.ID()}
	}
	if _, err := m.chain.Propose(p); err != nil {
		return err
	}
	if err := p.Seal(); err != nil {
		return err
	}
	hash := p.SigningHash()
	signature, err := crypto.Sign(hash[:], m.key.Key)
	if err != nil {
		return err
	}
	p.Signature = inter.Signature(signature[:64])
	raw, err := p.Encode()
	if err != nil {
		return err
	}
	if p, err = m.chain.Verifier().Decode(raw); err != nil {
		return err
	}
	if err := m.chain.Verifier().Verify(p); err != nil {
		return err
	}
	if err := m.chain.Connect(p); err != nil {
		return err
	}
	m.last = p
	return m.out.Write(raw)
}

// make makes the chain below a folder.
func (w *Readable) make(dir string) (_ *readable, err error) {
	c, err := chaintest.New(filepath.Join(dir, "made"), 1, chaintest.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	r := &readable{events: filepath.Join(dir, "events")}
	out, err := eventfile.Create(r.events)
	if err != nil {
		return nil, err
	}
	rich, err := oracle.ValidatorAccount(1)
	if err != nil {
		return nil, errors.Join(err, out.Close())
	}
	m := &maker{chain: c, out: out, key: rich, clock: c.Epoch().EpochStart + eventTime, signer: types.NewLondonSigner(new(big.Int).SetUint64(inter.FakeNetwork))}
	if err := errors.Join(w.fill(m, r), out.Close()); err != nil {
		return nil, fmt.Errorf("make a chain to be asked about: %w", err)
	}
	r.last = c.Head().Number
	return r, nil
}

// fill makes the blocks.
func (w *Readable) fill(m *maker, r *readable) error {
	key, err := fakenet.Key(1)
	if err != nil {
		return err
	}
	rich := &sender{key: key, address: crypto.PubkeyToAddress(key.PublicKey)}
	senders, err := (&Work{Seed: w.Seed, Accounts: w.Accounts}).senders()
	if err != nil {
		return err
	}
	var txs types.Transactions
	for _, code := range [][]byte{token(), reader()} {
		tx, err := rich.sign(m.signer, nil, new(big.Int), createGas, creation(code))
		if err != nil {
			return err
		}
		txs = append(txs, tx)
	}
	tokens := crypto.CreateAddress(rich.address, 0)
	r.reader = crypto.CreateAddress(rich.address, 1)
	fund := new(big.Int).Mul(big.NewInt(1e6), big.NewInt(1e18))
	for _, s := range senders {
		tx, err := rich.sign(m.signer, &s.address, new(big.Int).Div(fund, big.NewInt(int64(len(senders)))), 21_000, nil)
		if err != nil {
			return err
		}
		txs = append(txs, tx)
		r.accounts = append(r.accounts, s.address)
	}
	minted, err := each(senders, func(s *sender) (*types.Transaction, error) {
		return s.sign(m.signer, &tokens, new(big.Int), mintGas, []byte{1, 2, 3, 4})
	})
	if err != nil {
		return err
	}
	for _, list := range []types.Transactions{txs, minted} {
		for from := 0; from < len(list); from += 20 {
			if err := m.emit(list[from:min(len(list), from+20)]); err != nil {
				return err
			}
		}
	}
	for range 5 { // what was put into events is executed
		if err := m.emit(nil); err != nil {
			return err
		}
	}
	r.first = m.chain.Head().Number + 1
	return w.mix(m, r, senders, tokens)
}

// mix makes the blocks that are asked about.
func (w *Readable) mix(m *maker, r *readable, senders []*sender, tokens common.Address) error {
	next := 0
	for range w.Blocks {
		var txs types.Transactions
		for i := range 2*eachBlock + 1 {
			s, other := senders[next%len(senders)], senders[(next*7+3)%len(senders)].address
			next++
			to, value, gas, data := tokens, new(big.Int), uint64(transferGas), transferCall(other, uint64(next))
			switch {
			case i == 2*eachBlock:
				to, gas, data = r.reader, 150_000, binary.BigEndian.AppendUint64(nil, uint64(next))
			case i >= eachBlock:
				to, value, gas, data = other, big.NewInt(int64(next)), 21_000, nil
			}
			tx, err := s.sign(m.signer, &to, value, gas, data)
			if err != nil {
				return err
			}
			txs = append(txs, tx)
			r.txs = append(r.txs, tx.Hash())
		}
		if err := m.emit(txs); err != nil {
			return err
		}
	}
	for range 5 {
		if err := m.emit(nil); err != nil {
			return err
		}
	}
	return nil
}
