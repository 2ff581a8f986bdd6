package evm

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rlp"

	"tarn/opera/state"
)

var _ State = (*state.Block)(nil)

// hashed is a state by hashes, as opera/state wants its source.
type hashed struct {
	accounts map[common.Hash]*hashedAccount
	codes    map[common.Hash][]byte
}

type hashedAccount struct {
	state.Account
	slots map[common.Hash]common.Hash
}

var _ state.Source = (*hashed)(nil)

func (m *memory) hashKeys() *hashed {
	h := &hashed{accounts: make(map[common.Hash]*hashedAccount), codes: make(map[common.Hash][]byte)}
	for address, a := range m.accounts {
		code := crypto.Keccak256Hash(a.code)
		b := &hashedAccount{Account: state.Account{Nonce: a.nonce, Balance: a.balance, Code: code, Address: address},
			slots: make(map[common.Hash]common.Hash)}
		for key, value := range a.storage {
			if value != (common.Hash{}) {
				b.slots[crypto.Keccak256Hash(key[:])] = value
			}
		}
		h.accounts[crypto.Keccak256Hash(address[:])] = b
		h.codes[code] = a.code
	}
	return h
}

func (h *hashed) Account(address common.Hash) (*state.Account, error) {
	if a := h.accounts[address]; a != nil {
		b := a.Account
		return &b, nil
	}
	return nil, nil
}

func (h *hashed) Slot(address, slot common.Hash) (common.Hash, error) {
	if a := h.accounts[address]; a != nil {
		return a.slots[slot], nil
	}
	return common.Hash{}, nil
}

func (h *hashed) Code(hash common.Hash) ([]byte, error) {
	code, ok := h.codes[hash]
	if !ok {
		return nil, fmt.Errorf("there is no code %v", hash)
	}
	return code, nil
}

func (h *hashed) Slots(address, from common.Hash, each func(state.Slot) bool) error {
	a := h.accounts[address]
	if a == nil {
		return nil
	}
	for _, slot := range slices.SortedFunc(maps.Keys(a.slots), common.Hash.Cmp) {
		if slot.Cmp(from) >= 0 && !each(state.Slot{Hash: slot, Value: a.slots[slot]}) {
			return nil
		}
	}
	return nil
}

// change puts a block's changes into the state.
func (h *hashed) change(c *state.Changes) {
	for _, code := range c.Codes {
		h.codes[code.Hash] = code.Bytes
	}
	for i := range c.Accounts {
		change := &c.Accounts[i]
		if change.After == nil {
			delete(h.accounts, change.Hash)
			continue
		}
		a := h.accounts[change.Hash]
		if a == nil {
			a = &hashedAccount{slots: make(map[common.Hash]common.Hash)}
			h.accounts[change.Hash] = a
		}
		a.Account = *change.After
		for _, s := range change.Slots {
			a.slots[s.Hash] = s.After
			if s.After == (common.Hash{}) {
				delete(a.slots, s.Hash)
			}
		}
	}
}

// root is the root of Ethereum's trie of the state, built from nothing.
func (h *hashed) root() common.Hash {
	leaves := make(map[common.Hash][]byte)
	for address, a := range h.accounts {
		storage := make(map[common.Hash][]byte)
		for slot, value := range a.slots {
			storage[slot] = encode(bytes.TrimLeft(value[:], "\x00"))
		}
		leaves[address] = encode(&types.StateAccount{Nonce: a.Nonce, Balance: &a.Balance, Root: trieRoot(storage),
			CodeHash: a.Code[:]})
	}
	return trieRoot(leaves)
}

func encode(v any) []byte {
	row, err := rlp.EncodeToBytes(v)
	if err != nil {
		panic(err)
	}
	return row
}
