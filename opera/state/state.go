// Package state keeps what an Opera chain's contracts can see: accounts, storage and
// code, as of the newest block, and what of it was otherwise at earlier ones.
//
// It owns the rows and their encodings, the state of a block that is being executed
// ([Block]), the roots ([Roots]), proofs, the full check, the genesis' trie nodes in and
// out, and old states. It never decides what a transaction does, never pushes a
// revision, never opens a file, and knows no engine.
//
// # Flat state
//
// An account lies at its hashed address, a slot at hashed address and hashed slot, code
// at its hash. A read is one row, whatever the size of the state. Hashes are Keccak-256,
// as everywhere in the protocol, because the trie wants its keys in this order: the full
// check, the export and the peers' ranges walk flat rows and never a trie.
//
// # A block
//
//  1. [NewBlock] over the store (or a view, for a call that leaves nothing).
//  2. Transactions change it, with Finalise after each.
//  3. [Block.Finish] gives the block's [Changes]: what each account and slot was and is.
//  4. Within the block's session [Tables.Write] puts them into the flat rows and
//     [Roots.Write] puts the trie's rows; the changes go to [Archive.Append].
//  5. After Push and Publish, [Roots.Follow] hands the changes to the goroutine that
//     computes the root.
//
// # Roots
//
// The trie is Ethereum's: Keccak, keys hashed, storage tries below account leaves. Its
// nodes are rows by path, overwritten in place, so that nothing of an old trie is left.
// One goroutine follows the blocks and computes each block's root; it reads through views
// and hands finished nodes back to the writer, who alone writes. The trie's rows are
// therefore of some block M at or before the head N. The row of progress names M. The
// changes of M+1 to N are rows too, deleted as the trie passes them, so that a start finds
// all that the goroutine had not done, whatever was cut off when: both are in the one
// revision. Rows that come and go between two checkpoints never reach the disk.
//
// # Old states
//
// An [Archive] keeps for each block what its changes replaced. A value at block N is what
// the first change after N replaced, or today's.
package state

import (
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"

	"tarn/store"
)

// Account is what the state says of an address, but for its storage.
type Account struct {
	Nonce   uint64
	Balance uint256.Int
	Code    common.Hash // of the code; the hash of no bytes where there is none
	// Address is zero where only the hash of it is known: a genesis file may carry trie
	// nodes without what was hashed.
	Address common.Address
}

// Source answers what a state says, by hashes. What it returns is the caller's, but for
// code, which is never changed. Implementations: [Flat] and [Old].
type Source interface {
	// Account returns the account at a hashed address, nil if there is none.
	Account(address common.Hash) (*Account, error)
	// Slot returns a slot's value, zero if there is none.
	Slot(address, slot common.Hash) (common.Hash, error)
	// Code returns the code of a hash that an account has.
	Code(hash common.Hash) ([]byte, error)
	// Slots calls each for the slots of an account, ascending by hash, from one on, until
	// it returns false.
	Slots(address, from common.Hash, each func(Slot) bool) error
}

// Slot is a word of storage that is not zero.
type Slot struct {
	Hash  common.Hash // of Key
	Key   common.Hash // if Known
	Known bool        // whether Key was ever told; see Account.Address
	Value common.Hash
}

// Tables are the state's tables in a store, as [Open] found or made them.
type Tables struct {
	accounts, slots, code   store.Table
	accountNodes, slotNodes store.Table
	pending, roots, meta    store.Table
	imported                store.Table

	side   byte        // which of the two sets of tables it is
	chosen store.Table // has the row that says which set is the state
}

// Open finds the tables of a store's state, and makes them in a new one. It is the writer's to
// call, with no session open.
func Open(s store.Store) (*Tables, error) {
	t, err := openSide(s, 0)
	if err != nil {
		return nil, err
	}
	row, err := s.Get(t.chosen, sideKey)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return t, nil
	case err != nil:
		return nil, fmt.Errorf("find out which tables are the state: %w", err)
	case len(row) != 1 || row[0] > 1:
		return nil, rowError("choice of tables", sideKey)
	}
	return openSide(s, row[0])
}

// openSide opens one of the two sets of tables: a state that is brought in lies beside the one
// that there is.
func openSide(s store.Store, side byte) (*Tables, error) {
	t := &Tables{side: side}
	for _, n := range t.names() {
		made, err := s.CreateTable(n.name)
		if err != nil {
			return nil, fmt.Errorf("make table %s: %w", n.name, err)
		}
		*n.table = made
	}
	var err error
	if t.chosen, err = s.CreateTable(chosenName); err != nil {
		return nil, fmt.Errorf("make table %s: %w", chosenName, err)
	}
	return t, nil
}

type named struct {
	name  string
	table *store.Table
}

// chosenName is the table that says which set of tables is the state, in a row at sideKey.
const chosenName = "opera.trie"

var sideKey = []byte("side")

func (t *Tables) names() []named {
	list := []named{
		{"opera.account", &t.accounts}, {"opera.slot", &t.slots}, {"opera.code", &t.code},
		{"opera.account.node", &t.accountNodes}, {"opera.slot.node", &t.slotNodes},
		{"opera.changes", &t.pending}, {"opera.root", &t.roots}, {chosenName, &t.meta},
		{"opera.import", &t.imported},
	}
	if t.side != 0 {
		for i := range list {
			list[i].name += ".other"
		}
	}
	return list
}

// emptyCode and emptyRoot are the hashes of no code and of an empty trie.
var (
	emptyCode = types.EmptyCodeHash
	emptyRoot = types.EmptyRootHash
)
