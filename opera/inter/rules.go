package inter

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
)

// The networks that have rules of their own.
const (
	MainNetwork uint64 = 0xfa
	TestNetwork uint64 = 0xfa2
	FakeNetwork uint64 = 0xfa3
)

// Rules are what a network has agreed on: they are constant within an epoch and can be
// changed by the driver contract (go-opera, opera/rules.go). The names of the fields
// are those of their JSON. Amounts of gas are in gas, periods in nanoseconds.
type Rules struct {
	Name      string // of the network; never changed
	NetworkID uint64 // also the EVM's chain id; never changed
	Dag       DagRules
	Epochs    EpochRules
	Blocks    BlockRules
	Economy   EconomyRules
	Upgrades  Upgrades `rlp:"-"` // encoded beside the others
}

// DagRules bound an event.
type DagRules struct {
	MaxParents     uint32
	MaxFreeParents uint32 // that many cost nothing
	MaxExtraData   uint32 // bytes
}

// EpochRules say when an epoch ends.
type EpochRules struct {
	MaxEpochGas      uint64
	MaxEpochDuration Timestamp
}

// BlockRules bound a block.
type BlockRules struct {
	MaxBlockGas             uint64
	MaxEmptyBlockSkipPeriod Timestamp // an empty block is made only that long after the last one
}

// EconomyRules say what validators and senders pay and get.
type EconomyRules struct {
	BlockMissedSlack BlockNumber // that many may be missed without counting as downtime
	Gas              GasRules
	MinGasPrice      *big.Int // in wei; the base fee of every block
	ShortGasPower    GasPowerRules
	LongGasPower     GasPowerRules
}

// GasRules are the prices of an event and its parts.
type GasRules struct {
	MaxEventGas  uint64
	EventGas     uint64
	ParentGas    uint64 // for each parent that is not free
	ExtraDataGas uint64 // for each byte

	BlockVotesBaseGas    uint64
	BlockVoteGas         uint64
	EpochVoteGas         uint64
	MisbehaviourProofGas uint64
}

// GasPowerRules say how much gas all validators together may use.
type GasPowerRules struct {
	AllocPerSec        uint64
	MaxAllocPeriod     Timestamp
	StartupAllocPeriod Timestamp
	MinStartupGas      uint64
}

// Upgrades are the protocol changes that are switched on.
type Upgrades struct {
	Berlin bool
	London bool
	Llr    bool // events of version 1, with votes and proofs
}

// UpgradeHeight says with which block upgrades begin to hold.
type UpgradeHeight struct {
	Upgrades Upgrades
	Height   BlockNumber
}

const (
	second = Timestamp(1e9)
	minute = 60 * second

	eventGas = 28_000
)

// DefaultRules are what go-opera starts a network with. The main and the test network
// got others since, by their genesis and by votes.
func DefaultRules(name string, id uint64) Rules {
	long := GasPowerRules{AllocPerSec: 100 * eventGas, MaxAllocPeriod: 60 * minute, StartupAllocPeriod: 5 * second,
		MinStartupGas: 20 * eventGas}
	short := GasPowerRules{
		AllocPerSec: 2 * long.AllocPerSec, MaxAllocPeriod: long.MaxAllocPeriod / 12,
		StartupAllocPeriod: long.StartupAllocPeriod / 2, MinStartupGas: long.MinStartupGas,
	}
	return Rules{
		Name:      name,
		NetworkID: id,
		Dag:       DagRules{MaxParents: 10, MaxFreeParents: 3, MaxExtraData: 128},
		Epochs:    EpochRules{MaxEpochGas: 1_500_000_000, MaxEpochDuration: 4 * 60 * minute},
		Blocks:    BlockRules{MaxBlockGas: 20_500_000, MaxEmptyBlockSkipPeriod: minute},
		Economy: EconomyRules{
			BlockMissedSlack: 50,
			Gas: GasRules{
				MaxEventGas: 10_000_000 + eventGas, EventGas: eventGas, ParentGas: 2400, ExtraDataGas: 25,
				BlockVotesBaseGas: 1024, BlockVoteGas: 512, EpochVoteGas: 1536, MisbehaviourProofGas: 71_536,
			},
			MinGasPrice:   big.NewInt(1e9),
			ShortGasPower: short,
			LongGasPower:  long,
		},
	}
}

// FakeRules are those of a network of one's own: all upgrades, short epochs, a thousand
// times the gas power.
func FakeRules() Rules {
	r := DefaultRules("fake", FakeNetwork)
	r.Epochs = EpochRules{MaxEpochGas: r.Epochs.MaxEpochGas / 5, MaxEpochDuration: 10 * minute}
	r.Blocks.MaxEmptyBlockSkipPeriod = 3 * second
	r.Economy.ShortGasPower.AllocPerSec *= 1000
	r.Economy.LongGasPower.AllocPerSec *= 1000
	r.Upgrades = Upgrades{Berlin: true, London: true, Llr: true}
	return r
}

// Copy returns rules that share nothing with these.
func (r Rules) Copy() Rules {
	if r.Economy.MinGasPrice != nil {
		r.Economy.MinGasPrice = new(big.Int).Set(r.Economy.MinGasPrice)
	}
	return r
}

// String returns the rules as JSON.
func (r Rules) String() string {
	text, err := json.Marshal(&r)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Update returns the rules with the changes that a JSON object holds: objects are
// merged, unknown keys ignored, and the name and the network's id stay. With an error
// nothing changes (go-opera, opera/marshal.go).
func (r Rules) Update(changes []byte) (Rules, error) {
	updated := r.Copy()
	if err := json.Unmarshal(changes, &updated); err != nil {
		return r, fmt.Errorf("update the rules of %s: %w", r.Name, err)
	}
	// go-opera takes these two, and stops when it is to store them.
	if price := updated.Economy.MinGasPrice; price == nil || price.Sign() < 0 {
		return r, errors.New("update the rules of " + r.Name + ": no least gas price, or a negative one")
	}
	updated.Name, updated.NetworkID = r.Name, r.NetworkID
	return updated, nil
}
