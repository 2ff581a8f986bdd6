package intrinsic

import (
	stdsha1 "crypto/sha1"
	stdsha256 "crypto/sha256"
	stdsha512 "crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"

	"tarn/antelope/crypto"
	"tarn/antelope/exception"
	"tarn/antelope/types"
)

func unhex(t interface{ Fatal(...any) }, s string) []byte {
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// hashes tests a hash function and the one that asserts it.
func hashesAs(fn string, sum func([]byte) []byte) (hash, assert behaviour) {
	hash = func(h *harness) {
		for _, n := range []int{0, 1, 100, 10240, 10241, 40000} {
			data := make([]byte, n)
			for i := range data {
				data[i] = byte(i * 7)
			}
			p, _ := h.put(10001, data)
			h.chain.timeLeft = max(0, (n-1)/10240)
			h.call(fn, p, uint64(n), 101)
			h.holds(101, append(sum(data), 0))
			if n > 10240 {
				h.chain.timeLeft--
				h.fails(exception.Deadline, "time is up", fn, p, uint64(n), 101)
			}
		}
		h.chain.timeLeft = 0
		h.call(fn, 101, 20, 105) // over its own input
		h.call(fn, 200, 0, 200)
		h.holds(200, sum(nil))
	}
	assert = func(h *harness) {
		data := []byte("message")
		p, n := h.put(1001, data)
		h.put(103, sum(data))
		h.call("assert_"+fn, p, n, 103)
		h.m[103+len(sum(data))-1] ^= 1
		h.fails(exception.CryptoAPI, "hash mismatch", "assert_"+fn, p, n, 103)
		h.chain.timeLeft = 0
		h.fails(exception.Deadline, "time is up", "assert_"+fn, 1000, 10241, 103)
	}
	return hash, assert
}

func cryptoBehaviours() map[string]behaviour {
	tests := map[string]behaviour{
		"recover_key":        recoversKeys,
		"assert_recover_key": assertsKeys,
	}
	add := func(fn string, sum func([]byte) []byte) { tests[fn], tests["assert_"+fn] = hashesAs(fn, sum) }
	add("sha1", func(b []byte) []byte { s := stdsha1.Sum(b); return s[:] })
	add("sha256", func(b []byte) []byte { s := stdsha256.Sum256(b); return s[:] })
	add("sha512", func(b []byte) []byte { s := stdsha512.Sum512(b); return s[:] })
	add("ripemd160", func(b []byte) []byte { s := crypto.RIPEMD160(b, nil); return s[:] })
	return tests
}

// signDigest writes a digest, its signature and the key, packed.
func (h *harness) signDigest(typ types.KeyType) (args []uint64, key []byte) {
	digest := types.Checksum256{1, 2, 3, 31: 4}
	secret, err := crypto.NewPrivateKey(typ, [32]byte{5, 31: 6})
	if err != nil {
		h.Fatal(err)
	}
	d, _ := h.put(1001, digest[:])
	sig, err := secret.Sign(digest)
	if err != nil {
		h.Fatal(err)
	}
	s, sn := h.put(2001, packValue(sig))
	return []uint64{d, s, sn}, packValue(secret.Public())
}

func recoversKeys(h *harness) {
	const fn = "recover_key"
	for _, typ := range []types.KeyType{types.K1, types.R1} {
		args, key := h.signDigest(typ)
		h.returns(34, fn, append(args, 101, 35)...)
		h.holds(101, append(key, 0))
		h.returns(34, fn, append(args, 201, 34)...)
		h.holds(201, key)
		h.fails(exception.FCOutOfRange, "write datastream of length 33 over by -31", fn, append(args, 101, 33)...)
		h.fails(exception.FCOutOfRange, "write datastream of length 0 over by 1", fn, append(args, 101, 0)...)
		h.fails(exception.FCOutOfRange, "", fn, args[0], args[1], args[2]-1, 101, 34)
	}
	// WebAuthn keys are cut to fit, down to 33 bytes.
	sig := webAuthnSignature(h)
	d, _ := h.put(1001, webAuthnDigest)
	s, n := h.put(2001, packValue(sig))
	h.fails(exception.UnactivatedSignatureType, "Unactivated signature type used during recover_key", fn, d,
		s, n, 101, 100)
	h.forwards(fn, d, s, n, 101, 100)
	h.chain.keyTypes = 3
	h.a.Speculative, h.chain.maxSignature = true, uint32(sig.VariableSize())-1
	h.fails(exception.SigVariableSizeLimit, "signature variable length component size greater than subjective maximum",
		fn, d, s, n, 101, 100)
	h.chain.maxSignature++
	size := h.call(fn, d, s, n, 101, 100)
	key := append([]byte(nil), h.m[101:101+size]...)
	h.a.Speculative, h.chain.maxSignature = false, 0
	clear(h.m[:500])
	h.returns(size, fn, d, s, n, 101, 33)
	h.holds(101, append(key[:33:33], 0))
	h.fails(exception.WasmExecutionError, "destination buffer must at least be able to hold an ECC public key",
		fn, d, s, n, 101, 32)
}

// TestContractsRecoverKeysAsSpringDoes takes a challenge that Leap reads and Spring does not.
func TestContractsRecoverKeysAsSpringDoes(t *testing.T) {
	h := newHarness(t)
	h.chain.keyTypes = 3
	sig := webAuthnSignature(h)
	sig.ClientJSON = strings.Replace(sig.ClientJSON, `","origin"`, `=!","origin"`, 1)
	d, _ := h.put(1001, webAuthnDigest)
	s, n := h.put(2001, packValue(sig))
	if _, err := h.try("recover_key", d, s, n, 101, 100); err != nil {
		t.Errorf("by Leap's rules: %v", err)
	}
	h.chain.spring = true
	if _, err := h.try("recover_key", d, s, n, 101, 100); !exception.Is(err, exception.FCStd) {
		t.Errorf("by Spring's rules: %v", err)
	}
	p, pn := h.put(3001, packValue(types.PublicKey{Type: types.WebAuthn, Point: [33]byte{2}, RPID: "x"}))
	if _, err := h.try("assert_recover_key", d, s, n, p, pn); !exception.Is(err, exception.FCStd) {
		t.Errorf("by Spring's rules: %v", err)
	}
}

func assertsKeys(h *harness) {
	const fn = "assert_recover_key"
	for _, typ := range []types.KeyType{types.K1, types.R1} {
		args, key := h.signDigest(typ)
		p, n := h.put(3001, append(key, 9))
		h.call(fn, append(args, p, n)...)
		h.m[3001+20] ^= 1
		h.fails(exception.CryptoAPI, "Error expected key different than recovered key", fn, append(args, p, n)...)
		h.fails(exception.FCOutOfRange, "", fn, append(args, p, 33)...)
		h.fails(exception.FCOutOfRange, "", fn, args[0], args[1], 9, p, n)
	}
	args, _ := h.signDigest(types.K1)
	webAuthn := types.PublicKey{Type: types.WebAuthn, Point: [33]byte{2}, RPID: "x"}
	p, n := h.put(3001, packValue(webAuthn))
	h.fails(exception.UnactivatedKeyType, "Unactivated key type used when creating assert_recover_key", fn,
		append(args, p, n)...)
	sig := webAuthnSignature(h)
	s, sn := h.put(2001, packValue(sig))
	h.fails(exception.UnactivatedSignatureType, "Unactivated signature type used during assert_recover_key", fn,
		args[0], s, sn, p, n)
	h.chain.keyTypes = 3
	h.a.Speculative, h.chain.maxSignature = true, uint32(sig.VariableSize())-1
	h.fails(exception.SigVariableSizeLimit, "signature variable length component size greater than subjective maximum",
		fn, args[0], s, sn, p, n)
	h.chain.maxSignature++
	d, _ := h.put(1001, webAuthnDigest)
	h.fails(exception.CryptoAPI, "Error expected key different than recovered key", fn, d, s, sn, p, n)
}

var webAuthnDigest = []byte("a digest of thirty-two bytes ...")

// webAuthnSignature is a signature of webAuthnDigest by a key at example.com.
func webAuthnSignature(h *harness) types.Signature {
	secret, err := crypto.NewPrivateKey(types.R1, [32]byte{5, 31: 6})
	if err != nil {
		h.Fatal(err)
	}
	host := stdsha256.Sum256([]byte("example.com"))
	sig := types.Signature{
		Type:     types.WebAuthn,
		AuthData: string(host[:]) + "\x05\x00\x00\x00\x00",
		ClientJSON: `{"type":"webauthn.get","challenge":"` + base64.RawURLEncoding.EncodeToString(webAuthnDigest) +
			`","origin":"https://example.com"}`,
	}
	client := stdsha256.Sum256([]byte(sig.ClientJSON))
	signed, err := secret.Sign(stdsha256.Sum256(append([]byte(sig.AuthData), client[:]...)))
	if err != nil {
		h.Fatal(err)
	}
	sig.Compact = signed.Compact
	return sig
}

func TestHashesAreThoseOfTheirNames(t *testing.T) {
	for fn, want := range map[string]string{ // of nothing
		"sha1":      "da39a3ee5e6b4b0d3255bfef95601890afd80709",
		"ripemd160": "9c1185a5c5e9fc54612808977ee8f548b2258d31",
		"sha256":    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
	} {
		h := newHarness(t)
		h.call(fn, 0, 0, 101)
		h.holds(101, append(unhex(t, want), 0))
	}
}
