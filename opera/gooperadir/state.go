package gooperadir

import (
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// Prefixes of keys of the state's table, which is go-ethereum's: code and what was hashed.
// Nodes of tries lie at their hashes alone.
const (
	codePrefix     = "c"
	preimagePrefix = "secure-key-"
)

// Node returns the node of a trie with a hash, nil if there is none. It must not be changed.
func (f *Folder) Node(hash common.Hash) ([]byte, error) {
	return f.getHashed(f.nodes.Get, f.nodes.Add, "", hash)
}

// Preimage returns what has a hash, an address or a slot's key, nil if it is not known. It
// must not be changed.
func (f *Folder) Preimage(hash common.Hash) ([]byte, error) {
	return f.getHashed(f.preimages.Get, f.preimages.Add, preimagePrefix, hash)
}

// Code returns the code with a hash, nil if there is none. It is the caller's.
func (f *Folder) Code(hash common.Hash) ([]byte, error) {
	code, err := f.read(codePrefix, hash)
	if err == nil && code == nil {
		code, err = f.read("", hash) // as before go-ethereum 1.9.23
	}
	return code, err
}

func (f *Folder) getHashed(
	get func(common.Hash) ([]byte, bool), add func(common.Hash, []byte) bool, prefix string, hash common.Hash,
) ([]byte, error) {
	if value, ok := get(hash); ok {
		return value, nil
	}
	value, err := f.read(prefix, hash)
	if err == nil && value != nil {
		add(hash, value)
	}
	return value, err
}

// read reads what lies at a hash, and compares its own.
func (f *Folder) read(prefix string, hash common.Hash) ([]byte, error) {
	t := f.tables[stateTable]
	key := append([]byte(prefix), hash[:]...)
	value, err := t.get(key)
	if err != nil || value == nil {
		return nil, err
	}
	if got := crypto.Keccak256Hash(value); got != hash {
		return nil, t.malformedError(key, fmt.Errorf("what lies there has hash %x", got))
	}
	return value, nil
}
