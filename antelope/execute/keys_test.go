package execute

import (
	"crypto/sha256"
	"encoding/base64"
	"testing"

	"tarn/antelope/crypto"
	"tarn/antelope/types"
)

// signedOddly is a transaction with a WebAuthn signature whose challenge has odd characters
// after it.
func signedOddly(t *testing.T, after string) *types.PackedTransaction {
	t.Helper()
	secret, err := crypto.NewPrivateKey(types.R1, [32]byte{5, 31: 6})
	if err != nil {
		t.Fatal(err)
	}
	trx := &types.Transaction{}
	digest := trx.SigningDigest(types.Checksum256{}, nil)
	rpid := sha256.Sum256([]byte("x.y"))
	auth := string(rpid[:]) + "\x00\x00\x00\x00\x00"
	client := `{"type":"webauthn.get","origin":"https://x.y","challenge":"` +
		base64.RawURLEncoding.EncodeToString(digest[:]) + after + `"}`
	hash := sha256.Sum256([]byte(client))
	sig, err := secret.Sign(types.Hash(append([]byte(auth), hash[:]...)))
	if err != nil {
		t.Fatal(err)
	}
	sig.Type, sig.AuthData, sig.ClientJSON = types.WebAuthn, auth, client
	p, err := types.Pack(trx, []types.Signature{sig}, nil, types.CompressionNone)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Ahead of its turn nobody knows by whose rules a block's signatures are read: then the keys of
// those that show it are left, though a node has found them before.
func TestKeysThatDependOnTheRulesWaitForTheBlock(t *testing.T) {
	k := NewKeys(0)
	odd, usual := signedOddly(t, "=!"), signedOddly(t, "=")
	b := &types.SignedBlock{Transactions: []types.TransactionReceipt{{Packed: odd}, {Packed: usual}}}
	x, err := NewCandidate(odd, Input)
	if err != nil {
		t.Fatal(err)
	}
	if errs := k.Recover(Unlimited, 1, []*Candidate{x}); errs != nil || len(x.Keys) != 1 {
		t.Fatalf("by Leap's rules: %v, %v", x.Keys, errs)
	}
	known := func(id types.Checksum256) *Candidate {
		return &Candidate{Packed: odd, Keys: x.Keys}
	}
	for _, spring := range []bool{false, true} {
		k.FollowSpring(spring)
		list, err := k.Unpack(b, known, 1)
		if err != nil || len(list[0].Keys) != 0 || len(list[1].Keys) != 1 {
			t.Fatalf("Spring %v: %+v, %v", spring, list, err)
		}
		if errs := k.Recover(Unlimited, 1, list[:1]); (errs == nil) == spring {
			t.Errorf("Spring %v: %v", spring, errs)
		}
	}
}
