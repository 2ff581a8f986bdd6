package epoch

import (
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/core/types"

	"tarn/opera/inter"
)

// Seal ends the epoch, after the calls of CallsBefore were executed: what the driver
// contract said becomes true.
func (b *Block) Seal() error {
	validators, err := b.State.NextProfiles.Validators()
	if err != nil {
		return fmt.Errorf("seal epoch %d: %w", b.Epoch.Epoch, err)
	}
	old := b.Epoch
	next := &inter.EpochState{
		Epoch:           old.Epoch + 1,
		EpochStart:      b.Info.Time,
		PrevEpochStart:  old.EpochStart,
		EpochStateRoot:  b.State.FinalizedStateRoot, // of the block before this one
		Validators:      validators,
		ValidatorStates: make([]inter.ValidatorEpochState, validators.Len()),
		Profiles:        b.State.NextProfiles.Copy(),
		Rules:           old.Rules,
	}
	states := make([]inter.ValidatorBlockState, validators.Len())
	for i := range states {
		was, stays := old.Validators.Index(validators.At(i).ID)
		if !stays {
			states[i] = inter.ValidatorBlockState{LastBlock: b.Info.Number, LastOnlineTime: b.Info.Time,
				Originated: new(big.Int)}
			continue
		}
		states[i] = b.State.ValidatorStates[was]
		next.ValidatorStates[i] = inter.ValidatorEpochState{
			GasRefund:      states[i].DirtyGasRefund,
			PrevEpochEvent: states[i].LastEvent,
		}
		states[i].DirtyGasRefund, states[i].Uptime = 0, 0
	}
	if b.State.DirtyRules != nil {
		next.Rules = b.State.DirtyRules.Copy()
	}
	s := &b.State
	s.ValidatorStates = states
	s.DirtyRules = nil
	s.EpochGas, s.EpochCheaters, s.CheatersWritten = 0, nil, 0
	if s.AdvanceEpochs > 0 {
		s.AdvanceEpochs--
	}
	b.upgraded = next.Rules.Upgrades != old.Rules.Upgrades
	b.Epoch = next
	return nil
}

// Upgrade returns, from Seal on, the upgrades of the next epoch and the block with
// which they begin to hold, and false if they are those of the epoch before.
func (b *Block) Upgrade() (inter.UpgradeHeight, bool) {
	return inter.UpgradeHeight{Upgrades: b.Epoch.Rules.Upgrades, Height: b.Info.Number + 1}, b.upgraded
}

// Receipt counts an executed transaction for the validator whose event brought it: the
// creator of the first event of the block with it, 0 for none. One that is no
// validator any more gets nothing.
func (b *Block) Receipt(tx *types.Transaction, gasUsed uint64, originator inter.ValidatorID) {
	i, ok := b.Epoch.Validators.Index(originator)
	if !ok || originator == 0 {
		return
	}
	v := &b.State.ValidatorStates[i]
	// With dynamic fees GasPrice is the most that the sender would have paid, not
	// what was paid.
	fee := new(big.Int).Mul(new(big.Int).SetUint64(gasUsed), tx.GasPrice())
	v.Originated = fee.Add(fee, v.Originated)
	v.DirtyGasRefund += tx.Gas() - gasUsed
}

// End ends the block, whose execution gave the state that root. It returns the record
// of the epoch that begins, if the block sealed one.
func (b *Block) End(root [32]byte) *inter.EpochRecord {
	b.State.FinalizedStateRoot = root
	b.State.LastBlock = b.Info
	b.State.CheatersWritten = uint32(len(b.State.EpochCheaters))
	if !b.sealing {
		return nil
	}
	return &inter.EpochRecord{
		State: inter.EpochContent{BlockState: b.State.Copy(), EpochState: *b.Epoch},
		Epoch: b.Epoch.Epoch,
	}
}
