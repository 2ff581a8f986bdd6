package chain

import (
	"crypto/sha256"
	"encoding/base64"
	"testing"

	"tarn/antelope/consensus"
	"tarn/antelope/crypto"
	"tarn/antelope/execute"
	"tarn/antelope/feature"
	"tarn/antelope/types"
)

// The signature of a block is read as Spring does it once the block before has SAVANNA active.
func TestBlockSignaturesAreReadByTheRulesOfTheBlockBefore(t *testing.T) {
	set, err := feature.Builtins()
	if err != nil {
		t.Fatal(err)
	}
	secret, err := crypto.NewPrivateKey(types.R1, [32]byte{5, 31: 6})
	if err != nil {
		t.Fatal(err)
	}
	digest, rpid := types.Hash([]byte("a header")), sha256.Sum256([]byte("x.y"))
	auth := string(rpid[:]) + "\x00\x00\x00\x00\x00"
	client := `{"type":"webauthn.get","origin":"https://x.y","challenge":"` +
		base64.RawURLEncoding.EncodeToString(digest[:]) + `=!"}`
	hash := sha256.Sum256([]byte(client))
	sig, err := secret.Sign(types.Hash(append([]byte(auth), hash[:]...)))
	if err != nil {
		t.Fatal(err)
	}
	sig.Type, sig.AuthData, sig.ClientJSON = types.WebAuthn, auth, client

	o := Options{Options: execute.Options{Features: set}}
	before := &consensus.HeaderState{Activated: feature.NewActive()}
	after := &consensus.HeaderState{Activated: feature.NewActive(set.Builtin(feature.Savanna).Digest)}
	if _, err := o.blockKey(before)(sig, digest); err != nil {
		t.Errorf("by Leap's rules: %v", err)
	}
	if _, err := o.blockKey(after)(sig, digest); err == nil {
		t.Error("by Spring's rules a key was found")
	}
}
