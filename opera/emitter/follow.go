package emitter

import (
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"tarn/opera/chain"
	"tarn/opera/inter"
)

// waiting is an event that is not confirmed.
type waiting struct {
	id      inter.EventID
	gas     uint64
	senders []common.Address
}

// follow takes notice of what the chain connected and confirmed since the last call.
func (em *Emitter) follow(c *chain.Chain, now time.Time) error {
	if em.epoch != c.Epoch() {
		if err := em.enter(c, now); err != nil {
			return err
		}
	}
	defer func() { em.begun = true }()
	if em.index < 0 {
		return nil
	}
	var failed error
	c.Arrivals(em.arrived, func(a chain.Arrival) {
		if err := em.hear(c, a, now); err != nil && failed == nil {
			failed = err
		}
	})
	em.arrived = c.Arrived()
	em.head = c.Head().Number
	// A decision confirms events whether or not a block is made of it.
	if decided := c.Decided(); decided != em.decided {
		em.decided = decided
		em.settle(c)
	}
	if em.idle() {
		em.idleAt = now
	}
	em.busy.mark(now, !em.idle())
	em.challenge(now)
	if em.o.Votes != nil {
		em.votes.follow(em.o.Votes(c), em.o.Validator)
	}
	return failed
}

// enter begins the present epoch.
func (em *Emitter) enter(c *chain.Chain, now time.Time) error {
	first, before := em.epoch == nil, em.index
	em.epoch, em.arrived, em.decided = c.Epoch(), 0, 0
	em.waiting, em.senders, em.pendingGas = nil, map[common.Address]int{}, 0
	v := em.epoch.Validators
	index, ok := v.Index(em.o.Validator)
	if em.index = index; !ok {
		em.index = -1
		return nil
	}
	if !first && before < 0 {
		em.calm.joined = now
	}
	if last := c.Header(c.LastEvents()[em.o.Validator]); last != nil {
		em.emittedAt = time.Unix(0, int64(last.CreationTime))
	}
	em.progress, em.payloads, em.votes.at = newProgress(v), newPayloads(), 0
	em.offline, em.deadlines = make([]bool, v.Len()), make([]time.Time, v.Len())
	return em.adjust(c)
}

// driver is the contract that adjusts intervals, in nanoseconds (go-opera,
// opera/contracts/emitterdriver).
func driver() common.Address {
	return common.HexToAddress("0xee00d10000000000000000000000000000000000")
}

// adjust reads what the contract wishes: intervals, which count as far as they are near
// one's own, and how the worth of events is computed.
func (em *Emitter) adjust(c *chain.Chain) error {
	v, err := c.View()
	if err != nil {
		return err
	}
	defer v.Close()
	address := crypto.Keccak256Hash(driver().Bytes())
	slot := func(number int64) *big.Int {
		value, slotErr := v.State().Slot(address, crypto.Keccak256Hash(common.BigToHash(big.NewInt(number)).Bytes()))
		if slotErr != nil {
			err = slotErr
		}
		return value.Big()
	}
	wish := func(number int64, own time.Duration) time.Duration {
		wished := time.Duration(slot(number).Uint64())
		if wished == 0 {
			wished = own
		}
		return max(min(20*own, wished), own/4)
	}
	em.roots = nil
	if slot(0).Sign() != 0 {
		em.roots = &roots{me: em.o.Validator}
	}
	em.least, em.confirming = wish(1, em.o.Intervals.Min), wish(2, em.o.Intervals.Confirming)
	em.spread()
	return err
}

// hear takes notice of an event.
func (em *Emitter) hear(c *chain.Chain, a chain.Arrival, now time.Time) error {
	index, _ := em.epoch.Validators.Index(a.Event.Creator)
	own := index == em.index
	em.progress.hear(index, c.Sight(a.ID), own)
	em.deadlines[index], em.offline[index] = time.Time{}, false
	txs := uint64(0)
	if a.Event.AnyTxs {
		txs = 1
	}
	if a.Payload != nil {
		w := waiting{id: a.ID, gas: a.Event.GasPowerUsed}
		signer := c.Signer()
		for _, tx := range a.Payload.Txs {
			if sender, err := types.Sender(signer, tx); err == nil {
				w.senders = append(w.senders, sender)
				em.senders[sender]++
			}
		}
		txs = uint64(len(a.Payload.Txs))
		em.pendingGas += w.gas
		em.waiting = append(em.waiting, w)
	}
	em.payloads.hear(a.ID, c.Parents(a.ID), txs)
	// What the ledger had at the start does not come from elsewhere, whatever its clock said.
	if !own || a.ID == em.calm.made || em.calm.again[a.ID] || !em.begun {
		return nil
	}
	return em.foreign(a, now)
}

// settle forgets what is confirmed.
func (em *Emitter) settle(c *chain.Chain) {
	left := em.waiting[:0]
	for _, w := range em.waiting {
		if !c.Confirmed(w.id) {
			left = append(left, w)
			continue
		}
		em.pendingGas -= w.gas
		for _, sender := range w.senders {
			if em.senders[sender]--; em.senders[sender] == 0 {
				delete(em.senders, sender)
			}
		}
	}
	clear(em.waiting[len(left):])
	em.waiting = left
}

// idle tells whether no transaction of the epoch's events waits to be confirmed.
func (em *Emitter) idle() bool { return len(em.senders) == 0 }

// spread computes what share of the stake greater validators have, and how long each waits
// to confirm, but those that seem to be offline count for nothing.
func (em *Emitter) spread() {
	v, c := em.epoch.Validators, confirmingCurve()
	em.waits = make([]time.Duration, v.Len())
	var before inter.Weight
	for i := range em.waits {
		share := uint64(before) * unit / uint64(v.Total())
		if i == em.index {
			em.share = share
		}
		if !em.offline[i] {
			before += v.At(i).Weight
		}
		em.waits[i] = time.Duration(uint64(em.confirming) * c.At(share) / unit)
	}
}

// patience is how long a validator may be silent while there is something to confirm.
const patience = 4 * time.Second

// challenge finds out which validators are silent.
func (em *Emitter) challenge(now time.Time) {
	if now.Sub(em.challenged) < patience/10 {
		return
	}
	em.challenged = now
	if em.idle() {
		clear(em.deadlines)
		return
	}
	found := false
	for i := range em.deadlines {
		switch {
		case em.deadlines[i].IsZero() && !em.offline[i]:
			em.deadlines[i] = now.Add(patience + 4*em.waits[i])
		case !em.deadlines[i].IsZero() && now.After(em.deadlines[i]) && !em.offline[i]:
			em.offline[i], found = true, true
		}
	}
	if found {
		em.spread()
	}
}

// busyness is the share of the last minute or so in which there was something to confirm
// (go-opera, utils/rate: a moving average over spans of five seconds).
type busyness struct {
	marks, busy uint64 // in the present span
	since       time.Time
	measured    bool
	share       uint64 // in millionths
}

// mark counts a moment.
func (b *busyness) mark(now time.Time, busy bool) {
	b.marks++
	if busy {
		b.busy++
	}
	if b.since.IsZero() {
		b.since = now
	}
	if now.Sub(b.since) < 5*time.Second {
		return
	}
	const decay = 79_956 // 1 - exp(-5/60), in millionths
	last := b.busy * unit / b.marks
	if b.measured {
		last = (b.share*(unit-decay) + last*decay) / unit
	}
	b.share, b.measured = last, true
	b.marks, b.busy, b.since = 0, 0, now
}
