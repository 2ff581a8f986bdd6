package genesis

import (
	"fmt"
	"slices"

	"tarn/opera/inter"
)

// Beginning is the state that a genesis leaves a chain in (go-opera,
// gossip/apply_genesis.go).
type Beginning struct {
	Header Header
	// Epoch is the newest record: the present states of block and epoch.
	Epoch *inter.EpochRecord
	// Upgrades say from which block on which upgrades hold: the oldest epoch's, and
	// each epoch's that has others than the one before.
	Upgrades []inter.UpgradeHeight
}

// Begin reads the records of epochs, gives each to a function, newest first, and
// returns where they end. It is an error if there is none, if one is of another
// network, or if they are not in their order.
func Begin(s Source, each func(*inter.EpochRecord) error) (Beginning, error) {
	b := Beginning{Header: s.Header()}
	var newer *inter.EpochRecord
	for record, err := range s.Epochs() {
		if err != nil {
			return b, err
		}
		rules := &record.State.EpochState.Rules
		switch {
		case rules.NetworkID != b.Header.NetworkID || rules.Name != b.Header.NetworkName:
			return b, fmt.Errorf("epoch %d of a genesis of %v: %w: %d, %s",
				record.Epoch, b.Header, ErrOtherRecord, rules.NetworkID, rules.Name)
		case newer == nil:
			b.Epoch = record
		case record.Epoch >= newer.Epoch:
			return b, fmt.Errorf("epoch %d of a genesis comes after epoch %d: %w order",
				record.Epoch, newer.Epoch, ErrMalformed)
		case rules.Upgrades != newer.State.EpochState.Rules.Upgrades:
			b.Upgrades = append(b.Upgrades, height(newer))
		}
		if err := each(record); err != nil {
			return b, err
		}
		newer = record
	}
	if newer == nil {
		return b, ErrNoEpochs
	}
	b.Upgrades = append(b.Upgrades, height(newer))
	slices.Reverse(b.Upgrades)
	return b, nil
}

// height says that an epoch's upgrades hold from its first block on.
func height(r *inter.EpochRecord) inter.UpgradeHeight {
	return inter.UpgradeHeight{
		Upgrades: r.State.EpochState.Rules.Upgrades,
		Height:   r.State.BlockState.LastBlock.Number + 1,
	}
}
