package crypto

import (
	"crypto/rand"
	"encoding/binary"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"

	"tarn/antelope/types"
)

// BLSSigned is a signature, and the sum of the keys whose signature it is to be.
type BLSSigned struct {
	Keys      BLSKeySum
	Signature types.BLSSignature
}

// BLSVerifyAll tells whether all signatures of a message are good. One more takes a tenth of the time that one alone
// takes. Each is multiplied by a weight that nobody can know before, so that wrong ones do not make up for each other:
// one is taken for good with a probability of 2^-64.
func BLSVerifyAll(signed []BLSSigned, message BLSMessage) bool {
	if len(signed) == 0 {
		return true
	}
	if len(signed) == 1 {
		return BLSVerify([]BLSSigners{{Keys: signed[0].Keys, Message: message}}, &signed[0].Signature)
	}
	weights := make([]byte, 8*len(signed))
	rand.Read(weights) //nolint:errcheck // it never fails
	w := make([]uint64, len(signed))
	keys, signatures := make([]bls.G1Affine, len(signed)), make([]bls.G2Affine, len(signed))
	for i := range signed {
		if !readBLSG2(&signatures[i], signed[i].Signature[:]) || !signatures[i].IsInSubGroup() {
			return false
		}
		w[i], keys[i] = binary.LittleEndian.Uint64(weights[8*i:]), signed[i].Keys.point
	}
	signature := weighBLSSignatures(signatures, w)
	return pairBLS([]BLSSigners{{Keys: BLSKeySum{weighBLSKeys(keys, w)}, Message: message}}, &signature)
}

// weighBLSKeys is the sum of keys, each times its weight. All share the doublings.
func weighBLSKeys(keys []bls.G1Affine, weights []uint64) (sum bls.G1Affine) {
	var total bls.G1Jac
	for bit := 63; bit >= 0; bit-- {
		total.DoubleAssign()
		for i := range keys {
			if weights[i]>>bit&1 != 0 {
				total.AddMixed(&keys[i])
			}
		}
	}
	return *sum.FromJacobian(&total)
}

// weighBLSSignatures is the same of signatures.
func weighBLSSignatures(signatures []bls.G2Affine, weights []uint64) (sum bls.G2Affine) {
	var total bls.G2Jac
	for bit := 63; bit >= 0; bit-- {
		total.DoubleAssign()
		for i := range signatures {
			if weights[i]>>bit&1 != 0 {
				total.AddMixed(&signatures[i])
			}
		}
	}
	return *sum.FromJacobian(&total)
}
