package difftest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"

	"tarn/antelope/crypto"
	"tarn/antelope/types"
)

// Signer is a private key of any kind.
type Signer interface {
	// Public returns the key that recovers from the signatures.
	Public() types.PublicKey
	// Sign signs a digest. The signature is of the key's type.
	Sign(types.Checksum256) (types.Signature, error)
}

// NewKey makes a key of a seed and a label, always the same. It is of type R1 if
// the label begins with "r1", else K1.
func NewKey(seed uint64, label string) crypto.PrivateKey {
	kind := types.K1
	if len(label) >= 2 && label[:2] == "r1" {
		kind = types.R1
	}
	return newKey(kind, seed, label)
}

func newKey(kind types.KeyType, seed uint64, label string) crypto.PrivateKey {
	for h := sha256.Sum256(append(binary.LittleEndian.AppendUint64(nil, seed), label...)); ; h = sha256.Sum256(h[:]) {
		// One in 2^32 or less is not a key.
		if k, err := crypto.NewPrivateKey(kind, h); err == nil {
			return k
		}
	}
}

// authenticator is a WebAuthn key: one of type R1 for one site, which signs what a
// browser says about a digest.
type authenticator struct {
	key      crypto.PrivateKey
	site     string
	presence uint8 // of the user: 0 not, 1 present, 2 verified
}

// newAuthenticator makes a WebAuthn key of a seed and a label, always the same. They
// decide how long the name of its site is, too.
func newAuthenticator(seed uint64, label string) authenticator {
	h := sha256.Sum256(append(binary.LittleEndian.AppendUint64(nil, seed), label...))
	a := authenticator{key: newKey(types.R1, seed, label), presence: h[0] % 3, site: "site.example"}
	// About where the length of the key needs a second byte, and far from it.
	for n := []int{1, 20, 91, 92, 93, 94, 200}[h[1]%7]; len(a.site) < n; {
		a.site = fmt.Sprintf("%x.", h[len(a.site)%32]) + a.site
	}
	return a
}

// Public is the key with its site.
func (a authenticator) Public() types.PublicKey {
	k := a.key.Public()
	k.Type, k.UserPresence, k.RPID = types.WebAuthn, a.presence, a.site
	return k
}

// Sign signs as an authenticator does for a browser.
func (a authenticator) Sign(digest types.Checksum256) (types.Signature, error) {
	client := `{"type":"webauthn.get","challenge":"` + base64.RawURLEncoding.EncodeToString(digest[:]) +
		`","origin":"https://` + a.site + `","x":[1,{"y":"é"}]}`
	site, said := sha256.Sum256([]byte(a.site)), sha256.Sum256([]byte(client))
	data := append(site[:], []byte{0, 1, 5}[a.presence], 0, 0, 0, 7)
	s, err := a.key.Sign(types.Hash(append(append([]byte(nil), data...), said[:]...)))
	s.Type, s.AuthData, s.ClientJSON = types.WebAuthn, string(data), client
	return s, err
}
