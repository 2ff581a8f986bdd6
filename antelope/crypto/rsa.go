package crypto

import (
	"bytes"
	"errors"
	"math"
	"math/big"
	"math/bits"
	"time"

	"tarn/antelope/types"
)

// What VerifyRSASHA256 refuses. The first three are texts that a contract's console shows, with
// the spelling of WAX's node.
var (
	ErrRSALength  = errors.New("At least 1 param has an invalid length")
	ErrRSAShort   = errors.New("Intended encoding message lenght too short")
	ErrRSADigit   = errors.New("Unexpected content found while parsing character string.")
	ErrRSAModulus = errors.New("the modulus is zero")
)

// rsaShortest is the length of the shortest encoding of a hash that is a signature: three bytes
// around eight of padding, the name of SHA-256, and the hash.
const rsaShortest = 11 + 19 + 32

// sha256Name stands before the hash in a signature (PKCS #1 v1.5: DigestInfo).
const sha256Name = "\x30\x31\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x01\x05\x00\x04\x20"

// VerifyRSASHA256 is verify_rsa_sha256_sig of WAX's node (v5.0.3wax01: webassembly/crypto.cpp): it
// tells whether signature is the hash of message, padded to the length of the modulus and signed
// as PKCS #1 v1.5 has it. The three numbers are texts of hexadecimal digits, which end at a zero
// byte. Nobody looks at their size: a signature above the modulus, an even modulus and an exponent
// of one are all computed.
//
// The work has no bound but that of the texts. Check is called now and then while texts and the
// message are read. Before each multiplication spend is told about how long it will take; both may
// be nil, and both may end the work by panicking.
func VerifyRSASHA256(
	message, signature, exponent, modulus []byte, check func(), spend func(time.Duration),
) (bool, error) {
	if len(message) == 0 || len(signature) == 0 || len(exponent) == 0 || len(modulus) != len(signature) ||
		len(modulus)%2 != 0 {
		return false, ErrRSALength
	}
	hash := SHA256(message, check)
	length := len(modulus) / 2
	if length < rsaShortest {
		return false, ErrRSAShort
	}
	var s, e, m big.Int
	for _, n := range []struct {
		to   *big.Int
		text []byte
	}{{&s, signature}, {&e, exponent}, {&m, modulus}} {
		if !hexNumber(n.to, n.text, check) {
			return false, ErrRSADigit
		}
	}
	if m.Sign() == 0 {
		return false, ErrRSAModulus
	}
	look(check)
	want := rsaEncoding(hash, length)
	if m.Cmp(want) <= 0 {
		return false, nil // what is computed is below the modulus
	}
	look(check)
	s.Rem(&s, &m)
	look(check)
	power(&s, &e, &m, spend)
	return s.Cmp(want) == 0, nil
}

// rsaEncoding is the number that a signature of hash must be, in so many bytes.
func rsaEncoding(hash types.Checksum256, length int) *big.Int {
	b := bytes.Repeat([]byte{0xff}, length)
	b[0], b[1] = 0, 1
	end := b[length-len(sha256Name)-len(hash)-1:]
	end[0] = 0
	copy(end[1:], sha256Name)
	copy(end[1+len(sha256Name):], hash[:])
	return new(big.Int).SetBytes(b)
}

// look calls check, if there is one.
func look(check func()) {
	if check != nil {
		check()
	}
}

// hexChunk is after how many words of a number the clock is looked at.
const hexChunk = 1 << 10

// hexNumber reads the digits before the first zero byte, of which there may be none. It tells
// whether all of them are digits.
func hexNumber(n *big.Int, text []byte, check func()) bool {
	const digits = bits.UintSize / 4
	if end := bytes.IndexByte(text, 0); end >= 0 {
		text = text[:end]
	}
	words := make([]big.Word, (len(text)+digits-1)/digits)
	for i := range words {
		end := len(text) - i*digits
		var w big.Word
		for _, c := range text[max(0, end-digits):end] {
			d, ok := hexDigit(c)
			if !ok {
				return false
			}
			w = w<<4 | big.Word(d)
		}
		words[i] = w
		if i%hexChunk == hexChunk-1 {
			look(check)
		}
	}
	n.SetBits(words)
	return true
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

// power makes base, which is below m, its power modulo m. big.Int.Exp cannot be stopped, and its
// multiplications grow with the square of the length.
func power(base, exponent, m *big.Int, spend func(time.Duration)) {
	step := stepTime(len(m.Bits()))
	if spend == nil {
		spend = func(time.Duration) {}
	} else if step >= longStep {
		step = time.Duration(float64(step) * pace())
	}
	var product, quotient big.Int
	times := func(result, by *big.Int) {
		spend(step)
		product.Mul(result, by)
		quotient.QuoRem(&product, m, result)
	}
	if exponent.Sign() == 0 {
		base.Rem(base.SetInt64(1), m)
		return
	}
	result := new(big.Int).Set(base)
	for i := exponent.BitLen() - 2; i >= 0; i-- {
		times(result, result)
		if exponent.Bit(i) == 1 {
			times(result, base)
		}
	}
	base.Set(result)
}

// longStep is from when on a multiplication is worth finding out how fast the processor is.
const longStep = time.Millisecond

// pace is how much longer than stepTime says a multiplication takes on this processor now, with a
// margin: it times some that take a tenth of a millisecond. At least 1, and at most 8, for it may
// have been the machine's other work.
func pace() float64 {
	const words, most, margin = 256, 8, 1.25
	w := make([]big.Word, words)
	for i := range w {
		w[i] = math.MaxUint/3 + big.Word(i)
	}
	m, x := new(big.Int).SetBits(w), new(big.Int)
	x.Rsh(m, 1)
	var product, quotient, rest big.Int
	best := time.Duration(math.MaxInt64)
	for range 3 {
		begin := time.Now()
		product.Mul(m, x)
		quotient.QuoRem(&product, m, &rest)
		best = min(best, time.Since(begin))
	}
	return margin * min(most, max(1, float64(best)/float64(stepTime(words))))
}

// stepTime is about how long it takes to multiply two numbers of so many words and to divide the
// product: some 6 µs for 64 words. Below, it grows with the square of the length, and above it
// triples when the length doubles (BenchmarkRSAStep).
func stepTime(words int) time.Duration {
	const base, unit = 64, 6 * time.Microsecond
	if words <= base {
		return unit*time.Duration(words*words)/(base*base) + unit/20
	}
	doublings := bits.Len(uint(words/base)) - 1
	from := base << doublings
	t := unit
	for range doublings {
		t *= 3
	}
	return t + 2*t*time.Duration(words-from)/time.Duration(from)
}
