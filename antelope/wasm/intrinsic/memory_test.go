package intrinsic

import (
	"bytes"

	"tarn/antelope/exception"
)

func memoryBehaviours() map[string]behaviour {
	const overlapping = "memcpy can only accept non-aliasing pointers"
	return map[string]behaviour{
		"memcpy": func(h *harness) {
			h.put(100, []byte("abcdefgh"))
			h.returns(200, "memcpy", 200, 100, 8)
			h.holds(200, []byte("abcdefgh\x00"))
			h.returns(104, "memcpy", 104, 100, 4)
			h.holds(100, []byte("abcdabcd\x00"))
			h.returns(100, "memcpy", 100, 100, 0)
			h.fails(exception.OverlappingMemoryError, overlapping, "memcpy", 104, 100, 5)
			h.fails(exception.OverlappingMemoryError, overlapping, "memcpy", 100, 104, 5)
			h.fails(exception.OverlappingMemoryError, overlapping, "memcpy", 100, 100, 1)
		},
		"memmove": func(h *harness) {
			h.put(100, []byte("abcdefgh"))
			h.returns(102, "memmove", 102, 100, 6)
			h.holds(100, []byte("ababcdef\x00"))
			h.returns(100, "memmove", 100, 102, 6)
			h.holds(100, []byte("abcdefef\x00"))
			h.returns(0, "memmove", 0, 100, 0)
		},
		"memcmp": func(h *harness) {
			h.put(100, []byte{1, 2, 0xff})
			h.put(200, []byte{1, 2, 0x01})
			h.returns(0, "memcmp", 100, 200, 2)
			h.returns(1, "memcmp", 100, 200, 3)
			h.returns(0xffffffff, "memcmp", 200, 100, 3)
			h.returns(0, "memcmp", 0, 100, 0)
		},
		"memset": func(h *harness) {
			for _, n := range []int{0, 1, 2, 3, 7, 64, 1000} {
				h.returns(100, "memset", 100, 0xffffff42, uint64(n))
				h.holds(100, append(bytes.Repeat([]byte{0x42}, n), 0))
				h.returns(100, "memset", 100, 0x100, uint64(n))
				h.holds(100, make([]byte, n+1))
			}
		},
	}
}
