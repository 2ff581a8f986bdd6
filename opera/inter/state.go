package inter

import (
	"crypto/sha256"
	"fmt"
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/rlp"
)

// GasPower is what a validator has left of the gas that it may use, over a short and
// over a long time.
type GasPower struct {
	Gas [2]uint64 // by Short, Long
}

// Indexes of a GasPower.
const (
	Short = iota
	Long
)

// Min returns the smaller of both.
func (g GasPower) Min() uint64 { return min(g.Gas[Short], g.Gas[Long]) }

// Max returns the greater of both.
func (g GasPower) Max() uint64 { return max(g.Gas[Short], g.Gas[Long]) }

// Sub returns both less by an amount. It wraps below 0, like go-opera's.
func (g GasPower) Sub(amount uint64) GasPower {
	g.Gas[Short] -= amount
	g.Gas[Long] -= amount
	return g
}

// EventInfo is what is remembered of a validator's last event.
type EventInfo struct {
	ID           EventID // zero if there is none
	GasPowerLeft GasPower
	Time         Timestamp // its median time
}

// BlockInfo names a block.
type BlockInfo struct {
	Number  BlockNumber
	Time    Timestamp
	Atropos EventID
}

// ValidatorBlockState is what changes of a validator from block to block.
type ValidatorBlockState struct {
	LastEvent        EventInfo // confirmed
	Uptime           Timestamp // in this epoch
	LastOnlineTime   Timestamp
	LastGasPowerLeft GasPower
	LastBlock        BlockNumber // that confirmed an event of its
	DirtyGasRefund   uint64
	Originated       *big.Int // fees of its transactions, over all epochs
}

// BlockState is what changes from block to block, and what the next epoch will begin
// with.
type BlockState struct {
	LastBlock          BlockInfo
	FinalizedStateRoot [32]byte // after the last block

	EpochGas        uint64
	EpochCheaters   []ValidatorID // in the order in which they were found
	CheatersWritten uint32        // that many of them the driver contract knows

	ValidatorStates []ValidatorBlockState // by index
	NextProfiles    Profiles

	DirtyRules *Rules `rlp:"nil"` // of the next epoch, if they are others

	AdvanceEpochs Epoch // that many are to be sealed at once
}

// Copy returns a state that shares nothing with this one that is ever changed.
func (s *BlockState) Copy() BlockState {
	c := *s
	c.EpochCheaters = slices.Clone(s.EpochCheaters)
	c.ValidatorStates = slices.Clone(s.ValidatorStates)
	for i := range c.ValidatorStates {
		c.ValidatorStates[i].Originated = new(big.Int).Set(c.ValidatorStates[i].Originated)
	}
	c.NextProfiles = s.NextProfiles.Copy()
	if s.DirtyRules != nil {
		rules := s.DirtyRules.Copy()
		c.DirtyRules = &rules
	}
	return c
}

// Hash returns the SHA-256 of the state's RLP.
func (s *BlockState) Hash() [32]byte { return hashRLP(s) }

// ValidatorEpochState is what an epoch begins with for a validator.
type ValidatorEpochState struct {
	GasRefund      uint64
	PrevEpochEvent EventInfo
}

// EpochState is constant within an epoch. A value is never changed once it is in use.
type EpochState struct {
	Epoch          Epoch
	EpochStart     Timestamp
	PrevEpochStart Timestamp

	EpochStateRoot [32]byte // after the block before the one that sealed the last epoch

	Validators      *Validators
	ValidatorStates []ValidatorEpochState // by index
	Profiles        Profiles

	Rules Rules
}

// earlyEpochState is hashed for an epoch before London.
type earlyEpochState struct {
	Epoch           Epoch
	EpochStart      Timestamp
	PrevEpochStart  Timestamp
	EpochStateRoot  [32]byte
	Validators      *Validators
	ValidatorStates []earlyValidatorState
	Profiles        Profiles
	Rules           Rules
}

type earlyValidatorState struct {
	GasRefund      uint64
	PrevEpochEvent EventID
}

// Hash returns the SHA-256 of the state's RLP, in which before London validators' last
// events are nothing but their ids (go-opera, inter/iblockproc).
func (s *EpochState) Hash() [32]byte {
	if s.Rules.Upgrades.London {
		return hashRLP(s)
	}
	early := earlyEpochState{
		s.Epoch, s.EpochStart, s.PrevEpochStart, s.EpochStateRoot, s.Validators,
		make([]earlyValidatorState, len(s.ValidatorStates)), s.Profiles, s.Rules,
	}
	for i, v := range s.ValidatorStates {
		early.ValidatorStates[i] = earlyValidatorState{v.GasRefund, v.PrevEpochEvent.ID}
	}
	return hashRLP(&early)
}

// hashRLP hashes a value whose encoding cannot fail, because it was decoded or made by
// the rules.
func hashRLP(v any) (sum [32]byte) {
	h := sha256.New()
	if err := rlp.Encode(h, v); err != nil {
		panic(fmt.Sprintf("encode a %T to hash it: %v", v, err))
	}
	return [32]byte(h.Sum(nil))
}
