package state

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/trie"

	"tarn/store"
)

// ErrOtherState is returned for a state that was brought in and is not that of its root.
var ErrOtherState = errors.New("it is not the state of its root")

// Incoming is a state that is brought in beside the one that there is, in tables of its own. It
// is nobody's state until [Incoming.Choose]. The writer calls its methods, outside sessions; the
// store may take checkpoints meanwhile.
type Incoming struct {
	tables *Tables
	to     store.Store
	puts   int
	slots  uint64 // that Finish went through
	done   atomic.Uint64
}

// Incoming begins to bring a state in. What was brought before is forgotten.
func (t *Tables) Incoming(s store.Store) (*Incoming, error) {
	if err := t.Sweep(s); err != nil {
		return nil, err
	}
	return t.openIncoming(s)
}

// Brought is the state that was brought in and finished.
func (t *Tables) Brought(s store.Store) (*Incoming, error) {
	in, err := t.openIncoming(s)
	if err != nil {
		return nil, err
	}
	p, err := in.tables.progress(s)
	if err == nil && !p.any {
		err = errors.New("there is no state that was brought in")
	}
	return in, err
}

func (t *Tables) openIncoming(s store.Store) (*Incoming, error) {
	other, err := openSide(s, 1-t.side)
	if err != nil {
		return nil, err
	}
	return &Incoming{tables: other, to: s}, nil
}

// Sweep forgets what is in the tables that are not the state. It takes as long as there are rows.
func (t *Tables) Sweep(s store.Store) error {
	other := &Tables{side: 1 - t.side}
	for _, n := range other.names() {
		table, err := s.Table(n.name)
		if errors.Is(err, store.ErrNoTable) {
			continue
		}
		if err == nil && n.table == &other.meta {
			if err = s.Delete(table, progressKey); errors.Is(err, store.ErrNotFound) {
				err = nil
			}
		} else if err == nil {
			err = sweepTable(s, table)
		}
		if err != nil {
			return fmt.Errorf("sweep table %s: %w", n.name, err)
		}
	}
	return nil
}

// sweepTable deletes all rows in steps, between which the store may make a checkpoint.
func sweepTable(s store.Store, table store.Table) error {
	for first := range 256 {
		from := []byte{byte(first)}
		gone, err := s.DeleteRange(table, from, after(from))
		if err == nil && gone != 0 {
			err = s.Relieve()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Account brings an account, whose code and slots come by themselves.
func (i *Incoming) Account(hash common.Hash, a *Account) error {
	return i.put(i.tables.accounts, hash[:], appendAccount(nil, a))
}

// Slot brings a slot of an account. Its value is not zero.
func (i *Incoming) Slot(address common.Hash, s Slot) error {
	return i.put(i.tables.slots, slotKey(nil, address, s.Hash), appendSlot(nil, s.Value, s.Key, s.Known))
}

// Code brings a code.
func (i *Incoming) Code(code []byte) error {
	return i.put(i.tables.code, crypto.Keccak256(code), code)
}

func (i *Incoming) put(t store.Table, key, value []byte) error {
	if err := i.to.Put(t, key, value); err != nil {
		return fmt.Errorf("bring the state in: %w", err)
	}
	if i.puts++; i.puts%relieveEvery == 0 {
		return i.to.Relieve()
	}
	return nil
}

// Finish makes the tries of all that was brought, as the state of a block. It is an error that
// wraps [ErrOtherState] if the root is another one, a code is missing, or a slot has no account; more
// may be brought then, and Finish called again. It takes as long as reading and hashing all of it, and
// ends early when ctx does; then too it may be called again.
func (i *Incoming) Finish(ctx context.Context, number uint64, root common.Hash) error {
	for _, nodes := range []store.Table{i.tables.accountNodes, i.tables.slotNodes} {
		if err := sweepTable(i.to, nodes); err != nil {
			return fmt.Errorf("forget the tries that were made before: %w", err)
		}
	}
	i.done.Store(0)
	flat, failed := i.tables.Flat(i.to), error(nil)
	accounts := i.trie(common.Hash{}, &failed)
	i.slots = 0
	err := flat.Accounts(common.Hash{}, func(hash common.Hash, a *Account) bool {
		if err := i.account(ctx, flat, accounts, hash, a, &failed); err != nil {
			failed = errors.Join(failed, fmt.Errorf("account %x: %w", hash, err))
		}
		i.done.Store(binary.BigEndian.Uint64(hash[:]))
		return failed == nil
	})
	got := accounts.Hash()
	if err = errors.Join(err, failed); err != nil {
		return fmt.Errorf("make the tries of the state that was brought in: %w", err)
	}
	if got != root {
		return fmt.Errorf("the state of block %d has root %x, not %x: %w", number, got, root, ErrOtherState)
	}
	rows := uint64(0)
	if err := flat.walk(i.tables.slots, nil, nil,
		func(_, _ []byte) (bool, error) { rows++; return true, context.Cause(ctx) }); err != nil {
		return err
	}
	if rows != i.slots {
		return fmt.Errorf("%d slots of block %d have no account: %w", rows-i.slots, number, ErrOtherState)
	}
	return i.tables.putProgress(i.to, progress{number: number, root: root})
}

// Finished is which share of the accounts Finish went through. Any goroutine may ask.
func (i *Incoming) Finished() float64 { return float64(i.done.Load()) / (1 << 64) }

func (i *Incoming) account(
	ctx context.Context, flat *Flat, accounts *trie.StackTrie, hash common.Hash, a *Account, failed *error,
) error {
	if a.Code != emptyCode {
		if _, err := i.to.Get(i.tables.code, a.Code[:]); err != nil {
			return errors.Join(ErrOtherState, fmt.Errorf("its code %x: %w", a.Code, err))
		}
	}
	storage := i.trie(hash, failed)
	err := flat.Slots(hash, common.Hash{}, func(s Slot) bool {
		i.slots++
		word, err := encodeWord(s.Value)
		if err == nil {
			err = storage.Update(s.Hash[:], word)
		}
		*failed = errors.Join(*failed, err, context.Cause(ctx))
		return *failed == nil
	})
	if err = errors.Join(err, context.Cause(ctx)); err != nil {
		return err
	}
	leaf, err := encodeLeaf(a, storage.Hash())
	if err != nil {
		return err
	}
	return accounts.Update(hash[:], leaf)
}

// trie makes a trie whose nodes become rows.
func (i *Incoming) trie(owner common.Hash, failed *error) *trie.StackTrie {
	return trie.NewStackTrie(func(path []byte, _ common.Hash, node []byte) {
		if *failed == nil {
			table, key := i.tables.nodeKey(nil, owner, path)
			*failed = i.put(table, key, node)
		}
	})
}

// Choose makes what was brought in and finished the store's state, and returns its tables. The
// caller publishes.
func (i *Incoming) Choose() (*Tables, error) {
	if err := i.to.Put(i.tables.chosen, sideKey, []byte{i.tables.side}); err != nil {
		return nil, fmt.Errorf("choose the state that was brought in: %w", err)
	}
	return i.tables, nil
}
