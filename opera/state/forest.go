package state

import (
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/trie"
	"github.com/ethereum/go-ethereum/trie/trienode"
)

// forest is the trie of accounts with the storage tries that changes have touched, in
// memory above what a nodeReader has. One goroutine at a time may use it.
type forest struct {
	nodes    *nodeReader
	accounts *trie.Trie
	storage  map[common.Hash]*trie.Trie
	dropped  map[common.Hash]bool
	updates  int // leaves changed since the nodes were taken out last
}

func newForest(nodes *nodeReader, root common.Hash) (*forest, error) {
	f := &forest{nodes: nodes}
	return f, f.open(root)
}

func (f *forest) open(root common.Hash) error {
	accounts, err := trie.New(trie.StateTrieID(root), f.nodes)
	if err != nil {
		return fmt.Errorf("open the trie of root %x: %w", root, err)
	}
	f.accounts, f.updates = accounts, 0
	f.storage, f.dropped = map[common.Hash]*trie.Trie{}, map[common.Hash]bool{}
	return nil
}

// leaf returns what the trie says of an account.
func (f *forest) leaf(address common.Hash) (*types.StateAccount, error) {
	row, err := f.accounts.Get(address[:])
	if err != nil || row == nil {
		return nil, err
	}
	a := new(types.StateAccount)
	if err := rlp.DecodeBytes(row, a); err != nil {
		return nil, fmt.Errorf("leaf of account %x: %w", address, err)
	}
	return a, nil
}

// storageOf returns an account's storage trie.
func (f *forest) storageOf(address, root common.Hash) (*trie.Trie, error) {
	if tr := f.storage[address]; tr != nil {
		return tr, nil
	}
	// Any state root but the empty one makes the trie ask the reader.
	tr, err := trie.New(trie.StorageTrieID(common.Hash{1}, address, root), f.nodes)
	if err != nil {
		return nil, fmt.Errorf("open the storage trie of %x: %w", address, err)
	}
	f.storage[address] = tr
	return tr, nil
}

func (f *forest) drop(address common.Hash) {
	delete(f.storage, address)
	f.dropped[address] = true
}

// apply makes accounts and slots what the values say.
func (f *forest) apply(all []accountValue) error {
	for i := range all {
		if err := f.applyOne(&all[i]); err != nil {
			return fmt.Errorf("account %x in the trie: %w", all[i].hash, err)
		}
	}
	return nil
}

func (f *forest) applyOne(v *accountValue) error {
	was, err := f.leaf(v.hash)
	if err != nil {
		return err
	}
	root := emptyRoot
	if was != nil {
		root = was.Root
	}
	f.updates += 1 + len(v.slots)
	if (v.account == nil || v.wiped) && root != emptyRoot {
		f.drop(v.hash)
		root = emptyRoot
	}
	if v.account == nil {
		if was == nil {
			return nil
		}
		return f.accounts.Delete(v.hash[:])
	}
	if len(v.slots) != 0 {
		if root, err = f.applySlots(v, root); err != nil {
			return err
		}
	}
	row, err := encodeLeaf(v.account, root)
	if err != nil {
		return err
	}
	return f.accounts.Update(v.hash[:], row)
}

// encodeLeaf is an account as the trie has it.
func encodeLeaf(a *Account, storage common.Hash) ([]byte, error) {
	return rlp.EncodeToBytes(&types.StateAccount{Nonce: a.Nonce, Balance: &a.Balance, Root: storage,
		CodeHash: a.Code[:]})
}

// encodeWord is a slot's value as the trie has it: a string without leading zeros.
func encodeWord(value common.Hash) ([]byte, error) { return rlp.EncodeToBytes(trimZeros(&value)) }

// decodeWord is the inverse of encodeWord; nothing is zero.
func decodeWord(leaf []byte) (value common.Hash, err error) {
	if len(leaf) == 0 {
		return value, nil
	}
	_, word, rest, err := rlp.Split(leaf)
	if err != nil || len(rest) != 0 || len(word) > common.HashLength {
		return value, fmt.Errorf("%x is no word", leaf)
	}
	return common.BytesToHash(word), nil
}

func (f *forest) applySlots(v *accountValue, root common.Hash) (common.Hash, error) {
	tr, err := f.storageOf(v.hash, root)
	if err != nil {
		return root, err
	}
	for _, s := range v.slots {
		if s.value == (common.Hash{}) {
			err = tr.Delete(s.hash[:])
		} else if word, e := encodeWord(s.value); e == nil {
			err = tr.Update(s.hash[:], word)
		}
		if err != nil {
			return root, fmt.Errorf("slot %x: %w", s.hash, err)
		}
	}
	return tr.Hash(), nil
}

// root hashes what has changed. The forest can be changed further.
func (f *forest) root() common.Hash { return f.accounts.Hash() }

// take returns the changed nodes, and opens the forest on them anew; the caller makes the
// reader find them before the forest is used again.
func (f *forest) take(number uint64) (*batch, error) {
	b := &batch{number: number, dropped: f.dropped, nodes: map[common.Hash]map[string][]byte{}}
	for owner, tr := range f.storage {
		_, nodes := tr.Commit(false)
		b.add(owner, nodes)
	}
	root, nodes := f.accounts.Commit(false)
	b.add(common.Hash{}, nodes)
	b.root = root
	f.nodes.batches = append(f.nodes.batches, b)
	return b, f.open(root)
}

func (b *batch) add(owner common.Hash, set *trienode.NodeSet) {
	if set == nil {
		return
	}
	nodes := make(map[string][]byte, len(set.Nodes))
	for path, node := range set.Nodes {
		nodes[path] = node.Blob
		b.size += len(path) + len(node.Blob) + 96
	}
	b.nodes[owner] = nodes
}
