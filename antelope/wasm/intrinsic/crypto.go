package intrinsic

import (
	"bytes"

	"tarn/antelope/crypto"
	"tarn/antelope/exception"
	"tarn/antelope/types"
	"tarn/antelope/wasm"
)

// cryptoEntries are the functions that hash and recover keys (Leap:
// webassembly/crypto.cpp).
func cryptoEntries() []entry {
	return []entry{
		{"assert_recover_key", anywhere, []arg{ref32, chars, chars}, none, price{long, hashing}, assertRecoverKey},
		{"recover_key", anywhere, []arg{ref32, chars, chars}, wasm.I32, price{long, hashing}, recoverKey},
		{"assert_sha256", anywhere, []arg{chars, ref32}, none, price{floating, hashing}, matches(sha256)},
		{"assert_sha1", anywhere, []arg{chars, ref20}, none, price{floating, hashing}, matches(sha1)},
		{"assert_sha512", anywhere, []arg{chars, ref64}, none, price{floating, hashing}, matches(sha512)},
		{"assert_ripemd160", anywhere, []arg{chars, ref20}, none, price{floating, hashing}, matches(ripemd160)},
		{"sha256", anywhere, []arg{chars, ref32}, none, price{floating, hashing}, hashes(sha256)},
		{"sha1", anywhere, []arg{chars, ref20}, none, price{floating, hashing}, hashes(sha1)},
		{"sha512", anywhere, []arg{chars, ref64}, none, price{floating, hashing}, hashes(sha512)},
		{"ripemd160", anywhere, []arg{chars, ref20}, none, price{floating, hashing}, hashes(ripemd160)},
	}
}

// A digester appends the hash of data to b.
type digester func(b, data []byte, check func()) []byte

func sha256(b, data []byte, check func()) []byte {
	h := crypto.SHA256(data, check)
	return append(b, h[:]...)
}

func sha1(b, data []byte, check func()) []byte {
	h := crypto.SHA1(data, check)
	return append(b, h[:]...)
}

func sha512(b, data []byte, check func()) []byte {
	h := crypto.SHA512(data, check)
	return append(b, h[:]...)
}

func ripemd160(b, data []byte, check func()) []byte {
	h := crypto.RIPEMD160(data, check)
	return append(b, h[:]...)
}

// ender ends the contract's run: a [*wasm.Call].
type ender interface{ Abort(err error) }

// check returns the function that work of any length calls now and then: it ends the
// run when time is up.
func (a *Apply) check() func() {
	if a.checker == nil {
		a.checker = func() {
			if err := a.Chain.CheckTime(); err != nil {
				a.ender.Abort(err)
			}
		}
	}
	return a.checker
}

func hashes(hash digester) body {
	return func(a *Apply, m []byte, s []uint64) (uint64, error) {
		a.scratch = hash(a.scratch[:0], span(m, s, 0), a.check())
		copy(m[uint32(s[2]):], a.scratch)
		return 0, nil
	}
}

func matches(hash digester) body {
	return func(a *Apply, m []byte, s []uint64) (uint64, error) {
		a.scratch = hash(a.scratch[:0], span(m, s, 0), a.check())
		if !bytes.HasPrefix(m[uint32(s[2]):], a.scratch) {
			return 0, exception.New(exception.CryptoAPI, "hash mismatch")
		}
		return 0, nil
	}
}

// checkKeyType refuses what is of a type of keys that the protocol does not have, with that kind of
// exception. Another error is the state's.
func (a *Apply) checkKeyType(t types.KeyType, refusal *exception.Kind, what, where string) error {
	known, err := a.Chain.KeyTypes()
	if err == nil && int(t) >= known {
		err = exception.New(refusal, "Unactivated "+what+" type used "+where)
	}
	return err
}

// signature checks what is demanded of a signature before its key is recovered.
func (a *Apply) signature(sig *types.Signature, where string) error {
	return a.checkKeyType(sig.Type, exception.UnactivatedSignatureType, "signature", where)
}

// key checks what is demanded of a key before it is used.
func (a *Apply) key(k *types.PublicKey, where string) error {
	return a.checkKeyType(k.Type, exception.UnactivatedKeyType, "key", where)
}

func (a *Apply) signatureSize(sig *types.Signature) error {
	if a.Speculative && uint64(sig.VariableSize()) > uint64(a.Chain.MaxSignatureSize()) {
		return exception.New(exception.SigVariableSizeLimit,
			"signature variable length component size greater than subjective maximum")
	}
	return nil
}

// recover finds the key of a signature; a contract's need not be canonical.
func (a *Apply) recover(sig types.Signature, digest types.Checksum256) (types.PublicKey, error) {
	if a.Chain.Spring() {
		return crypto.RecoverSpring(sig, digest, false)
	}
	return crypto.Recover(sig, digest, false)
}

func assertRecoverKey(a *Apply, m []byte, s []uint64) (uint64, error) {
	var sig types.Signature
	var key types.PublicKey
	if err := a.unpack(span(m, s, 1), &sig); err != nil {
		return 0, err
	}
	if err := a.unpack(span(m, s, 3), &key); err != nil {
		return 0, err
	}
	if err := a.signature(&sig, "during assert_recover_key"); err != nil {
		return 0, err
	}
	if err := a.key(&key, "when creating assert_recover_key"); err != nil {
		return 0, err
	}
	if err := a.signatureSize(&sig); err != nil {
		return 0, err
	}
	found, err := a.recover(sig, types.Checksum256(ref(m, s, 0, 32)))
	if err == nil && found != key {
		err = exception.New(exception.CryptoAPI, "Error expected key different than recovered key")
	}
	return 0, err
}

// recoverKey returns the length of the packed key. Keys of the first two types need
// a buffer that holds them, for newer ones it is enough if it could hold a K1 key
// without its type, and they are cut to fit.
func recoverKey(a *Apply, m []byte, s []uint64) (uint64, error) {
	var sig types.Signature
	if err := a.unpack(span(m, s, 1), &sig); err != nil {
		return 0, err
	}
	if err := a.signature(&sig, "during recover_key"); err != nil {
		return 0, err
	}
	if err := a.signatureSize(&sig); err != nil {
		return 0, err
	}
	key, err := a.recover(sig, types.Checksum256(ref(m, s, 0, 32)))
	if err != nil {
		return 0, err
	}
	a.scratch = key.Append(a.scratch[:0])
	to := span(m, s, 3)
	switch {
	case sig.Type < types.WebAuthn && len(to) < len(a.scratch):
		return 0, bufferError("write", len(to), max(len(to)-1, 0)) // the type is written by itself
	case sig.Type >= types.WebAuthn && len(to) < 33:
		return 0, exception.New(exception.WasmExecutionError,
			"destination buffer must at least be able to hold an ECC public key")
	}
	copy(to, a.scratch)
	return size(len(a.scratch)), nil
}
