package crypto

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"tarn/internal/refdata"
)

// rsaVector is one question to WAX's function and its answer: 1, 0, or null for a transaction that
// fails with an access violation.
type rsaVector struct {
	Message, Signature, Exponent, Modulus string
	Result                                *int
	Console, What                         string
}

func (v *rsaVector) check(t *testing.T, message, signature, exponent, modulus []byte) {
	t.Helper()
	ok, err := VerifyRSASHA256(message, signature, exponent, modulus, nil, nil)
	console := ""
	if err != nil && err != ErrRSAModulus {
		console = "[ERROR] verify_rsa_sha256_sig: " + err.Error() + "\n"
	}
	if (v.Result == nil) != errors.Is(err, ErrRSAModulus) || v.Result != nil && ok != (*v.Result == 1) ||
		console != v.Console {
		t.Errorf("%s: %v, %v, want %s", v.What, ok, err, text(v))
	}
}

func text(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

// Asked of Boost 1.83, which WAX's node is built with.
func TestRSASignaturesAreJudgedAsByWAX(t *testing.T) {
	lines := bufio.NewScanner(bytes.NewReader(refdata.Read(t, "wax/rsa-vectors.jsonl.gz")))
	lines.Buffer(nil, 1<<24)
	count, results := 0, map[string]int{}
	for ; lines.Scan(); count++ {
		var v rsaVector
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		var raw [4][]byte
		for i, s := range []string{v.Message, v.Signature, v.Exponent, v.Modulus} {
			var err error
			if raw[i], err = hex.DecodeString(s); err != nil {
				t.Fatal(err)
			}
		}
		results[text(v.Result)]++
		v.check(t, raw[0], raw[1], raw[2], raw[3])
	}
	if lines.Err() != nil || count < 1000 || results["1"] == 0 || results["0"] == 0 || results["null"] == 0 {
		t.Errorf("%d vectors with results %v, %v", count, results, lines.Err())
	}
}

// Those of WAX's own tests (unittests/wax/signature_tests.cpp).
func TestWAXUnitVectors(t *testing.T) {
	count := 0
	for line := range strings.Lines(string(refdata.Read(t, "wax/unit-vectors.txt"))) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		result, err := strconv.Atoi(f[5])
		v := rsaVector{Result: &result, What: f[0]}
		if err := errors.Join(err, json.Unmarshal([]byte(f[6]), &v.Console)); err != nil {
			t.Fatal(err)
		}
		v.check(t, []byte(f[1]), []byte(f[2]), []byte(f[3]), []byte(f[4]))
		count++
	}
	if count != 11 {
		t.Errorf("%d vectors, want 11", count)
	}
}

// rsaModel is the function written from its description in the plainest way, with math/big's own
// parser and power, and crypto/sha256.
func rsaModel(message, signature, exponent, modulus []byte) (bool, error) {
	switch {
	case len(message) == 0 || len(signature) == 0 || len(exponent) == 0 || len(modulus) != len(signature) ||
		len(signature)&1 == 1:
		return false, ErrRSALength
	case len(modulus) < 124:
		return false, ErrRSAShort
	}
	var n [3]*big.Int
	for i, b := range [][]byte{signature, exponent, modulus} {
		s, _, _ := strings.Cut(string(b), "\x00")
		if strings.Trim(s, "0123456789abcdefABCDEF") != "" {
			return false, ErrRSADigit
		}
		n[i], _ = new(big.Int).SetString("0"+s, 16)
	}
	if n[2].Sign() == 0 {
		return false, ErrRSAModulus
	}
	hash := sha256.Sum256(message)
	tail := "003031300d060960864801650304020105000420" + hex.EncodeToString(hash[:])
	want, _ := new(big.Int).SetString("0001"+strings.Repeat("f", len(modulus)-4-len(tail))+tail, 16)
	return new(big.Int).Exp(n[0], n[1], n[2]).Cmp(want) == 0, nil
}

func FuzzRSAAgainstAModel(f *testing.F) {
	f.Add([]byte("m"), []byte(strings.Repeat("1f", 62)), []byte("3"), []byte(strings.Repeat("f", 124)), uint8(0))
	f.Add([]byte("m"), []byte(strings.Repeat("0", 124)), []byte("00"), []byte(strings.Repeat("0", 124)), uint8(1))
	f.Add([]byte("m"), []byte(strings.Repeat("1f", 70)), []byte("1"), []byte(strings.Repeat("f\x00", 70)), uint8(2))
	f.Fuzz(func(t *testing.T, message, signature, exponent, modulus []byte, what uint8) {
		if len(signature) > 2000 || len(exponent) > 200 {
			return
		}
		if what&1 != 0 { // numbers of equal lengths
			n := min(len(signature), len(modulus)) &^ 1
			signature, modulus = signature[:n], modulus[:n]
		}
		if what&2 != 0 { // a signature that is right, of exponent one
			signature, exponent = bytes.Clone(rightly(message, len(modulus))), []byte("1")
		}
		if what&4 != 0 { // digits only
			for _, b := range [][]byte{signature, exponent, modulus} {
				for i := range b {
					b[i] = "0123456789abcdefABCDEF"[int(b[i])%22]
				}
			}
		}
		got, err := VerifyRSASHA256(message, signature, exponent, modulus, func() {}, func(time.Duration) {})
		want, wantErr := rsaModel(message, signature, exponent, modulus)
		if got != want || err != wantErr {
			t.Fatalf("%q, %q, %q, %q: %v, %v, want %v, %v", message, signature, exponent, modulus, got, err,
				want, wantErr)
		}
	})
}

