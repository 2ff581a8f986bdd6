package txpool

import (
	"container/heap"

	"github.com/holiman/uint256"
)

// heapOf has the cheapest transaction first: by the tip that is left above a fee, if there
// is one, then by the greatest price, then by the greatest tip; of equal ones that with the
// higher nonce.
type heapOf struct {
	fee  *uint256.Int // nil: prices are compared without one
	list []*entry
}

func (h *heapOf) compare(a, b *entry) int {
	if h.fee != nil {
		if c := a.tx.EffectiveGasTipCmp(b.tx, h.fee); c != 0 {
			return c
		}
	}
	if c := a.tx.GasFeeCapCmp(b.tx); c != 0 {
		return c
	}
	return a.tx.GasTipCapCmp(b.tx)
}

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (h *heapOf) Len() int { return len(h.list) }

func (h *heapOf) Less(i, j int) bool {
	if c := h.compare(h.list[i], h.list[j]); c != 0 {
		return c < 0
	}
	return h.list[i].nonce() > h.list[j].nonce()
}

func (h *heapOf) Swap(i, j int) {
	h.list[i], h.list[j] = h.list[j], h.list[i]
	h.list[i].index, h.list[j].index = i, j
}

func (h *heapOf) Push(x any) {
	e := x.(*entry)
	e.in, e.index = h, len(h.list)
	h.list = append(h.list, e)
}

func (h *heapOf) Pop() any {
	last := len(h.list) - 1
	e := h.list[last]
	h.list[last] = nil
	h.list = h.list[:last]
	e.in = nil
	return e
}

// cheap tells whether a transaction pays no more than the cheapest of the heap, or the heap
// is empty.
func (h *heapOf) cheap(e *entry) bool { return len(h.list) == 0 || h.compare(h.list[0], e) >= 0 }

// prices are the transactions that are not local, a fifth of them in floating, which looks
// at the greatest price and not at what the present fee leaves of the tip. So one that
// allows much stays while the fee is high, and one that tips much while it is low
// (go-opera, evmcore/tx_list.go, txPricedList; floating has no fee there either).
type prices struct {
	urgent, floating heapOf
	gone             int // removed since they were divided
}

// share is how many there are in urgent for each in floating.
const share = 4

func (p *prices) put(e *entry) { heap.Push(&p.urgent, e) }

// remove takes one out. After a quarter of all the rest is divided anew.
func (p *prices) remove(e *entry) {
	if e.in == nil {
		return
	}
	heap.Remove(e.in, e.index)
	p.gone++
	if p.gone > (p.urgent.Len()+p.floating.Len()+p.gone)/4 {
		p.divide()
	}
}

// setFee changes what is left of tips.
func (p *prices) setFee(fee *uint256.Int) {
	if p.urgent.fee == nil || !p.urgent.fee.Eq(fee) {
		p.urgent.fee = fee
		p.divide()
	}
}

// divide puts the cheapest fifth into floating.
func (p *prices) divide() {
	p.gone = 0
	for _, e := range p.floating.list {
		p.urgent.Push(e)
	}
	clear(p.floating.list)
	p.floating.list = p.floating.list[:0]
	heap.Init(&p.urgent)
	for range p.urgent.Len() / (share + 1) {
		p.floating.Push(heap.Pop(&p.urgent))
	}
	heap.Init(&p.floating)
}

// isUnderpriced tells whether a transaction is not dearer than the cheapest of either heap.
func (p *prices) isUnderpriced(e *entry) bool {
	return p.urgent.cheap(e) && p.floating.cheap(e) && p.urgent.Len()+p.floating.Len() > 0
}

// discard takes out the cheapest for as many slots. If there are not so many it takes out
// nothing.
func (p *prices) discard(slots int) (cheapest []*entry, ok bool) {
	for slots > 0 {
		if p.urgent.Len() > share*p.floating.Len() {
			heap.Push(&p.floating, heap.Pop(&p.urgent))
			continue
		}
		if p.floating.Len() == 0 {
			break
		}
		e := heap.Pop(&p.floating).(*entry)
		cheapest = append(cheapest, e)
		slots -= e.slots
	}
	if slots > 0 {
		for _, e := range cheapest {
			heap.Push(&p.urgent, e)
		}
		return nil, false
	}
	return cheapest, true
}
