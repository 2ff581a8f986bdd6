package state

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/trie"

	"tarn/store"
)

// Counted is what a full check went through.
type Counted struct {
	Accounts, Slots, Codes, Nodes uint64
}

// ErrTrieBehind is returned where the trie must be that of the newest block: settle the
// roots and collect first.
var ErrTrieBehind = errors.New("the trie is behind the flat state")

// settledProgress returns the trie's progress, and ErrTrieBehind if blocks wait for it.
func (t *Tables) settledProgress(from store.Reader) (progress, error) {
	p, err := t.progress(from)
	if err != nil {
		return p, err
	}
	err = t.waiting(from, func(number uint64, _ []accountValue) error {
		return fmt.Errorf("block %d waits: %w", number, ErrTrieBehind)
	})
	return p, err
}

// Check builds the tries anew from the flat rows, and compares each node and the root with
// what the rows have; it hashes each code, and looks for rows that belong to nothing. What
// is wrong goes to report, which may be called often. An error says that the check could
// not go on. It holds one path of a trie in memory. Progress, if not nil, is told what is being read, how much
// of it was, and how much there is, about; its error ends the check.
func (t *Tables) Check(
	from store.Reader, report func(error), progress func(what string, done, total uint64) error,
) (Counted, error) {
	p, err := t.settledProgress(from)
	if err != nil {
		return Counted{}, err
	}
	if progress == nil {
		progress = func(string, uint64, uint64) error { return nil }
	}
	c := &checker{tables: t, from: from, report: report, progress: progress, flat: t.Flat(from)}
	slots, err := from.Cursor(t.slots)
	if err != nil {
		return Counted{}, err
	}
	defer slots.Close()
	c.slots, c.more = slots, slots.First()
	err = c.accounts(p.root)
	if err == nil {
		err = c.codes()
	}
	if err == nil {
		err = c.nodeRows()
	}
	return c.counted, err
}

type checker struct {
	tables *Tables
	from   store.Reader
	flat   *Flat
	report func(error)

	progress func(what string, done, total uint64) error

	slots   store.Cursor // walks beside the accounts
	more    bool
	counted Counted
	err     error
}

// accounts walks the accounts and builds their trie.
func (c *checker) accounts(want common.Hash) error {
	tr := trie.NewStackTrie(c.compare(common.Hash{}))
	err := c.flat.Accounts(common.Hash{}, func(hash common.Hash, a *Account) bool {
		var root common.Hash
		if root, c.err = c.storage(hash); c.err != nil {
			return false
		}
		c.account(hash, a)
		var leaf []byte
		if leaf, c.err = encodeLeaf(a, root); c.err == nil {
			c.err = tr.Update(hash[:], leaf)
		}
		if c.err == nil {
			c.err = c.reportWalk(hash)
		}
		return c.err == nil
	})
	if err = errors.Join(err, c.err); err != nil {
		return err
	}
	if c.more {
		c.orphans(func([]byte) bool { return true })
	}
	if root := tr.Hash(); root != want {
		c.report(fmt.Errorf("the flat rows have root %x, the trie %x", root, want))
	}
	return c.slots.Err()
}

// reportWalk tells how many accounts and slots there were up to an account. Hashes are spread
// evenly, so that the account's says what part of all that is.
func (c *checker) reportWalk(hash common.Hash) error {
	done := c.counted.Accounts + c.counted.Slots
	part := (float64(binary.BigEndian.Uint64(hash[:])) + 1) / (1 << 64)
	return c.progress("accounts and slots", done, uint64(float64(done)/part))
}

func (c *checker) account(hash common.Hash, a *Account) {
	c.counted.Accounts++
	if a.Address != (common.Address{}) && crypto.Keccak256Hash(a.Address[:]) != hash {
		c.report(fmt.Errorf("account %x says that its address is %v", hash, a.Address))
	}
	if a.Code == emptyCode {
		return
	}
	if _, err := c.from.Get(c.tables.code, a.Code[:]); err != nil {
		c.report(fmt.Errorf("code of account %x: %w", hash, err))
	}
}

// orphans passes slots' rows over whose account is not there.
func (c *checker) orphans(before func(key []byte) bool) {
	for c.more && before(c.slots.Key()) {
		c.report(fmt.Errorf("slot %x has no account", c.slots.Key()))
		c.more = c.slots.Next()
	}
}

// storage passes an account's slots over and returns the root of their trie.
func (c *checker) storage(address common.Hash) (common.Hash, error) {
	c.orphans(func(key []byte) bool { return bytes.Compare(key, address[:]) < 0 })
	tr := trie.NewStackTrie(c.compare(address))
	for c.more && bytes.HasPrefix(c.slots.Key(), address[:]) {
		at := bytes.Clone(c.slots.Key())
		value, key, known, err := decodeSlot(at, c.slots.Value())
		if err != nil {
			return emptyRoot, err
		}
		hash := at[common.HashLength:]
		if known && crypto.Keccak256Hash(key[:]) != common.Hash(hash) {
			c.report(fmt.Errorf("slot %x says that its key is %x", at, key))
		}
		word, err := encodeWord(value)
		if err == nil {
			err = tr.Update(hash, word)
		}
		if err != nil {
			return emptyRoot, fmt.Errorf("slot %x: %w", at, err)
		}
		c.counted.Slots++
		c.more = c.slots.Next()
	}
	return tr.Hash(), c.slots.Err()
}

// compare returns what compares each node of a trie with its row.
func (c *checker) compare(owner common.Hash) trie.OnTrieNode {
	nodes := &nodeReader{tables: c.tables, rows: c.from}
	return func(path []byte, hash common.Hash, blob []byte) {
		c.counted.Nodes++
		row, err := nodes.Node(owner, path, hash)
		switch {
		case err != nil:
			c.report(err)
		case row == nil:
			c.report(fmt.Errorf("trie of %x has no node at %x", owner, path))
		case !bytes.Equal(row, blob):
			c.report(fmt.Errorf("trie of %x has another node at %x than the flat rows", owner, path))
		}
	}
}

// nodeRows looks for nodes that belong to no trie: there are as many rows as nodes.
func (c *checker) nodeRows() error {
	var rows uint64
	for _, table := range []store.Table{c.tables.accountNodes, c.tables.slotNodes} {
		err := c.flat.walk(table, nil, nil, func(_, _ []byte) (bool, error) {
			rows++
			return true, c.progress("nodes of tries", rows, c.counted.Nodes)
		})
		if err != nil {
			return err
		}
	}
	if rows != c.counted.Nodes {
		c.report(fmt.Errorf("%d rows of trie nodes, and the tries have %d nodes", rows, c.counted.Nodes))
	}
	return nil
}

func (c *checker) codes() error {
	return c.flat.walk(c.tables.code, nil, nil, func(key, code []byte) (bool, error) {
		c.counted.Codes++
		if crypto.Keccak256Hash(code) != common.BytesToHash(key) {
			c.report(fmt.Errorf("code %x has another hash", key))
		}
		return true, nil
	})
}
