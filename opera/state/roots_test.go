package state

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"

	"tarn/store"
	"tarn/store/page"
	"tarn/store/revision"
	"tarn/store/vfs/memfs"
)

// chain is a state with its roots on a disk that can be crashed, and go-ethereum's beside
// it, which is never.
type chain struct {
	t      *testing.T
	r      *rand.Rand
	disk   *memfs.FS
	store  store.Store
	tables *Tables
	roots  *Roots

	theirs state.Database
	known  []common.Hash // their roots by block; none at 0
	made   []*Changes

	between func() // is called when a block is published and not followed yet
}

func newChain(t *testing.T, r *rand.Rand) *chain {
	c := &chain{t: t, r: r, disk: memfs.New(), theirs: state.NewDatabaseForTesting(),
		known: []common.Hash{types.EmptyRootHash}, made: []*Changes{nil}}
	c.open()
	return c
}

func (c *chain) open() {
	check(c.t, c.disk.Mkdir("/state"))
	c.reopen()
}

func (c *chain) reopen() {
	e, err := page.Open(page.Options{Dir: "/state", Mode: page.Heap, LimitBytes: 1 << 28, FS: c.disk})
	check(c.t, err)
	c.store, err = revision.Open(e)
	check(c.t, err)
	c.tables, err = Open(c.store)
	check(c.t, err)
	check(c.t, c.store.Publish())
	c.roots, err = c.tables.StartRoots(c.store, RootsOptions{Updates: 1 + c.r.IntN(60), Queue: 1 + c.r.IntN(4)})
	check(c.t, err)
}

// crash loses all that no checkpoint made durable, and goes on from there.
func (c *chain) crash() {
	c.roots.Close()
	check(c.t, c.store.Close())
	c.reopen()
	for number := int(c.store.Head()) + 1; number < len(c.made); number++ {
		c.apply(c.made[number])
	}
}

// apply makes a block's changes a revision.
func (c *chain) apply(changes *Changes) {
	push(c.t, c.store, func() error {
		if err := c.tables.Write(c.store, changes); err != nil {
			return err
		}
		return c.roots.Write(c.store, changes)
	})
	if c.between != nil {
		c.between()
	}
	check(c.t, c.roots.Follow(changes))
}

// block makes a block of random work on both sides.
func (c *chain) block() {
	c.blockOf(c.r.IntN(6), func(both []vm.StateDB, _ uint64) {
		for range c.r.IntN(12) {
			_, do := step(c.r)
			for _, db := range both {
				do(db)
			}
		}
	})
}

// blockOf makes a block of transactions, each of which does its work on both sides.
func (c *chain) blockOf(transactions int, work func(both []vm.StateDB, number uint64)) {
	ours := NewBlock(c.tables.Flat(c.store))
	number := uint64(len(c.made))
	theirs, err := state.New(c.known[number-1], c.theirs)
	check(c.t, err)
	both := []vm.StateDB{ours, theirs}
	for i := range transactions {
		work(both, number)
		ours.SetTxContext(slot(i), i, 0)
		for _, db := range both {
			db.Finalise(london)
		}
	}
	changes, err := ours.Finish(number)
	check(c.t, err)
	root, err := theirs.Commit(london, number)
	check(c.t, err)
	c.made, c.known = append(c.made, changes), append(c.known, root)
	c.apply(changes)
}

func (c *chain) compare(number int) {
	c.t.Helper()
	root, err := c.roots.Root(uint64(number))
	check(c.t, err)
	if root != c.known[number] {
		c.t.Fatalf("root of block %d is %x, want %x", number, root, c.known[number])
	}
}

// settle brings the trie's rows to the newest block.
func (c *chain) settle() {
	c.t.Helper()
	check(c.t, c.roots.Settle())
	check(c.t, c.roots.Collect(c.store))
	check(c.t, c.store.Publish())
}

// Blocks of random work, deletions, destructions and creations among them: each root is
// go-ethereum's, whether it is asked for at once, late, or after a crash at any block.
func TestRootsAreGoEthereums(t *testing.T) {
	c := newChain(t, newRand(t))
	for range 150 {
		c.block()
		newest := len(c.made) - 1
		switch c.r.IntN(8) {
		case 0:
			c.compare(newest)
		case 1:
			c.compare(1 + c.r.IntN(newest))
		case 2:
			check(t, c.roots.Settle())
		case 3:
			cp, err := c.store.Checkpoint()
			check(t, err)
			check(t, cp.Wait())
		case 4:
			c.crash()
		}
	}
	for number := range c.made[1:] {
		c.compare(number + 1)
	}
	if _, err := c.roots.Root(uint64(len(c.made))); err == nil {
		t.Error("there is a root of a block that never was")
	}
	c.settle()
	c.whole()
	c.roots.Close()
	check(t, c.store.Close())
}

// whole fails the test if the full check finds anything.
func (c *chain) whole() Counted {
	c.t.Helper()
	counted, err := c.tables.Check(c.store, func(err error) { c.t.Error(err) }, nil)
	check(c.t, err)
	return counted
}

