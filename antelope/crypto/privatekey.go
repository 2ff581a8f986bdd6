package crypto

import (
	"bytes"
	gocrypto "crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/asn1"
	"fmt"
	"io"
	"math/big"
	"strings"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	//lint:ignore SA1019 the protocol has no other
	"golang.org/x/crypto/ripemd160"

	"tarn/antelope/exception"
	"tarn/antelope/types"
)

// PrivateKey is a key of type K1 or R1. The zero value is no key: it has no public
// key and signs nothing. It is comparable.
type PrivateKey struct {
	typ    types.KeyType
	secret [32]byte
	public [33]byte
}

// NewPrivateKey makes a key of a secret, which must be neither zero nor as large as
// the order of the curve.
func NewPrivateKey(typ types.KeyType, secret [32]byte) (PrivateKey, error) {
	k := PrivateKey{typ: typ, secret: secret}
	switch typ {
	case types.K1:
		var ok bool
		if k.public, ok = publicK1(&secret); !ok {
			return PrivateKey{}, exception.New(exception.PrivateKeyType, "the secret of a K1 key is out of range")
		}
	case types.R1:
		d, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), secret[:])
		if err != nil {
			return PrivateKey{}, exception.Wrap(exception.PrivateKeyType, err,
				"the secret of an R1 key is out of range")
		}
		full, err := d.PublicKey.Bytes()
		if err != nil {
			return PrivateKey{}, exception.Wrap(exception.PrivateKeyType, err, "the public key of an R1 key")
		}
		k.public[0] = 2 + full[64]&1
		copy(k.public[1:], full[1:33])
	default:
		return PrivateKey{}, exception.New(exception.PrivateKeyType, "keys of type ${type} have no private key here",
			"type", typ)
	}
	return k, nil
}

// GeneratePrivateKey makes a key of 32 bytes from random; almost never it takes more.
func GeneratePrivateKey(typ types.KeyType, random io.Reader) (PrivateKey, error) {
	for range 64 {
		var secret [32]byte
		if _, err := io.ReadFull(random, secret[:]); err != nil {
			return PrivateKey{}, fmt.Errorf("reading randomness for a private key: %w", err)
		}
		if k, err := NewPrivateKey(typ, secret); err == nil || typ > types.R1 {
			return k, err
		}
	}
	return PrivateKey{}, fmt.Errorf("reading randomness for a private key: no secret in range in 64 tries")
}

// Type is the kind of k.
func (k PrivateKey) Type() types.KeyType { return k.typ }

// Public returns the public key.
func (k PrivateKey) Public() types.PublicKey { return types.PublicKey{Type: k.typ, Point: k.public} }

// Secret returns the secret, big-endian.
func (k PrivateKey) Secret() [32]byte { return k.secret }

// Sign signs digest: K1 with the very bytes that nodeos signs with, which are
// canonical; R1 deterministically (RFC 6979), where nodeos takes a random nonce, with
// low s. The time that it takes depends on the nonce, so a key that is worth much
// should not sign for whoever can measure that closely. The error is that of a zero
// key.
func (k PrivateKey) Sign(digest types.Checksum256) (types.Signature, error) {
	sig := types.Signature{Type: k.typ}
	if k.public == [33]byte{} {
		return sig, exception.New(exception.FCAssert, "no private key to sign with")
	}
	var err error
	if k.typ == types.K1 {
		signK1(&sig.Compact, &k.secret, (*[32]byte)(&digest))
	} else {
		err = k.signR1(&sig.Compact, (*[32]byte)(&digest))
	}
	return sig, err
}

// signK1 tries one nonce after the other until the signature is canonical, beginning
// with the second: libfc counts before it asks for one (extended_nonce_function).
func signK1(out *[65]byte, secret, digest *[32]byte) {
	var d, e secp256k1.ModNScalar
	d.SetBytes(secret)
	e.SetBytes(digest)
	reduced := e.Bytes()
	nonces := newNonceSource(secret, &reduced)
	nonces.next()
	for {
		nonce := nonces.next()
		var k secp256k1.ModNScalar
		if overflow := k.SetBytes(&nonce); overflow != 0 || k.IsZero() {
			continue
		}
		var p secp256k1.JacobianPoint
		secp256k1.ScalarBaseMultNonConst(&k, &p)
		p.ToAffine()
		x := p.X.Bytes()
		var r secp256k1.ModNScalar
		id := byte(r.SetBytes(x)) << 1 // x is not below the order
		if p.Y.IsOdd() {
			id |= 1
		}
		s := new(secp256k1.ModNScalar).Mul2(&r, &d).Add(&e)
		s.Mul(k.InverseNonConst())
		if r.IsZero() || s.IsZero() {
			continue
		}
		if s.IsOverHalfOrder() {
			s.Negate()
			id ^= 1
		}
		out[0] = 27 + 4 + id
		r.PutBytesUnchecked(out[1:33])
		s.PutBytesUnchecked(out[33:])
		if IsCanonical(out) {
			return
		}
	}
}

// nonceSource is the generator of RFC 6979 with HMAC-SHA256, for a digest that is
// reduced by the order.
type nonceSource struct {
	k, v  [32]byte
	again bool
}

func newNonceSource(secret, digest *[32]byte) *nonceSource {
	g := &nonceSource{}
	for i := range g.v {
		g.v[i] = 1
	}
	g.update(0, secret[:], digest[:])
	g.update(1, secret[:], digest[:])
	return g
}

