package crypto

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/hex"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"filippo.io/nistec"

	"tarn/antelope/exception"
	"tarn/antelope/types"
)

func fill32(b []byte) (a [32]byte) {
	copy(a[:], b)
	return a
}

func compact(t testing.TB, s string) (c [65]byte) {
	t.Helper()
	copy(c[:], unhex(t, s))
	return c
}

func chacha(seed uint64) *rand.ChaCha8 {
	var key [32]byte
	key[0] = byte(seed)
	return rand.NewChaCha8(key)
}

func TestK1SignsAsNodeosDoes(t *testing.T) {
	for _, c := range []struct{ secret, digest, want string }{
		{
			"f198d98af7f452d1c1392e3c56b116e116c1dd913bdfd3f59380bacc72e52771",
			"452907c9ff69b8a1cdcf7e5bc53b3fa5fb975a6a6a56dd4e3ad58357d2611a84",
			"1f1c1e8eeae949f78c328df173f70cdca82f61b15364aeffac829528b298bb052950d820754c401fa5c61738ca8297ec3c011a0e36250624f7007b8f09543113d5",
		}, {
			"030a11181f262d343b424950575e656c737a81888f969da4abb2b9c0c7ced5dc",
			"010c17222d38434e59646f7a85909ba6b1bcc7d2dde8f3fe09141f2a35404b56",
			"20192eb0d04b96ca94a0a5e674cbb20b683c49593683575119bec9940c2dfcc15d6e55ebd5d0b0f9f044266bec2677a8f41441885883a8efa756e11663dc63a615",
		}, {
			"5e656c737a81888f969da4abb2b9c0c7ced5dce3eaf1f8ff060d141b22293037",
			"26313c47525d68737e89949faab5c0cbd6e1ecf7020d18232e39444f5a65707b",
			"1f2dd8ec104c913cab0251382f0162281b2972cce096da8309806d4b7625bab5f604804a83940bca08ca209bbe95d19f2c5137e43e60980015adf69a60c866d022",
		}, {
			"b9c0c7ced5dce3eaf1f8ff060d141b222930373e454c535a61686f767d848b92",
			"4b56616c77828d98a3aeb9c4cfdae5f0fb06111c27323d48535e69747f8a95a0",
			"1f23da70c215806feaf686d0e52dde894d6315651980be09ad5c9791302834e16e64186620dbfc4f99ad1f91b48f6bfe83bf38004cfc6724e998b28a9a75bfbfb3",
		}, {
			"141b222930373e454c535a61686f767d848b9299a0a7aeb5bcc3cad1d8dfe6ed",
			"707b86919ca7b2bdc8d3dee9f4ff0a15202b36414c57626d78838e99a4afbac5",
			"1f56b597549409fceab92560344f3eed36990ec6632e7facd5c68cfc6965f30db00f6edf8740a85edc0c481586ff4f007b37b7f2e6f0646f316db3df81f5ca2076",
		}, {
			"6f767d848b9299a0a7aeb5bcc3cad1d8dfe6edf4fb020910171e252c333a4148",
			"95a0abb6c1ccd7e2edf8030e19242f3a45505b66717c87929da8b3bec9d4dfea",
			"2053e6b86ab65693249d23584c3ef494068dd3b18d9a531d381025d7841ed499a8555b616bafe0e524bb07e0988e49bdb6f465e6c8780e457fb5292347560b9ed3",
		}, {
			"cad1d8dfe6edf4fb020910171e252c333a41484f565d646b727980878e959ca3",
			"bac5d0dbe6f1fc07121d28333e49545f6a75808b96a1acb7c2cdd8e3eef9040f",
			"1f0b03280a6760d06ca92f17a22402aeb5b2fda4fb3cbfded27de6fb4f884386c25b0e02d25cfc021c9020da8969ad7c1fa2bdc2bae52755ecda89d406f2d3bcbb",
		}, { // a digest above the order
			"a77ccbd57c5c64d107dfdbfaa0ed1986de438042c171899b995bec948c90a47a",
			"fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364143",
			"1f63b7a80b4cf64df95c5f61fc45ed60cd17e8a3cd2e3f878977e57c502de1e3497911785d273d9c93b7b321076099f55d336df3d3126267bb204f791f543abc5d",
		},
	} {
		k, err := NewPrivateKey(types.K1, fill32(unhex(t, c.secret)))
		if err != nil {
			t.Fatal(err)
		}
		digest := types.Checksum256(unhex(t, c.digest))
		sig, err := k.Sign(digest)
		if got := hex.EncodeToString(sig.Compact[:]); err != nil || got != c.want {
			t.Errorf("signed %s (%v), want %s", got, err, c.want)
		}
		if got, err := Recover(sig, digest, true); err != nil || got != k.Public() {
			t.Errorf("recovered %v (%v)", got, err)
		}
	}
}

