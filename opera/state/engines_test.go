package state

import (
	"errors"
	"testing"

	"tarn/store/engine"
)

// The same changes give the same rows and roots on every engine, also where the store is
// closed and opened on the way.
func TestTheStateIsTheSameOnEveryEngine(t *testing.T) {
	c := newChain(t, newRand(t))
	for range 30 {
		c.block()
	}
	c.settle()
	for _, kind := range engine.Kinds() {
		dir := t.TempDir()
		for from := 1; from < len(c.made); {
			s, err := engine.Open(dir, engine.Options{Kind: kind, LimitBytes: 1 << 28})
			check(t, err)
			tables, err := Open(s)
			check(t, err)
			check(t, s.Publish())
			roots, err := tables.StartRoots(s, RootsOptions{Updates: 30})
			check(t, err)
			for range 16 {
				if from == len(c.made) {
					break
				}
				changes := c.made[from]
				push(t, s, func() error { return errors.Join(tables.Write(s, changes), roots.Write(s, changes)) })
				check(t, roots.Follow(changes))
				from++
			}
			if from == len(c.made) {
				check(t, roots.Settle())
				check(t, roots.Collect(s))
				for _, table := range []struct{ ours, theirs named }{
					{tables.names()[0], c.tables.names()[0]}, {tables.names()[1], c.tables.names()[1]},
					{tables.names()[3], c.tables.names()[3]}, {tables.names()[4], c.tables.names()[4]},
				} {
					if rows(t, s, *table.ours.table) != rows(t, c.store, *table.theirs.table) {
						t.Errorf("%s: other rows of %s", kind, table.ours.name)
					}
				}
				root, err := roots.Root(uint64(from - 1))
				if err != nil || root != c.known[from-1] {
					t.Errorf("%s: root %x, %v; want %x", kind, root, err, c.known[from-1])
				}
			}
			roots.Close()
			cp, err := s.Checkpoint()
			check(t, err)
			check(t, errors.Join(cp.Wait(), s.Close()))
		}
	}
	c.roots.Close()
	check(t, c.store.Close())
}
