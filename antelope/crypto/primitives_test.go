package crypto

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	if s == "-" {
		return nil
	}
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatalf("%q: %v", s, err)
	}
	return b
}

// A primitive as a function of a list of arguments, with a result of its length.
var primitives = map[string]struct {
	size func(args [][]byte) int
	call func(dst []byte, a [][]byte) int32
}{
	"alt_bn128_add":  {fixedLength(64), func(dst []byte, a [][]byte) int32 { return AltBn128Add(dst, a[0], a[1]) }},
	"alt_bn128_mul":  {fixedLength(64), func(dst []byte, a [][]byte) int32 { return AltBn128Mul(dst, a[0], a[1]) }},
	"alt_bn128_pair": {fixedLength(0), func(dst []byte, a [][]byte) int32 { return AltBn128Pair(a[0], nil) }},
	"mod_exp": {func(a [][]byte) int { return len(a[2]) },
		func(dst []byte, a [][]byte) int32 { return ModExp(dst, a[0], a[1], a[2]) }},
	"bls_g1_add": {fixedLength(96), func(dst []byte, a [][]byte) int32 { return BLSG1Add(dst, a[0], a[1]) }},
	"bls_g2_add": {fixedLength(192), func(dst []byte, a [][]byte) int32 { return BLSG2Add(dst, a[0], a[1]) }},
	"bls_g1_weighted_sum": {fixedLength(96), func(dst []byte, a [][]byte) int32 {
		return BLSG1WeightedSum(dst, a[0], a[1], uint32(len(a[1])/32), nil)
	}},
	"bls_g2_weighted_sum": {fixedLength(192), func(dst []byte, a [][]byte) int32 {
		return BLSG2WeightedSum(dst, a[0], a[1], uint32(len(a[1])/32), nil)
	}},
	"bls_pairing": {fixedLength(576), func(dst []byte, a [][]byte) int32 {
		return BLSPairing(dst, a[0], a[1], uint32(len(a[0])/96), nil)
	}},
	"bls_g1_map": {fixedLength(96), func(dst []byte, a [][]byte) int32 { return BLSG1Map(dst, a[0]) }},
	"bls_g2_map": {fixedLength(192), func(dst []byte, a [][]byte) int32 { return BLSG2Map(dst, a[0]) }},
	"bls_fp_mod": {fixedLength(48), func(dst []byte, a [][]byte) int32 { return BLSFpMod(dst, a[0]) }},
	"bls_fp_mul": {fixedLength(48), func(dst []byte, a [][]byte) int32 { return BLSFpMul(dst, a[0], a[1]) }},
	"bls_fp_exp": {fixedLength(48), func(dst []byte, a [][]byte) int32 { return BLSFpExp(dst, a[0], a[1]) }},
}

func fixedLength(n int) func([][]byte) int { return func([][]byte) int { return n } }

type vector struct {
	line int
	name string
	args [][]byte
	want string
}

func vectors(t *testing.T) (list []vector) {
	t.Helper()
	b, err := os.ReadFile("testdata/primitives.txt")
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(string(b), "\n") {
		f := strings.Fields(line)
		if len(f) == 0 || f[0] == "#" {
			continue
		}
		v := vector{line: i + 1, name: f[0], want: f[len(f)-1]}
		for _, a := range f[1 : len(f)-2] {
			v.args = append(v.args, unhex(t, a))
		}
		list = append(list, v)
	}
	return list
}

func TestPrimitivesGiveWhatLeapsLibrariesGive(t *testing.T) {
	tested := map[string]int{}
	for _, v := range vectors(t) {
		p, ok := primitives[v.name]
		if !ok {
			t.Fatalf("line %d: %q is no primitive", v.line, v.name)
		}
		dst := make([]byte, p.size(v.args))
		got := strconv.Itoa(int(p.call(dst, v.args)))
		if got == "0" && len(dst) > 0 {
			got = hex.EncodeToString(dst)
		} else if !bytes.Equal(dst, make([]byte, len(dst))) {
			t.Errorf("line %d: %s failed and wrote", v.line, v.name)
		}
		if got != v.want {
			t.Errorf("line %d: %s gave %s, want %s", v.line, v.name, got, v.want)
		}
		tested[v.name]++
	}
	for name := range primitives {
		if tested[name] < 5 {
			t.Errorf("%s has %d vectors", name, tested[name])
		}
	}
}

