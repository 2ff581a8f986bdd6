package statesync

import (
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/trie"

	"tarn/opera/state"
)

// What a peer says that cannot be right.
var (
	errTooMuch = errors.New("the answer is much larger than was asked for")
	errUnasked = errors.New("the answer has what was not asked for")
	errNothing = errors.New("the answer proves nothing")
)

// spare is by how many bytes an answer may be larger than was asked for: peers end with the account,
// slot or code that reaches the amount, or somewhat later, and proofs are not counted.
const spare = 1 << 20

// proof is nodes by their hashes.
type proof map[common.Hash][]byte

func proofOf(nodes [][]byte) proof {
	p := proof{}
	for _, n := range nodes {
		p[crypto.Keccak256Hash(n)] = n
	}
	return p
}

// Has implements ethdb.KeyValueReader.
func (p proof) Has(key []byte) (bool, error) {
	_, ok := p[common.BytesToHash(key)]
	return ok, nil
}

// Get implements ethdb.KeyValueReader.
func (p proof) Get(key []byte) ([]byte, error) { return p[common.BytesToHash(key)], nil }

// size is how many bytes are in leaves.
func size(leaves []Leaf) (n uint64) {
	for i := range leaves {
		n += uint64(common.HashLength + len(leaves[i].Body))
	}
	return n
}

func sizeOf(blobs [][]byte) (n uint64) {
	for _, b := range blobs {
		n += uint64(len(b))
	}
	return n
}

// held is an account, and the root of its slots.
type held struct {
	Account
	root common.Hash
}

// page is accounts of a part, without a gap.
type page struct {
	accounts []held
	bytes    uint64
	next     common.Hash // the first hash after them
	last     bool        // the part has no others
}

// checkAccounts compares an answer with the root, and decodes it up to the end of the part.
func checkAccounts(root, from, to common.Hash, a *Accounts, asked uint64) (*page, error) {
	n := size(a.Leaves)
	switch {
	case len(a.Leaves) == 0 && len(a.Proof) == 0:
		return nil, errLacks
	case len(a.Proof) == 0:
		return nil, errNothing
	case n+sizeOf(a.Proof) > asked+spare:
		return nil, errTooMuch
	}
	keys, values, accounts := make([][]byte, len(a.Leaves)), make([][]byte, len(a.Leaves)), make([]held, len(a.Leaves))
	for i := range a.Leaves {
		l := &a.Leaves[i]
		full, err := types.FullAccount(l.Body)
		if err != nil {
			return nil, fmt.Errorf("decode account %x: %w", l.Hash, err)
		}
		keys[i] = l.Hash[:]
		if values[i], err = rlp.EncodeToBytes(full); err != nil {
			return nil, fmt.Errorf("encode account %x: %w", l.Hash, err)
		}
		accounts[i] = held{root: full.Root, Account: Account{Hash: l.Hash, Account: state.Account{
			Nonce: full.Nonce, Balance: *full.Balance, Code: common.BytesToHash(full.CodeHash),
		}}}
	}
	more, err := trie.VerifyRangeProof(root, from[:], keys, values, proofOf(a.Proof))
	if err != nil {
		return nil, fmt.Errorf("accounts from %x on: %w", from, err)
	}
	p := &page{accounts: accounts, bytes: n, last: !more}
	for len(p.accounts) > 0 && p.accounts[len(p.accounts)-1].Hash.Cmp(to) >= 0 {
		p.last = true
		if p.accounts[len(p.accounts)-1].Hash == to {
			break
		}
		p.accounts = p.accounts[:len(p.accounts)-1]
	}
	if !p.last {
		p.next = after(keys[len(keys)-1])
	}
	return p, nil
}

// after is the hash after another one, which is not the last.
func after(hash []byte) (next common.Hash) {
	next = common.BytesToHash(hash)
	for i := len(next) - 1; i >= 0; i-- {
		if next[i]++; next[i] != 0 {
			break
		}
	}
	return next
}

// storage is the slots of an account, from one on that was asked for.
type storage struct {
	slots []state.Slot
	more  bool // there are others after them
}

// checkSlots compares an answer with the roots of accounts, and decodes it.
func checkSlots(of []held, from common.Hash, s *Slots, asked uint64) (all []storage, bytes uint64, err error) {
	switch {
	case len(s.Of) == 0 && len(s.Proof) == 0:
		return nil, 0, errLacks
	case len(s.Of) == 0:
		return nil, 0, errNothing
	case len(s.Of) > len(of):
		return nil, 0, errUnasked
	}
	for _, leaves := range s.Of {
		bytes += size(leaves)
	}
	if bytes+sizeOf(s.Proof) > asked+spare {
		return nil, 0, errTooMuch
	}
	for i, leaves := range s.Of {
		var nodes proof // nil: these are all
		if i == len(s.Of)-1 && len(s.Proof) > 0 {
			nodes = proofOf(s.Proof)
		} else if i == 0 && from != (common.Hash{}) {
			return nil, 0, errNothing
		}
		got, err := checkStorage(of[i].root, from, leaves, nodes)
		if err != nil {
			return nil, 0, fmt.Errorf("slots of account %x from %x on: %w", of[i].Hash, from, err)
		}
		all, from = append(all, got), common.Hash{}
	}
	return all, bytes, nil
}

func checkStorage(root, from common.Hash, leaves []Leaf, nodes proof) (s storage, err error) {
	keys, values := make([][]byte, len(leaves)), make([][]byte, len(leaves))
	for i := range leaves {
		keys[i], values[i] = leaves[i].Hash[:], leaves[i].Body
	}
	if nodes == nil {
		_, err = trie.VerifyRangeProof(root, nil, keys, values, nil)
	} else {
		s.more, err = trie.VerifyRangeProof(root, from[:], keys, values, nodes)
	}
	if err != nil {
		return s, err
	}
	for i := range leaves {
		word, rest, err := rlp.SplitString(leaves[i].Body)
		if err != nil || len(rest) > 0 || len(word) == 0 || len(word) > common.HashLength {
			return s, fmt.Errorf("slot %x has no word: %x", leaves[i].Hash, leaves[i].Body)
		}
		s.slots = append(s.slots, state.Slot{Hash: leaves[i].Hash, Value: common.BytesToHash(word)})
	}
	return s, nil
}

// checkCodes finds which codes of those that were asked for an answer has.
func checkCodes(hashes []common.Hash, codes [][]byte, asked uint64) (lacking []common.Hash, err error) {
	if len(codes) == 0 {
		return nil, errLacks
	}
	if sizeOf(codes) > asked+spare {
		return nil, errTooMuch
	}
	got := map[common.Hash]bool{}
	for _, c := range codes {
		got[crypto.Keccak256Hash(c)] = true
	}
	for _, h := range hashes {
		if !got[h] {
			lacking = append(lacking, h)
		}
	}
	if len(hashes)-len(lacking) != len(codes) {
		return nil, errUnasked
	}
	return lacking, nil
}