func TestSignaturesRecoverToTheKeyThatSigned(t *testing.T) {
	random := chacha(1)
	for _, typ := range []types.KeyType{types.K1, types.R1} {
		for range 50 {
			k, err := GeneratePrivateKey(typ, random)
			if err != nil {
				t.Fatal(err)
			}
			var digest types.Checksum256
			random.Read(digest[:])
			sig, err := k.Sign(digest)
			if err != nil {
				t.Fatal(err)
			}
			if typ == types.K1 && !IsCanonical(&sig.Compact) {
				t.Errorf("%x is not canonical", sig.Compact)
			}
			if got, err := Recover(sig, digest, true); err != nil || got != k.Public() {
				t.Errorf("%s: recovered %v (%v)", k, got, err)
			}
			uncompressed := sig // the same key, whatever the header says of its form
			uncompressed.Compact[0] -= 4
			if got, err := Recover(uncompressed, digest, true); err != nil || got != k.Public() {
				t.Errorf("%s: recovered %v (%v) by the lower header", k, got, err)
			}
			digest[0] ^= 1
			if got, err := Recover(sig, digest, true); err == nil && got == k.Public() {
				t.Errorf("%s: a signature fits two digests", k)
			}
		}
	}
}

func TestCanonicalIsAboutBothLeadingBytes(t *testing.T) {
	for _, c := range []struct {
		r0, r1, s0, s1 byte
		want           bool
	}{
		{1, 0, 1, 0, true}, {0x7f, 0, 0x7f, 0, true}, {0x80, 0, 1, 0, false}, {1, 0, 0x80, 0, false},
		{0, 0x80, 0, 0x80, true}, {0, 0x7f, 1, 0, false}, {1, 0, 0, 0x7f, false},
	} {
		var s [65]byte
		s[1], s[2], s[33], s[34] = c.r0, c.r1, c.s0, c.s1
		if IsCanonical(&s) != c.want {
			t.Errorf("%+v", c)
		}
	}
}

func TestOnlyK1IsAskedToBeCanonical(t *testing.T) {
	random := chacha(2)
	k, err := GeneratePrivateKey(types.K1, random)
	if err != nil {
		t.Fatal(err)
	}
	digest := types.Hash([]byte("message"))
	sig, err := k.Sign(digest)
	if err != nil {
		t.Fatal(err)
	}
	// The same signature with high s.
	n, _ := new(big.Int).SetString("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141", 16)
	s := new(big.Int).SetBytes(sig.Compact[33:])
	s.Sub(n, s).FillBytes(sig.Compact[33:])
	sig.Compact[0] = 27 + ((sig.Compact[0] - 27) ^ 1)
	if got, err := Recover(sig, digest, false); err != nil || got != k.Public() {
		t.Errorf("high s: %v, %v", got, err)
	}
	if _, err := Recover(sig, digest, true); !exception.Is(err, exception.FCAssert) {
		t.Errorf("high s passed as canonical: %v", err)
	}
}

