package inter

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"

	"tarn/opera/inter/cser"
)

// Values of go-opera's tests (inter/inter_llr_test.go, inter/event_test.go).
var empty = sha256.Sum256(nil)

func signedLocator() SignedLocator {
	return SignedLocator{Locator: Locator{BaseHash: empty, NetForkID: 1, Epoch: 42, Seq: 9_000_000, Lamport: 142,
		Creator: 242, PayloadHash: empty}}
}

func signedBlockVotes() SignedBlockVotes {
	return SignedBlockVotes{signedLocator(), empty, empty, BlockVotes{9000, 342, [][32]byte{empty}}}
}

func signedEpochVote() SignedEpochVote {
	return SignedEpochVote{signedLocator(), empty, empty, EpochVote{42, empty}}
}

func proofs() []MisbehaviourProof {
	bvs, ev := signedBlockVotes(), signedEpochVote()
	return []MisbehaviourProof{
		{EventsDoublesign: &EventsDoublesign{[2]SignedLocator{signedLocator(), signedLocator()}}},
		{BlockVoteDoublesign: &BlockVoteDoublesign{9000, [2]SignedBlockVotes{bvs, bvs}}},
		{WrongBlockVote: &WrongBlockVote{9000, [2]SignedBlockVotes{bvs, bvs}, true}},
		{EpochVoteDoublesign: &EpochVoteDoublesign{[2]SignedEpochVote{ev, ev}}},
		{WrongEpochVote: &WrongEpochVote{[2]SignedEpochVote{ev, ev}}},
	}
}

