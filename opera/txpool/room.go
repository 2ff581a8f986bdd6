package txpool

// makeRoom removes what has to go for a transaction that does not fit. at is what the chain says
// of its sender.
func (w *waiting) makeRoom(e *entry, at standing) error {
	if e.local {
		return w.makeLocalRoom(e, at)
	}
	lacking := func() int { return w.slots + e.slots - int(w.limits.GlobalSlots+w.limits.GlobalQueue) }
	if lacking() > 0 && w.pays(e, at) {
		for lacking() > 0 && w.cutIdle(false, 0) {
			continue
		}
	}
	if lacking() <= 0 {
		return nil
	}
	if w.prices.isUnderpriced(e) {
		return ErrUnderpriced
	}
	cheapest, ok := w.prices.discard(lacking())
	if !ok {
		return ErrOverflow
	}
	for _, c := range cheapest {
		w.drop(c)
	}
	return nil
}

// makeLocalRoom does the same for a local transaction. One that can be executed takes the place
// of one that cannot; of two that cannot, the account with fewer of them has the place. A replacement
// has the place of what it replaces.
func (w *waiting) makeLocalRoom(e *entry, at standing) error {
	least := 0
	if !w.pays(e, at) {
		least = 1
		if a := w.accounts[e.from]; a != nil {
			least += a.idle()
		}
	}
	for !w.fitsLocal(e) {
		if !w.cutIdle(true, least) {
			return ErrOverflow
		}
	}
	return nil
}

// fitsLocal tells whether there is room for a local transaction, without the one that it replaces, or it
// takes no more than that one.
func (w *waiting) fitsLocal(e *entry) bool {
	count, bytes := w.local.count+1, w.local.bytes+e.tx.Size()
	if a := w.accounts[e.from]; a != nil {
		if at, there := a.find(e.nonce()); there && a.txs[at].local {
			count, bytes = count-1, bytes-a.txs[at].tx.Size()
		}
	}
	return count <= max(w.limits.Locals, w.local.count) && bytes <= max(w.limits.LocalBytes, w.local.bytes)
}

// pays tells whether a transaction that comes can be executed after those of its sender that can.
func (w *waiting) pays(e *entry, at standing) bool {
	a := w.accounts[e.from]
	if a == nil {
		a = &account{nonce: at.nonce, balance: at.balance}
	}
	return a.executable(e)
}

// cutting is which part of an account's idle transactions goes at once, so that a full pool is
// not searched for each transaction that comes.
const cutting = 4

// cutIdle removes idle transactions of the account that has most of them, local or not, unless
// it has no more than least, and tells whether it has.
func (w *waiting) cutIdle(local bool, least int) bool {
	var most *account
	for a := range w.idle {
		if a.local == local &&
			(most == nil || a.idle() > most.idle() || a.idle() == most.idle() && a.address.Cmp(most.address) > 0) {
			most = a
		}
	}
	if most == nil || most.idle() <= least {
		return false
	}
	n := max(1, (most.idle()-least)/cutting)
	w.cut(most, len(most.txs)-n, len(most.txs))
	w.noteAccount(most)
	return true
}