// Every argument a byte shorter or longer than it may be; those of any length are
// left out. AltBn128Add and Mul write to the start of a longer result.
func TestPrimitivesRefuseWrongLengths(t *testing.T) {
	anyLength := map[string]bool{"mod_exp": true}
	longerResult := map[string]bool{"alt_bn128_add": true, "alt_bn128_mul": true}
	for _, v := range vectors(t) {
		p := primitives[v.name]
		if v.want == "-1" || anyLength[v.name] {
			continue
		}
		for i := range v.args {
			if len(v.args[i]) == 0 { // pairs
				continue
			}
			args := append([][]byte(nil), v.args...)
			args[i] = v.args[i][:len(v.args[i])-1]
			if p.call(make([]byte, p.size(v.args)), args) != failure {
				t.Errorf("line %d: %s took a short argument %d", v.line, v.name, i)
			}
			args[i] = append(bytes.Clone(v.args[i]), 0)
			if p.call(make([]byte, p.size(v.args)), args) != failure {
				t.Errorf("line %d: %s took a long argument %d", v.line, v.name, i)
			}
		}
		n := p.size(v.args)
		if n == 0 {
			continue
		}
		if p.call(make([]byte, n-1), v.args) != failure {
			t.Errorf("line %d: %s took a short result", v.line, v.name)
		}
		want := failure
		if longerResult[v.name] {
			want = success
		}
		if got := p.call(make([]byte, n+1), v.args); got != want {
			t.Errorf("line %d: %s returned %d for a long result, want %d", v.line, v.name, got, want)
		}
	}
}

func TestSumsRefuseCountsThatDoNotFit(t *testing.T) {
	point, scalar := make([]byte, 96), make([]byte, 32)
	// 2^27+1 points have 96 bytes modulo 2^32.
	for _, n := range []uint32{0, 2, 1<<27 + 1} {
		if BLSG1WeightedSum(make([]byte, 96), point, scalar, n, nil) != failure {
			t.Errorf("a sum of %d points took one", n)
		}
		if BLSPairing(make([]byte, 576), point, make([]byte, 192), n, nil) != failure {
			t.Errorf("a pairing of %d points took one", n)
		}
	}
	if BLSG1WeightedSum(make([]byte, 96), nil, nil, 0, nil) != failure {
		t.Error("a sum of nothing is none")
	}
}

func TestManyPointsAreSummedAsFewAre(t *testing.T) {
	seed := uint64(7)
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	_, _, g1, _ := bls.Generators()
	for _, n := range []int{1, 2, 100, 101, 300} {
		list := make([]bls.G1Affine, n)
		scalars := make([]byte, n*blsScalar)
		for i := range list {
			var j bls.G1Jac
			j.FromAffine(&g1)
			for range r.IntN(6) {
				j.DoubleAssign()
			}
			list[i].FromJacobian(&j) // the same point often
		}
		list[r.IntN(n)] = bls.G1Affine{}
		for i := range scalars {
			scalars[i] = byte(r.Uint32())
		}
		var few, many bls.G1Jac
		calls := 0
		c := clock{check: func() { calls++ }}
		for i := range list {
			few.AddAssign(weightedSum[bls.G1Jac](list[i:i+1], scalars[i*blsScalar:], &c))
		}
		if n > 8 {
			many = *bucketSum[bls.G1Jac](list, scalars, &c)
			if !few.Equal(&many) {
				t.Errorf("buckets sum %d points wrongly", n)
			}
		}
		many = *weightedSum[bls.G1Jac](list, scalars, &c)
		if !few.Equal(&many) {
			t.Errorf("%d points are summed wrongly", n)
		}
		if n > 2 && calls < n*64/checkEvery {
			t.Errorf("the sum of %d points looked at the clock %d times", n, calls)
		}
	}
}

func TestLongWorkLooksAtTheClockAndMayBeEnded(t *testing.T) {
	pairs, g1, g2 := []byte(nil), []byte(nil), []byte(nil)
	for _, v := range vectors(t) {
		if v.name == "alt_bn128_pair" && v.want != "-1" && len(v.args[0]) > len(pairs) {
			pairs = v.args[0]
		}
		if v.name == "bls_pairing" && v.want != "-1" {
			g1, g2 = append(g1, v.args[0]...), append(g2, v.args[1]...)
		}
	}
	long := make([]byte, 3*hashBlock+1)
	for name, work := range map[string]func(check func()){
		"SHA1":      func(c func()) { SHA1(long, c) },
		"SHA256":    func(c func()) { SHA256(long, c) },
		"SHA512":    func(c func()) { SHA512(long, c) },
		"RIPEMD160": func(c func()) { RIPEMD160(long, c) },
		"SHA3":      func(c func()) { SHA3(make([]byte, 32), long, 0, c) },
		"Blake2F": func(c func()) {
			Blake2F(make([]byte, 64), 10000, make([]byte, 64), make([]byte, 128), make([]byte, 8),
				make([]byte, 8), 1, c)
		},
		"AltBn128Pair": func(c func()) { AltBn128Pair(pairs, c) },
		"BLSPairing":   func(c func()) { BLSPairing(make([]byte, 576), g1, g2, uint32(len(g1)/96), c) },
	} {
		calls := 0
		work(func() { calls++ })
		if calls == 0 {
			t.Errorf("%s never looked at the clock", name)
		}
		func() {
			defer func() {
				if recover() != "late" {
					t.Errorf("%s went on", name)
				}
			}()
			work(func() { panic("late") })
		}()
		work(nil)
	}
}

