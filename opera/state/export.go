package state

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/trie"
)

// Walkable is a state whose accounts can be walked: the newest, or one before it.
type Walkable interface {
	Source
	// Accounts calls each for the accounts, ascending by hash, from one on, until it
	// returns false.
	Accounts(from common.Hash, each func(common.Hash, *Account) bool) error
}

var (
	_ Walkable = (*Flat)(nil)
	_ Walkable = (*Old)(nil)
)

// Accounts implements Walkable. It reads all changes since the block, up to the limit, and
// keeps them in memory.
func (o *Old) Accounts(from common.Hash, each func(common.Hash, *Account) bool) error {
	now, ok := o.now.(Walkable)
	if !ok {
		return fmt.Errorf("walk the accounts of block %d: %w", o.number, ErrNoState)
	}
	changed, err := o.archive.since(context.Background(), o.number, o.head, o.limit)
	if err != nil {
		return err
	}
	waiting := slices.SortedFunc(maps.Keys(changed), common.Hash.Cmp)
	for len(waiting) != 0 && waiting[0].Cmp(from) < 0 {
		waiting = waiting[1:]
	}
	more := true
	// Accounts that are not there now come between those that are.
	upTo := func(hash *common.Hash) {
		for more && len(waiting) != 0 && (hash == nil || waiting[0].Cmp(*hash) < 0) {
			if v := changed[waiting[0]]; v.account != nil {
				more = each(v.hash, v.account)
			}
			waiting = waiting[1:]
		}
	}
	err = now.Accounts(from, func(hash common.Hash, a *Account) bool {
		upTo(&hash)
		if more && len(waiting) != 0 && waiting[0] == hash {
			a, waiting = changed[hash].account, waiting[1:]
		}
		if more && a != nil {
			more = each(hash, a)
		}
		return more
	})
	if err == nil {
		upTo(nil)
	}
	return err
}

// ExportItems calls each for the items of a genesis' unit "evm" that make a state: every
// node of its tries by hash, every code, and with preimages what was hashed, where it is
// known. It returns the root. It holds one path of a trie, and the changes since the block
// of an old state, in memory. Items that several accounts share come several times. The
// slices are valid during the call.
func ExportItems(of Walkable, preimages bool, each func(key, value []byte) error) (common.Hash, error) {
	e := &itemExport{of: of, preimages: preimages, each: each}
	accounts := e.trie()
	err := of.Accounts(common.Hash{}, func(hash common.Hash, a *Account) bool {
		e.fail(e.account(accounts, hash, a))
		return e.err == nil
	})
	if err = errors.Join(err, e.err); err != nil {
		return common.Hash{}, fmt.Errorf("export the state: %w", err)
	}
	root := accounts.Hash()
	return root, e.err
}

type itemExport struct {
	of        Walkable
	preimages bool
	each      func(key, value []byte) error
	err       error
}

func (e *itemExport) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

// trie begins a trie whose nodes become items.
func (e *itemExport) trie() *trie.StackTrie {
	return trie.NewStackTrie(func(_ []byte, hash common.Hash, node []byte) {
		if e.err == nil {
			e.err = e.each(hash[:], node)
		}
	})
}

func (e *itemExport) preimage(hash common.Hash, of []byte) error {
	if !e.preimages {
		return nil
	}
	return e.each(append([]byte(preimagePrefix), hash[:]...), of)
}

func (e *itemExport) account(accounts *trie.StackTrie, hash common.Hash, a *Account) error {
	storage := e.trie()
	err := e.of.Slots(hash, common.Hash{}, func(s Slot) bool {
		e.fail(e.slot(storage, &s))
		return e.err == nil
	})
	if err != nil || e.err != nil {
		return fmt.Errorf("storage of account %x: %w", hash, errors.Join(err, e.err))
	}
	leaf, err := encodeLeaf(a, storage.Hash())
	if err == nil {
		err = accounts.Update(hash[:], leaf)
	}
	if err == nil && a.Address != (common.Address{}) {
		err = e.preimage(hash, a.Address[:])
	}
	if err == nil && a.Code != emptyCode {
		var code []byte
		if code, err = e.of.Code(a.Code); err == nil {
			err = e.each(append([]byte(codePrefix), a.Code[:]...), bytes.Clone(code))
		}
	}
	if err != nil {
		return fmt.Errorf("account %x: %w", hash, err)
	}
	return nil
}

func (e *itemExport) slot(storage *trie.StackTrie, s *Slot) error {
	word, err := encodeWord(s.Value)
	if err == nil {
		err = storage.Update(s.Hash[:], word)
	}
	if err == nil && s.Known {
		err = e.preimage(s.Hash, s.Key[:])
	}
	return err
}
