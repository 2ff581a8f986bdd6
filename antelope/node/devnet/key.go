package devnet

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"tarn/antelope/crypto"
	"tarn/antelope/types"
	"tarn/store/vfs"
)

// The accounts with keys.
const (
	producerName = "eosio"
	aliceName    = "alice"
	bobName      = "bob"
)

// finality is what a key is for that votes for blocks.
const finality = "finality"

// keyPair is the key of an account, for all its permissions, or for what it says.
type keyPair struct {
	Account string `json:"account"`
	Use     string `json:"use,omitempty"` // "" or finality
	Public  string `json:"public"`
	Private string `json:"private"`

	key crypto.PrivateKey
	bls *crypto.BLSPrivateKey // of finality
}

// keyring is the keys of a chain.
type keyring struct{ pairs []keyPair }

// find is an account's key for a use; nil if there is none.
func (k *keyring) find(account, use string) *keyPair {
	i := slices.IndexFunc(k.pairs, func(p keyPair) bool { return p.Account == account && p.Use == use })
	if i < 0 {
		return nil
	}
	return &k.pairs[i]
}

// of is an account's key.
func (k *keyring) of(account string) *keyPair { return k.find(account, "") }

// finalizer is the key that votes for the chain's blocks; nil if the chain has no finalizer.
func (k *keyring) finalizer() *keyPair { return k.find(producerName, finality) }

// openKeys reads a file of keys. If there is none, it makes the keys and the file, which only its
// owner may read. Where a finalizer is wanted there must be its key.
func openKeys(path string, savanna bool) (*keyring, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return makeKeys(path, savanna)
	}
	if err != nil {
		return nil, err
	}
	k := &keyring{}
	if err := json.Unmarshal(text, &k.pairs); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for i := range k.pairs {
		p := &k.pairs[i]
		if p.Use == finality {
			p.bls, err = crypto.ParseBLSPrivateKey(p.Private)
		} else {
			p.key, err = crypto.ParsePrivateKey(p.Private)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: the key of %s: %w", path, p.Account, err)
		}
	}
	for _, account := range []string{producerName, aliceName, bobName} {
		if k.of(account) == nil {
			return nil, fmt.Errorf("%s has no key of %s", path, account)
		}
	}
	if savanna && k.finalizer() == nil {
		return nil, fmt.Errorf(
			"%s has no finalizer's key: the chain of this folder was made without --savanna; make another with --dir",
			path)
	}
	return k, nil
}

func makeKeys(path string, savanna bool) (*keyring, error) {
	k := &keyring{}
	if savanna {
		key, err := crypto.GenerateBLSPrivateKey(rand.Reader)
		if err != nil {
			return nil, err
		}
		k.pairs = append(k.pairs, keyPair{Account: producerName, Use: finality, Public: key.Public().String(),
			Private: key.Text(), bls: key})
	}
	for _, account := range []string{producerName, aliceName, bobName} {
		key, err := crypto.GeneratePrivateKey(types.K1, rand.Reader)
		if err != nil {
			return nil, err
		}
		k.pairs = append(k.pairs,
			keyPair{Account: account, Public: key.Public().String(), Private: key.Text(), key: key})
	}
	text, err := json.MarshalIndent(k.pairs, "", "  ")
	if err != nil {
		return nil, err
	}
	// At its place as a whole: a part of the keys would be the loss of the others.
	return k, vfs.WriteDurably(vfs.Private, path, append(text, '\n'))
}
