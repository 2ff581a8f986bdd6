package inter

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"strings"

	"github.com/ethereum/go-ethereum/rlp"
)

// Secp256k1Key is the only type of validators' keys that signs anything.
const Secp256k1Key = 0xc0

// PublicKey is a validator's key: a type, and bytes that depend on it, 65 (uncompressed)
// with [Secp256k1Key]. The driver contract can set keys of any form. The bytes are
// never changed once they are here.
type PublicKey struct {
	Type uint8
	Raw  []byte
}

// NewPublicKey reads a key from its type and its bytes behind that.
func NewPublicKey(b []byte) (PublicKey, error) {
	if len(b) == 0 {
		return PublicKey{}, errors.New("empty pubkey")
	}
	return PublicKey{b[0], bytes.Clone(b[1:])}, nil
}

// ParsePublicKey reads a key from hexadecimal digits, with or without 0x before them.
func ParsePublicKey(s string) (PublicKey, error) {
	b, err := hex.DecodeString(strings.TrimPrefix(s, "0x"))
	if err != nil {
		return PublicKey{}, fmt.Errorf("parse a validator's key: %w", err)
	}
	return NewPublicKey(b)
}

// Bytes returns the type and the bytes behind it.
func (k PublicKey) Bytes() []byte { return append([]byte{k.Type}, k.Raw...) }

// IsZero tells whether there is no key.
func (k PublicKey) IsZero() bool { return k.Type == 0 && len(k.Raw) == 0 }

// Equal tells whether both are the same key.
func (k PublicKey) Equal(o PublicKey) bool { return k.Type == o.Type && bytes.Equal(k.Raw, o.Raw) }

// String returns the key's bytes in hexadecimal with 0x before them.
func (k PublicKey) String() string { return "0x" + hex.EncodeToString(k.Bytes()) }

// MarshalText returns what String does.
func (k PublicKey) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (k *PublicKey) UnmarshalText(text []byte) (err error) {
	*k, err = ParsePublicKey(string(text))
	return err
}

// Profile is what the driver contract has said of a validator.
type Profile struct {
	Weight    *big.Int // its stake; never changed once it is here
	PublicKey PublicKey
}

// Profiles are those of all validators.
type Profiles map[ValidatorID]Profile

// Copy returns profiles that can be changed without changing these.
func (p Profiles) Copy() Profiles { return maps.Clone(p) }

// Validators returns the set of an epoch that begins with these profiles.
func (p Profiles) Validators() (*Validators, error) {
	stakes := make(map[ValidatorID]*big.Int, len(p))
	for id, profile := range p {
		stakes[id] = profile.Weight
	}
	return ScaledValidators(stakes)
}

// encodedProfile is an element of encoded profiles.
type encodedProfile struct {
	ID      ValidatorID
	Profile Profile
}

// EncodeRLP writes the profiles in the order of the set that they make; those whose
// weight in it is 0 are left out (go-opera, inter/iblockproc/validator_profiles.go).
func (p Profiles) EncodeRLP(w io.Writer) error {
	set, err := p.Validators()
	if err != nil {
		return fmt.Errorf("encode profiles of validators: %w", err)
	}
	list := make([]encodedProfile, set.Len())
	for i := range list {
		id := set.At(i).ID
		list[i] = encodedProfile{id, p[id]}
	}
	return rlp.Encode(w, list)
}

// DecodeRLP reads what EncodeRLP writes; of those that stand twice the last one counts.
func (p *Profiles) DecodeRLP(s *rlp.Stream) error {
	var list []encodedProfile
	if err := s.Decode(&list); err != nil {
		return fmt.Errorf("decode profiles of validators: %w", err)
	}
	*p = make(Profiles, len(list))
	for _, one := range list {
		(*p)[one.ID] = one.Profile
	}
	return nil
}
