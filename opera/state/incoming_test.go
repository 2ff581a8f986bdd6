package state

import (
	"errors"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/trie"

	"tarn/store/engine"
)

// rootOf is the root of a state of one account with some slots.
func rootOf(t *testing.T, hash common.Hash, a *Account, slots []Slot) common.Hash {
	t.Helper()
	storage, accounts := trie.NewStackTrie(nil), trie.NewStackTrie(nil)
	for _, s := range slots {
		word, err := encodeWord(s.Value)
		check(t, err)
		check(t, storage.Update(s.Hash[:], word))
	}
	leaf, err := encodeLeaf(a, storage.Hash())
	check(t, err)
	check(t, accounts.Update(hash[:], leaf))
	return accounts.Hash()
}

// What was brought and had another root can be mended: nothing of the tries that were made of it is
// left, nodes that are too short for a row of their own among them. Code and accounts that lack are
// found.
func TestAStateThatWasBroughtCanBeMended(t *testing.T) {
	s, err := engine.Open(t.TempDir(), engine.Options{Kind: engine.Page, LimitBytes: 1 << 26})
	check(t, err)
	defer s.Close()
	tables, err := Open(s)
	check(t, err)
	in, err := tables.Incoming(s)
	check(t, err)
	account, a := common.Hash{7}, &Account{Nonce: 1, Code: emptyCode}
	slots := []Slot{{Hash: common.Hash{0: 1, 10: 1}}, {Hash: common.Hash{0: 1, 10: 2}}}
	bring := func(value common.Hash) {
		for i := range slots {
			slots[i].Value = value
			check(t, in.Slot(account, slots[i]))
		}
	}
	bring(common.Hash{0: 1, 31: 1})
	if err := in.Finish(t.Context(), 5, emptyRoot); !errors.Is(err, ErrOtherState) {
		t.Fatalf("slots without an account: %v", err)
	}
	check(t, in.Account(account, &Account{Nonce: 1, Code: common.Hash{9}}))
	if err := in.Finish(t.Context(), 5, emptyRoot); !errors.Is(err, ErrOtherState) {
		t.Fatalf("an account without its code: %v", err)
	}
	check(t, in.Account(account, a))
	if err := in.Finish(t.Context(), 5, common.Hash{1}); !errors.Is(err, ErrOtherState) {
		t.Fatalf("another root: %v", err)
	}
	if _, err := tables.Brought(s); err == nil {
		t.Fatal("a state that is not finished is taken for one")
	}
	bring(common.Hash{31: 1})
	check(t, in.Finish(t.Context(), 5, rootOf(t, account, a, slots)))
	in, err = tables.Brought(s)
	check(t, err)
	chosen, err := in.Choose()
	check(t, err)
	again, err := Open(s)
	check(t, err)
	if again.accounts != chosen.accounts || again.accounts == tables.accounts {
		t.Fatal("a start does not find the tables that were chosen")
	}
	counted, err := again.Check(s, func(err error) { t.Error(err) }, nil)
	check(t, err)
	if counted.Accounts != 1 || counted.Slots != 2 {
		t.Fatalf("there are %+v", counted)
	}
	// The tables that are not the state any more are swept, and those that are stay.
	check(t, again.Sweep(s))
	_, err = again.Check(s, func(err error) { t.Error(err) }, nil)
	check(t, err)
	if again, err = Open(s); err != nil || again.accounts != chosen.accounts {
		t.Fatalf("after a sweep another state is chosen: %v", err)
	}
}
