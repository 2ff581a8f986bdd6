// Package crypto holds the cryptography of the Antelope protocol: the recovery of
// public keys from signatures, private keys, and the primitives that contracts call,
// each with exactly the results and the failures of Leap 5.0, whatever the input, or of
// Spring where it says so.
//
// It owns no state and no limits of a chain (which key types are active, how long a
// signature may be); it does no I/O, starts no goroutine, and everything in it may
// be used by many goroutines at a time.
//
// Keys and signatures:
//
//	Recover, RecoverSpring (sig, digest, canonical) (PublicKey, error)
//	WebAuthnDiffers(sig) bool
//	RecoverK1(compact, digest) ([33]byte, bool)
//	IsCanonical(compact) bool
//	Signers: finds the keys of many signatures, faster those of frequent signers
//	PrivateKey: ParsePrivateKey, NewPrivateKey, GeneratePrivateKey; Public, Sign, Text
//
// Hashes, with a function to look at the clock on the way:
//
//	SHA1, SHA256, SHA512, RIPEMD160 (data, check)
//
// What the host functions of the same names do, without the access to a contract's
// memory and without the limits that only hold while producing. They return what
// the contract gets: 0 (or for AltBn128Pair 0 or 1), and -1 on failure, when nothing
// was written. dst is the contract's output buffer, of any length; it never overlaps
// another argument.
//
//	SHA3(dst, data, keccak, check) // no result
//	Blake2F(dst, rounds, state, message, t0, t1, final, check)
//	K1Recover(dst, signature, digest)
//	ModExp(dst, base, exponent, modulus); ModExpProducible tells what a producer takes
//	AltBn128Add(dst, a, b), AltBn128Mul(dst, point, scalar), AltBn128Pair(pairs, check)
//	BLSG1Add, BLSG2Add (dst, a, b)
//	BLSG1WeightedSum, BLSG2WeightedSum (dst, points, scalars, n, check)
//	BLSPairing(dst, g1, g2, n, check)
//	BLSG1Map, BLSG2Map (dst, e)
//	BLSFpMod(dst, s), BLSFpMul(dst, a, b), BLSFpExp(dst, base, exponent)
//	VerifyRSASHA256(message, signature, exponent, modulus, check, spend), of WAX's node
//
// A check function is called now and then by work whose length the caller chooses
// (nodeos' checktime). It may be nil, and it may end the work by panicking: nothing
// is held when it is called. Only VerifyRSASHA256 reads the clock, to say how long what comes
// next will take; no result depends on it.
package crypto

// What host functions return to a contract.
const (
	success int32 = 0
	failure int32 = -1
)
