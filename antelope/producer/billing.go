package producer

import (
	"container/heap"
	"math"
	"math/bits"
	"sync"
	"time"

	"tarn/antelope/exception"
	"tarn/antelope/resource"
	"tarn/antelope/types"
)

// billingStep is the unit of time in which subjective bills decay.
const billingStep = 5 * time.Second

// subjectiveBilling is the CPU that accounts have used here without paying for it on
// the chain: of transactions that failed, and of those that were executed and are
// in no block yet (Leap: subjective_billing.hpp). Any goroutine may ask it.
type subjectiveBilling struct {
	disabled bool // for all; set before anybody asks
	exempt   map[types.Name]bool
	window   uint32 // steps until a bill is forgotten

	mu       sync.Mutex
	accounts map[types.Name]*accountBill
	names    []types.Name // of accounts, in no order
	hand     int          // in names, where sweeping goes on
	pending  map[types.Checksum256]*pendingBill
	expiry   expiries[*pendingBill]
}

// Strangers choose the names that are billed, for a transaction that fails needs no
// account. So they are bounded, and are swept for those that owe nothing any more.
const (
	maxBilled = 1 << 17 // accounts
	swept     = 256     // accounts that are looked at for each block
	weighed   = 16      // accounts of which the one that owes least makes room for another
)

// accountBill is what an account owes, in microseconds.
type accountBill struct {
	pending uint64 // of transactions that may still be in a block
	past    decaying
	index   int // in names
}

// pendingBill is for a transaction that may still be in a block.
type pendingBill struct {
	id      types.Checksum256
	account types.Name
	us      uint64
	expires types.TimePoint
	index   int
}

func newSubjectiveBilling(decay time.Duration) *subjectiveBilling {
	return &subjectiveBilling{
		exempt: make(map[types.Name]bool), window: uint32(decay / billingStep),
		accounts: make(map[types.Name]*accountBill), pending: make(map[types.Checksum256]*pendingBill),
	}
}

// exempts tells whether an account is never billed.
func (s *subjectiveBilling) exempts(n types.Name) bool { return s.disabled || s.exempt[n] }

func billingOrdinal(t time.Time) uint32 { return uint32(t.UnixMilli() / billingStep.Milliseconds()) }

// account returns what an account owes, for more to be added. The caller holds mu.
func (s *subjectiveBilling) account(n types.Name, ordinal uint32) *accountBill {
	a := s.accounts[n]
	if a == nil {
		if len(s.names) >= maxBilled {
			s.makeRoom(ordinal)
		}
		a = &accountBill{index: len(s.names)}
		s.accounts[n] = a
		s.names = append(s.names, n)
	}
	return a
}

// forget removes an account. The caller holds mu.
func (s *subjectiveBilling) forget(n types.Name) {
	i, last := s.accounts[n].index, len(s.names)-1
	s.names[i] = s.names[last]
	s.accounts[s.names[i]].index = i
	s.names = s.names[:last]
	delete(s.accounts, n)
}

// next moves the hand on. There are accounts, and the caller holds mu.
func (s *subjectiveBilling) next() (types.Name, *accountBill) {
	s.hand = (s.hand + 1) % len(s.names)
	n := s.names[s.hand]
	return n, s.accounts[n]
}

// makeRoom forgets, of the next accounts that could be forgotten, the one that owes least:
// whoever comes with many names does not get rid of a large bill. The caller holds mu.
func (s *subjectiveBilling) makeRoom(ordinal uint32) {
	var least types.Name
	lowest := uint64(math.MaxUint64)
	for range weighed {
		n, a := s.next()
		if owed := a.past.at(ordinal, s.window); a.pending == 0 && owed < lowest {
			least, lowest = n, owed
		}
	}
	if lowest < math.MaxUint64 {
		s.forget(least)
	}
}

// sweep forgets some of the accounts that owe nothing. The caller holds mu.
func (s *subjectiveBilling) sweep(ordinal uint32) {
	for range min(swept, len(s.names)) {
		if n, a := s.next(); a.pending == 0 && a.past.raw(ordinal, s.window) == 0 {
			if s.forget(n); len(s.names) == 0 {
				return
			}
		}
	}
}

// bill notes a transaction that was executed, in a block that is no one's.
func (s *subjectiveBilling) bill(id types.Checksum256, expires types.TimePointSec, n types.Name, elapsed int64) {
	if s.exempts(n) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pending[id] != nil {
		return
	}
	b := &pendingBill{id: id, account: n, us: uint64(max(0, elapsed)), expires: expires.TimePoint()}
	s.pending[id] = b
	heap.Push(&s.expiry, b)
	s.account(n, billingOrdinal(time.Now())).pending += b.us
}

// billFailure notes a transaction that failed, and so is in no block.
func (s *subjectiveBilling) billFailure(n types.Name, elapsed int64, now time.Time) {
	if s.exempts(n) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ordinal := billingOrdinal(now)
	s.account(n, ordinal).past.add(uint64(max(0, elapsed)), ordinal, s.window)
}

// Subjective is the CPU that an account is billed by this node alone, in
// microseconds.
func (s *subjectiveBilling) Subjective(n types.Name, now time.Time) int64 {
	if s.exempts(n) {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.accounts[n]
	if a == nil {
		return 0
	}
	return int64(a.pending + a.past.at(billingOrdinal(now), s.window))
}

// waiting tells whether transactions are billed that may still be in a block.
func (s *subjectiveBilling) waiting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.pending) > 0
}

