package state

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"math"
	"math/rand/v2"
	"testing"

	"tarn/antelope/types"
)

// compareKeys compares keys as numbers.
func compareKeys(kind Kind, a, b SecondaryKey) int {
	first := func(k SecondaryKey) types.Uint128 { return types.Uint128{Lo: k.Words[0], Hi: k.Words[1]} }
	switch kind {
	case Index128:
		return first(a).Compare(first(b))
	case Index256:
		second := func(k SecondaryKey) types.Uint128 { return types.Uint128{Lo: k.Words[2], Hi: k.Words[3]} }
		return cmp.Or(first(a).Compare(first(b)), second(a).Compare(second(b)))
	case IndexDouble:
		return cmp.Compare(math.Float64frombits(a.Words[0]), math.Float64frombits(b.Words[0]))
	default:
		return cmp.Compare(a.Words[0], b.Words[0])
	}
}

func TestSortableKeysAreInTheOrderOfTheIndex(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	word := func() uint64 {
		switch r.IntN(4) {
		case 0:
			return uint64(r.IntN(3))
		case 1:
			return 1<<63 | uint64(r.IntN(3))
		case 2:
			return math.Float64bits(r.NormFloat64())
		default:
			return r.Uint64()
		}
	}
	for range 200000 {
		kind := Kind(r.IntN(int(IndexLongDouble)))
		var a, b SecondaryKey
		for w := range kind.Size() / 8 {
			a.Words[w], b.Words[w] = word(), word()
			if r.IntN(3) == 0 {
				b.Words[w] = a.Words[w]
			}
		}
		if kind == IndexDouble && (math.IsNaN(math.Float64frombits(a.Words[0])) ||
			math.IsNaN(math.Float64frombits(b.Words[0]))) {
			continue
		}
		want := compareKeys(kind, a, b)
		x, y := a.sortable(nil, kind), b.sortable(nil, kind)
		if got := bytes.Compare(x, y); got != want || len(x) != kind.Size() || a.Equal(b, kind) != (want == 0) {
			t.Fatalf("seed %d: %s: %x and %x: %d, want %d", seed, kind, a, b, got, want)
		}
		if back := parseSecondary(a.Append(nil, kind), kind); back != a {
			t.Fatalf("seed %d: %s: %x comes back as %x", seed, kind, a, back)
		}
	}
}

func TestSortableQuadruplesAreInTheOrderOfTheNumbers(t *testing.T) {
	ascending := [][2]uint64{ // high words, low words; -infinity to infinity
		{0xffff << 48, 0}, {0xc000 << 48, 0}, {0xbfff << 48, 1}, {0xbfff << 48, 0}, {1 << 63, 2}, {1 << 63, 1},
		{0, 0}, {0, 1}, {0, 2}, {0x3fff << 48, 0}, {0x3fff << 48, 1}, {0x4000 << 48, 0}, {0x7fff << 48, 0},
	}
	key := func(hi, lo uint64) SecondaryKey { return SecondaryKey{Words: [4]uint64{lo, hi}} }
	last := ""
	for _, n := range ascending {
		now := hex.EncodeToString(key(n[0], n[1]).sortable(nil, IndexLongDouble))
		if now <= last {
			t.Errorf("%x: %s is not above %s", n, now, last)
		}
		last = now
	}
	if !key(1<<63, 0).Equal(key(0, 0), IndexLongDouble) || key(1<<63, 1).Equal(key(0, 1), IndexLongDouble) {
		t.Error("the zeros are one key, other numbers and their negatives are two")
	}
}