// Whoever sees a block before its changes are handed over waits for its root.
func TestARootIsWaitedForFromTheBlocksPublicationOn(t *testing.T) {
	c := newChain(t, newRand(t))
	type answer struct {
		root common.Hash
		err  error
	}
	got := make(chan answer, 1)
	c.between = func() {
		number := uint64(c.store.Head())
		go func() {
			root, err := c.roots.Root(number)
			got <- answer{root, err}
		}()
		select {
		case a := <-got:
			t.Errorf("the root of block %d is there at once: %x, %v", number, a.root, a.err)
			got <- a
		case <-time.After(5 * time.Millisecond):
		}
		if _, err := c.roots.Root(number + 1); err == nil {
			t.Error("there is a root of a block that nobody has made")
		}
	}
	for range 20 {
		c.block()
		if a := <-got; a.err != nil || a.root != c.known[len(c.known)-1] {
			t.Errorf("block %d: %x, %v", len(c.made)-1, a.root, a.err)
		}
	}
	c.roots.Close()
	check(t, c.store.Close())
}

func TestAFullCheckFindsEachDamage(t *testing.T) {
	c := newChain(t, newRand(t))
	used := emptyCode
	for range 20 {
		c.block()
	}
	for used == emptyCode {
		c.block()
		check(t, c.tables.Flat(c.store).Accounts(common.Hash{}, func(_ common.Hash, a *Account) bool {
			used = a.Code
			return used == emptyCode
		}))
	}
	c.settle()
	counted := c.whole()
	if counted.Accounts == 0 || counted.Slots == 0 || counted.Codes == 0 || counted.Nodes <= counted.Accounts {
		t.Fatalf("%+v: too little to check", counted)
	}
	damage := func(name string, table store.Table, change func(key, row []byte) ([]byte, []byte)) {
		cur, err := c.store.Cursor(table)
		check(t, err)
		cur.First()
		key, row := bytes.Clone(cur.Key()), bytes.Clone(cur.Value())
		check(t, cur.Close())
		k, v := change(bytes.Clone(key), bytes.Clone(row))
		check(t, c.store.Begin())
		if v == nil {
			check(t, c.store.Delete(table, k))
		} else {
			check(t, c.store.Put(table, k, v))
		}
		found := 0
		_, err = c.tables.Check(c.store, func(error) { found++ }, nil)
		if err == nil && found == 0 {
			t.Errorf("%s: not found", name)
		}
		check(t, c.store.Undo())
	}
	gone := func(key, _ []byte) ([]byte, []byte) { return key, nil }
	other := func(key, row []byte) ([]byte, []byte) { row[len(row)-1] ^= 1; return key, row }
	more := func(key, row []byte) ([]byte, []byte) { key[len(key)-1] ^= 1; return key, row }
	for _, table := range []struct {
		name  string
		table store.Table
	}{
		{"account", c.tables.accounts}, {"slot", c.tables.slots}, {"code", c.tables.code},
		{"account node", c.tables.accountNodes}, {"slot node", c.tables.slotNodes},
	} {
		if table.table != c.tables.code { // code that nobody has may be there, or not
			damage(table.name+" gone", table.table, gone)
		}
		damage(table.name+" other", table.table, other)
		damage(table.name+" more", table.table, more)
	}
	damage("code that an account has", c.tables.code, func(_, _ []byte) ([]byte, []byte) { return used[:], nil })
	c.block()
	if _, err := c.tables.Check(c.store, func(error) {}, nil); !errors.Is(err, ErrTrieBehind) {
		t.Errorf("check while the trie is behind: %v", err)
	}
	c.roots.Close()
}

// Blocks wait in the rows until their trie is written: thousands, if each changes little. To compute their
// roots after a start takes a few reads each, however many wait.
func TestManyBlocksThatWaitCostAFewReadsEach(t *testing.T) {
	c := newChain(t, rand.New(rand.NewPCG(1, 9)))
	c.roots.Close()
	counted := &countingStore{Store: c.store}
	var err error
	c.roots, err = c.tables.StartRoots(counted, RootsOptions{Updates: 1 << 30})
	check(t, err)
	defer c.roots.Close()
	const blocks = 2000
	for range blocks {
		c.blockOf(1, func(both []vm.StateDB, number uint64) {
			for _, db := range both {
				db.SetNonce(common.Address{1}, number, tracing.NonceChangeUnspecified)
			}
		})
	}
	c.roots.Close()
	// The roots are in a log by now, and in no row.
	push(t, c.store, func() error { return c.tables.ForgetRoots(c.store, 0, blocks+1) })
	counted.gets.Store(0)
	c.roots, err = c.tables.StartRoots(counted, RootsOptions{Updates: 1 << 30})
	check(t, err)
	c.compare(blocks)
	if n := counted.gets.Load(); n > 30*blocks {
		t.Errorf("%d reads for the roots of %d blocks", n, blocks)
	}
}

// countingStore counts what is read through its views.
type countingStore struct {
	store.Store
	gets atomic.Int64
}

func (s *countingStore) View() (store.View, error) {
	v, err := s.Store.View()
	return countingView{v, &s.gets}, err
}

type countingView struct {
	store.View
	gets *atomic.Int64
}

func (v countingView) Get(t store.Table, key []byte) ([]byte, error) {
	v.gets.Add(1)
	return v.View.Get(t, key)
}
