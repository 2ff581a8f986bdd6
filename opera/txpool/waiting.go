package txpool

import (
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/lru"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"
)

// waiting is the transactions that wait, by sender, hash and price, and the rules that keep them
// within limits. It knows no chain: whoever adds a transaction says what the chain says of its
// sender. Its owner holds a lock around its methods, and around each use of its fields.
type waiting struct {
	limits Limits
	now    func() time.Time

	all      map[common.Hash]*entry
	accounts map[common.Address]*account
	long     map[*account]struct{} // not local, with more pending ones than AccountSlots
	gapped   map[*account]struct{} // not local, with queued ones
	idle     map[*account]struct{} // with some that cannot be executed, and not local by the options
	ready    int                   // pending transactions
	slots    int                   // of all that are not local
	local    struct {
		always map[common.Address]struct{} // those of the options
		known  lru.BasicLRU[common.Address, struct{}]
		count  int // transactions
		ready  int // pending ones of local accounts
		bytes  uint64
	}
	prices prices
}

func newWaiting(o *Options) waiting {
	w := waiting{
		limits: o.Limits, now: o.Now,
		all: map[common.Hash]*entry{}, accounts: map[common.Address]*account{},
		long: map[*account]struct{}{}, gapped: map[*account]struct{}{}, idle: map[*account]struct{}{},
	}
	w.local.always = map[common.Address]struct{}{}
	for _, a := range o.Locals {
		w.local.always[a] = struct{}{}
	}
	w.local.known = lru.NewBasicLRU[common.Address, struct{}](o.Limits.Locals)
	return w
}

// offers returns the pending transactions that a validator should execute.
func (w *waiting) offers() map[common.Address]types.Transactions {
	least := uint256.NewInt(w.limits.PriceLimit)
	offers := make(map[common.Address]types.Transactions, len(w.accounts))
	for sender, a := range w.accounts {
		n := a.ready
		if !a.local {
			n = slices.IndexFunc(a.txs[:n], func(e *entry) bool {
				return e.tx.EffectiveGasTipIntCmp(least, w.prices.urgent.fee) < 0
			})
			if n < 0 {
				n = a.ready
			}
		}
		if n > 0 {
			offers[sender] = transactions(a.txs[:n])
		}
	}
	return offers
}

// bySender returns the pending and the queued transactions that are wanted, by sender and nonce.
func (w *waiting) bySender(wantPending, wantQueued bool) (pending, queued map[common.Address]types.Transactions) {
	pending, queued = map[common.Address]types.Transactions{}, map[common.Address]types.Transactions{}
	for sender, a := range w.accounts {
		if wantPending && a.ready > 0 {
			pending[sender] = transactions(a.txs[:a.ready])
		}
		if wantQueued && a.queuedCount() > 0 {
			queued[sender] = transactions(a.txs[a.ready:])
		}
	}
	return pending, queued
}