func TestVotesAndProofsHaveGoOperasHashes(t *testing.T) {
	bvs, ev := signedBlockVotes(), signedEpochVote()
	for _, c := range []struct {
		what string
		hash [32]byte
		want string
	}{
		{"block votes", bvs.Val.Hash(), "7db20066868c07236a5f5641eac6a1ddb5cd1dc1602252a3672758056b4562a8"},
		{"payload of block votes", bvs.HashPayload(), "26b5c58d72b48f2ce40f5e18df4dda66f644839d00611b9a7812e8f9f708f143"},
		{"payload of an epoch vote", ev.HashPayload(), "e6c5f9d9e45f04b286c8361d8b5851f7ee16538f408ad86afa4d2b2612a10a75"},
		{"proofs", hashRLP(proofs()), "85834ef7fc1d75d65832b1f9b45b43c4f5677811bb2d384208553d32ab49def1"},
		{"no proofs", hashRLP([]MisbehaviourProof(nil)), "e4ff5e7d7a7f08e9800a3e25cb774533cb20040df30b6ba10f956f9acd0eb3f7"},
		{"no epoch vote", new(EpochVote).Hash(), "6db65fd59fd356f6729140571b5bcd6bb3b83492a16e1bf0a3884442fc3c8a0e"},
		{"no block votes", new(BlockVotes).Hash(), "374708fff7719dd5979ec875d56cd2286f6d3cf7ec317a3b25632aab28ec37bb"},
		{"an empty payload", (&Payload{Event: Event{Version: 1}}).HashPayload(), hex.EncodeToString(func() []byte { h := emptyPayload(1); return h[:] }())},
		{"an empty payload of version 0", new(Payload).HashPayload(), hex.EncodeToString(func() []byte { h := emptyPayload(0); return h[:] }())},
	} {
		if got := hex.EncodeToString(c.hash[:]); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
	var again []MisbehaviourProof
	raw := encode(t, proofs())
	if err := rlp.DecodeBytes(raw, &again); err != nil || !reflect.DeepEqual(again, proofs()) {
		t.Errorf("proofs come back as %+v: %v", again, err)
	}
}

// randomEvent returns a sealed event with anything in it.
func randomEvent(random *rand.Rand, version uint8) *Payload {
	hash := func() (h [32]byte) {
		for i := range h {
			h[i] = byte(random.Uint32())
		}
		return h
	}
	number := func() uint64 { return random.Uint64() >> random.IntN(64) }
	p := &Payload{Event: Event{
		Version: version, Epoch: Epoch(256 + number()>>33), Seq: Seq(number()), Frame: Frame(number()),
		Creator: ValidatorID(number()), Lamport: Lamport(random.Uint32()), CreationTime: Timestamp(number()),
		MedianTime: Timestamp(number()), GasPowerUsed: number(), GasPowerLeft: GasPower{[2]uint64{number(), number()}},
		Extra: make([]byte, random.IntN(40)),
	}}
	for range random.IntN(12) {
		p.Parents = append(p.Parents,
			NewEventID(p.Epoch, p.Lamport-Lamport(random.Uint32N(uint32(p.Lamport)+1)), hash()))
	}
	if random.IntN(2) == 0 {
		h := hash()
		p.PrevEpochHash = &h
	}
	if random.IntN(2) == 0 {
		for _, tx := range samples() {
			p.Txs = append(p.Txs, tx)
		}
	}
	if version > 0 {
		p.NetForkID = uint16(number())
		p.Proofs = proofs()[:random.IntN(6)]
		if random.IntN(2) == 0 {
			p.EpochVote = EpochVote{1 + Epoch(random.Uint32N(1000)), hash()}
		}
		if n := random.IntN(4); n > 0 {
			p.BlockVotes = BlockVotes{Start: 1 + BlockNumber(number()>>1), Epoch: 1 + Epoch(random.Uint32N(1000))}
			for range n {
				p.BlockVotes.Votes = append(p.BlockVotes.Votes, hash())
			}
		}
	}
	p.Signature = Signature(append(make([]byte, 32), make([]byte, 32)...))
	p.Signature[5] = byte(number())
	return p
}

func TestEventsComeBackWithTheirID(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for i := range 400 {
		p := randomEvent(random, uint8(i%2))
		if err := p.Seal(); err != nil {
			t.Fatal(err)
		}
		raw, err := p.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := DecodePayload(raw)
		if err != nil {
			t.Fatalf("%+v: %v", p.Event, err)
		}
		if again.ID() != p.ID() || again.SigningHash() != p.SigningHash() || again.Size() != p.Size() ||
			again.HashPayload() != again.PayloadHash {
			t.Fatalf("%v of %d bytes comes back as %v of %d", p.ID(), p.Size(), again.ID(), again.Size())
		}
		if encoded, err := again.Encode(); err != nil || !bytes.Equal(encoded, raw) {
			t.Fatalf("%x is encoded again as %x: %v", raw, encoded, err)
		}
		var s rlp.RawValue = encode(t, p)
		var third Payload
		if err := rlp.DecodeBytes(s, &third); err != nil || third.ID() != p.ID() {
			t.Fatalf("through RLP %v comes back as %v: %v", p.ID(), third.ID(), err)
		}
	}
}

func TestExtremeEventsComeBack(t *testing.T) {
	most := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 256), big.NewInt(1))
	p := &Payload{Event: Event{
		Epoch: math.MaxUint32, Seq: math.MaxUint32, Lamport: math.MaxUint32, Frame: math.MaxUint32,
		Creator:      math.MaxUint32,
		CreationTime: math.MaxUint64, GasPowerUsed: math.MaxUint64, Extra: bytes.Repeat([]byte{0xff}, 100),
	}}
	p.Parents = []EventID{NewEventID(p.Epoch, p.Lamport, empty), NewEventID(p.Epoch, 0, empty)}
	for range 200 {
		p.Txs = append(p.Txs, types.NewTx(&types.LegacyTx{Nonce: math.MaxUint64, GasPrice: most, Gas: math.MaxUint64,
			Value: most, Data: p.Extra, V: most, R: most, S: most}))
	}
	for _, median := range []Timestamp{0, 1, 1 << 63, math.MaxUint64} {
		p.MedianTime = median
		if err := p.Seal(); err != nil {
			t.Fatal(err)
		}
		raw, err := p.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if again, err := DecodePayload(raw); err != nil || again.ID() != p.ID() || again.MedianTime != median ||
			again.Txs[199].Hash() != p.Txs[199].Hash() {
			t.Errorf("median time %d: %v", median, err)
		}
	}
}

