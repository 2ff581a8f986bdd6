package consensus

import (
	"cmp"
	"encoding/binary"

	"tarn/antelope/feature"
	"tarn/antelope/types"
)

// order says which of two branches is preferred, by their last blocks. Before Savanna's rules that is the one
// of which more is irreversible, then the longer one; of proper blocks see compareProper. Leap leaves equals as
// they came. Spring, whose nodes alone follow a chain where SAVANNA is active, prefers the greater id.
type order struct{ set *feature.Set }

// better tells whether a is preferred to b.
func (o order) better(a, b *HeaderState) bool { return o.compare(a, b) > 0 }

// compare is 0 for blocks that are equals by Leap's rules (Leap: first_preferred; Spring: fork_database.cpp,
// by_best_branch_legacy_t).
func (o order) compare(a, b *HeaderState) int {
	if a.IsProper() || b.IsProper() {
		return compareProper(a, b)
	}
	return cmp.Or(cmp.Compare(a.LIB(), b.LIB()), cmp.Compare(a.BlockNum, b.BlockNum), o.compareTied(a, b))
}

// compareTied compares blocks of which as much is irreversible and that are of one number. One where SAVANNA is
// active is preferred to one where it is not, so that the order is one of all blocks.
func (o order) compareTied(a, b *HeaderState) int {
	x, y := a.IsActive(o.set, feature.Savanna), b.IsActive(o.set, feature.Savanna)
	switch {
	case x && y:
		return a.ID.Compare(b.ID)
	case x:
		return 1
	case y:
		return -1
	}
	return 0
}

// compareProper compares blocks one of which is a proper one, which then is preferred. Of two the
// one is that claims the newer certificate, that is later, or whose id is greater (Spring:
// fork_database.cpp, by_best_branch_if_t).
func compareProper(a, b *HeaderState) int {
	if !a.IsProper() || !b.IsProper() {
		if a.IsProper() {
			return 1
		}
		return -1
	}
	return cmp.Or(
		cmp.Compare(a.Finality.Core.ClaimTime(), b.Finality.Core.ClaimTime()),
		cmp.Compare(a.Finality.Time(), b.Finality.Time()),
		a.ID.Compare(b.ID),
	)
}

// compareIDs compares ids as four words in the byte order of nodeos' machines, with
// the first byte of a word the least significant one (Leap: sha256_less). The number
// at the start of an id thus weighs less than the four bytes of the hash after it.
func compareIDs(a, b *types.Checksum256) int {
	for i := 0; i < len(a); i += 8 {
		if c := cmp.Compare(binary.LittleEndian.Uint64(a[i:]), binary.LittleEndian.Uint64(b[i:])); c != 0 {
			return c
		}
	}
	return 0
}

// rank orders from the worst to the best; of equals the lowest id is the best.
func (o order) rank(a, b *branchNode) int {
	return cmp.Or(o.compare(a.HeaderState, b.HeaderState), compareIDs(&b.ID, &a.ID))
}
