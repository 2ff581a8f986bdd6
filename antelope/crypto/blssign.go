package crypto

import (
	"fmt"
	"io"
	"math/big"
	"slices"
	"strings"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"tarn/antelope/exception"
	"tarn/antelope/types"
)

// The ways in which messages become points: of votes, and of proofs that somebody has a key
// (bls12-381: CIPHERSUITE_ID, POP_CIPHERSUITE_ID).
const (
	blsVoteSuite = "BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_NUL_"
	blsPopSuite  = "BLS_POP_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_"
)

// BLSKeyValid tells whether a finalizer's key is a point of the curve. Whether it is in the subgroup
// is looked at when signatures are verified, as nodeos does.
func BLSKeyValid(k *types.BLSPublicKey) bool { return BLSG1Valid(k[:]) }

// BLSSignatureValid is the same of a signature.
func BLSSignatureValid(s *types.BLSSignature) bool { return BLSG2Valid(s[:]) }

// BLSSigners are those who signed one message; none of them may have.
type BLSSigners struct {
	Keys    BLSKeySum
	Message BLSMessage
}

// BLSKeySum is the sum of finalizers' keys, which was found in the subgroup. The zero value is the sum of none.
// It is immutable.
type BLSKeySum struct{ point bls.G1Affine }

// SumBLSKeys adds keys. It is false if one of them is no point of the curve, or their sum is outside of the
// subgroup: no signature is theirs. Each key may be outside (bls12-381: aggregate_verify).
func SumBLSKeys(keys []types.BLSPublicKey) (sum BLSKeySum, ok bool) {
	var total bls.G1Jac
	for i := range keys {
		var key bls.G1Affine
		if !readBLSG1(&key, keys[i][:]) {
			return sum, false
		}
		total.AddMixed(&key)
	}
	sum.point.FromJacobian(&total)
	return sum, sum.point.IsInSubGroup()
}

// BLSMessage is a message as the point that finalizers sign. To make one takes a fifth of the time of a verification,
// so one is kept where many signatures of it come one by one. It is immutable.
type BLSMessage struct {
	point bls.G2Affine
	made  bool // else nobody has signed it
}

// NewBLSMessage makes that of a message.
func NewBLSMessage(message []byte) BLSMessage {
	point, err := hashBLSMessage(message, blsVoteSuite)
	return BLSMessage{point, err == nil}
}

// BLSVerify tells whether a signature is the sum of all signatures of these signers (bls12-381:
// aggregate_verify). It takes about a millisecond.
func BLSVerify(signers []BLSSigners, signature *types.BLSSignature) bool {
	var sum bls.G2Affine
	if !readBLSG2(&sum, signature[:]) || !sum.IsInSubGroup() {
		return false
	}
	return pairBLS(signers, &sum)
}

// pairBLS is BLSVerify with a point that is in the subgroup.
func pairBLS(signers []BLSSigners, signature *bls.G2Affine) bool {
	_, _, generator, _ := bls.Generators()
	generator.Neg(&generator)
	left, right := []bls.G1Affine{generator}, []bls.G2Affine{*signature}
	for _, s := range signers {
		if !s.Message.made {
			return false
		}
		left, right = append(left, s.Keys.point), append(right, s.Message.point)
	}
	one, err := bls.PairingCheck(left, right)
	return err == nil && one
}

// BLSAdd adds signatures of different signers: their sum is the signature of all of them. It is
// false if one of them is no point.
func BLSAdd(signatures ...types.BLSSignature) (sum types.BLSSignature, ok bool) {
	var total bls.G2Jac
	for i := range signatures {
		var s bls.G2Affine
		if !readBLSG2(&s, signatures[i][:]) {
			return sum, false
		}
		total.AddMixed(&s)
	}
	writeBLSG2(sum[:], &total)
	return sum, true
}

// BLSPrivateKey is a finalizer's key. It must not be shown.
type BLSPrivateKey struct{ scalar fr.Element }

// Public is the key that others verify votes with.
func (k *BLSPrivateKey) Public() (p types.BLSPublicKey) {
	_, _, generator, _ := bls.Generators()
	var point bls.G1Affine
	var total bls.G1Jac
	point.ScalarMultiplication(&generator, k.big())
	writeBLSG1(p[:], total.FromAffine(&point))
	return p
}

func (k *BLSPrivateKey) big() *big.Int { return k.scalar.BigInt(new(big.Int)) }

// Sign signs a message as finalizers do.
func (k *BLSPrivateKey) Sign(message []byte) (types.BLSSignature, error) {
	return k.sign(message, blsVoteSuite)
}

// Proof proves that somebody has the key (spring-util: bls create pop).
func (k *BLSPrivateKey) Proof() (types.BLSSignature, error) {
	public := k.Public()
	return k.sign(public[:], blsPopSuite)
}

func (k *BLSPrivateKey) sign(message []byte, suite string) (s types.BLSSignature, err error) {
	point, err := hashBLSMessage(message, suite)
	if err != nil {
		return s, err
	}
	point.ScalarMultiplication(&point, k.big())
	var total bls.G2Jac
	writeBLSG2(s[:], total.FromAffine(&point))
	return s, nil
}

// blsPrivatePrefix begins the text of a private key.
const blsPrivatePrefix = "PVT_BLS_"

// ParseBLSPrivateKey reads the text of a key: PVT_BLS_ and base64url of the scalar, little-endian,
// and a checksum.
func ParseBLSPrivateKey(text string) (*BLSPrivateKey, error) {
	var b [32]byte
	rest, ok := strings.CutPrefix(text, blsPrivatePrefix)
	if !ok || !types.DecodeBLSText(b[:], rest) {
		return nil, exception.New(exception.FCAssert, "BLS Private Key has invalid format")
	}
	slices.Reverse(b[:])
	k := new(BLSPrivateKey)
	if err := k.scalar.SetBytesCanonical(b[:]); err != nil || k.scalar.IsZero() {
		return nil, exception.New(exception.FCAssert, "BLS Private Key is no number of the curve's order")
	}
	return k, nil
}

// NewBLSPrivateKey makes a key of 32 random bytes.
func NewBLSPrivateKey(seed [32]byte) *BLSPrivateKey {
	k := new(BLSPrivateKey)
	for k.scalar.SetBytes(seed[:]); k.scalar.IsZero(); k.scalar.SetUint64(1) {
	}
	return k
}

// GenerateBLSPrivateKey makes a key of 32 bytes from random.
func GenerateBLSPrivateKey(random io.Reader) (*BLSPrivateKey, error) {
	var seed [32]byte
	if _, err := io.ReadFull(random, seed[:]); err != nil {
		return nil, fmt.Errorf("reading randomness for a BLS private key: %w", err)
	}
	return NewBLSPrivateKey(seed), nil
}

// Text is what ParseBLSPrivateKey reads.
func (k *BLSPrivateKey) Text() string {
	b := k.scalar.Bytes()
	slices.Reverse(b[:])
	return blsPrivatePrefix + types.EncodeBLSText(b[:])
}
