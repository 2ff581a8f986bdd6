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

// keyPair is the key of an account, for all its permissions.
type keyPair struct {
	Account string `json:"account"`
	Public  string `json:"public"`
	Private string `json:"private"`

	key crypto.PrivateKey
}

// keyring is the keys of a chain.
type keyring struct{ pairs []keyPair }

// of is an account's key.
func (k *keyring) of(account string) *keyPair {
	i := slices.IndexFunc(k.pairs, func(p keyPair) bool { return p.Account == account })
	return &k.pairs[i]
}

// openKeys reads a file of keys. If there is none, it makes the keys and the file,
// which only its owner may read.
func openKeys(path string) (*keyring, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return makeKeys(path)
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
		if p.key, err = crypto.ParsePrivateKey(p.Private); err != nil {
			return nil, fmt.Errorf("%s: the key of %s: %w", path, p.Account, err)
		}
	}
	for _, account := range []string{producerName, aliceName, bobName} {
		if !slices.ContainsFunc(k.pairs, func(p keyPair) bool { return p.Account == account }) {
			return nil, fmt.Errorf("%s has no key of %s", path, account)
		}
	}
	return k, nil
}

func makeKeys(path string) (*keyring, error) {
	k := &keyring{}
	for _, account := range []string{producerName, aliceName, bobName} {
		key, err := crypto.GeneratePrivateKey(types.K1, rand.Reader)
		if err != nil {
			return nil, err
		}
		k.pairs = append(k.pairs, keyPair{Account: account, Public: key.Public().String(), Private: key.Text(), key: key})
	}
	text, err := json.MarshalIndent(k.pairs, "", "  ")
	if err != nil {
		return nil, err
	}
	// At its place as a whole: a part of the keys would be the loss of the others.
	return k, vfs.WriteDurably(vfs.Private, path, append(text, '\n'))
}
