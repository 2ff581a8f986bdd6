package crypto

import (
	"slices"
	"testing"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"

	"tarn/antelope/types"
)

// signedBy are signatures of a message by so many finalizers.
func signedBy(t testing.TB, n int, message []byte) (list []BLSSigned) {
	t.Helper()
	for i := range n {
		k := NewBLSPrivateKey([32]byte{byte(i + 1), 7})
		s, err := k.Sign(message)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, BLSSigned{sumOfKeys(t, []types.BLSPublicKey{k.Public()}), s})
	}
	return list
}

// Several signatures are good together only if each is.
func TestManyBLSSignaturesAreVerifiedAtOnce(t *testing.T) {
	message, text := NewBLSMessage([]byte("a block")), []byte("a block")
	good := signedBy(t, 5, text)
	other := signedBy(t, 5, []byte("another block"))
	var point, moved bls.G2Affine
	if !readBLSG2(&point, other[0].Signature[:]) {
		t.Fatal("no point")
	}
	move := func(s *types.BLSSignature, by *bls.G2Affine) {
		if !readBLSG2(&moved, s[:]) {
			t.Fatal("no point")
		}
		var sum bls.G2Jac
		sum.FromAffine(&moved)
		sum.AddMixed(by)
		writeBLSG2(s[:], &sum)
	}
	for name, c := range map[string]struct {
		change func([]BLSSigned) []BLSSigned
		good   bool
	}{
		"all":                     {func(l []BLSSigned) []BLSSigned { return l }, true},
		"none":                    {func(l []BLSSigned) []BLSSigned { return nil }, true},
		"one":                     {func(l []BLSSigned) []BLSSigned { return l[:1] }, true},
		"the same twice":          {func(l []BLSSigned) []BLSSigned { return append(l, l[1]) }, true},
		"of another message":      {func(l []BLSSigned) []BLSSigned { l[3] = other[3]; return l }, false},
		"one, of another message": {func(l []BLSSigned) []BLSSigned { return other[:1] }, false},
		"of each other's keys":    {func(l []BLSSigned) []BLSSigned { l[0].Keys, l[1].Keys = l[1].Keys, l[0].Keys; return l }, false},
		"of nobody":               {func(l []BLSSigned) []BLSSigned { l[2].Keys = BLSKeySum{}; return l }, false},
		"no point":                {func(l []BLSSigned) []BLSSigned { l[4].Signature[5] ^= 1; return l }, false},
		"the sum of none, by nobody": {func(l []BLSSigned) []BLSSigned {
			l[2] = BLSSigned{Signature: *new(types.BLSSignature)}
			return l
		}, true},
		"wrong ones with the right sum": {func(l []BLSSigned) []BLSSigned {
			move(&l[0].Signature, &point)
			var back bls.G2Affine
			move(&l[1].Signature, back.Neg(&point))
			return l
		}, false},
	} {
		list := c.change(slices.Clone(good))
		if got := BLSVerifyAll(list, message); got != c.good {
			t.Errorf("%s: %t", name, got)
		}
		each := true
		for _, s := range list {
			each = each && BLSVerify([]BLSSigners{{s.Keys, message}}, &s.Signature)
		}
		if each != c.good {
			t.Errorf("%s, one by one: %t", name, each)
		}
	}
	if BLSVerifyAll(good, BLSMessage{}) {
		t.Error("no message was signed")
	}
}

// BenchmarkBLSVotes is 21 votes for a block at once.
func BenchmarkBLSVotes(b *testing.B) {
	text := make([]byte, 32)
	list, message := signedBy(b, 21, text), NewBLSMessage(text)
	for b.Loop() {
		if !BLSVerifyAll(list, message) {
			b.Fatal("not verified")
		}
	}
}
