package consensus

import (
	"math/rand/v2"
	"testing"

	"tarn/antelope/serial"
	"tarn/antelope/types"
)

func leaf(rng *rand.Rand) (c types.Checksum256) {
	for i := range c {
		c[i] = byte(rng.Uint32())
	}
	return c
}

func TestIncrementalMerkleHasTheRootOfTheWholeTree(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	var m IncrementalMerkle
	var leaves []types.Checksum256
	if m.Root() != MerkleRoot(nil) {
		t.Fatal("roots of empty trees differ")
	}
	for range 600 {
		next := leaf(rng)
		before, copied := m, m.Append(nil)
		leaves = append(leaves, next)
		m = m.With(next)
		if string(before.Append(nil)) != string(copied) {
			t.Fatalf("seed %d: growing changed the tree of %d leaves", seed, before.Count())
		}
		if got, want := m.Root(), MerkleRoot(append([]types.Checksum256(nil), leaves...)); got != want {
			t.Fatalf("seed %d: root of %d leaves is %s, want %s", seed, len(leaves), got, want)
		}
		var again IncrementalMerkle
		if err := types.Decode(m.Append(nil), &again); err != nil || !again.Equal(m) {
			t.Fatalf("seed %d: tree of %d leaves does not survive its encoding: %v", seed, len(leaves), err)
		}
	}
}

// By hand: three leaves, the last one repeated.
func TestMerkleRootMarksTheSides(t *testing.T) {
	a, b, c := types.Checksum256{0xff}, types.Checksum256{1}, types.Checksum256{0x80, 3}
	hash := func(left, right types.Checksum256) types.Checksum256 {
		left[0] &= 0x7f
		right[0] |= 0x80
		return types.Hash(append(left.Append(nil), right[:]...))
	}
	if MerkleRoot([]types.Checksum256{a}) != a {
		t.Error("a single leaf is not its root")
	}
	if got, want := MerkleRoot([]types.Checksum256{a, b, c}), hash(hash(a, b), hash(c, c)); got != want {
		t.Errorf("root %s, want %s", got, want)
	}
}

func FuzzIncrementalMerkle(f *testing.F) {
	var m IncrementalMerkle
	f.Add(m.Append(nil))
	for i := range 5 {
		m = m.With(types.Checksum256{byte(i)})
		f.Add(m.Append(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var m IncrementalMerkle
		r := serial.NewReader(b)
		if m.Read(r); r.Err() != nil {
			return
		}
		if got := m.Append(nil); string(got) != string(b[:r.Offset()]) {
			// Lengths may have been encoded in more bytes than need be.
			var again IncrementalMerkle
			if err := types.Decode(got, &again); err != nil || !again.Equal(m) {
				t.Fatalf("%x became %x", b, got)
			}
		}
		for i := range 5 {
			if m = m.With(types.Checksum256{byte(i)}); !m.wellFormed() {
				t.Fatalf("%x grows into a tree of %d nodes for %d leaves", b, len(m.nodes), m.count)
			}
		}
	})
}
