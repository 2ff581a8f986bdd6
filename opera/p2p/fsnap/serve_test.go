package fsnap

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethdb/memorydb"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/trie"
	"github.com/ethereum/go-ethereum/triedb"
	"github.com/holiman/uint256"

	"tarn/opera/state"
	"tarn/store"
	"tarn/store/page"
	"tarn/store/revision"
)

// world is a state that a server has. Part of it is in the tries' rows, and part waits for them.
type world struct {
	store  store.Store
	tables *state.Tables
	roots  *state.Roots
	view   store.View
	held   *state.Provable
	number uint64

	large common.Hash // the account with the most slots
	none  bool
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Held implements Holder.
func (w *world) Held() (*state.Provable, func() error, error) {
	if w.none {
		return nil, nil, nil
	}
	return w.held, func() error { return nil }, nil
}

func (w *world) block(t testing.TB, change func(b *state.Block)) {
	b := state.NewBlock(w.tables.Flat(w.store))
	change(b)
	b.Finalise(params.Rules{IsEIP158: true, IsBerlin: true, IsLondon: true})
	w.number++
	changes, err := b.Finish(w.number)
	must(t, err)
	must(t, w.store.Begin())
	must(t, w.tables.Write(w.store, changes))
	must(t, w.roots.Write(w.store, changes))
	must(t, w.store.Push())
	must(t, w.store.Commit(w.store.Head()))
	must(t, w.store.Publish())
	must(t, w.roots.Follow(changes))
}

func addressOf(n int) common.Address {
	return common.BytesToAddress([]byte{byte(n >> 16), byte(n >> 8), byte(n), 1})
}

const manySlots = 3000

func newWorld(t testing.TB, accounts int) *world {
	t.Helper()
	e, err := page.OpenVolatile(1 << 28)
	must(t, err)
	w := &world{}
	w.store, err = revision.Open(e)
	must(t, err)
	w.tables, err = state.Open(w.store)
	must(t, err)
	must(t, w.store.Publish())
	w.roots, err = w.tables.StartRoots(w.store, state.RootsOptions{})
	must(t, err)
	r := rand.New(rand.NewPCG(*seedFlag, 0))
	w.large = crypto.Keccak256Hash(addressOf(0).Bytes())
	fill := func(b *state.Block, n, slots int) {
		for range slots {
			b.SetState(addressOf(n), randomHash(r),
				common.BigToHash(uint256.NewInt(1+r.Uint64N(1<<(1+r.IntN(60)))).ToBig()))
		}
	}
	w.block(t, func(b *state.Block) {
		for n := range accounts {
			b.AddBalance(addressOf(n), uint256.NewInt(1+r.Uint64()>>1), tracing.BalanceChangeUnspecified)
			if n%3 == 0 {
				b.SetCode(addressOf(n), fmt.Appendf(nil, "code %d", n%30), tracing.CodeChangeUnspecified)
			}
			if n%4 == 0 {
				fill(b, n, 1+r.IntN(30))
			}
		}
		fill(b, 0, manySlots)
	})
	must(t, w.roots.Settle())
	w.block(t, func(b *state.Block) { // takes the tries of the block before
		for n := 0; n < accounts; n += 5 {
			b.SetNonce(addressOf(n), 7, tracing.NonceChangeUnspecified)
			fill(b, n, 2)
		}
		b.SelfDestruct(addressOf(4))
	})
	root, err := w.roots.Root(w.number)
	must(t, err)
	w.view, err = w.store.View()
	must(t, err)
	w.held, err = w.tables.Provable(w.view, w.number)
	must(t, err)
	if w.held.Root != root {
		t.Fatalf("the root is %x, not %x", w.held.Root, root)
	}
	// What comes after it is not seen.
	w.block(t, func(b *state.Block) {
		for n := range accounts {
			b.SelfDestruct(addressOf(n))
		}
	})
	must(t, w.roots.Settle())
	w.block(t, func(*state.Block) {})
	t.Cleanup(func() {
		w.roots.Close()
		if err := errors.Join(w.view.Close(), w.store.Close()); err != nil {
			t.Error(err)
		}
	})
	return w
}

// ask sends a request as it travels, and reads the answer as it travels.
func ask[A Message](t testing.TB, s *Server, request Message) A {
	t.Helper()
	in, err := Decode(request.Code(), encode(t, request))
	must(t, err)
	out, err := s.Answer(in)
	must(t, err)
	raw := encode(t, out)
	answer, err := Decode(request.Code()+1, raw)
	if err != nil {
		t.Fatalf("an answer that nobody can read: %v", err)
	}
	if answer.Number() != request.Number() {
		t.Fatalf("request %d is answered with number %d", request.Number(), answer.Number())
	}
	return answer.(A)
}

// prove checks a range as a client does, and tells whether there is more behind it.
func prove(t testing.TB, root, first common.Hash, keys []common.Hash, values [][]byte, proof [][]byte) bool {
	t.Helper()
	var raw [][]byte
	for i := range keys {
		raw = append(raw, keys[i][:])
	}
	nodes := memorydb.New()
	for _, n := range proof {
		must(t, nodes.Put(crypto.Keccak256(n), n))
	}
	var set *memorydb.Database
	if len(proof) > 0 {
		set = nodes
	}
	var more bool
	var err error
	if set == nil {
		more, err = trie.VerifyRangeProof(root, first[:], raw, values, nil)
	} else {
		more, err = trie.VerifyRangeProof(root, first[:], raw, values, set)
	}
	if err != nil {
		t.Fatalf("%d keys from %x: %v", len(keys), first, err)
	}
	return more
}

func next(h common.Hash) common.Hash {
	for i := len(h) - 1; i >= 0; i-- {
		if h[i]++; h[i] != 0 {
			break
		}
	}
	return h
}

// A client that believes nothing without a proof gets the whole state, in small parts and in large
// ones.
func TestTheWholeStateIsGivenAndProved(t *testing.T) {
	const accounts = 400
	w := newWorld(t, accounts)
	s := NewServer(w, DefaultLimits())
	for _, size := range []uint64{0, 300, 5000, 1 << 40} {
		id, got, slots, codes := uint64(0), 0, 0, map[common.Hash]bool{}
		whole := trie.NewEmpty(triedb.NewDatabase(rawdb.NewMemoryDatabase(), nil))
		for first, more := (common.Hash{}), true; more; {
			id++
			a := ask[*Accounts](t, s, &GetAccounts{id, w.held.Root, first, common.MaxHash, size})
			var keys []common.Hash
			var values [][]byte
			for _, account := range a.Accounts {
				full, err := types.FullAccount(account.Body)
				must(t, err)
				raw, err := rlp.EncodeToBytes(full)
				must(t, err)
				keys, values = append(keys, account.Hash), append(values, raw)
				must(t, whole.Update(account.Hash[:], raw))
				codes[common.BytesToHash(full.CodeHash)] = true
				slots += allSlots(t, s, w, account.Hash, full.Root, size)
			}
			if more = prove(t, w.held.Root, first, keys, values, a.Proof); more {
				first = next(keys[len(keys)-1])
			}
			got += len(keys)
		}
		if got != accounts-1 || whole.Hash() != w.held.Root {
			t.Fatalf("%d bytes at a time: %d accounts with root %x, not %d with %x",
				size, got, whole.Hash(), accounts-1, w.held.Root)
		}
		if slots < manySlots {
			t.Fatalf("%d slots", slots)
		}
		for hash := range codes {
			if c := ask[*CodesOf](t, s, &GetCodes{id, []common.Hash{{1}, hash}, size}); len(c.Codes) != 1 ||
				crypto.Keccak256Hash(c.Codes[0]) != hash {
				t.Fatalf("code %x is answered with %x", hash, c.Codes)
			}
		}
		t.Logf("%d bytes at a time: %d accounts, %d slots, %d codes", size, got, slots, len(codes))
	}
}

// allSlots gets the slots of an account and returns how many there are.
func allSlots(t testing.TB, s *Server, w *world, account, root common.Hash, size uint64) (count int) {
	t.Helper()
	for first, more := (common.Hash{}), root != types.EmptyRootHash; more; {
		a := ask[*Slots](t, s, &GetSlots{1, w.held.Root, []common.Hash{account}, first[:], nil, size})
		if len(a.Of) != 1 {
			t.Fatalf("slots of %d accounts", len(a.Of))
		}
		var keys []common.Hash
		var values [][]byte
		for _, slot := range a.Of[0] {
			keys, values = append(keys, slot.Hash), append(values, slot.Body)
		}
		if more = prove(t, root, first, keys, values, a.Proof); more {
			first = next(keys[len(keys)-1])
		}
		count += len(keys)
	}
	return count
}

// The slots of many accounts come in one answer; the last of them may be cut, and is proved then.
func TestSlotsOfManyAccountsComeInOneAnswer(t *testing.T) {
	w := newWorld(t, 100)
	s := NewServer(w, DefaultLimits())
	all := ask[*Accounts](t, s, &GetAccounts{1, w.held.Root, common.Hash{}, common.MaxHash, 1 << 30})
	var with, roots []common.Hash
	for _, a := range all.Accounts {
		if full, err := types.FullAccount(a.Body); err == nil && full.Root != types.EmptyRootHash && a.Hash != w.large {
			with, roots = append(with, a.Hash), append(roots, full.Root)
		}
	}
	for _, size := range []uint64{1, 1000, 1 << 20} {
		a := ask[*Slots](t, s, &GetSlots{1, w.held.Root, with, nil, nil, size})
		for i, slots := range a.Of {
			var keys []common.Hash
			var values [][]byte
			for _, slot := range slots {
				keys, values = append(keys, slot.Hash), append(values, slot.Body)
			}
			var proof [][]byte
			if i == len(a.Of)-1 {
				proof = a.Proof
			}
			if more := prove(t, roots[i], common.Hash{}, keys, values, proof); more != (len(proof) > 0) {
				t.Errorf("%d bytes, account %d: more is %v", size, i, more)
			}
		}
		t.Logf("%d bytes: %d of %d accounts, %d nodes", size, len(a.Of), len(with), len(a.Proof))
	}
	// A range of the first account's ends at its bound, and says that there is more.
	to := common.Hash{0x40}
	a := ask[*Slots](t, s, &GetSlots{1, w.held.Root, []common.Hash{w.large, with[0]}, nil, to[:], 1 << 20})
	last := a.Of[0][len(a.Of[0])-1].Hash
	if len(a.Of) != 1 || len(a.Proof) == 0 || last.Cmp(to) < 0 || a.Of[0][len(a.Of[0])-2].Hash.Cmp(to) >= 0 {
		t.Errorf("up to %x: %d accounts, the last slot is %x, %d nodes", to, len(a.Of), last, len(a.Proof))
	}
}

// A client that has the root alone gets all nodes of the tries by their paths, as a healing go-opera
// does: each has the hash that the node above it says.
func TestNodesAreThoseOfTheTries(t *testing.T) {
	w := newWorld(t, 100)
	s := NewServer(w, DefaultLimits())
	get := func(paths ...Paths) [][]byte {
		return ask[*Nodes](t, s, &GetNodes{1, w.held.Root, paths, 1 << 20}).Nodes
	}
	compact := func(path []byte) []byte { // hex prefix
		b := []byte{byte(len(path)%2) << 4}
		if len(path)%2 == 1 {
			b[0] |= path[0]
			path = path[1:]
		}
		for i := 0; i < len(path); i += 2 {
			b = append(b, path[i]<<4|path[i+1])
		}
		return b
	}
	reached := 0
	walk := func(owner []byte, root common.Hash, it trie.NodeIterator) {
		for it.Next(true) {
			if it.Hash() == (common.Hash{}) {
				continue
			}
			path := Paths{compact(it.Path())}
			if owner != nil {
				path = append(Paths{owner}, path...)
			}
			if got := get(path); len(got) != 1 || crypto.Keccak256Hash(got[0]) != it.Hash() {
				t.Fatalf("node %x of %x: %x", it.Path(), owner, got)
			}
			reached++
		}
		must(t, it.Error())
	}
	accounts, err := w.held.AccountTrie()
	must(t, err)
	it, err := accounts.NodeIterator(nil)
	must(t, err)
	walk(nil, w.held.Root, it)
	storage, err := w.held.StorageTrie(w.large)
	must(t, err)
	it, err = storage.NodeIterator(nil)
	must(t, err)
	walk(w.large[:], storage.Hash(), it)
	if reached < manySlots {
		t.Errorf("%d nodes", reached)
	}
	// Paths that lead nowhere, to a leaf, into an account that is not there, and strange ones.
	for what, paths := range map[string]Paths{
		"nowhere":      {bytes.Repeat([]byte{0xff}, 40)},
		"a leaf":       {append([]byte{0x20}, w.large[:]...)},
		"nobody":       {bytes.Repeat([]byte{1}, 32), {0}},
		"nobody's own": {make([]byte, 32), {0}},
		"no path":      {nil},
		"odd flags":    {{0xf7, 1, 2}},
		"long":         {bytes.Repeat([]byte{0x11}, 1000)},
	} {
		for _, node := range get(paths) {
			if len(node) > 0 && crypto.Keccak256Hash(node) != w.held.Root {
				t.Errorf("%s: %x", what, node)
			}
		}
	}
}

// A state that is not there is answered with nothing, by whatever it is asked for.
func TestAStateThatIsNotThereIsAnsweredWithNothing(t *testing.T) {
	w := newWorld(t, 20)
	s := NewServer(w, DefaultLimits())
	code := crypto.Keccak256Hash([]byte("code 0"))
	for range 2 {
		root := common.Hash{1}
		if w.none {
			root = w.held.Root
		}
		a := ask[*Accounts](t, s, &GetAccounts{1, root, common.Hash{}, common.MaxHash, 1000})
		b := ask[*Slots](t, s, &GetSlots{2, root, []common.Hash{w.large}, nil, nil, 1000})
		n := ask[*Nodes](t, s, &GetNodes{3, root, []Paths{{{0}}}, 1000})
		c := ask[*CodesOf](t, s, &GetCodes{4, []common.Hash{code}, 1000})
		if len(a.Accounts)+len(a.Proof)+len(b.Of)+len(b.Proof)+len(n.Nodes) != 0 || (len(c.Codes) != 0) == w.none {
			t.Errorf("nothing is held: %v: %+v %+v %+v %+v", w.none, a, b, n, c)
		}
		w.none = true
	}
	if answer, err := s.Answer(&Nodes{ID: 1}); answer != nil || err != nil {
		t.Errorf("an answer is answered with %+v, %v", answer, err)
	}
}

// The worst requests get answers that are bounded in bytes, in what is looked up for them, and in
// time.
func TestTheWorstRequestsHaveBounds(t *testing.T) {
	w := newWorld(t, 300)
	const bytesMost, lookups = 20_000, 50
	s := NewServer(w, Limits{bytesMost, lookups, DefaultLimits().Time})
	const everything = 1 << 63
	root := w.held.Root
	if a := ask[*Accounts](t, s,
		&GetAccounts{1, root, common.Hash{}, common.MaxHash, everything}); len(a.Accounts)*40 > bytesMost+200 ||
		len(a.Accounts) < 100 {
		t.Errorf("%d accounts", len(a.Accounts))
	}
	if a := ask[*Slots](t, s,
		&GetSlots{1, root, []common.Hash{w.large}, nil, nil, everything}); len(a.Of[0])*33 > bytesMost*11/10+100 ||
		len(a.Of[0]) < 400 {
		t.Errorf("%d slots", len(a.Of[0]))
	}
	many := make([]common.Hash, maxAsked)
	for i := range many {
		many[i] = crypto.Keccak256Hash([]byte("code 0"))
	}
	many = many[:MaxRequest/33-10]
	if a := ask[*CodesOf](t, s, &GetCodes{1, many, everything}); len(a.Codes) != lookups {
		t.Errorf("%d codes", len(a.Codes))
	}
	paths := make([]Paths, maxAsked)
	for i := range paths {
		paths[i] = Paths{{0}}
	}
	if a := ask[*Nodes](t, s, &GetNodes{1, root, paths, everything}); len(a.Nodes)*500 > bytesMost+1000 ||
		len(a.Nodes) == 0 {
		t.Errorf("%d nodes", len(a.Nodes))
	}
	few := NewServer(w, Limits{DefaultLimits().Bytes, lookups, DefaultLimits().Time}) // there is room for all of them
	if a := ask[*Nodes](t, few, &GetNodes{1, root, paths, everything}); len(a.Nodes) > lookups ||
		len(a.Nodes) < lookups/4 {
		t.Errorf("%d nodes", len(a.Nodes))
	}
	for i := range paths { // nothing is given for them, and looking costs
		paths[i] = Paths{make([]byte, 2), {0}}
	}
	began := time.Now()
	if a := ask[*Nodes](t, s, &GetNodes{1, root, paths, everything}); len(a.Nodes) != 0 {
		t.Errorf("%d nodes of nobody", len(a.Nodes))
	}
	for i := range many {
		many[i] = randomHash(rand.New(rand.NewPCG(1, uint64(i))))
	}
	if a := ask[*Slots](t, s, &GetSlots{1, root, many, nil, nil, everything}); len(a.Of) != len(many) {
		t.Errorf("slots of %d accounts", len(a.Of))
	}
	t.Logf("%v for what is not there", time.Since(began))
	// In no time at all an answer has one item of each kind, which is still proved.
	s = NewServer(w, Limits{DefaultLimits().Bytes, DefaultLimits().Lookups, time.Nanosecond})
	a := ask[*Accounts](t, s, &GetAccounts{1, root, common.Hash{}, common.MaxHash, everything})
	b := ask[*Slots](t, s, &GetSlots{1, root, []common.Hash{w.large, w.large}, nil, nil, everything})
	c := ask[*CodesOf](t, s, &GetCodes{1, []common.Hash{types.EmptyCodeHash, types.EmptyCodeHash}, everything})
	n := ask[*Nodes](t, s, &GetNodes{1, root, paths[:2], everything})
	if len(a.Accounts) != 1 || len(a.Proof) == 0 || len(b.Of) != 1 || len(b.Of[0]) != 1 || len(b.Proof) == 0 ||
		len(c.Codes) != 1 || len(n.Nodes) > 1 {
		t.Errorf("%d accounts, %d slots, %d codes, %d nodes", len(a.Accounts), len(b.Of), len(c.Codes), len(n.Nodes))
	}
}
