package state

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/trie"
	"github.com/holiman/uint256"
)

// triedNodes are tries in memory.
type triedNodes map[common.Hash][]byte

func (n triedNodes) Node(hash common.Hash) ([]byte, error)  { return n[hash], nil }
func (n triedNodes) Code(common.Hash) ([]byte, error)       { return nil, nil }
func (n triedNodes) Preimage(common.Hash) ([]byte, error)   { return nil, nil }
func (n triedNodes) keep(_ []byte, h common.Hash, b []byte) { n[h] = bytes.Clone(b) }

// world is a state: of each account its nonce and slots.
type world map[byte]map[byte]byte

func (n triedNodes) root(t *testing.T, w world) common.Hash {
	t.Helper()
	of := func(leaves map[common.Hash][]byte) common.Hash {
		tr := trie.NewStackTrie(n.keep)
		for _, hash := range sortedHashes(leaves) {
			if err := tr.Update(hash[:], leaves[hash]); err != nil {
				t.Fatal(err)
			}
		}
		return tr.Hash()
	}
	accounts := map[common.Hash][]byte{}
	for id, slots := range w {
		storage := map[common.Hash][]byte{}
		for key, value := range slots {
			word, err := encodeWord(common.Hash{31: value})
			if err != nil {
				t.Fatal(err)
			}
			storage[hashOfByte(key)] = word
		}
		root := of(storage)
		leaf, err := encodeLeaf(&Account{Nonce: uint64(len(slots)), Balance: *uint256.NewInt(uint64(id)),
			Code: emptyCode}, root)
		if err != nil {
			t.Fatal(err)
		}
		accounts[hashOfByte(id)] = leaf
	}
	return of(accounts)
}

func hashOfByte(b byte) common.Hash { return crypto.Keccak256Hash([]byte{b}) }

func sortedHashes(m map[common.Hash][]byte) (all []common.Hash) {
	for h := range m {
		all = append(all, h)
	}
	for i := range all {
		for j := i; j > 0 && all[j].Cmp(all[j-1]) < 0; j-- {
			all[j], all[j-1] = all[j-1], all[j]
		}
	}
	return all
}

// What two random states do not share is found, no more and no less; a node that is missing
// is an error that says so.
func TestTheDifferenceOfTwoStatesIsFound(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	n := triedNodes{}
	w := world{}
	before := types.EmptyRootHash
	for round := range 300 {
		old := world{}
		for id, slots := range w {
			old[id] = map[byte]byte{}
			for k, v := range slots {
				old[id][k] = v
			}
		}
		for range r.IntN(6) {
			id := byte(r.IntN(40) + 1)
			switch {
			case r.IntN(8) == 0:
				delete(w, id)
			default:
				if w[id] == nil {
					w[id] = map[byte]byte{}
				}
				if key := byte(r.IntN(30)); r.IntN(3) == 0 {
					delete(w[id], key)
				} else {
					w[id][key] = byte(r.IntN(3) + 1)
				}
			}
		}
		after := n.root(t, w)
		c, err := Difference(n, uint64(round), before, after)
		if err != nil {
			t.Fatalf("seed %d, round %d: %v", seed, round, err)
		}
		if err := sameDifference(c, old, w); err != nil {
			t.Fatalf("seed %d, round %d: %v", seed, round, err)
		}
		before = after
	}
	delete(n, before)
	if _, err := Difference(n, 1, types.EmptyRootHash, before); !errors.Is(err, ErrMissingNode) {
		t.Errorf("without a node: %v", err)
	}
}

func sameDifference(c *Changes, before, after world) error {
	told := map[common.Hash]AccountChange{}
	for i, a := range c.Accounts {
		if i > 0 && a.Hash.Cmp(c.Accounts[i-1].Hash) <= 0 {
			return errors.New("accounts are not in their order")
		}
		told[a.Hash] = a
	}
	for id := byte(1); id <= 40; id++ {
		a, ok := told[hashOfByte(id)]
		delete(told, hashOfByte(id))
		was, had := before[id]
		is, has := after[id]
		if !ok {
			if had != has || fmt.Sprint(was) != fmt.Sprint(is) {
				return fmt.Errorf("account %d changed", id)
			}
			continue
		}
		if (a.Before != nil) != had || (a.After != nil) != has {
			return fmt.Errorf("account %d is %v, %v", id, a.Before, a.After)
		}
		slots := map[common.Hash]SlotChange{}
		for _, s := range a.Slots {
			slots[s.Hash] = s
		}
		for key := byte(0); key < 30; key++ {
			if s := slots[hashOfByte(key)]; was[key] != is[key] && (s.Before[31] != was[key] ||
				s.After[31] != is[key]) || was[key] == is[key] && s.Hash != (common.Hash{}) {
				return fmt.Errorf("slot %d of account %d was %d, is %d: %+v", key, id, was[key], is[key], s)
			}
		}
	}
	if len(told) != 0 {
		return fmt.Errorf("%d accounts are not there", len(told))
	}
	return nil
}
