package state

import (
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// Hashes remembers the hashes of addresses and slots from one block to the next: the rows have
// them for keys, and blocks touch the same ones again and again. A nil one remembers nothing. One
// goroutine at a time may use it.
type Hashes struct {
	addresses map[common.Address]common.Hash
	slots     map[common.Hash]common.Hash
}

// rememberedHashes bounds each kind: some 15 MB together.
const rememberedHashes = 1 << 16

// NewHashes returns what remembers nothing yet.
func NewHashes() *Hashes {
	return &Hashes{addresses: map[common.Address]common.Hash{}, slots: map[common.Hash]common.Hash{}}
}

func (h *Hashes) address(a common.Address) common.Hash {
	if h == nil {
		return crypto.Keccak256Hash(a[:])
	}
	return rememberHash(h.addresses, a, a[:])
}

func (h *Hashes) slot(key common.Hash) common.Hash {
	if h == nil {
		return crypto.Keccak256Hash(key[:])
	}
	return rememberHash(h.slots, key, key[:])
}

func rememberHash[K comparable](known map[K]common.Hash, key K, bytes []byte) common.Hash {
	hash, ok := known[key]
	if !ok {
		if len(known) >= rememberedHashes {
			clear(known)
		}
		hash = crypto.Keccak256Hash(bytes)
		known[key] = hash
	}
	return hash
}
