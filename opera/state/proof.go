package state

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/ethereum/go-ethereum/common"

	"tarn/store"
)

// since returns what the accounts and slots that changed after a block were then: changes of
// the blocks up to head are read, the newest first. More than limit of them is ErrFar.
func (a *Archive) since(
	ctx context.Context, number, head uint64, limit int,
) (map[common.Hash]*accountValue, error) {
	type known struct {
		account *Account
		slots   map[common.Hash]common.Hash
	}
	all := map[common.Hash]*known{}
	var buf []byte
	for n := head; n > number; n-- {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("changes of block %d: %w", n, err)
		}
		entry, err := a.log.Read(n, buf[:0])
		if err != nil {
			return nil, fmt.Errorf("changes of block %d: %w", n, err)
		}
		buf = entry
		values, err := decodeValues(entry)
		if err != nil {
			return nil, fmt.Errorf("changes of block %d: %w", n, err)
		}
		for i := range values {
			v := &values[i]
			k := all[v.hash]
			if k == nil {
				k = &known{slots: map[common.Hash]common.Hash{}}
				all[v.hash] = k
			}
			k.account = v.account
			for _, s := range v.slots {
				k.slots[s.hash] = s.value
			}
			if limit -= 1 + len(v.slots); limit < 0 {
				return nil, fmt.Errorf("state of block %d at block %d: %w", number, head, ErrFar)
			}
		}
	}
	out := make(map[common.Hash]*accountValue, len(all))
	for hash, k := range all {
		v := &accountValue{hash: hash, account: k.account}
		for _, slot := range slices.SortedFunc(maps.Keys(k.slots), common.Hash.Cmp) {
			v.slots = append(v.slots, slotValue{slot, k.slots[slot]})
		}
		out[hash] = v
	}
	return out, nil
}

// Proof shows to whoever knows the root what an account and some of its slots are.
type Proof struct {
	Number  uint64
	Root    common.Hash
	Account *Account    // nil if there is none
	Storage common.Hash // root of its storage trie
	Nodes   [][]byte    // from the root down to the account, or to where it would be
	Slots   []SlotProof // in the order asked for
}

// SlotProof is a slot in a Proof; the nodes are those of the account's storage trie.
type SlotProof struct {
	Hash, Value common.Hash
	Nodes       [][]byte
}

// Prove makes a proof at a block, for an account by its hashed address and slots by their
// hashes. At blocks that the trie has passed, the changes since are taken back from the
// archive, in memory, until the context ends: limit is how many of them may be; nil is an archive of nothing.
func (t *Tables) Prove(
	ctx context.Context, from store.View, archive *Archive, number uint64, limit int, address common.Hash,
	slots []common.Hash,
) (*Proof, error) {
	p, err := t.progress(from)
	if err != nil {
		return nil, err
	}
	f, err := newForest(&nodeReader{tables: t, rows: from}, p.root)
	if err != nil {
		return nil, err
	}
	at := p.number
	if number >= p.number {
		at, err = t.forward(ctx, from, f, p.number, number)
	} else if archive == nil || number+1 < archive.log.First() {
		err = ErrNoState
	} else if err = archive.backward(ctx, f, p.number, number, limit); err == nil {
		at = number
	}
	if err == nil && at != number {
		err = ErrNoState
	}
	if err != nil {
		return nil, fmt.Errorf("prove the state of block %d: %w", number, err)
	}
	root := f.root()
	if want, err := t.RootAt(from, number); err == nil && want != root {
		return nil, fmt.Errorf("prove the state of block %d: its root is %x, and what was made has %x: %w",
			number, want, root, store.ErrCorrupt)
	} else if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	return f.prove(ctx, &Proof{Number: number, Root: root}, address, slots)
}

// forward applies the changes that wait for the trie, up to a block, and returns the last.
func (t *Tables) forward(
	ctx context.Context, from store.Reader, f *forest, at, number uint64,
) (uint64, error) {
	err := t.waiting(from, func(n uint64, values []accountValue) error {
		if n > number {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		at = n
		return f.apply(values)
	})
	return at, err
}

// backward takes changes back, from the block of the forest down to another.
func (a *Archive) backward(ctx context.Context, f *forest, at, number uint64, limit int) error {
	values, err := a.since(ctx, number, at, limit)
	if err != nil {
		return err
	}
	for _, v := range values {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := f.applyOne(v); err != nil {
			return err
		}
	}
	return nil
}

// nodeList takes the nodes of a proof in their order.
type nodeList [][]byte

// Put implements ethdb.KeyValueWriter.
func (l *nodeList) Put(_, node []byte) error {
	*l = append(*l, bytes.Clone(node))
	return nil
}

// Delete implements ethdb.KeyValueWriter; a proof deletes nothing.
func (l *nodeList) Delete([]byte) error { return errors.ErrUnsupported }

func (f *forest) prove(
	ctx context.Context, p *Proof, address common.Hash, slots []common.Hash,
) (*Proof, error) {
	if err := f.accounts.Prove(address[:], (*nodeList)(&p.Nodes)); err != nil {
		return nil, fmt.Errorf("prove account %x: %w", address, err)
	}
	leaf, err := f.leaf(address)
	if err != nil {
		return nil, err
	}
	p.Storage = emptyRoot
	if leaf != nil {
		p.Account = &Account{Nonce: leaf.Nonce, Balance: *leaf.Balance, Code: common.BytesToHash(leaf.CodeHash)}
		p.Storage = leaf.Root
	}
	tr, err := f.storageOf(address, p.Storage)
	if err != nil {
		return nil, err
	}
	for _, slot := range slots {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("prove slot %x of account %x: %w", slot, address, err)
		}
		s := SlotProof{Hash: slot}
		word, err := tr.Get(slot[:])
		if err == nil {
			err = tr.Prove(slot[:], (*nodeList)(&s.Nodes))
		}
		if err == nil {
			s.Value, err = decodeWord(word)
		}
		if err != nil {
			return nil, fmt.Errorf("prove slot %x of account %x: %w", slot, address, err)
		}
		p.Slots = append(p.Slots, s)
	}
	return p, nil
}
