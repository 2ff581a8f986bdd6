package crypto

import (
	"testing"

	"tarn/antelope/types"
)

// Texts of Spring's own tests (libfc/test/test_bls.cpp), and the same with a character changed.
const (
	springPrivate = "PVT_BLS_vh0bYgBLOLxs_h9zvYNtj20yj8UJxWeFFAtDUW2_pG44e5yc"
	springPublic  = "PUB_BLS_82P3oM1u0IEv64u9i4vSzvg1-QDl4Fb2n50Mp8Sk7Fr1Tz0MJypzL39nSd5VPFgFC9WqrjopRbBm1Pf0RkP018fo1k2" +
		"rXaJY7Wtzd9RKlE8PoQ6XhDm4PyZlIupQg_gOuiMhcg"
	springSignature = "SIG_BLS_RrwvP79LxfahskX-ceZpbgrJ1aUkSSIzE2sMFj0twuhK8QwjcGMvT2tZ_-QMHvAV83tWZYOs7SEvoyteCKGD_Tk6YyS" +
		"kw1HONgvVeNWM8ZwuNgonOHkegNNPIXSIvWMTczfkg2lEtEh-ngBa5t9-4CvZ6aOjg29XPVvu6dimzHix-9E0M53YkWZ-gW5GDk" +
		"kOLoN2FMxjXaELmhuI64xSeSlcWLFfZa6TMVTctBFWsHDXm1ZMkURoB83dokKHEi4OQTbJtg"
)

func TestBLSTextsAreSprings(t *testing.T) {
	k, err := ParseBLSPrivateKey(springPrivate)
	if err != nil || k.Text() != springPrivate {
		t.Errorf("%v, %v", k, err)
	}
	p, err := types.ParseBLSPublicKey(springPublic)
	if err != nil || p.String() != springPublic || !BLSKeyValid(&p) {
		t.Errorf("%s, %v", p, err)
	}
	s, err := types.ParseBLSSignature(springSignature)
	if err != nil || s.String() != springSignature || !BLSSignatureValid(&s) {
		t.Errorf("%s, %v", s, err)
	}
	change := func(text string, at int) string {
		b := []byte(text)
		if b[at] == 'w' {
			b[at] = 'x'
		} else {
			b[at] = 'w'
		}
		return string(b)
	}
	for _, at := range []int{0, 8, 20, len(springPrivate) - 2} {
		if _, err := ParseBLSPrivateKey(change(springPrivate, at)); err == nil {
			t.Errorf("a private key changed at %d is taken", at)
		}
		if _, err := types.ParseBLSPublicKey(change(springPublic, at)); err == nil {
			t.Errorf("a public key changed at %d is taken", at)
		}
		if _, err := types.ParseBLSSignature(change(springSignature, at)); err == nil {
			t.Errorf("a signature changed at %d is taken", at)
		}
	}
}

func sumOfKeys(t testing.TB, keys []types.BLSPublicKey) BLSKeySum {
	t.Helper()
	sum, ok := SumBLSKeys(keys)
	if !ok {
		t.Fatal("the keys have no sum")
	}
	return sum
}

// Signatures of many, of one message or of two, are verified as one.
func TestSumsOfBLSSignaturesAreVerified(t *testing.T) {
	text, otherText := []byte("a message"), []byte("another message")
	message, other := NewBLSMessage(text), NewBLSMessage(otherText)
	var keys []types.BLSPublicKey
	var signatures, others []types.BLSSignature
	for i := range 5 {
		k := NewBLSPrivateKey([32]byte{byte(i + 1)})
		s, err := k.Sign(text)
		if err != nil {
			t.Fatal(err)
		}
		o, err := k.Sign(otherText)
		if err != nil {
			t.Fatal(err)
		}
		keys, signatures, others = append(keys, k.Public()), append(signatures, s), append(others, o)
		if !BLSVerify([]BLSSigners{{sumOfKeys(t, keys[i:i+1]), message}}, &s) ||
			BLSVerify([]BLSSigners{{sumOfKeys(t, keys[i:i+1]), other}}, &s) {
			t.Errorf("key %d: its signature is not verified", i)
		}
	}
	sum, ok := BLSAdd(append(signatures[:3:3], others[3:]...)...)
	if !ok || !BLSVerify([]BLSSigners{{sumOfKeys(t, keys[:3]), message}, {sumOfKeys(t, keys[3:]), other}}, &sum) {
		t.Error("the sum of all is not verified")
	}
	for _, wrong := range [][]BLSSigners{
		{{sumOfKeys(t, keys[:3]), message}}, {{sumOfKeys(t, keys[:2]), message}, {sumOfKeys(t, keys[3:]), other}},
		{{sumOfKeys(t, keys[:3]), other}, {sumOfKeys(t, keys[3:]), message}},
		{{sumOfKeys(t, keys), message}}, nil,
	} {
		if BLSVerify(wrong, &sum) {
			t.Errorf("it is verified for %d groups of others", len(wrong))
		}
	}
	// A group of nobody adds nothing, and the sum of nobody's is nobody's.
	if !BLSVerify([]BLSSigners{{sumOfKeys(t, keys[:3]), message}, {sumOfKeys(t, keys[3:]), other},
		{BLSKeySum{}, NewBLSMessage([]byte("x"))}}, &sum) {
		t.Error("a group of nobody changes the result")
	}
	if BLSVerify([]BLSSigners{{sumOfKeys(t, keys[:3]), message}, {sumOfKeys(t, keys[3:]), other},
		{BLSKeySum{}, BLSMessage{}}}, &sum) {
		t.Error("a message that was not made is taken for one")
	}
	if !BLSVerify([]BLSSigners{{BLSKeySum{}, message}}, new(types.BLSSignature)) {
		t.Error("the signature of nobody is not that of nobody")
	}
	sum[100] ^= 1
	if BLSVerify([]BLSSigners{{sumOfKeys(t, keys[:3]), message}, {sumOfKeys(t, keys[3:]), other}}, &sum) {
		t.Error("what is no point is verified")
	}
	if _, ok := BLSAdd(sum); ok {
		t.Error("what is no point is added")
	}
}

// BenchmarkBLSVerify is a certificate of 21 finalizers.
func BenchmarkBLSVerify(b *testing.B) {
	message := make([]byte, 32)
	var keys []types.BLSPublicKey
	var signatures []types.BLSSignature
	for i := range 21 {
		k := NewBLSPrivateKey([32]byte{byte(i + 1)})
		s, err := k.Sign(message)
		if err != nil {
			b.Fatal(err)
		}
		keys, signatures = append(keys, k.Public()), append(signatures, s)
	}
	sum, _ := BLSAdd(signatures...)
	for b.Loop() {
		if !BLSVerify([]BLSSigners{{sumOfKeys(b, keys), NewBLSMessage(message)}}, &sum) {
			b.Fatal("not verified")
		}
	}
}

// BenchmarkBLSVote is one of the votes for a block.
func BenchmarkBLSVote(b *testing.B) {
	text := make([]byte, 32)
	k := NewBLSPrivateKey([32]byte{1})
	s, err := k.Sign(text)
	if err != nil {
		b.Fatal(err)
	}
	keys, message := []types.BLSPublicKey{k.Public()}, NewBLSMessage(text)
	for b.Loop() {
		if !BLSVerify([]BLSSigners{{sumOfKeys(b, keys), message}}, &s) {
			b.Fatal("not verified")
		}
	}
}