func TestHashesAreTheStandardOnes(t *testing.T) {
	for _, c := range []struct{ name, got, want string }{
		{"SHA1", SHA1([]byte("abc"), nil).String(), "a9993e364706816aba3e25717850c26c9cd0d89d"},
		{"SHA256", SHA256([]byte("abc"), nil).String(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{"SHA512", SHA512([]byte("abc"), nil).String(),
			"ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"},
		{"RIPEMD160", RIPEMD160([]byte("abc"), nil).String(), "8eb208f7e05d987a9b044a8e98c6b087f15a0bfc"},
	} {
		if c.got != c.want {
			t.Errorf("%s is %s, want %s", c.name, c.got, c.want)
		}
	}
	long := bytes.Repeat([]byte("long"), hashBlock)
	if SHA256(long, nil) != sha256.Sum256(long) {
		t.Error("SHA256 of much is wrong")
	}
}

func TestSHA3FillsWhatThereIs(t *testing.T) {
	const nist = "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532"
	const keccak = "4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45"
	for _, c := range []struct {
		size   int
		keccak int32
		want   string
	}{
		{32, 0, nist}, {32, 1, keccak}, {32, 2, nist}, {32, -1, nist},
		{0, 0, ""}, {5, 1, keccak[:10]}, {40, 0, nist + "0000000000000000"},
	} {
		dst := make([]byte, c.size)
		SHA3(dst, []byte("abc"), c.keccak, nil)
		if got := hex.EncodeToString(dst); got != c.want {
			t.Errorf("sha3 with %d, %d bytes: %s, want %s", c.keccak, c.size, got, c.want)
		}
	}
}

func TestBlake2FIsEIP152(t *testing.T) {
	state := "48c9bdf267e6096a3ba7ca8485ae67bb2bf894fe72f36e3cf1361d5f3af54fa5d182e6ad7f520e511f6c3e2b8c68059b6bbd41fbabd9831f79217e1319cde05b"
	message := append([]byte("abc"), make([]byte, 125)...)
	t0 := []byte{3, 0, 0, 0, 0, 0, 0, 0}
	for _, c := range []struct {
		rounds uint32
		final  int32
		want   string
	}{
		{0, 1, "08c9bcf367e6096a3ba7ca8485ae67bb2bf894fe72f36e3cf1361d5f3af54fa5d282e6ad7f520e511f6c3e2b8c68059b9442be0454267ce079217e1319cde05b"},
		{12, 1, "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d17d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923"},
		{12, 0, "75ab69d3190a562c51aef8d88f1c2775876944407270c42c9844252c26d2875298743e7f6d5ea2f2d3e8d226039cd31b4e426ac4f2d3d666a610c2116fde4735"},
		{12, 2, "75ab69d3190a562c51aef8d88f1c2775876944407270c42c9844252c26d2875298743e7f6d5ea2f2d3e8d226039cd31b4e426ac4f2d3d666a610c2116fde4735"},
		{1, 1, "b63a380cb2897d521994a85234ee2c181b5f844d2c624c002677e9703449d2fba551b3a8333bcdf5f2f7e08993d53923de3d64fcc68c034e717b9293fed7a421"},
	} {
		dst := make([]byte, 65)
		if Blake2F(dst, c.rounds, unhex(t, state), message, t0, make([]byte, 8), c.final, nil) != success {
			t.Fatal("failed")
		}
		if got := hex.EncodeToString(dst[:64]); got != c.want || dst[64] != 0 {
			t.Errorf("%d rounds, final %d: %s, want %s", c.rounds, c.final, got, c.want)
		}
	}
	for i, sizes := range [][5]int{{63, 128, 8, 8, 64}, {64, 127, 8, 8, 64}, {64, 128, 7, 8, 64}, {64, 128, 8, 9, 64},
		{64, 128, 8, 8, 63}} {
		if Blake2F(make([]byte, sizes[4]), 1, make([]byte, sizes[0]), make([]byte, sizes[1]), make([]byte, sizes[2]),
			make([]byte, sizes[3]), 0, nil) != failure {
			t.Errorf("case %d: wrong lengths were taken", i)
		}
	}
}

func TestModExpIsLimitedWhileProducing(t *testing.T) {
	for _, c := range []struct {
		base, exponent, modulus int
		ok                      bool
	}{
		{0, 0, 0, true}, {1, 1, 1, true}, {32, 33, 32, false}, {32, 33, 33, true},
		// 5*log2 + 8*log2 <= 106: 8 and 8 are 104, 9 and 8 are 109
		{256, 256, 256, true}, {256, 257, 257, false}, {257, 256, 1, false}, {512, 128, 1, false}, {512, 64, 512, true},
		{8192, 4, 1, false}, {8192, 2, 1, false}, {8192, 1, 1, true}, {8193, 1, 1, false},
	} {
		if err := ModExpProducible(c.base, c.exponent, c.modulus); (err == nil) != c.ok {
			t.Errorf("%d^%d mod %d: %v, want ok %v", c.base, c.exponent, c.modulus, err, c.ok)
		}
	}
}
