package crypto

import (
	"tarn/antelope/exception"
	"tarn/antelope/types"
)

// Recover returns the key that made sig for digest (libfc: fc::crypto::public_key).
// canonical asks for [IsCanonical], as nodeos does for transactions and blocks and not
// for contracts; it is a rule for K1 only.
//
// An R1 key that is the point at infinity is returned as 33 zeros. Whether the type
// of key is active, and how long a WebAuthn signature may be, is for the caller to
// check. Errors are fc's, of kind [exception.FCAssert] or [exception.FCUnspecified].
func Recover(sig types.Signature, digest types.Checksum256, canonical bool) (types.PublicKey, error) {
	return recoverKey(&sig, digest, canonical, decodeBase64URL)
}

// RecoverSpring is Recover by Spring's rules, which read a WebAuthn challenge otherwise if it
// is not written as it should be.
func RecoverSpring(sig types.Signature, digest types.Checksum256, canonical bool) (types.PublicKey, error) {
	return recoverKey(&sig, digest, canonical, decodeSpringBase64URL)
}

func recoverKey(
	sig *types.Signature, digest types.Checksum256, canonical bool, challenge func(string) ([]byte, error),
) (types.PublicKey, error) {
	switch sig.Type {
	case types.K1:
		return recoverKeyK1(sig, (*[32]byte)(&digest), canonical)
	case types.R1:
		return recoverKeyR1(sig, (*[32]byte)(&digest))
	case types.WebAuthn:
		return recoverWebAuthn(sig, digest, challenge)
	}
	return types.PublicKey{}, exception.New(exception.FCAssert, "unknown type ${type} of signature", "type", sig.Type)
}

func unrecoverable() error {
	return exception.New(exception.FCUnspecified, "unable to reconstruct public key from signature")
}

func recoverKeyK1(sig *types.Signature, digest *[32]byte, canonical bool) (key types.PublicKey, err error) {
	if !headerOK(sig.Compact[0]) {
		return key, unrecoverable()
	}
	if canonical && !IsCanonical(&sig.Compact) {
		return key, exception.New(exception.FCAssert, "is_canonical( c ): signature is not canonical")
	}
	point, ok := RecoverK1(&sig.Compact, digest)
	if !ok {
		return key, exception.New(exception.FCAssert, "unable to reconstruct public key from signature")
	}
	return types.PublicKey{Type: types.K1, Point: point}, nil
}

func recoverKeyR1(sig *types.Signature, digest *[32]byte) (key types.PublicKey, err error) {
	if !headerOK(sig.Compact[0]) {
		return key, unrecoverable()
	}
	if highS(&sig.Compact) {
		return key, exception.New(exception.FCUnspecified, "invalid high s-value encountered in r1 signature")
	}
	point, _, ok := recoverR1(&sig.Compact, digest)
	if !ok {
		return key, unrecoverable()
	}
	return types.PublicKey{Type: types.R1, Point: point}, nil
}
