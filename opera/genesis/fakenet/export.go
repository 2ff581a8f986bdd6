package fakenet

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/trie"

	"tarn/opera/genesis"
	"tarn/opera/state"
)

// exporter collects a state's items.
type exporter struct {
	items map[string][]byte
	err   error
}

// export makes the tries of a state that began from nothing: their root, and the items
// of a genesis, in the order of their keys.
func export(c *state.Changes) (root common.Hash, items []genesis.Item, err error) {
	e := &exporter{items: map[string][]byte{}}
	accounts := e.trie()
	for i := range c.Accounts {
		account := &c.Accounts[i]
		if account.After == nil {
			continue
		}
		storage := e.storage(account.Slots)
		body, err := rlp.EncodeToBytes(&types.StateAccount{
			Nonce: account.After.Nonce, Balance: &account.After.Balance, Root: storage, CodeHash: account.After.Code[:],
		})
		if err != nil {
			return root, nil, fmt.Errorf("encode an account: %w", err)
		}
		e.fail(accounts.Update(account.Hash[:], body))
		e.preimage(account.Hash, account.After.Address[:])
	}
	for _, code := range c.Codes {
		e.items["c"+string(code.Hash[:])] = code.Bytes
	}
	root = accounts.Hash()
	for key, value := range e.items {
		items = append(items, genesis.Item{Key: []byte(key), Value: value})
	}
	slices.SortFunc(items, func(a, b genesis.Item) int { return bytes.Compare(a.Key, b.Key) })
	return root, items, e.err
}

// trie begins a trie whose nodes become items.
func (e *exporter) trie() *trie.StackTrie {
	return trie.NewStackTrie(func(_ []byte, hash common.Hash, node []byte) {
		e.items[string(hash[:])] = bytes.Clone(node)
	})
}

// storage makes the trie of an account's slots.
func (e *exporter) storage(slots []state.SlotChange) common.Hash {
	t := e.trie()
	for _, s := range slots {
		if s.After == (common.Hash{}) {
			continue
		}
		value, err := rlp.EncodeToBytes(common.TrimLeftZeroes(s.After[:]))
		e.fail(err)
		e.fail(t.Update(s.Hash[:], value))
		e.preimage(s.Hash, s.Key[:])
	}
	return t.Hash()
}

func (e *exporter) preimage(hash common.Hash, of []byte) {
	e.items["secure-key-"+string(hash[:])] = bytes.Clone(of)
}

func (e *exporter) fail(err error) { e.err = errors.Join(e.err, err) }
