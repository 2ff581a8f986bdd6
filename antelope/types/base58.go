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
	// digits has the number in base 58, the lowest digit first.
	digits := make([]byte, 0, len(data)*138/100+1)
	for _, v := range data[zeros:] {
		carry := uint(v)
		for i := range digits {
			carry += uint(digits[i]) << 8
			digits[i] = byte(carry % 58)
			carry /= 58
		}
		for carry != 0 {
			digits = append(digits, byte(carry%58))
			carry /= 58
		}
	}
	for range zeros {
		b = append(b, base58Alphabet[0])
	}
	for i := len(digits) - 1; i >= 0; i-- {
		b = append(b, base58Alphabet[digits[i]])
	}
	return b
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
		return nil, exception.New(exception.FCParseError, "Unable to decode base58 string %s", s)
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