func TestEventsThatAreRefused(t *testing.T) {
	sealed := func(change func(p *Payload)) []byte {
		p := &Payload{Event: Event{Version: 1, Epoch: 2, Seq: 1, Frame: 1, Lamport: 1, Creator: 1}}
		p.Txs = types.Transactions{types.NewTx(&types.DynamicFeeTx{Gas: 21000})}
		p.EpochVote = EpochVote{1, empty}
		if err := p.Seal(); err != nil {
			t.Fatal(err)
		}
		change(p)
		var w cser.Writer
		if err := p.Event.write(&w); err != nil {
			t.Fatal(err)
		}
		w.Fixed(p.Signature[:])
		if p.AnyTxs {
			if err := writeRLP(&w, p.Txs); err != nil {
				t.Fatal(err)
			}
		}
		if p.AnyProofs {
			if err := writeRLP(&w, p.Proofs); err != nil {
				t.Fatal(err)
			}
		}
		if p.AnyEpochVote {
			p.EpochVote.write(&w)
		}
		return w.AppendTo(nil)
	}
	if _, err := DecodePayload(sealed(func(*Payload) {})); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(p *Payload)
		want   error
	}{
		"a type of transaction that Opera lacks":    {func(p *Payload) { p.Txs[0] = types.NewTx(&types.BlobTx{}) }, types.ErrTxTypeNotSupported},
		"no transactions where there should be":     {func(p *Payload) { p.Txs = nil }, cser.ErrNotCanonical},
		"no proofs where there should be":           {func(p *Payload) { p.AnyProofs = true }, cser.ErrNotCanonical},
		"a vote for epoch 0":                        {func(p *Payload) { p.EpochVote.Epoch = 0 }, cser.ErrNotCanonical},
		"a version of tomorrow":                     {func(p *Payload) { p.Version = 2 }, ErrUnknownVersion},
		"a hash of an empty payload that is marked": {func(p *Payload) { p.PayloadHash = emptyPayload(1) }, cser.ErrNotCanonical},
	} {
		if _, err := DecodePayload(sealed(c.change)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	early := &Payload{Event: Event{Epoch: 255}}
	if err := early.Seal(); !errors.Is(err, ErrTooLowEpoch) {
		t.Errorf("epoch 255 in version 0: %v", err)
	}
	above := &Payload{Event: Event{Version: 1, Epoch: 1, Lamport: 3, Parents: []EventID{NewEventID(1, 4, empty)}}}
	if err := above.Seal(); !errors.Is(err, ErrMalformedEvent) {
		t.Errorf("a parent with a greater lamport time: %v", err)
	}
}

func FuzzDecodePayload(f *testing.F) {
	random := rand.New(rand.NewPCG(1, 1))
	for i := range 20 {
		p := randomEvent(random, uint8(i%2))
		if err := p.Seal(); err != nil {
			f.Fatal(err)
		}
		raw, err := p.Encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		p, err := DecodePayload(raw)
		if err != nil {
			return
		}
		// A plain transaction with so little gas is only refused when it is written.
		for _, tx := range p.Txs {
			if p.Version == 0 && tx.Type() == types.LegacyTxType && tx.Gas() < 256 {
				return
			}
		}
		encoded, err := p.Encode()
		if err != nil {
			t.Fatalf("%x is decoded, and cannot be encoded: %v", raw, err)
		}
		again, err := DecodePayload(encoded)
		if err != nil || again.ID() != p.ID() {
			t.Fatalf("%x is encoded as %x, another event: %v", raw, encoded, err)
		}
	})
}
