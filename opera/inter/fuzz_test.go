package inter

import (
	"bytes"
	"testing"

	"github.com/ethereum/go-ethereum/rlp"
)

// newHashed are values that are hashed as they were decoded.
func newHashed(kind byte) any {
	switch kind % 8 {
	case 0:
		return new([]MisbehaviourProof)
	case 1:
		return new(SignedBlockVotes)
	case 2:
		return new(SignedEpochVote)
	case 3:
		return new(BlockRecord)
	case 4:
		return new(EpochRecord)
	case 5:
		return new(EpochPack)
	case 6:
		return new(struct{ Rules Rules })
	}
	return new([]UpgradeHeight)
}

// FuzzDecodeRLP decodes proofs, votes, records and rules. What is accepted can be hashed, and
// comes back the same from an encoding made anew.
func FuzzDecodeRLP(f *testing.F) {
	add := func(kind byte, v any) {
		raw, err := rlp.EncodeToBytes(v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(kind, raw)
	}
	bvs, ev := signedBlockVotes(), signedEpochVote()
	record := EpochRecord{states(f), 11}
	add(0, proofs())
	add(1, &bvs)
	add(2, &ev)
	block := &BlockRecord{Number: 3}
	for _, tx := range samples() {
		block.Block.Txs = append(block.Block.Txs, tx)
	}
	add(3, block)
	add(4, &record)
	add(5, &EpochPack{[]SignedEpochVote{ev}, record})
	add(6, &struct{ Rules Rules }{FakeRules()})
	add(7, []UpgradeHeight{{Upgrades{London: true}, 7}})
	f.Fuzz(func(t *testing.T, kind byte, raw []byte) {
		v := newHashed(kind)
		if rlp.DecodeBytes(raw, v) != nil {
			return
		}
		switch v := v.(type) {
		case *BlockRecord:
			v.Block.Hash()
		case *EpochRecord:
			v.State.Hash()
		}
		first, err := rlp.EncodeToBytes(v)
		if err != nil {
			t.Fatalf("%x is decoded, and cannot be encoded: %v", raw, err)
		}
		again := newHashed(kind)
		if err := rlp.DecodeBytes(first, again); err != nil {
			t.Fatalf("%x is encoded as %x, which is not decoded: %v", raw, first, err)
		}
		if second, err := rlp.EncodeToBytes(again); err != nil || !bytes.Equal(first, second) {
			t.Fatalf("%x is encoded as %x, and that as %x: %v", raw, first, second, err)
		}
	})
}

// FuzzUpdateRules changes rules by any JSON. What comes out can be stored.
func FuzzUpdateRules(f *testing.F) {
	f.Add([]byte(`{"Dag":{"MaxParents":5},"Economy":{"MinGasPrice":7},"upgrades":{"london":false}}`))
	f.Add([]byte(`{"Economy":{"MinGasPrice":null}}`))
	f.Fuzz(func(t *testing.T, changes []byte) {
		rules, err := FakeRules().Update(changes)
		raw, wrong := rlp.EncodeToBytes(&struct{ Rules Rules }{rules})
		if wrong != nil {
			t.Fatalf("%q makes rules that cannot be encoded: %v", changes, wrong)
		}
		var again struct{ Rules Rules }
		if wrong := rlp.DecodeBytes(raw, &again); wrong != nil || again.Rules.String() != rules.String() {
			t.Fatalf("%q makes rules that come back otherwise: %v", changes, wrong)
		}
		if rules.Name != "fake" || rules.NetworkID != FakeNetwork ||
			err != nil && rules.String() != FakeRules().String() {
			t.Fatalf("%q changes what stays: %v", changes, rules)
		}
	})
}
