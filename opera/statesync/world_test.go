package statesync

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethdb/memorydb"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/trie"
	"github.com/ethereum/go-ethereum/triedb"
	"github.com/holiman/uint256"

	"tarn/opera/state"
)

// world is a state that peers have.
type world struct {
	mu       sync.Mutex // tries are not for several goroutines
	root     common.Hash
	accounts []Leaf
	trie     *trie.Trie
	slots    map[common.Hash][]Leaf
	tries    map[common.Hash]*trie.Trie
	codes    map[common.Hash][]byte
	want     brought
}

func newTrie() *trie.Trie {
	return trie.NewEmpty(triedb.NewDatabase(rawdb.NewMemoryDatabase(), nil))
}

// newWorld makes a state of some accounts, of which one has many slots.
func newWorld(t testing.TB, r *rand.Rand, accounts int) *world {
	t.Helper()
	w := &world{trie: newTrie(), slots: map[common.Hash][]Leaf{}, tries: map[common.Hash]*trie.Trie{},
		codes: map[common.Hash][]byte{}, want: newBrought()}
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for n := range accounts {
		hash := crypto.Keccak256Hash(binaryOf(r.Uint64()))
		a := &types.StateAccount{Nonce: uint64(n), Balance: uint256.NewInt(r.Uint64()), Root: types.EmptyRootHash,
			CodeHash: types.EmptyCodeHash[:]}
		if n%3 == 0 {
			code := fmt.Appendf(nil, "code %d", r.IntN(accounts/4+1))
			h := crypto.Keccak256Hash(code)
			a.CodeHash, w.codes[h], w.want.codes[h] = h[:], code, true
		}
		many := 0
		switch {
		case n == 0:
			many = 2000
		case n%4 == 0:
			many = 1 + r.IntN(20)
		}
		if many > 0 {
			st := newTrie()
			for range many {
				key, value := crypto.Keccak256Hash(binaryOf(r.Uint64())), common.BytesToHash(binaryOf(1+
					r.Uint64N(1<<(8*uint(1+r.IntN(7))))))
				body, err := rlp.EncodeToBytes(bytes.TrimLeft(value[:], "\x00"))
				must(err)
				must(st.Update(key[:], body))
				w.slots[hash] = append(w.slots[hash], Leaf{key, body})
				w.want.slots[[2]common.Hash{hash, key}] = value
			}
			slices.SortFunc(w.slots[hash], func(a, b Leaf) int { return a.Hash.Cmp(b.Hash) })
			w.tries[hash], a.Root = st, st.Hash()
		}
		full, err := rlp.EncodeToBytes(a)
		must(err)
		must(w.trie.Update(hash[:], full))
		w.accounts = append(w.accounts, Leaf{hash, types.SlimAccountRLP(*a)})
		w.want.accounts[hash] = state.Account{Nonce: a.Nonce, Balance: *a.Balance, Code: common.BytesToHash(a.CodeHash)}
	}
	slices.SortFunc(w.accounts, func(a, b Leaf) int { return a.Hash.Cmp(b.Hash) })
	w.root = w.trie.Hash()
	return w
}

func binaryOf(n uint64) []byte {
	var b []byte
	for i := range 8 {
		b = append(b, byte(n>>(56-8*i)))
	}
	return b
}

// prove is the nodes on the ways to two keys.
func prove(tr *trie.Trie, keys ...common.Hash) (nodes [][]byte, err error) {
	db := memorydb.New()
	for _, k := range keys {
		if err := tr.Prove(k[:], db); err != nil {
			return nil, err
		}
	}
	for it := db.NewIterator(nil, nil); it.Next(); {
		nodes = append(nodes, bytes.Clone(it.Value()))
	}
	return nodes, nil
}

// from returns leaves from a hash on, as many as bytes allow, and whether there are others.
func from(leaves []Leaf, first common.Hash, most uint64) (some []Leaf, more bool) {
	n, _ := slices.BinarySearchFunc(leaves, first, func(l Leaf, h common.Hash) int { return l.Hash.Cmp(h) })
	for have := uint64(0); n < len(leaves) && have < most; n++ {
		some = append(some, leaves[n])
		have += uint64(32 + len(leaves[n].Body))
	}
	return some, n < len(leaves)
}

// peer serves a world, unless it is told otherwise.
type peer struct {
	*world
	name     string
	accounts func(*Accounts) // change an answer
	slots    func(*Slots)
	codes    func([][]byte) [][]byte
	before   func(ctx context.Context) error // an answer
	dropped  func(error)
	small    bool // answers have one account or slot

	asked, asks, most atomic.Int64
}

