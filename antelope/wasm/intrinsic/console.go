package intrinsic

import (
	"encoding/hex"
	"slices"
	"strconv"

	"tarn/antelope/softfloat"
	"tarn/antelope/types"
)

// consoleEntries are the functions that print (Leap: webassembly/console.cpp). While
// nobody keeps the output they only check their arguments.
func consoleEntries() []entry {
	return []entry{
		{"prints", anywhere, []arg{text}, none, price{light, 4}, copying(cstring)},
		{"prints_l", anywhere, []arg{chars}, none, price{light, 4}, copying(span)},
		{"printi", anywhere, []arg{u64}, none, price{light, 4}, printing(func(b, _ []byte, s []uint64) []byte {
			return strconv.AppendInt(b, int64(s[0]), 10)
		})},
		{"printui", anywhere, []arg{u64}, none, price{light, 4}, printing(func(b, _ []byte, s []uint64) []byte {
			return strconv.AppendUint(b, s[0], 10)
		})},
		{"printi128", anywhere, []arg{ref16}, none, price{light, 4}, printing(func(b, m []byte, s []uint64) []byte {
			return types.Int128(uint128(ref(m, s, 0, 16))).AppendText(b)
		})},
		{"printui128", anywhere, []arg{ref16}, none, price{light, 4}, printing(func(b, m []byte, s []uint64) []byte {
			return uint128(ref(m, s, 0, 16)).AppendText(b)
		})},
		{"printsf", anywhere, []arg{f32}, none, price{floating, 1}, printing(func(b, _ []byte, s []uint64) []byte {
			return softfloat.F32(s[0]).AppendScientific(b)
		})},
		{"printdf", anywhere, []arg{f64}, none, price{floating, 1}, printing(func(b, _ []byte, s []uint64) []byte {
			return softfloat.F64(s[0]).AppendScientific(b)
		})},
		{"printqf", anywhere, []arg{ref16}, none, price{floating, 1}, printing(func(b, m []byte, s []uint64) []byte {
			return softfloat.F128(uint128(ref(m, s, 0, 16))).AppendScientific(b)
		})},
		{"printn", anywhere, []arg{u64}, none, price{light, 4}, printing(func(b, _ []byte, s []uint64) []byte {
			return types.Name(s[0]).AppendText(b)
		})},
		{"printhex", anywhere, []arg{chars}, none, price{light, 1}, printHex},
	}
}

// copying is a function that prints text which is in memory.
func copying(text func(m []byte, s []uint64, at int) []byte) body {
	return func(a *Apply, m []byte, s []uint64) (uint64, error) {
		if a.Console {
			a.Chain.Print(text(m, s, 0))
		}
		return 0, nil
	}
}

// printing is a function that prints what text appends.
func printing(text func(b, m []byte, s []uint64) []byte) body {
	return func(a *Apply, m []byte, s []uint64) (uint64, error) {
		if a.Console {
			a.scratch = text(a.scratch[:0], m, s)
			a.Chain.Print(a.scratch)
		}
		return 0, nil
	}
}

// hexSlice is how many bytes are printed as digits at a time.
const hexSlice = 16 << 10

func printHex(a *Apply, m []byte, s []uint64) (uint64, error) {
	if !a.Console {
		return 0, nil
	}
	for data := range slices.Chunk(span(m, s, 0), hexSlice) {
		a.Charge(8 * hexSlice)
		a.scratch = hex.AppendEncode(a.scratch[:0], data)
		a.Chain.Print(a.scratch)
	}
	return 0, nil
}
