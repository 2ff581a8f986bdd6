package eventcheck

import (
	"bytes"
	"math/big"
	"sync"

	"github.com/ethereum/go-ethereum/crypto"

	"tarn/opera/inter"
	"tarn/secp256k1"
)

const (
	// keysMost is how many keys are prepared at most, 26 KiB each: more than epochs of today have validators.
	keysMost = 256
	// keySeen is with which signature a key is prepared. That costs as much as two of the library's checks.
	keySeen = 4
)

// Keys check the signatures of validators, who sign all the time: with their keys prepared, a check costs a fifth of
// the library's. What they do not find right the library judges, so they change no result. Any goroutine may use
// them. Nil ones leave everything to the library.
type Keys struct {
	generator func() *secp256k1.Multiples // made with the first key
	half      []byte                      // of the curve's order: a greater s is refused (EIP-2)
	idle      sync.Pool                   // of *secp256k1.Matcher

	mu    sync.Mutex
	known map[string]*validatorKey // by their bytes
}

// validatorKey is a key that has signed.
type validatorKey struct {
	seen      int
	multiples *secp256k1.Multiples // nil until it is prepared
}

// NewKeys returns keys of which none is prepared.
func NewKeys() *Keys {
	half := new(big.Int).Rsh(crypto.S256().Params().N, 1)
	return &Keys{
		generator: sync.OnceValue(secp256k1.NewGenerator), half: half.FillBytes(make([]byte, 32)),
		idle: sync.Pool{New: func() any { return new(secp256k1.Matcher) }}, known: map[string]*validatorKey{},
	}
}

// verify tells whether the owner of the key has signed the hash.
func (k *Keys) verify(hash [32]byte, s *inter.Signature, key inter.PublicKey) bool {
	if key.Type != inter.Secp256k1Key {
		return false
	}
	return k.match(hash, s, key.Raw) || crypto.VerifySignature(key.Raw, hash[:], s[:])
}

// match tells whether a signature is surely right.
func (k *Keys) match(hash [32]byte, s *inter.Signature, raw []byte) bool {
	if k == nil || bytes.Compare(s[32:], k.half) > 0 {
		return false
	}
	multiples := k.prepared(raw)
	if multiples == nil {
		return false
	}
	claims := [1]secp256k1.Claim{{Key: multiples, Either: true, Signature: secp256k1.Signature{
		R: [32]byte(s[:32]), S: [32]byte(s[32:]), Digest: hash}}}
	m := k.idle.Get().(*secp256k1.Matcher)
	defer k.idle.Put(m)
	m.Match(claims[:], k.generator())
	return claims[0].Right
}

// prepared returns a key's multiples, nil for one that has not signed often.
func (k *Keys) prepared(raw []byte) *secp256k1.Multiples {
	k.mu.Lock()
	v := k.known[string(raw)]
	if v == nil {
		if len(k.known) >= keysMost { // validators of other epochs are among them
			clear(k.known)
		}
		v = &validatorKey{}
		k.known[string(raw)] = v
	}
	v.seen++
	multiples, prepare := v.multiples, v.seen == keySeen
	k.mu.Unlock()
	if !prepare {
		return multiples
	}
	if multiples = prepareKey(raw); multiples != nil {
		k.mu.Lock()
		v.multiples = multiples
		k.mu.Unlock()
	}
	return multiples
}

// prepareKey prepares a key in its usual form, whose point must be on the curve; other forms are the library's.
func prepareKey(raw []byte) *secp256k1.Multiples {
	public, err := crypto.UnmarshalPubkey(raw)
	if err != nil {
		return nil
	}
	m, _ := secp256k1.Prepare((*[33]byte)(crypto.CompressPubkey(public)))
	return m
}
