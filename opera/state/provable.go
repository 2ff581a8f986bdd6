package state

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/trie"

	"tarn/store"
)

// Provable is the state after the newest block of a view, of which parts can be shown to whoever
// knows its root. Any goroutine may use it, several at a time, as long as the view is open. It keeps
// the nodes of what had changed and was not in the trie's rows yet: a kilobyte a leaf, of as many as
// RootsOptions allow.
type Provable struct {
	*Flat
	Root  common.Hash
	nodes *nodeReader
}

// Provable makes the tries of the state in a view, which is that of a block.
func (t *Tables) Provable(from store.View, number uint64) (*Provable, error) {
	p, err := t.progress(from)
	if err != nil {
		return nil, err
	}
	nodes := &nodeReader{tables: t, rows: from}
	f, err := newForest(nodes, p.root)
	if err != nil {
		return nil, err
	}
	at, err := t.forward(context.Background(), from, f, p.number, number)
	if err == nil && at != number {
		err = ErrNoState
	}
	root := p.root
	if err == nil && f.updates > 0 {
		var b *batch
		if b, err = f.take(number); err == nil {
			root = b.root
		}
	}
	if err != nil {
		return nil, fmt.Errorf("make the tries of block %d: %w", number, err)
	}
	return &Provable{Flat: t.Flat(from), Root: root, nodes: nodes}, nil
}

// StorageRoot returns the root of an account's storage.
func (p *Provable) StorageRoot(address common.Hash) (common.Hash, error) {
	if address == (common.Hash{}) { // nobody's, and where the nodes of the accounts' trie are
		return emptyRoot, nil
	}
	node, err := p.nodes.Node(address, nil, common.Hash{})
	if err != nil || len(node) == 0 {
		return emptyRoot, err
	}
	return crypto.Keccak256Hash(node), nil
}

// FindCode returns the code of a hash, and whether there is one.
func (p *Provable) FindCode(hash common.Hash) (code []byte, found bool, err error) {
	code, err = p.Code(hash)
	if errors.Is(err, store.ErrNotFound) {
		return nil, false, nil
	}
	return code, err == nil, err
}

// Slim returns an account as nodes tell each other of it, without the hashes that stand for nothing.
func (p *Provable) Slim(address common.Hash, a *Account) ([]byte, error) {
	storage, err := p.StorageRoot(address)
	if err != nil {
		return nil, err
	}
	return types.SlimAccountRLP(types.StateAccount{Nonce: a.Nonce, Balance: &a.Balance, Root: storage,
		CodeHash: a.Code[:]}), nil
}

// Word returns a slot's value as the trie has it.
func Word(value common.Hash) ([]byte, error) { return encodeWord(value) }

// ProveAccounts returns the nodes from the root down to hashed addresses, or to where these would
// be, each node once.
func (p *Provable) ProveAccounts(addresses ...common.Hash) ([][]byte, error) {
	t, err := p.AccountTrie()
	if err != nil {
		return nil, err
	}
	return t.prove(addresses)
}

// ProveSlots is ProveAccounts in the storage of an account.
func (p *Provable) ProveSlots(address common.Hash, slots ...common.Hash) ([][]byte, error) {
	t, err := p.StorageTrie(address)
	if err != nil {
		return nil, err
	}
	return t.prove(slots)
}

// Trie is one of the tries of a Provable. One goroutine at a time may use it; it keeps what it reads.
type Trie struct {
	*trie.Trie
	what string
}

// AccountTrie opens the trie of accounts.
func (p *Provable) AccountTrie() (*Trie, error) {
	return p.open(trie.StateTrieID(p.Root), "the trie of accounts")
}

// StorageTrie opens the trie of an account's storage.
func (p *Provable) StorageTrie(address common.Hash) (*Trie, error) {
	root, err := p.StorageRoot(address)
	if err != nil {
		return nil, err
	}
	return p.open(trie.StorageTrieID(common.Hash{1}, address, root), fmt.Sprintf("the storage trie of %x", address))
}

func (p *Provable) open(id *trie.ID, what string) (*Trie, error) {
	t, err := trie.New(id, p.nodes)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", what, err)
	}
	return &Trie{Trie: t, what: what}, nil
}

// onceNodes takes the nodes of several proofs, each once.
type onceNodes struct {
	list [][]byte
	have map[string]bool
}

// Put implements ethdb.KeyValueWriter.
func (l *onceNodes) Put(key, node []byte) error {
	if !l.have[string(key)] {
		l.have[string(key)] = true
		l.list = append(l.list, bytes.Clone(node))
	}
	return nil
}

// Delete implements ethdb.KeyValueWriter; a proof deletes nothing.
func (l *onceNodes) Delete(key []byte) error { return (*nodeList)(nil).Delete(key) }

func (t *Trie) prove(keys []common.Hash) ([][]byte, error) {
	nodes := &onceNodes{have: map[string]bool{}}
	for _, key := range keys {
		if err := t.Prove(key[:], nodes); err != nil {
			return nil, fmt.Errorf("prove %x in %s: %w", key, t.what, err)
		}
	}
	return nodes.list, nil
}