func TestK1RecoverIsThatOfLeapsTests(t *testing.T) {
	const signature = "1b323dd47a1dd5592c296ee2ee12e0af38974087a475e99098a440284f19c1f7642fa0baa10a8a3ab800dfdbe987dee68a09b6fa3db45a5cc4f3a5835a1671d4dd"
	const digest = "92390316873c5a9d520b28aba61e7a8f00025ac069acd9c4d2a71d775a55fa5f"
	const key = "044424982f5c4044aaf27444965d15b53f219c8ad332bf98a98a902ebfb05d46cb86ea6fe663aa83fd4ce0a383855dfae9bf7a07b779d34c84c347fec79d04c51e"
	dst := make([]byte, 66)
	if K1Recover(dst, unhex(t, signature), unhex(t, digest)) != success || hex.EncodeToString(dst[:65]) != key {
		t.Errorf("recovered %x", dst)
	}
	for _, c := range []struct {
		size              int
		signature, digest string
	}{
		{64, signature, digest},
		{65, signature[2:], digest},
		{65, signature, digest[2:]},
		{65, "01" + signature[2:], digest},
		{65, "1a" + signature[2:], digest},
		{65, "23" + signature[2:], digest},
		{65, "9b" + signature[2:], digest},
	} {
		dst := make([]byte, c.size)
		if K1Recover(dst, unhex(t, c.signature), unhex(t, c.digest)) != failure ||
			!bytes.Equal(dst, make([]byte, c.size)) {
			t.Errorf("%+v did not fail cleanly", c)
		}
	}
}

// edge returns a number of 32 bytes, often one at which something changes.
func edge(r *rand.Rand, limits ...string) (b [32]byte) {
	if r.IntN(3) == 0 {
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	v, _ := new(big.Int).SetString(limits[r.IntN(len(limits))], 16)
	v.Add(v, big.NewInt(int64(r.IntN(7)-3)))
	if v.Sign() < 0 || v.BitLen() > 256 {
		v.SetInt64(0)
	}
	v.FillBytes(b[:])
	return b
}

func TestWithAndWithoutCTheSameKeysAreRecovered(t *testing.T) {
	if !withC {
		t.Skip("this build has no cgo")
	}
	seed := uint64(3)
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	limits := []string{"0", "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141", // the order
		"14551231950b75fc4402da1722fc9baee",                                // field less order
		"7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0", // half of the order
		"ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"}
	good := 0
	for range 2000 {
		var c [65]byte
		c[0] = byte(25 + r.IntN(12))
		rr, s, digest := edge(r, limits...), edge(r, limits...), edge(r, limits...)
		copy(c[1:], rr[:])
		copy(c[33:], s[:])
		a, aOK := recoverK1(&c, &digest)
		b, bOK := recoverK1Pure(&c, &digest)
		if a != b || aOK != bOK {
			t.Fatalf("%x of %x: %x %v, %x %v", c, digest, a, aOK, b, bOK)
		}
		if aOK {
			good++
		}
	}
	if good < 100 {
		t.Errorf("only %d signatures had a key", good)
	}
}

func FuzzK1WithAndWithoutC(f *testing.F) {
	if !withC {
		f.Skip("this build has no cgo")
	}
	f.Add(bytes.Repeat([]byte{31}, 65), bytes.Repeat([]byte{1}, 32))
	f.Fuzz(func(t *testing.T, signature, digest []byte) {
		if len(signature) != 65 || len(digest) != 32 {
			return
		}
		a, aOK := recoverK1((*[65]byte)(signature), (*[32]byte)(digest))
		b, bOK := recoverK1Pure((*[65]byte)(signature), (*[32]byte)(digest))
		if a != b || aOK != bOK {
			t.Fatalf("%x %v, %x %v", a, aOK, b, bOK)
		}
	})
}

// r1 makes a signature with a nonce and s of choice.
func r1(header byte, x, s *big.Int) types.Signature {
	sig := types.Signature{Type: types.R1}
	sig.Compact[0] = header
	x.FillBytes(sig.Compact[1:33])
	s.FillBytes(sig.Compact[33:])
	return sig
}

func TestR1IsAsLenientAsNodeos(t *testing.T) {
	curve := elliptic.P256().Params()
	digest := types.Hash([]byte("message"))
	e := new(big.Int).SetBytes(digest[:])
	secret := fill32([]byte("a nonce that everybody may know."))
	nonce, err := NewPrivateKey(types.R1, secret)
	if err != nil {
		t.Fatal(err)
	}
	x := new(big.Int).SetBytes(nonce.public[1:])
	odd := nonce.public[0] & 1
	half := new(big.Int).Rsh(curve.N, 1)

	// s = 0: the key is -(e/r)*G, whatever the nonce.
	d := new(big.Int).ModInverse(x, curve.N)
	d.Mul(d, e).Neg(d).Mod(d, curve.N)
	want, err := NewPrivateKey(types.R1, fill32(d.FillBytes(make([]byte, 32))))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Recover(r1(31+odd, x, new(big.Int)), digest, true); err != nil || got != want.Public() {
		t.Errorf("s of 0: %v (%v), want %v", got, err, want.Public())
	}

	// s = e/k: the key is the point at infinity, which nodeos writes as zeros.
	s := new(big.Int).ModInverse(new(big.Int).SetBytes(secret[:]), curve.N)
	s.Mul(s, e).Mod(s, curve.N)
	id := odd
	if s.Cmp(half) > 0 {
		s.Sub(curve.N, s)
		id ^= 1
	}
	if got, err := Recover(r1(31+id, x, s), digest, true); err != nil || got != (types.PublicKey{Type: types.R1}) {
		t.Errorf("infinity: %v (%v)", got, err)
	}

	for name, sig := range map[string]types.Signature{
		"header 26": r1(26, x, s), "header 35": r1(35, x, s), "header 155": r1(155, x, s),
		"r of 0": r1(31, new(big.Int), s), "r of the order": r1(31, curve.N, s),
		"r of the field": r1(31, curve.P, s), "r + order over the field": r1(33, x, s),
		"high s": r1(31, x, new(big.Int).Add(half, big.NewInt(1))),
	} {
		if got, err := Recover(sig, digest, false); err == nil {
			t.Errorf("%s: %v", name, got)
		}
	}
	if _, err := Recover(r1(31+odd, x, half), digest, false); err != nil {
		t.Errorf("half of the order is no high s: %v", err)
	}
}

// A key that is recovered verifies the signature, r taken modulo the order.
func TestR1KeysVerify(t *testing.T) {
	seed := uint64(4)
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	curve := elliptic.P256().Params()
	limits := []string{"0", curve.N.Text(16), curve.P.Text(16), new(big.Int).Rsh(curve.N, 1).Text(16),
		new(big.Int).Sub(curve.P, curve.N).Text(16), strings.Repeat("f", 64)}
	good := 0
	for range 400 {
		var c [65]byte
		c[0] = byte(27 + r.IntN(8))
		rr, s, digest := edge(r, limits...), edge(r, limits...), edge(r, limits...)
		copy(c[1:], rr[:])
		copy(c[33:], s[:])
		point, infinity, ok := recoverR1(&c, &digest)
		if !ok || infinity {
			continue
		}
		rn := new(big.Int).SetBytes(rr[:])
		sn := new(big.Int).SetBytes(s[:])
		rn.Mod(rn, curve.N)
		if sn.Mod(sn, curve.N); sn.Sign() == 0 {
			continue
		}
		p, err := nistec.NewP256Point().SetBytes(point[:])
		if err != nil {
			t.Fatal(err)
		}
		key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), p.Bytes())
		if err != nil || !ecdsa.Verify(key, digest[:], rn, sn) {
			t.Errorf("%x of %x: %x does not verify", c, digest, point)
		}
		good++
	}
	if good < 50 {
		t.Errorf("only %d signatures had a key", good)
	}
}

