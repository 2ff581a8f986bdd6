package epoch

import (
	"encoding/binary"
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"tarn/opera/inter"
)

// say is a log of the driver contract with an indexed number.
func say(signature string, id uint64, data []byte) *types.Log {
	return &types.Log{Address: Driver(),
		Topics: []common.Hash{crypto.Keccak256Hash([]byte(signature)), common.BigToHash(number(id))}, Data: data}
}

func words(numbers ...uint64) []byte {
	var out []byte
	for _, n := range numbers {
		out = append(out, common.BigToHash(number(n)).Bytes()...)
	}
	return out
}

// text is what a log holds that has one string of bytes.
func text(b []byte) []byte { return NewCall(0).Bytes(b).Encode()[4:] }

func listener(t *testing.T) *Block {
	bs, es := states(t)
	b := begin(t, bs, es, atropos(5))
	b.Decide()
	return b
}

func TestTheDriverSetsWeightsAndKeys(t *testing.T) {
	const weight, key = "UpdateValidatorWeight(uint256,uint256)", "UpdateValidatorPubkey(uint256,bytes)"
	b := listener(t)
	for _, l := range []*types.Log{
		say(weight, 5, words(77)), say(weight, 3, words(0)), say(weight, 20, words(1, 2, 3)),
		say(key, 8, text([]byte{1, 2, 3})), say(key, 5, text(nil)),
		say(weight, 1<<32+21, words(9)), // four bytes of an id count
	} {
		if err := b.Log(l); err != nil {
			t.Error(err)
		}
	}
	want := inter.Profiles{
		5:  {Weight: big.NewInt(77)},
		8:  {Weight: big.NewInt(10), PublicKey: inter.PublicKey{Type: 1, Raw: []byte{2, 3}}},
		20: {Weight: big.NewInt(1)}, 21: {Weight: big.NewInt(9)},
	}
	if len(b.State.NextProfiles) != len(want) {
		t.Errorf("%v", b.State.NextProfiles)
	}
	for id, w := range want {
		if p := b.State.NextProfiles[id]; p.Weight == nil || p.Weight.Cmp(w.Weight) != 0 ||
			!p.PublicKey.Equal(w.PublicKey) {
			t.Errorf("validator %d: %v, want %v", id, p, w)
		}
	}
	if b.Epoch.Profiles[5].Weight.Int64() != 30 {
		t.Error("the present epoch has changed")
	}
	// These say nothing.
	before := b.State.Hash()
	other := say(weight, 8, words(1))
	other.Address = common.Address{}
	short := say(weight, 8, words(1)[:31])
	few := say(weight, 8, words(1))
	few.Topics = few.Topics[:1]
	none := say(weight, 8, words(1))
	none.Topics = nil
	for _, l := range []*types.Log{other, short, few, none, say("Nothing()", 8, words(1))} {
		if err := b.Log(l); err != nil || b.State.Hash() != before {
			t.Errorf("%v changes something: %v", l, err)
		}
	}
	if err := b.Log(say(key, 3, text([]byte{1}))); err == nil || b.State.Hash() != before {
		t.Errorf("a key of no validator: %v", err)
	}
}

func TestTheDriverChangesRules(t *testing.T) {
	const rules = "UpdateNetworkRules(bytes)"
	b := listener(t)
	for _, diff := range []string{`{"Dag":{"MaxParents":5}}`, `{"economy":{"MinGasPrice":12},"Name":"x"}`} {
		if err := b.Log(say(rules, 0, text([]byte(diff)))); err != nil {
			t.Error(err)
		}
	}
	if r := b.State.DirtyRules; r == nil || r.Dag.MaxParents != 5 || r.Dag.MaxFreeParents != 3 ||
		r.Economy.MinGasPrice.Int64() != 12 || r.Name != "fake" {
		t.Errorf("%v", r)
	}
	if b.Epoch.Rules.Dag.MaxParents != 10 {
		t.Error("the present rules have changed")
	}
	before := b.State.Hash()
	for what, data := range map[string][]byte{"no JSON": text([]byte("{")), "one word": words(32)[:32]} {
		err := b.Log(say(rules, 0, data))
		if b.State.Hash() != before || (err == nil) != (what == "one word") {
			t.Errorf("%s: %v", what, err)
		}
	}
	// After a seal they build on the next epoch's rules.
	if err := b.Seal(); err != nil {
		t.Fatal(err)
	}
	if err := b.Log(say(rules, 0, text([]byte(`{"Dag":{"MaxExtraData":1}}`)))); err != nil {
		t.Error(err)
	}
	if r := b.State.DirtyRules; r == nil || r.Dag.MaxParents != 5 || r.Dag.MaxExtraData != 1 {
		t.Errorf("%v", r)
	}
}

func TestTheDriverAdvancesEpochsAndVersions(t *testing.T) {
	const advance = "AdvanceEpochs(uint256)"
	b := listener(t)
	for _, c := range []struct {
		n    uint64
		want inter.Epoch
	}{{3, 3}, {1<<24 + 2, 5}, {1 << 20, 65536}, {1, 65536}} {
		if err := b.Log(say(advance, 0, words(c.n))); err != nil || b.State.AdvanceEpochs != c.want {
			t.Errorf("%d more: %d, want %d: %v", c.n, b.State.AdvanceEpochs, c.want, err)
		}
	}
	if b.Version != nil {
		t.Error("a version that nobody named")
	}
	if err := b.Log(say("UpdateNetworkVersion(uint256)", 0, words(1_000_001_000_003))); err != nil ||
		b.Version == nil || *b.Version != 1_000_001_000_003 {
		t.Errorf("version %v: %v", b.Version, err)
	}
}

func TestAStringOfBytesIsWhereTheLogSays(t *testing.T) {
	at := func(offset, size uint64, more int) []byte {
		b := append(words(offset, size), make([]byte, more)...)
		return b
	}
	// An offset that wraps points into the log's front: here to the size in the
	// first word's bytes 15 to 22.
	wrapped := make([]byte, 64)
	binary.BigEndian.PutUint64(wrapped[24:], 1<<64-9)
	binary.BigEndian.PutUint64(wrapped[15:], 4)
	copy(wrapped[23:], "\x00\xff\xff\xff")
	for _, c := range []struct {
		what string
		data []byte
		want int // length, -1 for an error
	}{
		{"all of it", at(32, 40, 40), 40}, {"a byte more", at(32, 41, 40), -1}, {"none", at(32, 0, 0), 0},
		{"an offset at the end", at(64, 0, 0), -1}, {"one before the end", at(63, 0, 0), -1},
		{"a size that wraps", at(32, 1<<64-40, 40), -1}, {"an offset that half wraps", at(1<<64-30, 0, 40), -1},
		{"31 bytes", words(0)[:31], -1}, {"itself", at(0, 0, 0), 0},
	} {
		got, err := bytesArgument(c.data)
		if (err != nil) != (c.want < 0) || err == nil && len(got) != c.want {
			t.Errorf("%s: %x, %v", c.what, got, err)
		}
	}
	// offset+24 is 15, offset+32 is 23.
	if got, err := bytesArgument(wrapped); err != nil || string(got) != string(wrapped[23:27]) {
		t.Errorf("an offset that wraps: %x, %v", got, err)
	}
}
