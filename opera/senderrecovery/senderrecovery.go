// Package senderrecovery finds who sent transactions, many at a time, where that takes less time than
// go-ethereum's library does, and once for all who ask.
//
// It owns how a transaction's signature is taken apart for that, and the senders of the last
// transactions. Which signatures are accepted, and who sent what is not of the common kind,
// go-ethereum's signer says.
package senderrecovery

import (
	"errors"
	"math/big"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"tarn/secp256k1"
)

// Together is how many senders are found together with profit: more gain little.
const Together = 64

// Finder finds senders. Any goroutine may use it. A nil one finds none.
type Finder struct {
	signer types.Signer
	probe  types.Signer // asks whether a sender is in a transaction
	chain  *big.Int
	once   sync.Once
	of     *secp256k1.Multiples // the generator's
	idle   sync.Pool            // of *work
	least  int                  // transactions that are worth it; 0 if none are
	last   last
}

// New returns a finder for the transactions of a network with London's types. What all need,
// 2.5 MiB, it makes when it is used for the first time, and some 100 KiB for each goroutine
// that uses it at a time; what it remembers takes at most 8 MB.
func New(network uint64) *Finder {
	chain := new(big.Int).SetUint64(network)
	signer := types.NewLondonSigner(chain)
	return &Finder{signer: signer, probe: found{Signer: signer}, chain: chain, least: secp256k1.Least(),
		last: last{young: map[common.Hash]common.Address{}, old: map[common.Hash]common.Address{}}}
}

// Signer returns the signer whose senders are found.
func (f *Finder) Signer() types.Signer { return f.signer }

// Find puts into transactions who sent them, for [types.Sender] with the same signer, which
// does not look for them again. The errors of those that have no sender are left to
// types.Sender; so whether it is called changes no result.
func (f *Finder) Find(txs types.Transactions) {
	if f == nil {
		return
	}
	unknown := f.unknown(txs)
	if len(unknown) == 0 {
		return
	}
	if f.least > 0 {
		w := f.work()
		for _, tx := range unknown {
			if w.add(f, tx); len(w.txs) == Together {
				w.find(f)
			}
		}
		w.find(f)
		f.idle.Put(w)
	}
	senders := make([]common.Address, len(unknown))
	for i, tx := range unknown {
		from, err := types.Sender(f.signer, tx)
		if err == nil {
			Remember(f.signer, tx, from) // where the probe sees it
			senders[i] = from
		}
	}
	f.last.remember(unknown, senders)
}

// unknown puts those senders into transactions that are remembered, and returns the transactions whose
// senders are to be found.
func (f *Finder) unknown(txs types.Transactions) types.Transactions {
	var unknown types.Transactions
	for _, tx := range txs {
		if _, err := types.Sender(f.probe, tx); err != nil {
			tx.Hash() // which the transaction keeps
			unknown = append(unknown, tx)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	senders := f.last.senders(unknown)
	rest := unknown[:0]
	for i, tx := range unknown {
		if senders[i] == (common.Address{}) {
			rest = append(rest, tx)
			continue
		}
		Remember(f.signer, tx, senders[i])
	}
	return rest
}

// work returns room to work in.
func (f *Finder) work() *work {
	if w, ok := f.idle.Get().(*work); ok {
		return w
	}
	f.once.Do(func() { f.of = secp256k1.NewGenerator() })
	return &work{keys: secp256k1.NewRecoverer(f.of)}
}

// work is room for some transactions.
type work struct {
	keys *secp256k1.Recoverer
	txs  []*types.Transaction
	list []secp256k1.Search
}

// add takes a transaction whose sender may be found.
func (w *work) add(f *Finder, tx *types.Transaction) {
	if s, ok := f.signature(tx); ok {
		w.txs, w.list = append(w.txs, tx), append(w.list, secp256k1.Search{Signature: s})
	}
}

// find finds the senders of the transactions that were taken, and forgets them.
func (w *work) find(f *Finder) {
	if len(w.txs) >= f.least {
		w.keys.Recover(w.list)
		for i, tx := range w.txs {
			if s := &w.list[i]; s.Found {
				from := common.BytesToAddress(crypto.Keccak256(s.Key[:])[12:])
				Remember(f.signer, tx, from)
			}
		}
	}
	clear(w.txs)
	w.txs, w.list = w.txs[:0], w.list[:0]
}

// signature takes a transaction apart, if it is of a type and a form whose rules are here.
func (f *Finder) signature(tx *types.Transaction) (g secp256k1.Signature, ok bool) {
	v, r, s := tx.RawSignatureValues()
	switch tx.Type() {
	case types.LegacyTxType:
		if !tx.Protected() {
			return g, false
		}
		v = new(big.Int).Sub(v, big.NewInt(35))
		v.Sub(v, f.chain)
		v.Sub(v, f.chain)
	case types.AccessListTxType, types.DynamicFeeTxType:
	default:
		return g, false
	}
	if tx.ChainId().Cmp(f.chain) != 0 || v.Sign() < 0 || v.BitLen() > 1 {
		return g, false
	}
	if g.Odd = byte(v.Uint64()); !crypto.ValidateSignatureValues(g.Odd, r, s, true) {
		return g, false
	}
	r.FillBytes(g.R[:])
	s.FillBytes(g.S[:])
	g.Digest = f.signer.Hash(tx)
	return g, true
}

// Remember puts into a transaction who sent it, for [types.Sender] with the same signer. It is for who
// knows it: nothing is checked.
func Remember(signer types.Signer, tx *types.Transaction, from common.Address) {
	types.Sender(found{signer, &from}, tx) //nolint:errcheck // it is found's, which has none
}

// found is a signer that knows the sender of one transaction: so it comes into the
// transaction, for everybody who asks the signer's equal. Without a sender it asks whether one
// is in there.
type found struct {
	types.Signer
	from *common.Address
}

// errUnknown says that no sender is in a transaction.
var errUnknown = errors.New("the sender is not known")

// Sender returns who was found.
func (s found) Sender(*types.Transaction) (common.Address, error) {
	if s.from == nil {
		return common.Address{}, errUnknown
	}
	return *s.from, nil
}

// Equal tells whether the other has the same senders.
func (s found) Equal(other types.Signer) bool {
	if o, ok := other.(found); ok {
		other = o.Signer
	}
	return s.Signer.Equal(other)
}
