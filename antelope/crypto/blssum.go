package crypto

import (
	"encoding/binary"
	"math/bits"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"
)

// Weighted sums of points that may be outside of the subgroup, where scalars must not
// be reduced by its order: by plain additions, of which the library's are right for
// all points of the curves.

// jacobian is a point to which others are added.
type jacobian[J, A any] interface {
	*J
	FromAffine(*A) *J
	AddAssign(*J) *J
	AddMixed(*A) *J
	DoubleAssign() *J
}

// checkEvery is after how many additions a sum looks at the clock.
const checkEvery = 256

// clock calls check for every so many ticks.
type clock struct {
	check func()
	n     int
}

func (c *clock) tick() {
	if c.n++; c.n%checkEvery == 0 && c.check != nil {
		c.check()
	}
}

// scalarWindow returns width bits of a little-endian scalar from bit at on.
func scalarWindow(scalar []byte, at, width int) uint64 {
	var padded [8]byte
	copy(padded[:], scalar[at/8:])
	return binary.LittleEndian.Uint64(padded[:]) >> (at % 8) & (1<<width - 1)
}

// weightedSum returns the sum of the points times their scalars.
func weightedSum[J, A any, P jacobian[J, A]](list []A, scalars []byte, c *clock) *J {
	if len(list) > 100 {
		return bucketSum[J, A, P](list, scalars, c)
	}
	const width = 4
	multiples := make([][1<<width - 1]J, len(list))
	for i := range list {
		P(&multiples[i][0]).FromAffine(&list[i])
		for k := 1; k < len(multiples[i]); k++ {
			multiples[i][k] = multiples[i][k-1]
			P(&multiples[i][k]).AddMixed(&list[i])
			c.tick()
		}
	}
	total := P(new(J)).FromAffine(new(A))
	for at := 256 - width; at >= 0; at -= width {
		for range width {
			P(total).DoubleAssign()
		}
		for i := range list {
			if w := scalarWindow(scalars[i*blsScalar:][:blsScalar], at, width); w != 0 {
				P(total).AddAssign(&multiples[i][w-1])
			}
			c.tick()
		}
	}
	return total
}

// bucketSum is for many points: in each window of bits, points of the same digit are
// added first, then multiplied by it all together.
func bucketSum[J, A any, P jacobian[J, A]](list []A, scalars []byte, c *clock) *J {
	width := min(bits.Len(uint(len(list)))-3, 12)
	buckets := make([]J, 1<<width-1)
	total := P(new(J)).FromAffine(new(A))
	for at := 255 / width * width; at >= 0; at -= width {
		for range width {
			P(total).DoubleAssign()
		}
		for i := range buckets {
			P(&buckets[i]).FromAffine(new(A))
		}
		for i := range list {
			if w := scalarWindow(scalars[i*blsScalar:][:blsScalar], at, width); w != 0 {
				P(&buckets[w-1]).AddMixed(&list[i])
			}
			c.tick()
		}
		running := P(new(J)).FromAffine(new(A))
		for i := len(buckets) - 1; i >= 0; i-- {
			P(running).AddAssign(&buckets[i])
			P(total).AddAssign(running)
			c.tick()
		}
	}
	return total
}

// sumSizes tells whether the arguments of a sum fit each other.
func sumSizes(dst, points, scalars []byte, n uint32, point int) bool {
	return n != 0 && uint64(len(points)) == uint64(n)*uint64(point) &&
		uint64(len(scalars)) == uint64(n)*blsScalar && len(dst) == point
}

// BLSG1WeightedSum is bls_g1_weighted_sum: scalars of 32 bytes, little-endian, any.
func BLSG1WeightedSum(dst, points, scalars []byte, n uint32, check func()) int32 {
	if !sumSizes(dst, points, scalars, n, blsG1) {
		return failure
	}
	c := clock{check: check}
	list := make([]bls.G1Affine, n)
	for i := range list {
		if !readBLSG1(&list[i], points[i*blsG1:]) {
			return failure
		}
		c.tick()
	}
	writeBLSG1(dst, weightedSum[bls.G1Jac](list, scalars, &c))
	return success
}

// BLSG2WeightedSum is bls_g2_weighted_sum: scalars of 32 bytes, little-endian, any.
func BLSG2WeightedSum(dst, points, scalars []byte, n uint32, check func()) int32 {
	if !sumSizes(dst, points, scalars, n, blsG2) {
		return failure
	}
	c := clock{check: check}
	list := make([]bls.G2Affine, n)
	for i := range list {
		if !readBLSG2(&list[i], points[i*blsG2:]) {
			return failure
		}
		c.tick()
	}
	writeBLSG2(dst, weightedSum[bls.G2Jac](list, scalars, &c))
	return success
}