func (g *nonceSource) mac(parts ...[]byte) (sum [32]byte) {
	h := hmac.New(sha256.New, g.k[:])
	for _, p := range parts {
		h.Write(p)
	}
	h.Sum(sum[:0])
	return sum
}

func (g *nonceSource) update(round byte, seed ...[]byte) {
	g.k = g.mac(append([][]byte{g.v[:], {round}}, seed...)...)
	g.v = g.mac(g.v[:])
}

func (g *nonceSource) next() [32]byte {
	if g.again {
		g.update(0)
	}
	g.again = true
	g.v = g.mac(g.v[:])
	return g.v
}

func (k PrivateKey) signR1(out *[65]byte, digest *[32]byte) error {
	d, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), k.secret[:])
	if err != nil {
		return fmt.Errorf("signing with an R1 key: %w", err)
	}
	der, err := d.Sign(nil, digest[:], gocrypto.SHA256)
	if err != nil {
		return fmt.Errorf("signing with an R1 key: %w", err)
	}
	var sig struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(der, &sig); err != nil {
		return fmt.Errorf("signing with an R1 key: %w", err)
	}
	n := elliptic.P256().Params().N
	if sig.S.Cmp(new(big.Int).Rsh(n, 1)) > 0 {
		sig.S.Sub(n, sig.S)
	}
	sig.R.FillBytes(out[1:33])
	sig.S.FillBytes(out[33:])
	for id := byte(0); id < 4; id++ {
		out[0] = 27 + 4 + id
		if point, infinity, ok := recoverR1(out, digest); ok && !infinity && point == k.public {
			return nil
		}
	}
	return fmt.Errorf("signing with an R1 key: unable to construct recoverable key")
}

const (
	privatePrefix   = "PVT_"
	privatePrefixK1 = "PVT_K1_"
	privatePrefixR1 = "PVT_R1_"
)

// ParsePrivateKey reads the forms that nodeos takes: WIF, with its checksum of one or
// of two hashes, PVT_K1_ and PVT_R1_. Unlike nodeos it refuses WIF whose secret is
// not 32 bytes.
func ParsePrivateKey(s string) (PrivateKey, error) {
	fail := func(why string) (PrivateKey, error) { // without the key
		return PrivateKey{}, exception.New(exception.PrivateKeyType, "Invalid private key: ${why}", "why", why)
	}
	text, suffix, typ := s, "", types.K1
	switch {
	case strings.HasPrefix(s, privatePrefixK1):
		text, suffix = s[len(privatePrefixK1):], "K1"
	case strings.HasPrefix(s, privatePrefixR1):
		text, suffix, typ = s[len(privatePrefixR1):], "R1", types.R1
	case strings.Contains(s, "_"):
		return fail("it begins with neither PVT_K1_ nor PVT_R1_")
	}
	if len(text) > 100 {
		return fail("it is too long")
	}
	b, ok := decodeBase58(text)
	if !ok {
		return fail("it is not base58")
	}
	if suffix != "" {
		if len(b) != 32+4 || !bytes.Equal(b[32:], keyChecksum(b[:32], suffix)) {
			return fail("its checksum or length is wrong")
		}
		return NewPrivateKey(typ, [32]byte(b))
	}
	if len(b) != 1+32+4 {
		return fail("its length is wrong")
	}
	once := sha256.Sum256(b[:33])
	twice := sha256.Sum256(once[:])
	if !bytes.Equal(b[33:], once[:4]) && !bytes.Equal(b[33:], twice[:4]) {
		return fail("its checksum is wrong")
	}
	return NewPrivateKey(typ, [32]byte(b[1:]))
}

// keyChecksum is the checksum of texts with a prefix.
func keyChecksum(secret []byte, suffix string) []byte {
	h := ripemd160.New()
	h.Write(secret)
	io.WriteString(h, suffix)
	return h.Sum(nil)[:4]
}

// Text returns the secret key as nodeos prints it: WIF for K1, PVT_R1_ for R1. There
// is no String method, so that no key is logged by accident.
func (k PrivateKey) Text() string {
	if k.typ == types.R1 {
		return privatePrefixR1 + encodeBase58(append(k.secret[:], keyChecksum(k.secret[:], "R1")...))
	}
	b := append([]byte{0x80}, k.secret[:]...)
	once := sha256.Sum256(b)
	twice := sha256.Sum256(once[:])
	return encodeBase58(append(b, twice[:4]...))
}

// String does not tell the secret.
func (k PrivateKey) String() string { return privatePrefix + "(of " + k.Public().String() + ")" }

const base58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

func encodeBase58(b []byte) string {
	n, digit := new(big.Int).SetBytes(b), new(big.Int)
	var text []byte
	for n.Sign() != 0 {
		n.DivMod(n, big.NewInt(58), digit)
		text = append(text, base58[digit.Int64()])
	}
	for i := 0; i < len(b) && b[i] == 0; i++ {
		text = append(text, base58[0])
	}
	for i, j := 0, len(text)-1; i < j; i, j = i+1, j-1 {
		text[i], text[j] = text[j], text[i]
	}
	return string(text)
}

func decodeBase58(text string) (b []byte, ok bool) {
	n := new(big.Int)
	for i := range len(text) {
		v := strings.IndexByte(base58, text[i])
		if v < 0 {
			return nil, false
		}
		n.Mul(n, big.NewInt(58)).Add(n, big.NewInt(int64(v)))
	}
	zeros := len(text) - len(strings.TrimLeft(text, base58[:1]))
	return append(make([]byte, zeros), n.Bytes()...), true
}
