package intrinsic

import "tarn/antelope/crypto"

// array is how a host function takes an array: the size of an element, and whether it is
// taken for one; nil: any is.
type array struct {
	size  uint32
	valid func([]byte) bool
}

// sumShape is what a sum takes, and how many bytes come out.
type sumShape struct {
	first, second array
	result        uint32
	together      bool // an element of each is read before they are looked at
}

func g1Sum() sumShape {
	return sumShape{first: array{96, crypto.BLSG1Valid}, second: array{size: 32}, result: 96}
}

func g2Sum() sumShape {
	return sumShape{first: array{192, crypto.BLSG2Valid}, second: array{size: 32}, result: 192}
}

func pairing() sumShape {
	return sumShape{first: array{96, crypto.BLSG1Valid}, second: array{192, crypto.BLSG2Valid}, result: 576,
		together: true}
}

// overruns tells whether the arguments fit each other only as Leap multiplies: in 32 bits
// (webassembly/crypto.cpp). Then it reads on beyond the arguments.
func (k sumShape) overruns(s []uint64) bool {
	n := uint32(s[4])
	wraps := uint64(n)*uint64(max(k.first.size, k.second.size)) > 1<<32-1
	return wraps && uint32(s[1]) == n*k.first.size && uint32(s[3]) == n*k.second.size && uint32(s[6]) == k.result
}

// overrun is what comes of it: more elements than memory can hold. It ends at the first
// that is none, or at the end of memory. nodeos also makes room for all of them first, and
// a node that has not so much memory stops there.
func (k sumShape) overrun(a *Apply, m []byte, s []uint64) (uint64, error) {
	const failure = -1
	points, others := m[uint32(s[0]):], m[uint32(s[2]):]
	check := a.check()
	for i := 0; ; i++ {
		short := uint64(len(others)) < uint64(k.second.size)
		if uint64(len(points)) < uint64(k.first.size) || k.together && short {
			return 0, violation()
		}
		if !k.first.valid(points) || k.together && !k.second.valid(others) {
			return i32(failure), nil
		}
		if short {
			return 0, violation()
		}
		points, others = points[k.first.size:], others[k.second.size:]
		if i%4 == 0 {
			check()
		}
	}
}
