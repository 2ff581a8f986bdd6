package producer

import (
	"container/heap"
	"container/list"
	"time"

	"tarn/antelope/admintypes"
	"tarn/antelope/consensus"
	"tarn/antelope/exception"
	"tarn/antelope/execute"
	"tarn/antelope/types"
)

// origin is why a transaction is waiting (Leap: trx_enum_type).
type origin uint8

const (
	forked origin = iota
	aborted
	incomingAPI
	incomingP2P
	origins
)

func (o origin) String() string {
	return [...]string{"forked", "aborted", "incoming_api", "incoming_p2p"}[o]
}

// entry is a transaction that waits for a block.
type entry struct {
	x            *execute.Candidate
	from         origin
	failureTrace bool
	lent         bool // nobody keeps the trace
	done         Done // nil if nobody waits

	keyless bool // its keys are to be found before it is executed
	size    int64
	place   *list.Element // in the list of its origin
	index   int           // in the heap
}

// queue is the transactions that wait: of aborted and lost blocks, and incoming
// ones that did not fit (Leap: unapplied_transaction_queue). Only the writer uses
// it.
type queue struct {
	byID    map[types.Checksum256]*entry
	lists   [origins]*list.List
	expiry  expiries[*entry]
	size    int64 // bytes
	maximum int64
}

func newQueue(maximum int64) *queue {
	q := &queue{byID: make(map[types.Checksum256]*entry), maximum: maximum}
	for i := range q.lists {
		q.lists[i] = list.New()
	}
	return q
}

func (q *queue) len() int { return len(q.byID) }

func (q *queue) incoming() int { return q.lists[incomingAPI].Len() + q.lists[incomingP2P].Len() }

// entrySize is how much a candidate counts: it is there packed and unpacked. What is
// compressed, or has many small parts, takes more than nodeos counts for it.
func entrySize(x *execute.Candidate) int64 {
	const fields = 400
	return max(int64(x.Unprunable+x.Prunable)*2, x.Packed.Footprint(x.Trx, x.CFD)+int64(len(x.Raw))) + fields
}

func (q *queue) add(e *entry) {
	e.size = entrySize(e.x)
	q.byID[e.x.ID] = e
	e.place = q.lists[e.from].PushBack(e)
	heap.Push(&q.expiry, e)
	q.size += e.size
}

func (q *queue) remove(e *entry) {
	delete(q.byID, e.x.ID)
	q.lists[e.from].Remove(e.place)
	heap.Remove(&q.expiry, e.index)
	q.size -= e.size
}

// addIncoming lets a transaction from outside wait. One that waits already is
// answered, unless it is the same candidate.
func (q *queue) addIncoming(e *entry) {
	old := q.byID[e.x.ID]
	switch {
	case old != nil && old.x == e.x:
	case old != nil:
		e.answer(nil, execute.Duplicate(e.x.ID))
	case q.size+entrySize(e.x) >= q.maximum:
		e.answer(nil, exception.New(exception.TxResourceExhaustion,
			"Transaction ${id}, size ${s} bytes would exceed configured incoming-transaction-queue-size-mb ${qs}, "+
				"current queue size ${cs} bytes", "id", e.x.ID, "s", entrySize(e.x), "qs", q.maximum>>20, "cs", q.size))
	default:
		q.add(e)
	}
}

// addAborted lets the transactions of an aborted block wait for the next one. What was going to be signed
// is kept whatever it takes: a block bounds it. The rest was tried for whoever sent it, and peers have it: it
// is kept while half of the room is left for what comes.
func (q *queue) addAborted(candidates []*execute.Candidate, signing bool) {
	for _, x := range candidates {
		if q.byID[x.ID] == nil && (signing || q.size+entrySize(x) < q.maximum/2) {
			q.add(&entry{x: x, from: aborted, lent: true})
		}
	}
}