// rightly is the encoding of a message as so many digits, if there is room for it.
func rightly(message []byte, digits int) []byte {
	if digits < 2*rsaShortest || digits%2 != 0 {
		return nil
	}
	hash := sha256.Sum256(message)
	return fmt.Appendf(nil, "%0*x", digits, rsaEncoding(hash, digits/2))
}

// Signatures of random keys, and near misses, with numbers around the bounds of what is computed.
func TestRandomRSASignatures(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	number := func(digits int) []byte {
		b := make([]byte, digits)
		for i := range b {
			b[i] = "0123456789abcdefABCDEF"[r.IntN(22)]
		}
		return b
	}
	right := 0
	for range 300 {
		message, digits := number(1+r.IntN(50)), 2*(rsaShortest+r.IntN(200))
		signature, exponent, modulus := number(digits), number(1+r.IntN(9)), number(digits)
		switch r.IntN(4) {
		case 0:
			signature, exponent = rightly(message, digits), []byte("01")
		case 1: // odd exponents of a prime modulus have inverses
			modulus[0], modulus[1] = 'f', 'f'
		case 2: // the modulus is the encoding, or one beside it
			modulus = fmt.Appendf(nil, "%0*x", digits, new(big.Int).Add(rsaEncoding(sha256.Sum256(message), digits/2),
				big.NewInt(int64(r.IntN(3)-1))))
		}
		got, err := VerifyRSASHA256(message, signature, exponent, modulus, nil, nil)
		want, wantErr := rsaModel(message, signature, exponent, modulus)
		if got != want || err != wantErr {
			t.Fatalf("%s, %s, %s, %s: %v, %v, want %v, %v", message, signature, exponent, modulus, got, err,
				want, wantErr)
		}
		if got {
			right++
		}
	}
	if right == 0 {
		t.Error("no signature was right")
	}
}

// A multiplication is announced before it is done, with a time that grows with the numbers.
func TestTheWorkOfASignatureIsAnnounced(t *testing.T) {
	digits := strings.Repeat("f", 1024)
	var steps int
	var total time.Duration
	spend := func(d time.Duration) { steps, total = steps+1, total+d }
	if _, err := VerifyRSASHA256([]byte("m"), []byte("e"+digits[1:]), []byte("10001"), []byte(digits), nil,
		spend); err != nil {
		t.Fatal(err)
	}
	if steps != 17 || total < 17*time.Microsecond {
		t.Errorf("%d multiplications, %v", steps, total)
	}
	// It may end the work there.
	defer func() {
		if recover() != "late" {
			t.Error("the work went on")
		}
	}()
	_, err := VerifyRSASHA256([]byte("m"), []byte("e"+digits[1:]), []byte(digits), []byte(digits), nil,
		func(time.Duration) { panic("late") })
	t.Error(err)
}

func TestLongerNumbersTakeLonger(t *testing.T) {
	last := time.Duration(0)
	for words := 1; words < 1<<22; words += 1 + words/50 {
		d := stepTime(words)
		if d <= last {
			t.Fatalf("%d words take %v, fewer took %v", words, d, last)
		}
		last = d
	}
}

// BenchmarkRSAStep is what stepTime tells before it is done: the metric is the ratio.
func BenchmarkRSAStep(b *testing.B) {
	for _, words := range []int{8, 64, 512, 4096, 32768} {
		b.Run(strconv.Itoa(words), func(b *testing.B) {
			const steps = 16
			r := rand.New(rand.NewPCG(1, 0))
			number := func() *big.Int {
				w := make([]big.Word, words)
				for i := range w {
					w[i] = big.Word(r.Uint64())
				}
				w[words-1] |= 1 << (bits.UintSize - 1)
				return new(big.Int).SetBits(w)
			}
			m, x, e := number(), number(), new(big.Int).Lsh(big.NewInt(1), steps)
			for b.Loop() {
				power(new(big.Int).Rem(x, m), e, m, nil)
			}
			b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(steps*stepTime(words)), "of-estimate")
		})
	}
}
