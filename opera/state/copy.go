package state

import (
	"context"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/trie"
	"github.com/ethereum/go-ethereum/triedb/database"

	"tarn/store"
)

// Nodes is where states lie as tries whose nodes are found by their hashes. What is
// returned has the hash that was asked for, and nil means that there is no such thing.
// The caller must not change it.
type Nodes interface {
	// Node returns a node of a trie in its encoding.
	Node(hash common.Hash) ([]byte, error)
	// Code returns the code of a contract.
	Code(hash common.Hash) ([]byte, error)
	// Preimage returns what was hashed: an address, or a slot's key.
	Preimage(hash common.Hash) ([]byte, error)
}

// Copy copies a state out of tries into a store that has none. It works outside sessions;
// the store must carry its mark of being unfinished until a checkpoint after it is durable.
type Copy struct {
	Tables *Tables
	To     store.Store
	From   Nodes
	// Context, if not nil, ends the copy.
	Context context.Context
	// Progress, if not nil, is told of each account, in the order of their hashes, which
	// are spread evenly.
	Progress func(account common.Hash)

	puts int
}

// State makes the state of a root that of a block. As each node is found by its hash, the
// state cannot be another one; a node or code that is missing is an error.
func (c *Copy) State(number uint64, root common.Hash) error {
	if err := c.state(root); err != nil {
		return err
	}
	return c.finish(number, root)
}

func (c *Copy) state(root common.Hash) error {
	if err := c.accounts(root); err != nil {
		return fmt.Errorf("state of root %x: %w", root, err)
	}
	return nil
}

func (c *Copy) finish(number uint64, root common.Hash) error {
	if err := c.Tables.putRoot(c.To, number, root); err != nil {
		return err
	}
	return c.Tables.putProgress(c.To, progress{number: number, root: root})
}

func (c *Copy) put(t store.Table, key, value []byte) error {
	if err := c.To.Put(t, key, value); err != nil {
		return fmt.Errorf("copy the state: %w", err)
	}
	if c.puts++; c.puts%relieveEvery == 0 {
		if c.Context != nil && c.Context.Err() != nil {
			return c.Context.Err()
		}
		return c.To.Relieve()
	}
	return nil
}

// walkLeaves walks a trie and calls each for its leaves, ascending.
func walkLeaves(
	owner, root common.Hash, from database.NodeDatabase, each func(hash common.Hash, leaf []byte) error,
) error {
	nodes, err := openTrie(owner, root, from)
	if err != nil {
		return err
	}
	return eachLeaf(nodes, each)
}

func openTrie(owner, root common.Hash, from database.NodeDatabase) (trie.NodeIterator, error) {
	tr, err := trie.New(trie.StorageTrieID(common.Hash{1}, owner, root), from)
	if err != nil {
		return nil, err
	}
	return tr.NodeIterator(nil)
}

func eachLeaf(nodes trie.NodeIterator, each func(hash common.Hash, leaf []byte) error) error {
	for nodes.Next(true) {
		if !nodes.Leaf() {
			continue
		}
		if len(nodes.LeafKey()) != common.HashLength {
			return fmt.Errorf("a leaf's path is %x", nodes.LeafKey())
		}
		if err := each(common.Hash(nodes.LeafKey()), nodes.LeafBlob()); err != nil {
			return err
		}
	}
	return nodes.Error()
}

// decodeLeaf reads the leaf of an account: its row, but for the address, and the root of its
// storage.
func decodeLeaf(hash common.Hash, leaf []byte) (*Account, common.Hash, error) {
	a := new(types.StateAccount)
	if err := rlp.DecodeBytes(leaf, a); err != nil {
		return nil, common.Hash{}, fmt.Errorf("account %x: %w", hash, err)
	}
	return &Account{Nonce: a.Nonce, Balance: *a.Balance, Code: common.BytesToHash(a.CodeHash)}, a.Root, nil
}

// decodeSlotLeaf reads the leaf of a slot, which is never zero.
func decodeSlotLeaf(hash common.Hash, leaf []byte) (common.Hash, error) {
	value, err := decodeWord(leaf)
	if err != nil || value == (common.Hash{}) {
		return value, fmt.Errorf("slot %x is %x", hash, leaf)
	}
	return value, nil
}

func (c *Copy) accounts(root common.Hash) error {
	return walkLeaves(common.Hash{}, root, copied{c}, func(hash common.Hash, leaf []byte) error {
		row, storage, err := decodeLeaf(hash, leaf)
		if err != nil {
			return err
		}
		if err := c.code(row.Code); err != nil {
			return fmt.Errorf("code %x of account %x: %w", row.Code, hash, err)
		}
		address, err := c.From.Preimage(hash)
		if err != nil {
			return err
		}
		row.Address = common.BytesToAddress(address)
		if err := c.put(c.Tables.accounts, hash[:], appendAccount(nil, row)); err != nil {
			return err
		}
		if err := c.slots(hash, storage); err != nil {
			return fmt.Errorf("storage of account %x: %w", hash, err)
		}
		if c.Progress != nil {
			c.Progress(hash)
		}
		return nil
	})
}

// code copies a code, once.
func (c *Copy) code(hash common.Hash) error {
	if hash == emptyCode {
		return nil
	}
	_, err := c.To.Get(c.Tables.code, hash[:])
	if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	code, err := c.From.Code(hash)
	if err == nil && code == nil {
		err = errors.New("it is missing")
	}
	if err != nil {
		return err
	}
	return c.put(c.Tables.code, hash[:], code)
}

func (c *Copy) slots(address, root common.Hash) error {
	return walkLeaves(address, root, copied{c}, func(hash common.Hash, leaf []byte) error {
		value, err := decodeSlotLeaf(hash, leaf)
		if err != nil {
			return err
		}
		key, err := c.From.Preimage(hash)
		if err != nil {
			return err
		}
		row := appendSlot(nil, value, common.BytesToHash(key), key != nil)
		return c.put(c.Tables.slots, slotKey(nil, address, hash), row)
	})
}

// copied reads nodes by hash, and puts each at its path.
type copied struct{ *Copy }

var _ database.NodeDatabase = copied{}

// NodeReader implements database.NodeDatabase.
func (c copied) NodeReader(common.Hash) (database.NodeReader, error) { return c, nil }

// Node implements database.NodeReader.
func (c copied) Node(owner common.Hash, path []byte, hash common.Hash) ([]byte, error) {
	node, err := c.From.Node(hash)
	if err != nil || node == nil {
		return nil, err
	}
	table, key := c.Tables.nodeKey(nil, owner, path)
	return node, c.put(table, key, node)
}
