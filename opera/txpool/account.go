package txpool

import (
	"cmp"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"
)

// slotBytes is how much of a transaction is counted as one slot, most the size of the
// largest transaction that may wait.
const (
	slotBytes = 32 << 10
	most      = 4 * slotBytes
)

// entry is a transaction that waits.
type entry struct {
	tx    *types.Transaction
	from  common.Address
	cost  uint256.Int // what it may take of the sender at most
	slots int
	local bool // no price pushes it out

	in    *heapOf // the heap of prices where it stands, nil if in none
	index int     // there
}

func (e *entry) nonce() uint64 { return e.tx.Nonce() }

// account is what waits of one sender.
type account struct {
	address common.Address
	nonce   uint64 // by the chain
	txs     []*entry
	ready   int  // of txs are pending
	local   bool // see the package's comment
	always  bool // local by the options: nothing of it makes room
	gap     bool // something was queued when it was noted last
	// balance is what the chain says of it; the first paid transactions follow its nonce without
	// a gap and cost sum together, which is not above it.
	balance, sum uint256.Int
	paid         int
	// beat is when a transaction of it became pending last, or the first of those that are
	// queued was. It ends when the last queued transaction leaves, not before: that of a
	// replaced pending one counts for what is queued later (as in go-opera's beats, which
	// outlive even the account's last transaction; here they end with it).
	beat time.Time
}

func (a *account) queuedCount() int { return len(a.txs) - a.ready }

// idle is how many transactions cost their sender nothing: with those before them they cannot be
// executed, because of a gap or for want of money.
func (a *account) idle() int { return len(a.txs) - a.paid }

// pay finds how many transactions can be executed one after another, from those on that were
// found before.
func (a *account) pay() {
	for a.paid < len(a.txs) && a.executable(a.txs[a.paid]) {
		a.sum.Add(&a.sum, &a.txs[a.paid].cost)
		a.paid++
	}
}

// unpay has all transactions from a place on looked at anew.
func (a *account) unpay(at int) {
	if at < a.paid {
		a.paid = 0
		a.sum.Clear()
	}
}

// executable tells whether a transaction can be executed after those that are paid.
func (a *account) executable(e *entry) bool {
	if e.nonce() != a.nonce+uint64(a.paid) {
		return false
	}
	sum, overflow := new(uint256.Int).AddOverflow(&a.sum, &e.cost)
	return !overflow && !a.balance.Lt(sum)
}

// next is the nonce after the pending transactions.
func (a *account) next() uint64 { return a.nonce + uint64(a.ready) }

// find returns where a nonce stands or would stand.
func (a *account) find(nonce uint64) (int, bool) {
	return slices.BinarySearchFunc(a.txs, nonce, func(e *entry, n uint64) int { return cmp.Compare(e.nonce(), n) })
}

// contiguous is how many transactions follow the account's nonce without a gap.
func (a *account) contiguous() (n int) {
	for n < len(a.txs) && a.txs[n].nonce() == a.nonce+uint64(n) {
		n++
	}
	return n
}

func transactions(list []*entry) types.Transactions {
	txs := make(types.Transactions, len(list))
	for i, e := range list {
		txs[i] = e.tx
	}
	return txs
}

// account returns the account of a sender, which is made if there is none.
func (w *waiting) account(sender common.Address, nonce uint64) *account {
	a := w.accounts[sender]
	if a == nil {
		_, always := w.local.always[sender]
		a = &account{address: sender, nonce: nonce, local: w.isLocal(sender), always: always}
		w.accounts[sender] = a
	}
	return a
}

// isLocal tells whether an account is local.
func (w *waiting) isLocal(sender common.Address) bool {
	if a := w.accounts[sender]; a != nil && a.local {
		return true
	}
	if _, ok := w.local.always[sender]; ok {
		return true
	}
	return w.local.known.Contains(sender)
}

// adopt makes an account local, with all that waits of it.
func (w *waiting) adopt(a *account) {
	w.local.known.Add(a.address, struct{}{})
	if a.local {
		return
	}
	a.local = true
	w.local.ready += a.ready
	for _, e := range a.txs {
		if !e.local {
			w.forget(e)
			e.local = true
			w.know(e)
		}
	}
	w.noteAccount(a)
}

// noteAccount brings what is known of accounts up to date after one has changed.
func (w *waiting) noteAccount(a *account) {
	mark := func(in map[*account]struct{}, does bool) {
		if does {
			in[a] = struct{}{}
		} else {
			delete(in, a)
		}
	}
	switch {
	case a.queuedCount() > 0 && a.beat.IsZero():
		a.beat = w.now()
	case a.queuedCount() == 0 && a.gap:
		a.beat = time.Time{}
	}
	a.gap = a.queuedCount() > 0
	a.pay()
	mark(w.idle, !a.always && a.idle() > 0)
	mark(w.long, !a.local && uint64(a.ready) > w.limits.AccountSlots)
	mark(w.gapped, !a.local && a.queuedCount() > 0)
	if len(a.txs) == 0 {
		delete(w.accounts, a.address)
	}
}

// setReady says how many of an account's transactions are pending.
func (w *waiting) setReady(a *account, n int) {
	w.ready += n - a.ready
	if a.local {
		w.local.ready += n - a.ready
	}
	a.ready = n
}

// put lets a transaction wait at a place of an account's list, where it is queued.
func (w *waiting) put(a *account, at int, e *entry) {
	a.txs = slices.Insert(a.txs, at, e)
	w.know(e)
}

// know adds a transaction to what is found by hash and by price.
func (w *waiting) know(e *entry) {
	w.all[e.tx.Hash()] = e
	if e.local {
		w.local.count++
		w.local.bytes += e.tx.Size()
	} else {
		w.slots += e.slots
		w.prices.put(e)
	}
}

// forget is the opposite of know.
func (w *waiting) forget(e *entry) {
	delete(w.all, e.tx.Hash())
	if e.local {
		w.local.count--
		w.local.bytes -= e.tx.Size()
	} else {
		w.slots -= e.slots
		w.prices.remove(e)
	}
}

// cut removes a range of an account's transactions; the caller notes the account. Pending
// ones after them become queued.
func (w *waiting) cut(a *account, from, to int) {
	for _, e := range a.txs[from:to] {
		w.forget(e)
	}
	if from < a.ready {
		w.setReady(a, from)
	}
	a.unpay(from)
	a.txs = slices.Delete(a.txs, from, to)
}

// drop removes one transaction.
func (w *waiting) drop(e *entry) {
	a := w.accounts[e.from]
	at, _ := a.find(e.nonce())
	w.cut(a, at, at+1)
	w.noteAccount(a)
}
