package secp256k1

import (
	"slices"
	"testing"

	"tarn/internal/plantedfault"
)

// laneFaults are pieces of the source that only wide processors use, each with what it is changed into.
var laneFaults = []plantedfault.Fault{
	{"one lane loses a carry", "lanes_amd64.s", "	VPADDQ Z7, Z13, Z13; \\\n",
		"	MOVL $0xf7, BX; \\\n	KMOVW BX, K3; \\\n	VPADDQ Z7, Z13, K3, Z13; \\\n"},
	{"a carry into the last limb is lost", "lanes_amd64.s", "	VPADDQ Z8, Z14, Z14\n", "	VPANDQ Z8, Z8, Z8\n"},
	{"a column's upper bits are lost", "lanes_amd64.s", "	VPMADD52LUQ Z3, Z30, Z14\n", "	VPANDQ Z3, Z3, Z3\n"},
	{"what is above 260 bits of a product's upper half is lost", "lanes_amd64.s", "	VPMADD52HUQ Z27, Z30, Z4; \\\n", ""},
	{"what is above 256 bits is folded by its lower half", "lanes_amd64.s", "	VPMADD52HUQ Z4, Z29, Z11; \\\n", ""},
	{"a difference is of too small a multiple of the prime", "lanes_amd64.s", "MULTIPLE(fourfold)", "MULTIPLE(twice)"},
	{"a limb of four times the prime is one less", "lanes_amd64.s", "$0x3ffffbfffff0bc", "$0x3ffffbfffff0bb"},
	{"points of two lanes are exchanged", "lanes_amd64.s", "VEXTRACTI32X4 $2, Z1, (at+320)(DI)", "VEXTRACTI32X4 $3, Z1, (at+320)(DI)"},
	{"one bit between two limbs is lost", "lanes_amd64.s", "MIDDLE(40, Z17, 24, Z18, Z12)", "MIDDLE(41, Z17, 24, Z18, Z12)"},
	{"lanes that add nothing take y over", "lanes_amd64.s", "	KEEP(Y, DI)\n", ""},
	{"beta is another number", "lanes_amd64.s", "$0x7106e64479ea", "$0x7106e64479eb"},
	{"the endomorphism is of both halves", "group_amd64.go", "c.mapped = uint16(half)", "c.mapped = 1"},
	{"the root's parity is not asked for", "group_amd64.go", "p.y.parity() ^ list[lane].Odd", "list[lane].Odd"},
	{"what is no root is taken for one", "group_amd64.go", "g.usable[lane] = square == g.roots[lane]", "g.usable[lane] = true"},
	{"a lane without a point is found", "group_amd64.go", "g.usable[lane] && !z.isZero()", "g.usable[lane]"},
}

// faults are pieces that every processor uses.
var faults = []plantedfault.Fault{
	{"sums keep what they began with", "recover.go", "	p.Neg(&p)\n", ""},
	{"a carry between digits is lost", "multiples.go", "+ d.carry\n", "\n"},
	{"alone, the points of R's second half are not mapped", "lone.go", "		endomorphism(&l.of[1][i])\n", ""},
	{"alone, the generator's second half is not mapped", "lone.go", "if mapped {", "if false {"},
	{"alone, an odd number is halved without the prime", "lone.go", "odd := -(z[0] & 1)", "odd := uint64(0)"},
	{"alone, a half loses its highest bit", "lone.go", "t3>>1 | above<<63", "t3>>1 | above<<62"},
	{"alone, a sum stays on the curve of R's multiples", "lone.go", "	multiply(&l.s.z, &l.s.z, &l.scale)\n", ""},
	{"alone, what met is found", "recover.go", "; !m.lone.s.z.isZero() {", "; true {"},
}

// TestPlantedFaultsAreCaught builds this package with each planted fault and demands that a
// test fails, and that none fails without.
func TestPlantedFaultsAreCaught(t *testing.T) {
	all := faults
	if wide {
		all = slices.Concat(all, laneFaults)
	} else {
		t.Log("the processor has no AVX-512 IFMA: faults of the lanes are left out")
	}
	plantedfault.Test(t, all)
}
