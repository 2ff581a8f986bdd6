package main

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/Fantom-foundation/go-opera/eventcheck/basiccheck"
	"github.com/Fantom-foundation/go-opera/eventcheck/epochcheck"
	"github.com/Fantom-foundation/go-opera/eventcheck/gaspowercheck"
	"github.com/Fantom-foundation/go-opera/eventcheck/heavycheck"
	"github.com/Fantom-foundation/go-opera/eventcheck/parentscheck"
	"github.com/Fantom-foundation/go-opera/inter"
	"github.com/Fantom-foundation/go-opera/inter/iblockproc"
	"github.com/Fantom-foundation/go-opera/inter/validatorpk"
	"github.com/Fantom-foundation/go-opera/opera"
	"github.com/Fantom-foundation/lachesis-base/inter/idx"
	"github.com/Fantom-foundation/lachesis-base/inter/pos"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"

	"stdiorpc"
)

// network is what checks of events look at.
type network struct {
	state iblockproc.EpochState
	past  map[idx.Epoch]past
}

// past is an epoch of the past.
type past struct {
	block idx.Block
	keys  map[idx.ValidatorID]validatorpk.PubKey
}

func (n *network) ask(kind string, words []string) (string, error) {
	if decode, ok := values[kind]; ok {
		return decode(stdiorpc.Bytes(words[0]))
	}
	switch kind {
	case "json":
		return changeRules(stdiorpc.Bytes(words[0]), stdiorpc.Bytes(words[1]))
	case "state":
		n.state = iblockproc.EpochState{}
		return "ok", rlp.DecodeBytes(stdiorpc.Bytes(words[0]), &n.state)
	case "past":
		return "ok", n.remember(words)
	case "check":
		return n.check(words)
	case "checkbvs":
		var v inter.LlrSignedBlockVotes
		err := rlp.DecodeBytes(stdiorpc.Bytes(words[0]), &v)
		return sayings(basiccheck.New().ValidateBVs(v), n.heavy().ValidateBVs(v)), err
	case "checkev":
		var v inter.LlrSignedEpochVote
		err := rlp.DecodeBytes(stdiorpc.Bytes(words[0]), &v)
		return sayings(basiccheck.New().ValidateEV(v), n.heavy().ValidateEV(v)), err
	}
	panic("no such line: " + kind)
}

func (n *network) remember(words []string) error {
	epoch, _ := strconv.ParseUint(words[0], 10, 32)
	if epoch == 0 {
		n.past = map[idx.Epoch]past{}
		return nil
	}
	block, _ := strconv.ParseUint(words[1], 10, 64)
	var profiles iblockproc.ValidatorProfiles
	if err := rlp.DecodeBytes(stdiorpc.Bytes(words[2]), &profiles); err != nil {
		return err
	}
	n.past[idx.Epoch(epoch)] = past{idx.Block(block), keysOf(profiles)}
	return nil
}

func keysOf(profiles iblockproc.ValidatorProfiles) map[idx.ValidatorID]validatorpk.PubKey {
	keys := map[idx.ValidatorID]validatorpk.PubKey{}
	for id, profile := range profiles {
		keys[id] = profile.PubKey
	}
	return keys
}

func (n *network) check(words []string) (string, error) {
	var e inter.EventPayload
	if err := e.UnmarshalBinary(stdiorpc.Bytes(words[0])); err != nil {
		return "", err
	}
	var parents inter.EventIs
	for _, word := range words[1:] {
		var p inter.EventPayload
		if err := p.UnmarshalBinary(stdiorpc.Bytes(word)); err != nil {
			return "", err
		}
		parents = append(parents, &p)
	}
	var selfParent inter.EventI
	if e.SelfParent() != nil {
		selfParent = parents[0]
	}
	return sayings(basiccheck.New().Validate(&e), epochcheck.New(n).Validate(&e),
		parentscheck.New().Validate(&e, parents),
		gaspowercheck.New(n).Validate(&e, selfParent), n.heavy().ValidateEvent(&e)), nil
}

// sayings returns what checks said.
func sayings(errs ...error) string {
	words := make([]string, len(errs))
	for i, err := range errs {
		words[i] = fmt.Sprint(err)
	}
	return strings.Join(words, "; ")
}

func (n *network) heavy() *heavycheck.Checker {
	signer := types.LatestSignerForChainID(new(big.Int).SetUint64(n.state.Rules.NetworkID))
	return heavycheck.New(heavycheck.DefaultConfig(), n, signer)
}

// What the checks ask for.

func (n *network) GetEpochValidators() (*pos.Validators, idx.Epoch) {
	return n.state.Validators, n.state.Epoch
}

func (n *network) GetEpochRules() (opera.Rules, idx.Epoch) { return n.state.Rules, n.state.Epoch }

func (n *network) GetEpochPubKeys() (map[idx.ValidatorID]validatorpk.PubKey, idx.Epoch) {
	return keysOf(n.state.ValidatorProfiles), n.state.Epoch
}

func (n *network) GetEpochPubKeysOf(epoch idx.Epoch) map[idx.ValidatorID]validatorpk.PubKey {
	return n.past[epoch].keys
}

func (n *network) GetEpochBlockStart(epoch idx.Epoch) idx.Block { return n.past[epoch].block }

func (n *network) GetValidationContext() *gaspowercheck.ValidationContext {
	economy := &n.state.Rules.Economy
	ctx := &gaspowercheck.ValidationContext{
		Epoch: n.state.Epoch, Validators: n.state.Validators, EpochStart: n.state.EpochStart,
		ValidatorStates: make([]gaspowercheck.ValidatorState, len(n.state.ValidatorStates)),
	}
	for i, v := range n.state.ValidatorStates {
		ctx.ValidatorStates[i] = gaspowercheck.ValidatorState{PrevEpochEvent: v.PrevEpochEvent, GasRefund: v.GasRefund}
	}
	for i, rules := range []opera.GasPowerRules{inter.ShortTermGas: economy.ShortGasPower,
		inter.LongTermGas: economy.LongGasPower} {
		ctx.Configs[i] = gaspowercheck.Config{
			Idx: i, AllocPerSec: rules.AllocPerSec, MaxAllocPeriod: rules.MaxAllocPeriod,
			MinEnsuredAlloc: economy.Gas.MaxEventGas, StartupAllocPeriod: rules.StartupAllocPeriod,
			MinStartupGas: rules.MinStartupGas,
		}
	}
	return ctx
}