// addForked lets the transactions of blocks that lost wait, oldest first.
func (q *queue) addForked(blocks []*consensus.BlockState) {
	for i := len(blocks) - 1; i >= 0; i-- {
		if blocks[i].Block == nil {
			continue
		}
		for _, r := range blocks[i].Block.Transactions {
			if r.Packed == nil {
				continue
			}
			x, err := execute.NewCandidate(r.Packed, execute.Input)
			if err == nil && q.byID[x.ID] == nil {
				q.add(&entry{x: x, from: forked, lent: true, keyless: true})
			}
		}
	}
}

// removeApplied removes what is in a block now.
func (q *queue) removeApplied(ids []types.Checksum256) {
	for _, id := range ids {
		if e := q.byID[id]; e != nil {
			q.remove(e)
			e.answer(nil, execute.Duplicate(id))
		}
	}
}

// removeExpired removes what has expired by a block's time, and answers. It ends
// early, with false, when stop says so.
func (q *queue) removeExpired(now types.TimePoint, stop func() bool) (removed int, all bool) {
	for len(q.expiry) > 0 {
		e := q.expiry[0]
		if e.x.Trx.Expiration.TimePoint() > now {
			break
		}
		if stop() {
			return removed, false
		}
		q.remove(e)
		removed++
		e.answer(nil, execute.Expired(e.x.ID, e.x.Trx.Expiration, now))
	}
	return removed, true
}

// waiting returns the entries of some origins, in their order.
func (q *queue) waiting(from ...origin) []*entry {
	var all []*entry
	for _, o := range from {
		for p := q.lists[o].Front(); p != nil; p = p.Next() {
			all = append(all, p.Value.(*entry))
		}
	}
	return all
}

// holds tells whether an entry still waits.
func (q *queue) holds(e *entry) bool { return q.byID[e.x.ID] == e }

// clear answers everybody with err.
func (q *queue) clear(err error) {
	for _, e := range q.waiting(forked, aborted, incomingAPI, incomingP2P) {
		q.remove(e)
		e.answer(nil, err)
	}
}

// answer tells whoever waits.
func (e *entry) answer(trace *types.TransactionTrace, err error) {
	if done := e.done; done != nil {
		e.done = nil
		done(trace, err)
	}
}

func (e *entry) before(o *entry) bool { return e.x.Trx.Expiration < o.x.Trx.Expiration }

func (e *entry) setIndex(to int) { e.index = to }

// page is the part of the queue that Operator.Unapplied shows.
func (q *queue) page(from *types.Checksum256, limit int, within time.Duration) admintypes.UnappliedPage {
	begin := time.Now()
	page := admintypes.UnappliedPage{Size: q.len(), Incoming: q.incoming()}
	found, over := from == nil, false
	for _, e := range q.waiting(forked, aborted, incomingAPI, incomingP2P) {
		found = found || e.x.ID == *from
		if !found {
			continue
		}
		if len(page.Transactions) >= limit || over {
			page.More = new(e.x.ID)
			break
		}
		page.Transactions = append(page.Transactions, describeUnapplied(e))
		over = within >= 0 && time.Since(begin) >= within
	}
	return page
}

func describeUnapplied(e *entry) admintypes.Unapplied {
	x := e.x
	u := admintypes.Unapplied{
		ID: x.ID, Expiration: x.Trx.Expiration, Type: e.from.String(), FirstAuth: x.Trx.FirstAuthorizer(),
		Actions: len(x.Trx.Actions) + len(x.Trx.ContextFreeActions), Billed: uint32(x.Billed), Size: uint64(e.size),
	}
	switch x.Kind {
	case execute.DryRun:
		u.Type = "dry_run"
	case execute.ReadOnly:
		u.Type = "read_only"
	}
	if len(x.Trx.Actions) > 0 {
		u.FirstReceiver, u.FirstAction = x.Trx.Actions[0].Account, x.Trx.Actions[0].Name
	}
	return u
}