func (p *peer) Name() string   { return p.name }
func (p *peer) Drop(err error) { p.dropped(err) }

// enter counts requests that go on.
func (p *peer) enter(ctx context.Context) (leave func(), err error) {
	p.asks.Add(1)
	n := p.asked.Add(1)
	for most := p.most.Load(); n > most && !p.most.CompareAndSwap(most, n); most = p.most.Load() {
	}
	if p.before != nil {
		err = p.before(ctx)
	}
	return func() { p.asked.Add(-1) }, err
}

var errForgotten = fmt.Errorf("the peer forgets")

func (p *peer) Accounts(ctx context.Context, root, first, to common.Hash, most uint64) (*Accounts, error) {
	leave, err := p.enter(ctx)
	defer leave()
	if err == errForgotten || root != p.root {
		return new(Accounts), nil
	}
	if err != nil {
		return nil, err
	}
	if p.small {
		most = 1
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	a := new(Accounts)
	a.Leaves, _ = from(p.world.accounts, first, most)
	if end := slices.IndexFunc(a.Leaves, func(l Leaf) bool { return l.Hash.Cmp(to) >= 0 }); end >= 0 {
		a.Leaves = a.Leaves[:end+1]
	}
	keys := []common.Hash{first}
	if len(a.Leaves) > 0 {
		keys = append(keys, a.Leaves[len(a.Leaves)-1].Hash)
	}
	if a.Proof, err = prove(p.trie, keys...); err == nil && p.accounts != nil {
		a.Leaves = slices.Clone(a.Leaves)
		p.accounts(a)
	}
	return a, err
}

func (p *peer) Slots(
	ctx context.Context, root common.Hash, accounts []common.Hash, first common.Hash, most uint64,
) (*Slots, error) {
	leave, err := p.enter(ctx)
	defer leave()
	if err == errForgotten || root != p.root {
		return new(Slots), nil
	}
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s, have := new(Slots), uint64(0)
	for _, a := range accounts {
		if have >= most {
			break
		}
		some, more := from(p.world.slots[a], first, most-have)
		s.Of = append(s.Of, slices.Clone(some))
		have += size(some)
		if more || first != (common.Hash{}) {
			keys := []common.Hash{first}
			if len(some) > 0 {
				keys = append(keys, some[len(some)-1].Hash)
			}
			s.Proof, err = prove(p.tries[a], keys...)
			break
		}
		first = common.Hash{}
	}
	if p.slots != nil {
		p.slots(s)
	}
	return s, err
}

func (p *peer) Codes(ctx context.Context, hashes []common.Hash, most uint64) (codes [][]byte, err error) {
	leave, err := p.enter(ctx)
	defer leave()
	if err == errForgotten {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	have := uint64(0)
	for _, h := range hashes {
		if have >= most {
			break
		}
		if c, ok := p.world.codes[h]; ok { // who does not have one leaves it out
			codes, have = append(codes, c), have+uint64(len(c))
		}
	}
	if p.codes != nil {
		codes = p.codes(codes)
	}
	return codes, nil
}

// brought is a state that was brought.
type brought struct {
	accounts map[common.Hash]state.Account
	slots    map[[2]common.Hash]common.Hash
	codes    map[common.Hash]bool
}

func newBrought() brought {
	return brought{map[common.Hash]state.Account{}, map[[2]common.Hash]common.Hash{}, map[common.Hash]bool{}}
}

// memory is a Target.
type memory struct {
	mu     sync.Mutex
	has    brought
	begun  int
	failed error
}

func (m *memory) Begin(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.has = newBrought()
	m.begun++
	return nil
}

func (m *memory) Bring(_ context.Context, p *Part) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, a := range p.Accounts {
		m.has.accounts[a.Hash] = a.Account
	}
	for _, s := range p.Slots {
		m.has.slots[[2]common.Hash{p.Of, s.Hash}] = s.Value
	}
	for _, c := range p.Codes {
		m.has.codes[crypto.Keccak256Hash(c)] = true
	}
	return m.failed
}

// is fails the test if the state is not that of a world.
func (m *memory) is(t *testing.T, w *world) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if !reflect.DeepEqual(m.has, w.want) {
		t.Fatalf("%d accounts, %d slots and %d codes were brought, not the %d, %d and %d that there are",
			len(m.has.accounts), len(m.has.slots), len(m.has.codes), len(w.want.accounts), len(w.want.slots),
			len(w.want.codes))
	}
}
