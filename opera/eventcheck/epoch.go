package eventcheck

import (
	"math/bits"

	"github.com/ethereum/go-ethereum/core/types"

	"tarn/opera/inter"
)

// Epoch checks events against what holds in an epoch.
type Epoch struct {
	state *inter.EpochState
}

// NewEpoch returns the checks of the epoch with that state, which must not change.
func NewEpoch(state *inter.EpochState) *Epoch { return &Epoch{state} }

// Check checks an event against the epoch's validators and rules.
func (c *Epoch) Check(p *inter.Payload) error {
	rules := &c.state.Rules
	if p.Epoch != c.state.Epoch {
		return ErrNotRelevant
	}
	if _, ok := c.state.Validators.Index(p.Creator); !ok {
		return ErrAuth
	}
	switch {
	case uint64(len(p.Parents)) > uint64(rules.Dag.MaxParents):
		return ErrTooManyParents
	case uint64(len(p.Extra)) > uint64(rules.Dag.MaxExtraData):
		return ErrTooBigExtra
	case p.GasPowerUsed > rules.Economy.Gas.MaxEventGas:
		return ErrTooBigGasUsed
	case p.GasPowerUsed != GasUsed(p, rules):
		return ErrWrongGasUsed
	}
	if err := Transactions(p.Txs, rules); err != nil {
		return err
	}
	if p.Version > 1 || (p.Version == 1) != rules.Upgrades.Llr {
		return ErrWrongVersion
	}
	return nil
}

// Transactions checks transactions of an event against the rules.
func Transactions(txs types.Transactions, rules *inter.Rules) error {
	most := uint8(types.LegacyTxType)
	if rules.Upgrades.Berlin {
		most = types.AccessListTxType
	}
	if rules.Upgrades.London {
		most = types.DynamicFeeTxType
	}
	for _, tx := range txs {
		if tx.Type() > most {
			return ErrUnsupportedTxType
		}
		if tx.GasFeeCapIntCmp(rules.Economy.MinGasPrice) < 0 {
			return ErrUnderpriced
		}
	}
	return nil
}

// GasUsed returns what an event costs its creator. Sums wrap, like go-opera's.
func GasUsed(p *inter.Payload, rules *inter.Rules) uint64 {
	gas := &rules.Economy.Gas
	used := gas.EventGas + uint64(len(p.Extra))*gas.ExtraDataGas + uint64(len(p.Proofs))*gas.MisbehaviourProofGas
	for _, tx := range p.Txs {
		used += tx.Gas()
	}
	if n := uint32(len(p.Parents)); n > rules.Dag.MaxFreeParents {
		used += uint64(n-rules.Dag.MaxFreeParents) * gas.ParentGas
	}
	if p.BlockVotes.Start != 0 {
		used += gas.BlockVotesBaseGas + uint64(len(p.BlockVotes.Votes))*gas.BlockVoteGas
	}
	if p.EpochVote.Epoch != 0 {
		used += gas.EpochVoteGas
	}
	return used
}

// Parents checks an event against its parents, which come in its own order.
func Parents(e *inter.Event, parents []*inter.Event) error {
	highest := inter.Lamport(0)
	for _, p := range parents {
		highest = max(highest, p.Lamport)
	}
	if e.Lamport != highest+1 {
		return ErrWrongLamport
	}
	_, follows := e.SelfParent()
	for i, p := range parents {
		if (p.Creator == e.Creator) != (follows && i == 0) {
			return ErrWrongSelfParent
		}
	}
	switch {
	case (e.Seq == 1) == follows:
		return ErrWrongSeq
	case follows && e.Seq != parents[0].Seq+1:
		return ErrWrongSeq
	case follows && e.CreationTime <= parents[0].CreationTime:
		return ErrPastTime
	}
	return nil
}

// CheckGasPower checks what an event says that its creator has left. The self-parent is
// nil if there is none.
func (c *Epoch) CheckGasPower(e *inter.Event, selfParent *inter.Event) error {
	power, err := c.GasPower(e, selfParent)
	if err != nil {
		return err
	}
	for i, available := range power.Gas {
		if e.GasPowerLeft.Gas[i]+e.GasPowerUsed != available {
			return ErrWrongGasPowerLeft
		}
	}
	return nil
}

// GasPower returns how much gas the creator of an event may use at the event's median
// time, the event itself included (go-opera, eventcheck/gaspowercheck).
func (c *Epoch) GasPower(e *inter.Event, selfParent *inter.Event) (power inter.GasPower, err error) {
	index, ok := c.state.Validators.Index(e.Creator)
	if e.Epoch != c.state.Epoch || !ok {
		return power, ErrNotRelevant
	}
	economy := &c.state.Rules.Economy
	for i, rules := range []*inter.GasPowerRules{inter.Short: &economy.ShortGasPower,
		inter.Long: &economy.LongGasPower} {
		perSec, most, startup := allocation(c.state, index, rules)
		left, since := c.start(index, i)
		if selfParent != nil {
			left, since = selfParent.GasPowerLeft.Gas[i], selfParent.MedianTime
		} else {
			left = max(left, startup)
		}
		since = min(since, e.MedianTime)
		power.Gas[i] = min(left+earnedGas(uint64(e.MedianTime-since), perSec), most)
	}
	return power, nil
}

// start returns what a validator has before its first event of the epoch, and since when.
func (c *Epoch) start(index, window int) (left uint64, since inter.Timestamp) {
	since = c.state.EpochStart
	if state := c.state.ValidatorStates[index]; !state.PrevEpochEvent.ID.IsZero() {
		return state.PrevEpochEvent.GasPowerLeft.Gas[window] + state.GasRefund, state.PrevEpochEvent.Time
	}
	return c.state.ValidatorStates[index].GasRefund, since
}

// earnedGas returns what is earned in a time, in nanoseconds; of a number above 2^64 the
// lower 64 bits.
func earnedGas(time, perSec uint64) uint64 {
	const second = 1e9
	high, low := bits.Mul64(time, perSec)
	quotient, _ := bits.Div64(high%second, low, second)
	return quotient
}

// LongGasPower returns how much a validator may save of the gas power of the long window,
// and what it has of it at least when an epoch begins.
func LongGasPower(s *inter.EpochState, index int) (most, startup uint64) {
	_, most, startup = allocation(s, index, &s.Rules.Economy.LongGasPower)
	return most, startup
}

// allocation returns a validator's share: what it earns in a second, what it may save,
// and what it has at least to begin with. Periods count in whole seconds; products wrap,
// like go-opera's.
func allocation(s *inter.EpochState, index int, rules *inter.GasPowerRules) (perSec, most, startup uint64) {
	const second = 1e9
	high, low := bits.Mul64(rules.AllocPerSec, uint64(s.Validators.At(index).Weight))
	perSec, _ = bits.Div64(high, low, uint64(s.Validators.Total()))
	most = max(perSec*(uint64(rules.MaxAllocPeriod)/second), s.Rules.Economy.Gas.MaxEventGas)
	startup = max(perSec*(uint64(rules.StartupAllocPeriod)/second), rules.MinStartupGas)
	return perSec, most, startup
}
