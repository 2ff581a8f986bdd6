package crypto

import (
	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	"github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"
)

// RecoverK1 returns the key, compressed, that made a compact signature: a header of 27
// and the recovery id, plus 4 or not, then r and s. It fails for any other header,
// for r or s that is zero or not below the order, and where no key fits. High s is
// taken. (libfc: ecc::public_key, without the canonical check.)
func RecoverK1(compact *[65]byte, digest *[32]byte) (point [33]byte, ok bool) {
	full, ok := recoverK1(compact, digest)
	if !ok {
		return point, false
	}
	point[0] = 2 + full[64]&1
	copy(point[1:], full[1:33])
	return point, true
}

// K1Recover is k1_recover: it writes the key, uncompressed, to the first 65 bytes of
// dst.
func K1Recover(dst, signature, digest []byte) int32 {
	if len(signature) != 65 || len(digest) != 32 {
		return failure
	}
	// In nodeos a byte is signed there, so that a header over 127 is one below 27.
	full, ok := recoverK1((*[65]byte)(signature), (*[32]byte)(digest))
	if !ok || len(dst) < len(full) {
		return failure
	}
	copy(dst, full[:])
	return success
}

// IsCanonical tells whether r and s, as signed numbers in DER, would have 32 bytes
// each: a rule for K1 signatures of transactions and blocks (libfc: is_canonical).
func IsCanonical(compact *[65]byte) bool {
	return compact[1]&0x80 == 0 && (compact[1] != 0 || compact[2]&0x80 != 0) &&
		compact[33]&0x80 == 0 && (compact[33] != 0 || compact[34]&0x80 != 0)
}

// headerOK tells whether a compact signature's first byte may be there.
func headerOK(header byte) bool { return header >= 27 && header < 35 }

// recoverK1Pure recovers a key, uncompressed, without C.
func recoverK1Pure(compact *[65]byte, digest *[32]byte) (full [65]byte, ok bool) {
	if !headerOK(compact[0]) {
		return full, false
	}
	key, _, err := ecdsa.RecoverCompact(compact[:], digest[:])
	if err != nil {
		return full, false
	}
	copy(full[:], key.SerializeUncompressed())
	return full, true
}

// publicK1 returns the key of a secret; ok is false if it is zero or not below the
// order.
func publicK1(secret *[32]byte) (point [33]byte, ok bool) {
	var d secp256k1.ModNScalar
	if overflow := d.SetBytes(secret); overflow != 0 || d.IsZero() {
		return point, false
	}
	key := secp256k1.NewPrivateKey(&d).PubKey()
	copy(point[:], key.SerializeCompressed())
	return point, true
}
