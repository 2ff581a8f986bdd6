package intrinsic

import (
	"bytes"

	"tarn/antelope/exception"
	"tarn/antelope/wasm"
)

// memoryEntries are the functions of the C library that work on memory (Leap:
// webassembly/memory.cpp).
func memoryEntries() []entry {
	return []entry{
		{"memcpy", anywhere, []arg{copied}, wasm.I32, price{light, 1}, memcpy},
		{"memmove", anywhere, []arg{copied}, wasm.I32, price{light, 1}, memmove},
		{"memcmp", anywhere, []arg{equals}, wasm.I32, price{light, 1}, memcmp},
		{"memset", anywhere, []arg{filled}, wasm.I32, price{light, 1}, memset},
	}
}

func memcpy(a *Apply, m []byte, s []uint64) (uint64, error) {
	to, from := int64(uint32(s[0])), int64(uint32(s[1]))
	if max(to-from, from-to) < int64(uint32(s[2])) {
		return 0, exception.New(exception.OverlappingMemoryError, "memcpy can only accept non-aliasing pointers")
	}
	return memmove(a, m, s)
}

func memmove(_ *Apply, m []byte, s []uint64) (uint64, error) {
	n := uint64(uint32(s[2]))
	copy(ref(m, s, 0, n), ref(m, s, 1, n))
	return uint64(uint32(s[0])), nil
}

func memcmp(_ *Apply, m []byte, s []uint64) (uint64, error) {
	n := uint64(uint32(s[2]))
	return i32(int32(bytes.Compare(ref(m, s, 0, n), ref(m, s, 1, n)))), nil
}

func memset(_ *Apply, m []byte, s []uint64) (uint64, error) {
	to, v := ref(m, s, 0, uint64(uint32(s[2]))), byte(s[1])
	if v == 0 {
		clear(to)
	} else if len(to) > 0 {
		to[0] = v
		for n := 1; n < len(to); n *= 2 {
			copy(to[n:], to[:n])
		}
	}
	return uint64(uint32(s[0])), nil
}
