// Package epoch says what a block of Opera does to the states of blocks and epochs:
// who counts as online, what the driver contract is told and what it tells, when an
// epoch ends and how the next one begins.
//
// It owns those rules, as functions of the values of inter, and no more: it never
// reads a store or a clock, executes nothing and decides on no block. [Block] names
// the order in which its steps belong; between them the caller executes transactions.
//
// The rules are go-opera's (gossip/c_block_callbacks.go and gossip/blockproc), with
// their oddities, which every node has to share.
package epoch

import (
	"slices"

	"tarn/opera/inter"
)

// Event is what of a confirmed event counts here.
type Event struct {
	ID           inter.EventID
	Creator      inter.ValidatorID // of the epoch's set
	Seq          inter.Seq
	MedianTime   inter.Timestamp
	GasPowerUsed uint64
	GasPowerLeft inter.GasPower
	HasTxs       bool
}

// Block is a block in the making. Its methods belong in this order, each called once
// unless it says otherwise:
//
//	Begin; Confirm and Accuse, often; Decide;
//	if it is not skipped: CallsBefore, Seal if Sealing, CallsAfter,
//	Receipt, often; End.
//
// Log is called for each log of each transaction as it is executed, those of the
// calls of CallsBefore before Seal. One goroutine at a time may use a block.
type Block struct {
	// Info is the block's number, time and Atropos, from Decide on.
	Info inter.BlockInfo
	// State is what the state of blocks has become. The value belongs to the block.
	State inter.BlockState
	// Epoch is the epoch's state, from Seal on the next epoch's.
	Epoch *inter.EpochState
	// Version is the network version that the driver contract demanded last in this
	// block, nil if it did not. A node of an older version (major·10^12 +
	// minor·10^6 + patch) has to stop.
	Version *uint64

	atropos  inter.EventID
	found    []inter.ValidatorID // cheaters that the Atropos sees
	accused  []inter.ValidatorID
	last     []*Event // of each validator, by index
	time     inter.Timestamp
	applied  bool // the Atropos was among the confirmed events
	anyTxs   bool
	sealing  bool
	upgraded bool
}

// Begin begins a block with the states after the block before, and with the cheaters
// that the Atropos sees, by index.
func Begin(
	state *inter.BlockState, epoch *inter.EpochState, atropos inter.EventID, cheaters []inter.ValidatorID,
) *Block {
	b := &Block{State: state.Copy(), Epoch: epoch, atropos: atropos, found: cheaters}
	b.State.EpochCheaters = merge(b.State.EpochCheaters, cheaters)
	b.last = make([]*Event, epoch.Validators.Len())
	return b
}

// merge appends to one list of cheaters those of another that are not in it.
func merge(list, more []inter.ValidatorID) []inter.ValidatorID {
	for _, id := range more {
		if !slices.Contains(list, id) {
			list = append(list, id)
		}
	}
	return list
}

// Confirm counts an event that the Atropos confirms. The order of events does not
// matter.
func (b *Block) Confirm(e Event) {
	if e.ID == b.atropos {
		b.applied, b.time = true, e.MedianTime
	}
	b.anyTxs = b.anyTxs || e.HasTxs
	b.State.EpochGas += e.GasPowerUsed
	if i, ok := b.Epoch.Validators.Index(e.Creator); ok && (b.last[i] == nil || e.Seq > b.last[i].Seq) {
		b.last[i] = &e
	}
}

// Accuse notes that a proof in a confirmed event convicts a validator, which may be
// one of an earlier epoch.
func (b *Block) Accuse(id inter.ValidatorID) {
	if !slices.Contains(b.accused, id) {
		b.accused = append(b.accused, id)
	}
}

// Decide ends the confirmed events and tells whether the block is skipped: an
// Atropos that an earlier one had confirmed makes none, and nothing happening makes
// one only now and then. A block that is skipped has changed State all the same.
func (b *Block) Decide() (skipped bool) {
	previous := &b.State.LastBlock
	if !b.applied || b.time <= previous.Time {
		b.time = previous.Time + 1
	}
	b.Info = inter.BlockInfo{Number: previous.Number + 1, Time: b.time, Atropos: b.atropos}
	idle := !b.anyTxs && len(b.found) == 0 && b.time < previous.Time+b.Epoch.Rules.Blocks.MaxEmptyBlockSkipPeriod

	b.account()
	slices.Sort(b.accused)
	b.State.EpochCheaters = merge(b.State.EpochCheaters, b.accused)

	rules := &b.Epoch.Rules.Epochs
	b.sealing = b.State.EpochGas >= rules.MaxEpochGas || b.Info.Time-b.Epoch.EpochStart >= rules.MaxEpochDuration ||
		b.State.AdvanceEpochs > 0 || len(b.State.EpochCheaters) > 0
	return !b.applied || idle
}

// account notes of each validator its last event. The number is the block's even if
// the block is going to be skipped.
func (b *Block) account() {
	for _, id := range b.State.EpochCheaters {
		// A cheater of an earlier epoch has no index. go-opera takes 0 then, and the
		// first validator's events count for nothing.
		i, _ := b.Epoch.Validators.Index(id)
		if i < len(b.last) {
			b.last[i] = nil
		}
	}
	rules := &b.Epoch.Rules
	for i, e := range b.last {
		if e == nil {
			continue
		}
		v := &b.State.ValidatorStates[i]
		if b.Info.Number <= v.LastBlock+rules.Economy.BlockMissedSlack {
			online := v.LastOnlineTime
			if rules.Upgrades.Berlin {
				online = max(online, b.Epoch.EpochStart)
			}
			if e.MedianTime > online {
				v.Uptime += e.MedianTime - online
			}
		}
		v.LastGasPowerLeft = e.GasPowerLeft
		v.LastOnlineTime = e.MedianTime
		v.LastBlock = b.Info.Number
		v.LastEvent = inter.EventInfo{ID: e.ID, GasPowerLeft: e.GasPowerLeft, Time: e.MedianTime}
	}
}

// Sealing tells, from Decide on, whether the block ends its epoch.
func (b *Block) Sealing() bool { return b.sealing }

// Spill returns from which event on a block's transactions are executed, given the
// gas power that its events with transactions used, in the order of their ids, and
// the rules' MaxBlockGas: the newest that fit. The transactions of the others are
// lost.
func Spill(used []uint64, limit uint64) (first int) {
	sum := uint64(0)
	for i, gas := range slices.Backward(used) {
		if sum += gas; sum > limit {
			return i + 1
		}
	}
	return 0
}
