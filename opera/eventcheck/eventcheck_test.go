package eventcheck

import (
	"crypto/ecdsa"
	"errors"
	"fmt"
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"tarn/opera/inter"
)

// world is an epoch of two validators, and an event that passes all checks in it.
type world struct {
	keys       map[inter.ValidatorID]*ecdsa.PrivateKey
	state      *inter.EpochState
	epoch      *Epoch
	signatures *Signatures
	parents    []*inter.Event
	event      *inter.Payload
}

const second = inter.Timestamp(1e9)

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{keys: map[inter.ValidatorID]*ecdsa.PrivateKey{}}
	profiles := inter.Profiles{}
	for id := inter.ValidatorID(1); id <= 2; id++ {
		key, err := crypto.ToECDSA(crypto.Keccak256([]byte{byte(id)}))
		if err != nil {
			t.Fatal(err)
		}
		w.keys[id] = key
		profiles[id] = inter.Profile{Weight: big.NewInt(int64(id)),
			PublicKey: inter.PublicKey{Type: inter.Secp256k1Key, Raw: crypto.FromECDSAPub(&key.PublicKey)}}
	}
	validators, err := profiles.Validators()
	if err != nil {
		t.Fatal(err)
	}
	w.state = &inter.EpochState{
		Epoch: 9, EpochStart: 1000 * second, Validators: validators, Profiles: profiles, Rules: inter.FakeRules(),
		ValidatorStates: make([]inter.ValidatorEpochState, 2),
	}
	w.epoch = NewEpoch(w.state)
	w.signatures = &Signatures{
		Epoch: 9, Profiles: profiles, Signer: types.NewLondonSigner(big.NewInt(int64(inter.FakeNetwork))),
		Past: func(e inter.Epoch) (Beginning, bool) {
			return Beginning{LastBlock: 100 * inter.BlockNumber(e), Profiles: profiles}, e >= 2 && e <= 9
		},
	}
	w.parents = []*inter.Event{
		{Epoch: 9, Seq: 4, Lamport: 6, Creator: 1, CreationTime: 1010 * second, MedianTime: 1009 * second,
			GasPowerLeft: inter.GasPower{Gas: [2]uint64{1e6, 2e6}}},
		{Epoch: 9, Seq: 5, Lamport: 7, Creator: 2, CreationTime: 1011 * second, MedianTime: 1010 * second},
	}
	w.event = &inter.Payload{Event: inter.Event{
		Version: 1, Epoch: 9, Seq: 5, Frame: 2, Lamport: 8, Creator: 1, CreationTime: 1012 * second,
		MedianTime: 1011 * second,
		Parents:    []inter.EventID{inter.NewEventID(9, 6, [32]byte{1}), inter.NewEventID(9, 7, [32]byte{2})},
	}}
	tx, err := types.SignNewTx(w.keys[1], w.signatures.Signer, &types.DynamicFeeTx{
		ChainID: big.NewInt(int64(inter.FakeNetwork)), GasTipCap: new(big.Int), GasFeeCap: big.NewInt(2e9), Gas: 30_000,
		To: &common.Address{},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.event.Txs = types.Transactions{tx}
	w.event.EpochVote = inter.EpochVote{Epoch: 8, Vote: [32]byte{1}}
	w.event.BlockVotes = inter.BlockVotes{Start: 810, Epoch: 8, Votes: [][32]byte{{1}, {2}}}
	w.finish(t, w.event)
	return w
}

// finish makes gas, hashes and signature of an event right.
func (w *world) finish(t *testing.T, p *inter.Payload) {
	t.Helper()
	p.GasPowerUsed = GasUsed(p, &w.state.Rules)
	power, err := w.epoch.GasPower(&p.Event, w.parents[0])
	if err == nil {
		p.GasPowerLeft = power.Sub(p.GasPowerUsed)
	}
	w.sign(t, p)
}

func (w *world) sign(t *testing.T, p *inter.Payload) {
	t.Helper()
	if err := p.Seal(); err != nil {
		t.Fatal(err)
	}
	hash := p.SigningHash()
	sig, err := crypto.Sign(hash[:], w.keys[1])
	if err != nil {
		t.Fatal(err)
	}
	copy(p.Signature[:], sig)
}

func (w *world) check() error {
	for _, check := range []func() error{
		func() error { return Basic(w.event) },
		func() error { return w.epoch.Check(w.event) },
		func() error { return Parents(&w.event.Event, w.parents) },
		func() error { return w.epoch.CheckGasPower(&w.event.Event, w.parents[0]) },
		func() error {
			err := w.signatures.Event(w.event, Ahead{})
			if again := w.signatures.Event(w.event, w.signatures.Ahead(w.event)); !errors.Is(again, err) {
				return fmt.Errorf("%w; checked ahead: %w", err, again)
			}
			return err
		},
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// What was found right ahead is not checked again, and counts only if the creator has the same key still.
func TestWhatWasFoundAheadCountsForTheSameKey(t *testing.T) {
	w := newWorld(t)
	ahead := w.signatures.Ahead(w.event)
	right := w.event.Signature
	w.event.Signature[5]++
	if err := w.signatures.Event(w.event, Ahead{}); !errors.Is(err, ErrWrongEventSig) {
		t.Errorf("a wrong signature: %v", err)
	}
	if err := w.signatures.Event(w.event, ahead); err != nil {
		t.Errorf("the signature was found right, and is checked again: %v", err)
	}
	w.event.Signature = right
	key, err := crypto.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	profile := w.signatures.Profiles[1]
	profile.PublicKey = inter.PublicKey{Type: inter.Secp256k1Key, Raw: crypto.FromECDSAPub(&key.PublicKey)}
	w.signatures.Profiles[1] = profile
	if err := w.signatures.Event(w.event, ahead); !errors.Is(err, ErrWrongEventSig) {
		t.Errorf("the creator has another key now: %v", err)
	}
	w.signatures.Profiles[1] = inter.Profile{Weight: profile.Weight}
	if err := w.signatures.Event(w.event, Ahead{}); !errors.Is(err, ErrWrongEventSig) {
		t.Errorf("the creator has no key now: %v", err)
	}
}

func TestAnEventThatIsRightPasses(t *testing.T) {
	if err := newWorld(t).check(); err != nil {
		t.Error(err)
	}
}

// Each change breaks one rule, and that rule's error comes.
func TestEachRuleHasItsError(t *testing.T) {
	unsigned := types.NewTx(&types.LegacyTx{Gas: 21_000, GasPrice: big.NewInt(2e9), To: &common.Address{},
		V: new(big.Int), R: new(big.Int), S: new(big.Int)})
	for i, c := range []struct {
		change func(w *world, p *inter.Payload)
		want   error
	}{
		{func(w *world, p *inter.Payload) { p.NetForkID = 1 }, ErrWrongNetForkID},
		{func(w *world, p *inter.Payload) { p.Seq = inter.MaxNumber }, ErrHugeValue},
		{func(w *world, p *inter.Payload) { p.Frame = inter.MaxNumber }, ErrHugeValue},
		{func(w *world, p *inter.Payload) { p.Frame = 0 }, ErrNotInited},
		{func(w *world, p *inter.Payload) { p.Seq = 0 }, ErrNotInited},
		{func(w *world, p *inter.Payload) { p.Parents = nil }, ErrNoParents},
		{func(w *world, p *inter.Payload) { p.Parents[1] = p.Parents[0] }, ErrDoubleParents},
		{func(w *world, p *inter.Payload) { p.GasPowerLeft.Gas[0] = 1<<63 - 2 }, ErrHugeValue},
		{func(w *world, p *inter.Payload) { p.MedianTime = 0 }, ErrZeroTime},
		{func(w *world, p *inter.Payload) {
			p.Txs = types.Transactions{types.NewTx(&types.LegacyTx{Gas: 20_999, GasPrice: big.NewInt(2e9),
				To: &common.Address{}})}
		}, ErrIntrinsicGas},
		{func(w *world, p *inter.Payload) {
			p.Txs = types.Transactions{types.NewTx(&types.DynamicFeeTx{Gas: 60_000, GasTipCap: big.NewInt(3e9),
				GasFeeCap: big.NewInt(2e9)})}
		}, ErrTipAboveFeeCap},
		{func(w *world, p *inter.Payload) { p.EpochVote.Epoch = 10 }, ErrFutureEV},
		{func(w *world, p *inter.Payload) { p.EpochVote.Vote = [32]byte{} }, ErrMalformedEV},
		{func(w *world, p *inter.Payload) { p.BlockVotes.Epoch = 10 }, ErrFutureBVs},
		{func(w *world, p *inter.Payload) { p.BlockVotes.Start = 1 << 62 }, ErrHugeValue},
		{func(w *world, p *inter.Payload) { p.BlockVotes.Votes = make([][32]byte, 65) }, ErrTooManyBVs},
		{func(w *world, p *inter.Payload) { p.BlockVotes.Epoch = 0 }, ErrMalformedBVs},
		{func(w *world, p *inter.Payload) { p.Proofs = make([]inter.MisbehaviourProof, 1) }, ErrMalformedProof},

		{func(w *world, p *inter.Payload) { w.state.Epoch = 8 }, ErrNotRelevant},
		{func(w *world, p *inter.Payload) { p.Creator = 3 }, ErrAuth},
		{func(w *world, p *inter.Payload) { w.state.Rules.Dag.MaxParents = 1 }, ErrTooManyParents},
		{func(w *world, p *inter.Payload) { p.Extra = make([]byte, 129) }, ErrTooBigExtra},
		{func(w *world, p *inter.Payload) { w.state.Rules.Economy.Gas.MaxEventGas = 1 }, ErrTooBigGasUsed},
		{func(w *world, p *inter.Payload) { p.GasPowerUsed++ }, ErrWrongGasUsed},
		{func(w *world, p *inter.Payload) { w.state.Rules.Upgrades.London = false }, ErrUnsupportedTxType},
		{func(w *world, p *inter.Payload) { w.state.Rules.Economy.MinGasPrice = big.NewInt(3e9) }, ErrUnderpriced},
		{func(w *world, p *inter.Payload) { w.state.Rules.Upgrades.Llr = false }, ErrWrongVersion},

		{func(w *world, p *inter.Payload) { p.Lamport++ }, ErrWrongLamport},
		{func(w *world, p *inter.Payload) { w.parents[1].Creator = 1 }, ErrWrongSelfParent},
		{func(w *world, p *inter.Payload) { w.parents[0].Creator = 2 }, ErrWrongSelfParent},
		{func(w *world, p *inter.Payload) { p.Seq++ }, ErrWrongSeq},
		{func(w *world, p *inter.Payload) { p.CreationTime = w.parents[0].CreationTime }, ErrPastTime},
		{func(w *world, p *inter.Payload) { p.GasPowerLeft.Gas[1]++ }, ErrWrongGasPowerLeft},

		{func(w *world, p *inter.Payload) { p.Signature[3]++ }, ErrWrongEventSig},
		{func(w *world, p *inter.Payload) { p.EpochVote.Vote[0]++ }, ErrWrongPayloadHash},
	} {
		w := newWorld(t)
		c.change(w, w.event)
		// What is signed and paid is the event before the change.
		if got := w.check(); !errors.Is(got, c.want) {
			t.Errorf("change %d: %v, want %v", i, got, c.want)
		}
	}
	for i, c := range []struct {
		change func(p *inter.Payload)
		want   error
	}{
		{func(p *inter.Payload) { p.Txs[0] = unsigned }, ErrMalformedTxSig},
		{func(p *inter.Payload) { p.EpochVote.Epoch = 2 }, ErrUnknownEpochEV},
		{func(p *inter.Payload) { p.BlockVotes.Epoch = 1 }, ErrUnknownEpochBVs},
		{func(p *inter.Payload) { p.BlockVotes.Start = 799 }, ErrImpossibleBVsEpoch},
		{func(p *inter.Payload) { p.BlockVotes.Start = 800 + 32640 - 1 }, ErrImpossibleBVsEpoch},
		{func(p *inter.Payload) { p.BlockVotes.Start = 800 + 32640 - 2 }, nil},
	} {
		w := newWorld(t)
		c.change(w.event)
		w.finish(t, w.event)
		if got := w.check(); !errors.Is(got, c.want) {
			t.Errorf("signed change %d: %v, want %v", i, got, c.want)
		}
	}
}

func TestAKeyMustNotHaveChangedSinceWhatIsVotedFor(t *testing.T) {
	for _, epoch := range []inter.Epoch{7, 8} {
		w := newWorld(t)
		past := w.signatures.Past
		w.signatures.Past = func(e inter.Epoch) (Beginning, bool) {
			b, ok := past(e)
			if e == epoch {
				b.Profiles = b.Profiles.Copy()
				b.Profiles[1] = inter.Profile{Weight: big.NewInt(1), PublicKey: b.Profiles[2].PublicKey}
			}
			return b, ok
		}
		if err := w.check(); !errors.Is(err, ErrPubkeyChanged) {
			t.Errorf("another key in epoch %d: %v", epoch, err)
		}
	}
}

func TestGasPowerGrowsWithTimeUpToABound(t *testing.T) {
	w := newWorld(t)
	rules := &w.state.Rules.Economy
	rules.ShortGasPower = inter.GasPowerRules{AllocPerSec: 3e6, MaxAllocPeriod: 100*second + 1,
		StartupAllocPeriod: 5*second/2 + 1, MinStartupGas: 7}
	rules.Gas.MaxEventGas = 50
	e := &inter.Event{Epoch: 9, Creator: 1, MedianTime: 1002*second + 1} // a third of the weight: a million a second
	first := func() uint64 {
		p, err := w.epoch.GasPower(e, nil)
		if err != nil {
			t.Fatal(err)
		}
		return p.Gas[inter.Short]
	}
	state := &w.state.ValidatorStates[1] // the one with less weight comes last
	for i, c := range []struct {
		change func()
		want   uint64
	}{
		{func() {}, 2e6 + 2e6}, // startup counts whole seconds
		{func() { state.GasRefund = 3e6 }, 3e6 + 2e6},
		{func() {
			state.PrevEpochEvent = inter.EventInfo{ID: inter.EventID{1},
				GasPowerLeft: inter.GasPower{Gas: [2]uint64{5e6, 0}}, Time: 1001 * second}
		}, 8e6 + 1e6},
		{func() { state.PrevEpochEvent.Time = 2000 * second }, 8e6},
		{func() { state.PrevEpochEvent.Time = 1 }, 100e6},
		{func() { rules.Gas.MaxEventGas = 200e6 }, 200e6},
	} {
		c.change()
		if got := first(); got != c.want {
			t.Errorf("step %d: %d, want %d", i, got, c.want)
		}
	}
	parent := &inter.Event{MedianTime: 1001 * second, GasPowerLeft: inter.GasPower{Gas: [2]uint64{9, 9}}}
	if p, err := w.epoch.GasPower(e, parent); err != nil || p.Gas[inter.Short] != 1e6+9 {
		t.Errorf("after a self-parent: %v, %v", p, err)
	}
}

func TestProofs(t *testing.T) {
	at := func(creator inter.ValidatorID, epoch inter.Epoch, mark byte) inter.SignedLocator {
		return inter.SignedLocator{Locator: inter.Locator{BaseHash: [32]byte{mark}, Epoch: epoch, Seq: 3, Lamport: 4,
			Creator: creator}}
	}
	votes := func(creator inter.ValidatorID, epoch inter.Epoch, start inter.BlockNumber,
		mark byte) inter.SignedBlockVotes {
		return inter.SignedBlockVotes{Signed: at(creator, 40_000, mark),
			Val: inter.BlockVotes{Start: start, Epoch: epoch, Votes: [][32]byte{{mark}, {mark}}}}
	}
	vote := func(creator inter.ValidatorID, epoch inter.Epoch, mark byte) inter.SignedEpochVote {
		return inter.SignedEpochVote{Signed: at(creator, 40_000, mark),
			Val: inter.EpochVote{Epoch: epoch, Vote: [32]byte{mark}}}
	}
	type proofs = inter.MisbehaviourProof
	events := func(a, b inter.SignedLocator) proofs {
		return proofs{EventsDoublesign: &inter.EventsDoublesign{Pair: [2]inter.SignedLocator{a, b}}}
	}
	blocks := func(block inter.BlockNumber, a, b inter.SignedBlockVotes) proofs {
		return proofs{BlockVoteDoublesign: &inter.BlockVoteDoublesign{Block: block,
			Pair: [2]inter.SignedBlockVotes{a, b}}}
	}
	wrong := func(block inter.BlockNumber, epoch bool, a, b inter.SignedBlockVotes) proofs {
		return proofs{WrongBlockVote: &inter.WrongBlockVote{Block: block, WrongEpoch: epoch,
			Pals: [2]inter.SignedBlockVotes{a, b}}}
	}
	double := func(a, b inter.SignedEpochVote) proofs {
		return proofs{EpochVoteDoublesign: &inter.EpochVoteDoublesign{Pair: [2]inter.SignedEpochVote{a, b}}}
	}
	pals := func(a, b inter.SignedEpochVote) proofs {
		return proofs{WrongEpochVote: &inter.WrongEpochVote{Pals: [2]inter.SignedEpochVote{a, b}}}
	}
	for i, c := range []struct {
		p    proofs
		want error
	}{
		{events(at(1, 7300, 1), at(1, 7300, 2)), nil},
		{events(at(1, 7300, 1), at(2, 7300, 2)), ErrWrongAccused},
		{events(at(1, 7300, 1), at(1, 7301, 2)), ErrNoCrime},
		{events(at(1, 7300, 1), at(1, 7300, 1)), ErrNoCrime},
		{events(at(1, 7231, 1), at(1, 7231, 2)), ErrProofTooLate},
		{blocks(11, votes(1, 7300, 10, 1), votes(1, 7300, 11, 2)), nil},
		{blocks(11, votes(1, 7300, 10, 1), votes(1, 7301, 11, 1)), nil},
		{blocks(11, votes(1, 7300, 10, 1), votes(1, 7300, 11, 1)), ErrNoCrime},
		{blocks(12, votes(1, 7300, 10, 1), votes(1, 7300, 11, 2)), ErrWrongProof},
		{blocks(10, votes(1, 7300, 10, 1), votes(1, 7300, 11, 2)), ErrWrongProof},
		{blocks(11, votes(1, 7300, 10, 1), votes(2, 7300, 11, 2)), ErrWrongAccused},
		{blocks(11, votes(1, 7231, 10, 1), votes(1, 7300, 11, 2)), ErrProofTooLate},
		{blocks(11, votes(1, 0, 0, 1), votes(1, 7300, 11, 2)), ErrMalformedBVs},
		{wrong(11, false, votes(1, 7300, 10, 1), votes(2, 7301, 11, 1)), nil},
		{wrong(11, false, votes(1, 7300, 10, 1), votes(2, 7300, 11, 2)), ErrNoCrime},
		{wrong(11, true, votes(1, 7300, 10, 1), votes(2, 7300, 11, 2)), nil},
		{wrong(11, true, votes(1, 7300, 10, 1), votes(2, 7301, 11, 1)), ErrNoCrime},
		{wrong(11, false, votes(1, 7300, 10, 1), votes(1, 7300, 11, 1)), ErrWrongAccused},
		{wrong(12, false, votes(1, 7300, 10, 1), votes(2, 7300, 11, 1)), ErrWrongProof},
		{wrong(11, false, votes(1, 7231, 10, 1), votes(2, 7300, 11, 1)), ErrProofTooLate},
		{double(vote(1, 7300, 1), vote(1, 7300, 2)), nil},
		{double(vote(1, 7300, 1), vote(1, 7300, 1)), ErrNoCrime},
		{double(vote(1, 7300, 1), vote(1, 7301, 2)), ErrNoCrime},
		{double(vote(1, 7300, 1), vote(2, 7300, 2)), ErrWrongAccused},
		{double(vote(1, 7231, 1), vote(1, 7231, 2)), ErrProofTooLate},
		{double(vote(1, 0, 0), vote(1, 7231, 2)), ErrEmptyEV},
		{pals(vote(1, 7300, 1), vote(2, 7300, 1)), nil},
		{pals(vote(1, 7300, 1), vote(2, 7300, 2)), ErrNoCrime},
		{pals(vote(1, 7300, 1), vote(1, 7300, 1)), ErrWrongAccused},
		{pals(vote(1, 7231, 1), vote(2, 7231, 1)), ErrProofTooLate},
		{proofs{}, ErrMalformedProof},
		{proofs{EventsDoublesign: events(at(1, 7300, 1), at(1, 7300, 2)).EventsDoublesign,
			WrongEpochVote: pals(vote(1, 7300, 1), vote(2, 7300, 1)).WrongEpochVote}, ErrMalformedProof},
	} {
		if got := proof(40_000, &c.p); !errors.Is(got, c.want) {
			t.Errorf("proof %d: %v, want %v", i, got, c.want)
		}
	}
}

func TestOnlyErrorsThatAreTheSendersFaultBan(t *testing.T) {
	for err, want := range map[error]bool{
		nil: false, ErrNotRelevant: false, ErrUndecidedER: false, ErrAuth: true,
		fmt.Errorf("event 1: %w", ErrAlreadyConnected): false, fmt.Errorf("event 1: %w", ErrWrongSeq): true,
	} {
		if Bans(err) != want {
			t.Errorf("%v bans: %v, want %v", err, !want, want)
		}
	}
}
