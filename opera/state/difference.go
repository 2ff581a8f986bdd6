package state

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/trie"
	"github.com/ethereum/go-ethereum/triedb/database"
)

// ErrMissingNode is wrapped by the error of a state of which a node is not there, as where
// old states were pruned.
var ErrMissingNode = errors.New("a node of the state is missing")

// Difference returns what turned the state of one root into that of another, as the changes
// of a block, for [Archive.Append]; codes are not among them. It reads what the tries do not
// share. Any goroutine may call it.
func Difference(from Nodes, number uint64, before, after common.Hash) (*Changes, error) {
	c := &Changes{Number: number}
	err := differ(from, common.Hash{}, before, after, func(hash common.Hash, was, is []byte) error {
		change, err := accountDifference(from, hash, was, is)
		c.Accounts = append(c.Accounts, change)
		return err
	})
	var missing *trie.MissingNodeError
	if errors.As(err, &missing) {
		err = errors.Join(ErrMissingNode, err)
	}
	if err != nil {
		return nil, fmt.Errorf("what block %d changed, from root %x to %x: %w", number, before, after, err)
	}
	return c, nil
}

// accountDifference is the change of an account, whose leaves are nil where there is none.
func accountDifference(from Nodes, hash common.Hash, was, is []byte) (AccountChange, error) {
	c := AccountChange{Hash: hash}
	var err error
	read := func(leaf []byte) (*Account, common.Hash) {
		if leaf == nil || err != nil {
			return nil, emptyRoot
		}
		var a *Account
		var root common.Hash
		if a, root, err = decodeLeaf(hash, leaf); err != nil {
			return nil, emptyRoot
		}
		var address []byte
		address, err = from.Preimage(hash)
		a.Address = common.BytesToAddress(address)
		return a, root
	}
	var before, after common.Hash
	c.Before, before = read(was)
	c.After, after = read(is)
	if err != nil {
		return c, err
	}
	err = differ(from, hash, before, after, func(slot common.Hash, was, is []byte) error {
		s := SlotChange{Hash: slot}
		var err error
		for _, v := range []struct {
			leaf []byte
			to   *common.Hash
		}{{was, &s.Before}, {is, &s.After}} {
			if v.leaf != nil && err == nil {
				*v.to, err = decodeSlotLeaf(slot, v.leaf)
			}
		}
		c.Slots = append(c.Slots, s)
		return err
	})
	if err != nil {
		return c, fmt.Errorf("storage of account %x: %w", hash, err)
	}
	return c, nil
}

// differ calls each for the keys of which two tries have different leaves, ascending; a leaf
// that is not there is nil.
func differ(from Nodes, owner, before, after common.Hash, each func(hash common.Hash, was, is []byte) error) error {
	if before == after {
		return nil
	}
	gone, err := unsharedLeaves(from, owner, after, before)
	if err != nil {
		return err
	}
	come, err := unsharedLeaves(from, owner, before, after)
	if err != nil {
		return err
	}
	for len(gone)+len(come) > 0 {
		order := 0
		switch {
		case len(gone) == 0:
			order = 1
		case len(come) == 0:
			order = -1
		default:
			order = gone[0].hash.Cmp(come[0].hash)
		}
		var hash common.Hash
		var was, is []byte
		if order <= 0 {
			hash, was, gone = gone[0].hash, gone[0].leaf, gone[1:]
		}
		if order >= 0 {
			hash, is, come = come[0].hash, come[0].leaf, come[1:]
		}
		if bytes.Equal(was, is) {
			continue
		}
		if err := each(hash, was, is); err != nil {
			return err
		}
	}
	return nil
}

// leaf is a leaf of a trie at its key.
type leaf struct {
	hash common.Hash
	leaf []byte
}

// unsharedLeaves returns the leaves of a trie that another one does not have, ascending.
func unsharedLeaves(from Nodes, owner, other, root common.Hash) ([]leaf, error) {
	a, err := openTrie(owner, other, byHash{from})
	if err != nil {
		return nil, err
	}
	b, err := openTrie(owner, root, byHash{from})
	if err != nil {
		return nil, err
	}
	nodes, _ := trie.NewDifferenceIterator(a, b)
	var all []leaf
	err = eachLeaf(nodes, func(hash common.Hash, blob []byte) error {
		all = append(all, leaf{hash, bytes.Clone(blob)})
		return nil
	})
	return all, err
}

// byHash is go-ethereum's database of nodes over [Nodes].
type byHash struct{ Nodes }

var _ database.NodeDatabase = byHash{}

// NodeReader implements database.NodeDatabase.
func (n byHash) NodeReader(common.Hash) (database.NodeReader, error) { return n, nil }

// Node implements database.NodeReader.
func (n byHash) Node(_ common.Hash, _ []byte, hash common.Hash) ([]byte, error) {
	return n.Nodes.Node(hash)
}