// len is how many accounts are billed.
func (s *subjectiveBilling) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.accounts)
}

// onBlock forgets what the transactions of a block are billed: the chain bills them
// now.
func (s *subjectiveBilling) onBlock(ids []types.Checksum256, now time.Time) {
	if s.disabled {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		b := s.pending[id]
		if b == nil {
			continue
		}
		s.remove(b)
		if a := s.accounts[b.account]; a != nil {
			a.pending -= b.us
			if a.pending == 0 && a.past.at(billingOrdinal(now), s.window) == 0 {
				s.forget(b.account)
			}
		}
	}
}

func (s *subjectiveBilling) remove(b *pendingBill) {
	delete(s.pending, b.id)
	heap.Remove(&s.expiry, b.index)
}

// removeExpired turns the bills of transactions that can be in no block any more
// into ones that decay, and forgets accounts that owe nothing. It ends early, with
// false, when stop says so.
func (s *subjectiveBilling) removeExpired(block types.TimePoint, now time.Time, stop func() bool) bool {
	if s.disabled {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep(billingOrdinal(now))
	for len(s.expiry) > 0 {
		if stop() {
			return false
		}
		b := s.expiry[0]
		if b.expires > block {
			break
		}
		s.remove(b)
		if a := s.accounts[b.account]; a != nil {
			a.pending -= b.us
			a.past.add(b.us, billingOrdinal(now), s.window)
		}
	}
	return true
}

// decaying is a sum whose parts sink to nothing within a window (Leap:
// exponential_decay_accumulator).
type decaying struct {
	last  uint32
	value uint64 // times resource.Precision
}

func (d *decaying) raw(ordinal, window uint32) uint64 {
	switch {
	case d.last >= ordinal:
		return d.value
	case uint64(d.last)+uint64(window) <= uint64(ordinal):
		return 0
	}
	hi, lo := bits.Mul64(d.value, uint64(window-(ordinal-d.last)))
	q, _ := bits.Div64(hi, lo, uint64(window))
	return q
}

// at is the sum at an ordinal, rounded up.
func (d *decaying) at(ordinal, window uint32) uint64 {
	v := d.raw(ordinal, window)
	n := v / resource.Precision
	if v%resource.Precision > 0 {
		n++
	}
	return n
}

func (d *decaying) add(units uint64, ordinal, window uint32) {
	units = min(units, math.MaxUint64/resource.Precision)
	if d.last < ordinal {
		d.value, d.last = d.raw(ordinal, window), ordinal
	}
	if sum, carry := bits.Add64(d.value, units*resource.Precision, 0); carry == 0 {
		d.value = sum
	} else {
		d.value = math.MaxUint64
	}
}

func (b *pendingBill) before(o *pendingBill) bool { return b.expires < o.expires }

func (b *pendingBill) setIndex(to int) { b.index = to }

// failures keeps accounts whose transactions fail again and again from being tried
// more, for some blocks (Leap: account_failures).
type failures struct {
	limit, window uint32
	accounts      map[types.Name]*accountFailures
	cleared       uint32 // block
}

type accountFailures struct {
	count  uint32
	reason [4]bool // deadline, CPU, assert, other
}

var failureReasons = [4]string{"deadline", "tx_cpu_usage", "assert", "other"}

func newFailures(limit, window uint32) failures {
	return failures{limit: limit, window: window, accounts: make(map[types.Name]*accountFailures)}
}

func (f *failures) add(n types.Name, e *exception.Error) {
	a := f.accounts[n]
	if a == nil {
		if len(f.accounts) >= maxBilled && !f.makeRoom() {
			return
		}
		a = new(accountFailures)
		f.accounts[n] = a
	}
	a.count++
	switch e.Kind {
	case exception.Deadline:
		a.reason[0] = true
	case exception.TxCPUUsageExceeded:
		a.reason[1] = true
	case exception.EosioAssertMessage, exception.EosioAssertCode:
		a.reason[2] = true
	default:
		a.reason[3] = true
	}
}

// makeRoom forgets an account that may still be tried: whoever comes with many names does not free those that
// have failed too often. It looks at some only.
func (f *failures) makeRoom() bool {
	looked := 0
	for n, a := range f.accounts {
		if a.count < f.limit {
			delete(f.accounts, n)
			return true
		}
		if looked++; looked >= weighed {
			break
		}
	}
	return false
}

// exceeded tells whether an account has failed too often, and counts that too.
func (f *failures) exceeded(n types.Name) bool {
	a := f.accounts[n]
	if a == nil || a.count < f.limit {
		return false
	}
	a.count++
	return true
}

// clear begins anew when a window of blocks is over. It calls report with what
// failed.
func (f *failures) clear(num uint32, report func(n types.Name, count uint32, reason string)) {
	if f.cleared == num || num%f.window != 0 {
		return
	}
	for n, a := range f.accounts {
		reason := ""
		for i, is := range a.reason {
			if is {
				if reason != "" {
					reason += ", "
				}
				reason += failureReasons[i]
			}
		}
		report(n, a.count, reason)
	}
	clear(f.accounts)
	f.cleared = num
}

// reset is when an account that failed too often is tried again.
func (f *failures) reset(num uint32, slot types.BlockTimestamp) types.TimePoint {
	return (slot + types.BlockTimestamp(f.window-num%f.window)).TimePoint()
}
