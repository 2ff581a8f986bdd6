package state

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"tarn/store"
)

// Keys of the items of a genesis' unit "evm", which are those of go-opera's own table: a
// trie node at its hash, code at codePrefix and its hash, what was hashed at
// preimagePrefix and the hash.
const (
	codePrefix     = "c"
	preimagePrefix = "secure-key-"
)

// Kinds of rows that lie in the table of an import until it is finished.
const (
	importedNode     = 'n'
	importedPreimage = 'p'
)

// relieveEvery is after how many rows an import lets the store make a checkpoint.
const relieveEvery = 4096

// Import takes the trie nodes of a genesis, in any order, into a store that has no state
// yet. It works outside sessions; the store must carry its mark of being unfinished until
// Finish has returned and a checkpoint is durable.
type Import struct {
	tables *Tables
	to     store.Store
	key    []byte
	puts   int
}

// Import begins an import.
func (t *Tables) Import(to store.Store) *Import { return &Import{tables: t, to: to} }

// Put takes an item. What a hash names must have that hash. Items of other kinds, such as
// go-opera's flat snapshot, are passed over.
func (i *Import) Put(key, value []byte) error {
	if hash, ok := bytes.CutPrefix(key, []byte(preimagePrefix)); ok && len(hash) == common.HashLength {
		return i.putItem(importedPreimage, hash, value)
	}
	if hash, ok := bytes.CutPrefix(key, []byte(codePrefix)); ok && len(hash) == common.HashLength {
		if err := sameHash("code", hash, value); err != nil {
			return err
		}
		return i.put(i.tables.code, hash, value)
	}
	if len(key) == common.HashLength {
		return i.putItem(importedNode, key, value)
	}
	return nil
}

func sameHash(what string, hash, value []byte) error {
	if got := crypto.Keccak256(value); !bytes.Equal(got, hash) {
		return fmt.Errorf("%s of a genesis at %x has hash %x", what, hash, got)
	}
	return nil
}

func (i *Import) putItem(kind byte, hash, value []byte) error {
	if err := sameHash("item", hash, value); err != nil {
		return err
	}
	i.key = append(append(i.key[:0], kind), hash...)
	return i.put(i.tables.imported, i.key, value)
}

func (i *Import) put(t store.Table, key, value []byte) error {
	if err := i.to.Put(t, key, value); err != nil {
		return fmt.Errorf("import the state: %w", err)
	}
	if i.puts++; i.puts%relieveEvery == 0 {
		return i.to.Relieve()
	}
	return nil
}

// Finish makes the state of a root out of the items, as that of a block; other items are
// forgotten. A node or code that is missing is an error.
func (i *Import) Finish(number uint64, root common.Hash) error {
	c := &Copy{Tables: i.tables, To: i.to, From: i}
	if err := c.state(root); err != nil {
		return err
	}
	if _, err := i.to.DeleteRange(i.tables.imported, nil, nil); err != nil {
		return err
	}
	return c.finish(number, root)
}

var _ Nodes = (*Import)(nil)

// Node implements [Nodes]: what was imported, whose hashes were compared.
func (i *Import) Node(hash common.Hash) ([]byte, error) { return i.item(importedNode, hash) }

// Preimage implements [Nodes].
func (i *Import) Preimage(hash common.Hash) ([]byte, error) { return i.item(importedPreimage, hash) }

// Code implements [Nodes]. Codes are put where they belong at once.
func (i *Import) Code(common.Hash) ([]byte, error) { return nil, nil }

func (i *Import) item(kind byte, hash common.Hash) ([]byte, error) {
	row, err := i.to.Get(i.tables.imported, append([]byte{kind}, hash[:]...))
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return bytes.Clone(row), err
}

// Export calls each for the items of a genesis' unit "evm": every node of the tries, every
// code that an account may have, and with preimages what was hashed, where it is known.
// Nodes that several accounts share come several times. The trie must not be behind.
func (t *Tables) Export(from store.Reader, preimages bool, each func(key, value []byte) error) error {
	if _, err := t.settledProgress(from); err != nil {
		return err
	}
	f := t.Flat(from)
	for _, table := range []store.Table{t.accountNodes, t.slotNodes} {
		err := f.walk(table, nil, nil, func(_, node []byte) (bool, error) {
			return true, each(crypto.Keccak256(node), node)
		})
		if err != nil {
			return err
		}
	}
	err := f.walk(t.code, nil, nil, func(hash, code []byte) (bool, error) {
		return true, each(append([]byte(codePrefix), hash...), code)
	})
	if err != nil || !preimages {
		return err
	}
	return t.exportPreimages(f, func(hash, of []byte) error {
		return each(append([]byte(preimagePrefix), hash...), of)
	})
}

func (t *Tables) exportPreimages(f *Flat, each func(hash, of []byte) error) error {
	err := f.walk(t.accounts, nil, nil, func(hash, row []byte) (bool, error) {
		a, err := decodeAccount(hash, row)
		if err != nil || a.Address == (common.Address{}) {
			return true, err
		}
		return true, each(hash, a.Address[:])
	})
	if err != nil {
		return err
	}
	return f.walk(t.slots, nil, nil, func(at, row []byte) (bool, error) {
		_, key, known, err := decodeSlot(at, row)
		if err != nil || !known {
			return true, err
		}
		return true, each(at[common.HashLength:], key[:])
	})
}
