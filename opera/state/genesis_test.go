package state

import (
	"bytes"
	"maps"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/triedb"

	"tarn/store"
)

// exportState is a settled chain and the items of its state.
func exportState(t *testing.T, preimages bool) (*chain, map[string][]byte) {
	c := newChain(t, newRand(t))
	for range 40 {
		c.block()
	}
	c.settle()
	items := map[string][]byte{}
	check(t, c.tables.Export(c.store, preimages, func(key, value []byte) error {
		items[string(key)] = bytes.Clone(value)
		return nil
	}))
	t.Cleanup(func() { c.roots.Close(); c.store.Close() })
	return c, items
}

func (c *chain) newest() (uint64, common.Hash) {
	n := len(c.known) - 1
	return uint64(n), c.known[n]
}

func rows(t *testing.T, from store.Reader, table store.Table) string {
	var out bytes.Buffer
	check(t, (&Flat{from: from}).walk(table, nil, nil, func(key, row []byte) (bool, error) {
		out.Write(key)
		out.Write(row)
		return true, nil
	}))
	return out.String()
}

func importAll(t *testing.T, items map[string][]byte, number uint64, root common.Hash) (store.Store, *Tables, error) {
	s, tables := memory(t)
	i := tables.Import(s)
	for key, value := range items {
		if err := i.Put([]byte(key), value); err != nil {
			return nil, nil, err
		}
	}
	return s, tables, i.Finish(number, root)
}

// What is exported is imported as the same rows, with its root; and the next blocks' roots
// go on from it.
func TestAnExportedStateIsImported(t *testing.T) {
	c, items := exportState(t, true)
	number, root := c.newest()
	items["ab"], items["s"+string(root[:])+"123"] = []byte("of another kind"), []byte("too")
	s, tables, err := importAll(t, items, number, root)
	check(t, err)
	for i, n := range tables.names() {
		if table := c.tables.names()[i]; n.name != "opera.root" {
			if got, want := rows(t, s, *n.table), rows(t, c.store, *table.table); got != want {
				t.Errorf("table %s: %d bytes of rows, want %d", n.name, len(got), len(want))
			}
		}
	}
	_, err = tables.Check(s, func(err error) { t.Error(err) }, nil)
	check(t, err)
	check(t, s.Publish())
	roots, err := tables.StartRoots(s, RootsOptions{})
	check(t, err)
	defer roots.Close()
	if got, err := roots.Root(number); err != nil || got != root {
		t.Errorf("root %x, %v; want %x", got, err, root)
	}
	c.block()
	changes := c.made[number+1]
	push(t, s, func() error { return roots.Write(s, changes) })
	check(t, roots.Follow(changes))
	if got, err := roots.Root(number + 1); err != nil || got != c.known[number+1] {
		t.Errorf("root of the next block %x, %v; want %x", got, err, c.known[number+1])
	}
}

// Without preimages everything is there but names.
func TestAStateWithoutPreimagesIsImported(t *testing.T) {
	c, items := exportState(t, false)
	number, root := c.newest()
	s, tables, err := importAll(t, items, number, root)
	check(t, err)
	_, err = tables.Check(s, func(err error) { t.Error(err) }, nil)
	check(t, err)
	if got, want := sight(NewBlock(tables.Flat(s))), sight(NewBlock(c.tables.Flat(c.store))); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A database of nodes by hash, as go-opera's is, opens with what was exported.
func TestAnExportedStateOpensInGoEthereum(t *testing.T) {
	c, items := exportState(t, false)
	disk := rawdb.NewMemoryDatabase()
	for key, value := range items {
		check(t, disk.Put([]byte(key), value))
	}
	_, root := c.newest()
	db, err := state.New(root, state.NewDatabase(triedb.NewDatabase(disk, triedb.HashDefaults), nil))
	check(t, err)
	if got, want := sight(NewBlock(c.tables.Flat(c.store))), sight(db); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Each item is needed, and must be what its key says.
func TestAnImportWithoutOrWithAnotherItemFails(t *testing.T) {
	c, items := exportState(t, false)
	number, root := c.newest()
	used := map[string]bool{}
	check(t, c.tables.Flat(c.store).Accounts(common.Hash{}, func(_ common.Hash, a *Account) bool {
		used[codePrefix+string(a.Code[:])] = true
		return true
	}))
	for key, value := range items {
		if len(key) == 1+common.HashLength && !used[key] {
			continue // code that no account has any more
		}
		less := maps.Clone(items)
		delete(less, key)
		if _, _, err := importAll(t, less, number, root); err == nil {
			t.Errorf("imported without %x", key)
		}
		other := maps.Clone(items)
		other[key] = append(bytes.Clone(value), 0)
		if _, _, err := importAll(t, other, number, root); err == nil {
			t.Errorf("imported with another %x", key)
		}
	}
}
