package types

import (
	"math/big"
	"strings"

	"tarn/antelope/exception"
)

const base58Alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

// manyBytes is from when on numbers are converted by the library, whose time is
// less than quadratic.
const manyBytes = 128

// limbBase is 58^5, the greatest power that is below 2^32.
const limbBase = 58 * 58 * 58 * 58 * 58

// appendBase58 appends the base58 text of data.
func appendBase58(b, data []byte) []byte {
	zeros := 0
	for zeros < len(data) && data[zeros] == 0 {
		zeros++
	}
	if len(data) >= manyBytes {
		for range zeros {
			b = append(b, base58Alphabet[0])
		}
		return appendBigBase58(b, data[zeros:])
	}
	for range zeros {
		b = append(b, base58Alphabet[0])
	}
	// limbs has the number to the base 58^5, the lowest first: a division makes five digits
	// of four bytes.
	var limbs [(manyBytes*138/100 + 5) / 5]uint32
	used := 0
	for data = data[zeros:]; len(data) > 0; {
		size := (len(data)-1)%4 + 1
		carry := uint64(0)
		for _, v := range data[:size] {
			carry = carry<<8 | uint64(v)
		}
		data = data[size:]
		for i := range limbs[:used] {
			carry += uint64(limbs[i]) << (8 * size)
			limbs[i] = uint32(carry % limbBase)
			carry /= limbBase
		}
		for ; carry != 0; carry /= limbBase {
			limbs[used] = uint32(carry % limbBase)
			used++
		}
	}
	from := len(b)
	for i := used - 1; i >= 0; i-- {
		b = append(b, "11111"...)
		v := limbs[i]
		for at := len(b) - 1; v != 0; at-- {
			b[at] = base58Alphabet[v%58]
			v /= 58
		}
	}
	// The number does not begin with a zero digit.
	first := from
	for first < len(b) && b[first] == base58Alphabet[0] {
		first++
	}
	return append(b[:from], b[first:]...)
}

// appendBigBase58 appends the text of a number that does not begin with a zero.
func appendBigBase58(b, data []byte) []byte {
	const library = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUV"
	if len(data) == 0 {
		return b
	}
	from := len(b)
	b = new(big.Int).SetBytes(data).Append(b, 58)
	for i, c := range b[from:] {
		b[from+i] = base58Alphabet[strings.IndexByte(library, c)]
	}
	return b
}

// maxBase58 limits a text that is parsed: a WebAuthn signature with the most
// variable data that nodes accept is well below.
const maxBase58 = 1 << 17

// parseBase58 decodes a text. Like nodeos it skips space before and after.
func parseBase58(s string) ([]byte, error) {
	fail := func() ([]byte, error) {
		return nil, exception.New(exception.FCParseError, "Unable to decode base58 string ${base58_str}",
			"base58_str", s)
	}
	text := strings.Trim(s, space)
	if len(text) > maxBase58 {
		return fail()
	}
	zeros := 0
	for zeros < len(text) && text[zeros] == base58Alphabet[0] {
		zeros++
	}
	// Ten digits at a time fit a word.
	n, chunk, factor := new(big.Int), uint64(0), uint64(1)
	flush := func() {
		n.Mul(n, new(big.Int).SetUint64(factor))
		n.Add(n, new(big.Int).SetUint64(chunk))
		chunk, factor = 0, 1
	}
	for i := range len(text) {
		d := strings.IndexByte(base58Alphabet, text[i])
		if d < 0 {
			return fail()
		}
		chunk, factor = chunk*58+uint64(d), factor*58
		if i%10 == 9 {
			flush()
		}
	}
	flush()
	return append(make([]byte, zeros), n.Bytes()...), nil
}
