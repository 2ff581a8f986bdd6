package txpool

import (
	"cmp"
	"runtime"
	"slices"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

// Add takes a transaction of this node's own client, whose account becomes local. Errors
// are those of check.go, and of reading the chain.
func (p *Pool) Add(tx *types.Transaction) error { return p.addLocals(types.Transactions{tx})[0] }

func (p *Pool) addLocals(txs types.Transactions) []error {
	errs := p.unknown(txs)
	senders := p.senders(txs, errs)
	p.add(txs, senders, errs, !p.o.NoLocals)
	return errs
}

// AddRemotes takes transactions of peers, and tells of each why it was refused, nil if it
// was not.
func (p *Pool) AddRemotes(txs []*types.Transaction) []error {
	errs := p.unknown(txs)
	// What is refused in any case does not cost the recovery of its sender.
	p.mu.RLock()
	for i, tx := range txs {
		if errs[i] == nil {
			if errs[i] = p.head.checkForm(tx); errs[i] == nil {
				errs[i] = p.checkPrice(tx, true)
			}
		}
	}
	p.mu.RUnlock()
	senders := p.senders(txs, errs)
	p.add(txs, senders, errs, false)
	return errs
}

// unknown says which of the transactions are here already.
func (p *Pool) unknown(txs []*types.Transaction) []error {
	errs := make([]error, len(txs))
	hashes := make([]common.Hash, len(txs))
	for i, tx := range txs {
		hashes[i] = tx.Hash()
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	for i, h := range hashes {
		if p.all[h] != nil {
			errs[i] = ErrAlreadyKnown
		}
	}
	return errs
}

// workers is how many senders are recovered at a time, whoever asks.
func workers() int { return runtime.GOMAXPROCS(0) }

// eachPart is how many transactions have their senders found by one processor with profit.
const eachPart = 8

// senders recovers who sent the transactions that have no error yet, on all processors.
func (p *Pool) senders(txs []*types.Transaction, errs []error) []common.Address {
	senders := make([]common.Address, len(txs))
	parts := min(cap(p.workers), (len(txs)+eachPart-1)/eachPart)
	find := func(part int) {
		p.workers <- struct{}{}
		defer func() { <-p.workers }()
		var together types.Transactions
		for i := part; i < len(txs); i += parts {
			if errs[i] == nil {
				together = append(together, txs[i])
			}
		}
		p.o.Senders.Find(together)
		for i := part; i < len(txs); i += parts {
			if errs[i] != nil {
				continue
			}
			var err error
			if senders[i], err = types.Sender(p.o.Signer, txs[i]); err != nil {
				errs[i] = ErrInvalidSender
			}
		}
	}
	var running sync.WaitGroup
	for part := 1; part < parts; part++ {
		running.Go(func() { find(part) })
	}
	find(0)
	running.Wait()
	return senders
}

// add inserts the transactions that have no error yet.
func (p *Pool) add(txs []*types.Transaction, senders []common.Address, errs []error, local bool) {
	if !slices.Contains(errs, nil) {
		return
	}
	p.mu.Lock()
	var kept types.Transactions // in the journal
	var news []*entry
	changed := map[common.Address]struct{}{}
	for i, tx := range txs {
		if errs[i] != nil {
			continue
		}
		e, replaced, err := p.insert(tx, senders[i], local)
		if errs[i] = err; err != nil {
			continue
		}
		if a := p.accounts[senders[i]]; a.local {
			kept = append(kept, tx)
		}
		if replaced == pendingOne {
			news = append(news, e)
		} else if replaced == none {
			changed[senders[i]] = struct{}{}
		}
	}
	for sender := range changed {
		if a := p.accounts[sender]; a != nil {
			news = append(news, p.promote(a)...)
		}
	}
	p.truncate()
	told := p.still(news)
	p.mu.Unlock()
	p.keep(kept)
	p.listeners.tell(told)
}

// replacement is what a transaction has replaced.
type replacement int

const (
	none replacement = iota
	queuedOne
	pendingOne
)

// insert lets a transaction wait, if it may.
func (p *Pool) insert(
	tx *types.Transaction, from common.Address, local bool,
) (e *entry, replaced replacement, err error) {
	if p.all[tx.Hash()] != nil {
		return nil, none, ErrAlreadyKnown
	}
	e, at, err := p.check(tx, from, local || p.isLocal(from))
	if err == nil {
		err = p.makeRoom(e, at)
	}
	if err != nil {
		return nil, none, err
	}
	if a := p.accounts[from]; a != nil {
		if at, there := a.find(tx.Nonce()); there {
			replaced, err = p.replace(a, at, e, local)
			return e, replaced, err
		}
	}
	a := p.account(from, at.nonce)
	a.balance = at.balance
	place, _ := a.find(tx.Nonce())
	p.put(a, place, e)
	if local {
		p.adopt(a)
	}
	p.noteAccount(a)
	return e, none, nil
}

// replace puts a transaction in the place of one that offers less.
func (w *waiting) replace(a *account, at int, e *entry, local bool) (replaced replacement, err error) {
	old := a.txs[at]
	if !w.replaces(e.tx, old.tx) {
		return none, ErrReplaceUnderpriced
	}
	w.forget(old)
	a.unpay(at)
	a.txs[at] = e
	w.know(e)
	replaced = queuedOne
	if at < a.ready {
		a.beat = w.now()
		replaced = pendingOne
	}
	if local {
		w.adopt(a)
	}
	w.noteAccount(a)
	return replaced, nil
}

// promote makes pending what follows without a gap, returns it, and removes what is queued
// beyond the account's limit.
func (w *waiting) promote(a *account) []*entry {
	ready := a.ready
	if n := a.contiguous(); n > ready {
		w.setReady(a, n)
		a.beat = w.now()
	}
	promoted := slices.Clone(a.txs[ready:a.ready])
	if limit := int(w.limits.AccountQueue); !a.local && a.queuedCount() > limit {
		w.cut(a, a.ready+limit, len(a.txs))
	}
	w.noteAccount(a)
	return promoted
}

// still returns those that have not been removed again, by nonces.
func (w *waiting) still(news []*entry) types.Transactions {
	news = slices.DeleteFunc(news, func(e *entry) bool { return w.all[e.tx.Hash()] != e })
	slices.SortStableFunc(news, func(a, b *entry) int { return cmp.Compare(a.nonce(), b.nonce()) })
	return transactions(news)
}

// truncate removes what is pending and queued beyond the limits of all accounts that are not local.
func (w *waiting) truncate() {
	w.truncatePending()
	w.truncateQueue()
}

// truncatePending takes the last pending transactions of those who have most, all in turn,
// until there are few enough, or nobody has more than what an account keeps in any case.
func (w *waiting) truncatePending() {
	l := &w.limits
	remote := func() int { return w.ready - w.local.ready }
	if remote() <= int(l.GlobalSlots) || len(w.long) == 0 {
		return
	}
	long := sortAccounts(w.long, func(a, b *account) int { return cmp.Compare(b.ready, a.ready) })
	for n := range long {
		floor := int(l.AccountSlots)
		if n+1 < len(long) {
			floor = long[n+1].ready
		}
		for remote() > int(l.GlobalSlots) && long[n].ready > floor {
			for _, a := range long[:n+1] {
				w.cutPending(a)
			}
		}
	}
	for _, a := range long {
		w.noteAccount(a)
	}
}

// cutPending removes the last pending transaction of an account.
func (w *waiting) cutPending(a *account) { w.cut(a, a.ready-1, a.ready) }

// truncateQueue takes the last queued transactions of those whose account has become active
// last, until there are few enough.
func (w *waiting) truncateQueue() {
	over := -int(w.limits.GlobalQueue)
	for a := range w.gapped {
		over += a.queuedCount()
	}
	if over <= 0 {
		return
	}
	for _, a := range sortAccounts(w.gapped, func(a, b *account) int { return b.beat.Compare(a.beat) }) {
		n := min(over, a.queuedCount())
		w.cut(a, len(a.txs)-n, len(a.txs))
		w.noteAccount(a)
		if over -= n; over == 0 {
			return
		}
	}
}

// sortAccounts returns accounts in an order, equal ones by address.
func sortAccounts(of map[*account]struct{}, order func(a, b *account) int) []*account {
	list := make([]*account, 0, len(of))
	for a := range of {
		list = append(list, a)
	}
	slices.SortFunc(list, func(a, b *account) int {
		return cmp.Or(order(a, b), a.address.Cmp(b.address))
	})
	return list
}