func TestPrivateKeysHaveTheTextsOfNodeos(t *testing.T) {
	for _, c := range []struct{ text, public string }{
		{"5KQwrPbwdL6PhXujxW37FSSQZ1JiwsST4cqQzDeyXtP79zkvFD3",
			"EOS6MRyAjQq8ud7hVNYcfnVPJqcVpscN5So8BhtHuGYqET5GDW5CV"},
		{"PVT_R1_iyQmnyPEGvFd8uffnk152WC2WryBjgTrg22fXQryuGL9mU6qW",
			"PUB_R1_6EPHFSKVYHBjQgxVGQPrwCxTg7BbZ69H9i4gztN9deKTEXYne4"},
	} {
		k, err := ParsePrivateKey(c.text)
		if err != nil {
			t.Fatal(err)
		}
		if k.Text() != c.text || k.Public().String() != c.public {
			t.Errorf("%s: %s, %s", c.text, k.Text(), k.Public())
		}
		if strings.Contains(k.String(), c.text) {
			t.Errorf("%s tells the secret", k)
		}
		// The other form of K1 keys.
		if k.Type() == types.K1 {
			text := "PVT_K1_" + encodeBase58(append(k.secret[:], keyChecksum(k.secret[:], "K1")...))
			if other, err := ParsePrivateKey(text); err != nil || other != k {
				t.Errorf("%s: %v (%v)", text, other, err)
			}
			once := sha256.Sum256(append([]byte{0x80}, k.secret[:]...))
			text = encodeBase58(append(append([]byte{0x80}, k.secret[:]...), once[:4]...))
			if other, err := ParsePrivateKey(text); err != nil || other != k {
				t.Errorf("WIF with one hash: %v (%v)", other, err)
			}
		}
		for i := range c.text {
			wrong := c.text[:i] + "z" + c.text[i+1:]
			if _, err := ParsePrivateKey(wrong); wrong != c.text && err == nil {
				t.Errorf("%s was taken", wrong)
			} else if err != nil && strings.Contains(err.Error(), c.text[10:]) {
				t.Errorf("the error tells the key: %v", err)
			}
		}
	}
	for _, s := range []string{"", "PVT_", "PVT_K1_", "PVT_WA_111", "5KQwr", "EOS6MRy_", strings.Repeat("5", 1000)} {
		if _, err := ParsePrivateKey(s); err == nil {
			t.Errorf("%q was taken", s)
		}
	}
}

