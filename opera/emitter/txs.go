package emitter

import (
	"cmp"
	"container/heap"
	"math/big"
	"math/bits"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"

	"tarn/opera/chain"
	"tarn/opera/eventcheck"
	"tarn/opera/inter"
)

// offers are what waits, the dearest first, of each sender in the order of nonces.
type offers struct {
	fee  *big.Int // of the block
	list []offer
}

// offer is what is left of a sender's transactions.
type offer struct {
	sender common.Address
	txs    types.Transactions
	tip    *big.Int // of the first
}

func (o *offers) Len() int      { return len(o.list) }
func (o *offers) Swap(i, j int) { o.list[i], o.list[j] = o.list[j], o.list[i] }
func (o *offers) Push(x any)    { o.list = append(o.list, x.(offer)) }
func (o *offers) Pop() any {
	last := o.list[len(o.list)-1]
	o.list = o.list[:len(o.list)-1]
	return last
}

// Less is by tip, then by age.
func (o *offers) Less(i, j int) bool {
	a, b := &o.list[i], &o.list[j]
	return cmp.Or(b.tip.Cmp(a.tip), a.txs[0].Time().Compare(b.txs[0].Time())) < 0
}

// newOffers sorts what waits. Senders whose next transaction does not pay the fee are left
// out.
func newOffers(pending map[common.Address]types.Transactions, most int, fee *big.Int) *offers {
	o := &offers{fee: fee}
	for sender, txs := range pending {
		of := offer{sender: sender, txs: txs[:min(len(txs), most)]}
		if len(of.txs) > 0 && o.price(&of) {
			o.list = append(o.list, of)
		}
	}
	heap.Init(o)
	return o
}

// clone returns what passes over others without the first knowing.
func (o *offers) clone() *offers { return &offers{fee: o.fee, list: slices.Clone(o.list)} }

// price computes the tip of the first.
func (o *offers) price(of *offer) bool {
	tip, err := of.txs[0].EffectiveGasTip(o.fee)
	of.tip = tip
	return err == nil
}

// skip passes over the sender of the dearest, whose others need that one first.
func (o *offers) skip() { heap.Pop(o) }

// next passes over the dearest.
func (o *offers) next() {
	first := &o.list[0]
	if first.txs = first.txs[1:]; len(first.txs) == 0 || !o.price(first) {
		heap.Pop(o)
		return
	}
	heap.Fix(o, 0)
}

// load originates transactions (go-opera, gossip/emitter/txs.go: addTxs), but those that are
// executed, whatever the pool has heard of that.
func (em *Emitter) load(c *chain.Chain, p *inter.Payload, o *offers, now time.Time) error {
	budget := em.budget(p)
	rules, v := &em.epoch.Rules, em.epoch.Validators
	fits := func(gas uint64) bool { return gas < p.GasPowerLeft.Min() && p.GasPowerUsed+gas < budget }
	if o.Len() == 0 || !fits(params.TxGas) {
		return nil
	}
	view, err := c.View()
	if err != nil {
		return err
	}
	defer view.Close()
	for o.Len() > 0 && fits(params.TxGas) {
		first := &o.list[0]
		tx := first.txs[0]
		if eventcheck.Transactions(types.Transactions{tx}, rules) != nil || !fits(tx.Gas()) ||
			em.senders[first.sender] != 0 ||
			!isTurn(first.sender, tx.Nonce(), tx.Time(), now, v, em.o.Validator, em.epoch.Epoch) ||
			em.o.Pool.Get(tx.Hash()) == nil {
			o.skip()
			continue
		}
		account, err := view.Account(first.sender)
		if err != nil {
			return err
		}
		if tx.Nonce() < account.Nonce {
			o.next()
			continue
		}
		p.GasPowerUsed += tx.Gas()
		p.GasPowerLeft = p.GasPowerLeft.Sub(tx.Gas())
		p.Txs = append(p.Txs, tx)
		o.next()
	}
	return nil
}

// budget is how much gas an event may use, all in all (go-opera, maxGasPowerToUse).
func (em *Emitter) budget(p *inter.Payload) uint64 {
	rules, limits, left := &em.epoch.Rules, em.o.Thresholds, p.GasPowerLeft.Min()
	budget := min(rules.Economy.Gas.MaxEventGas, left)
	if limits.LimitedTPS > limits.NoTxs {
		soon := left + em.earnedGas(p)
		if soon < limits.NoTxs {
			return 0
		}
		low := max(soon-min(soon, budget), limits.NoTxs)
		high := min(soon, limits.LimitedTPS)
		// What lies between the thresholds counts half.
		budget = min(budget, soon-min(soon, high)+(high-min(high, low))/2)
	}
	most := max(rules.Blocks.MaxBlockGas/3, rules.Economy.Gas.MaxEventGas, 15_000_000)
	if most <= em.pendingGas {
		return 0
	}
	budget = min(budget, most-em.pendingGas)
	if left <= limits.NoTxs {
		return 0
	}
	return min(budget, left-limits.NoTxs)
}

// earnedGas is what the validator will about have earned when the median time is where the
// clock is, at four fifths of what the rules give, for a minute at most.
func (em *Emitter) earnedGas(p *inter.Payload) uint64 {
	v := em.epoch.Validators
	high, low := bits.Mul64(em.epoch.Rules.Economy.LongGasPower.AllocPerSec*4/5, uint64(v.At(em.index).Weight))
	perSec, _ := bits.Div64(high, low, uint64(v.Total()))
	const minute = inter.Timestamp(60e9)
	lag := min(p.CreationTime-min(p.MedianTime, p.CreationTime), minute)
	high, low = bits.Mul64(uint64(lag), perSec)
	gas, _ := bits.Div64(high%1e9, low, 1e9)
	return gas
}