func FuzzParsePrivateKey(f *testing.F) {
	f.Add("5KQwrPbwdL6PhXujxW37FSSQZ1JiwsST4cqQzDeyXtP79zkvFD3")
	f.Add("PVT_R1_iyQmnyPEGvFd8uffnk152WC2WryBjgTrg22fXQryuGL9mU6qW")
	f.Fuzz(func(t *testing.T, s string) {
		k, err := ParsePrivateKey(s)
		if err != nil {
			return
		}
		if again, err := ParsePrivateKey(k.Text()); err != nil || again != k {
			t.Fatalf("%q: %v", s, err)
		}
	})
}

func TestSecretsOutOfRangeAreNoKeys(t *testing.T) {
	for typ, order := range map[types.KeyType]string{
		types.K1: "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141",
		types.R1: elliptic.P256().Params().N.Text(16),
	} {
		for _, s := range []string{strings.Repeat("00", 32), order, strings.Repeat("ff", 32)} {
			if _, err := NewPrivateKey(typ, fill32(unhex(t, s))); err == nil {
				t.Errorf("type %d: %s was taken", typ, s)
			}
		}
		n, _ := new(big.Int).SetString(order, 16)
		if _, err := NewPrivateKey(typ, fill32(n.Sub(n, big.NewInt(1)).Bytes())); err != nil {
			t.Errorf("type %d: the largest secret: %v", typ, err)
		}
	}
	if _, err := NewPrivateKey(types.WebAuthn, [32]byte{31: 1}); err == nil {
		t.Error("a WebAuthn key has no secret here")
	}
	if _, err := (PrivateKey{}).Sign(types.Checksum256{}); err == nil {
		t.Error("no key signed")
	}
	if _, err := GeneratePrivateKey(types.K1, strings.NewReader("short")); err == nil {
		t.Error("a key was made of five bytes")
	}
}

func TestUnknownTypesHaveNoKey(t *testing.T) {
	if _, err := Recover(types.Signature{Type: 3}, types.Checksum256{}, false); err == nil {
		t.Error("a key of type 3 was recovered")
	}
}

func BenchmarkRecoverK1(b *testing.B) {
	c := compact(b,
		"1f1c1e8eeae949f78c328df173f70cdca82f61b15364aeffac829528b298bb052950d820754c401fa5c61738ca8297ec3c011a0e36250624f7007b8f09543113d5")
	digest := fill32(unhex(b, "452907c9ff69b8a1cdcf7e5bc53b3fa5fb975a6a6a56dd4e3ad58357d2611a84"))
	b.Run("linked", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, ok := RecoverK1(&c, &digest); !ok {
				b.Fatal("no key")
			}
		}
	})
	b.Run("pure", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, ok := recoverK1Pure(&c, &digest); !ok {
				b.Fatal("no key")
			}
		}
	})
}
