package chain

import (
	"errors"
	"testing"

	"tarn/store"
	"tarn/store/engine"
)

// A root that is in its log has no row any more, and gets none again. That of the newest trie is told from the
// trie's own row.
func TestRootsInTheLogHaveNoRows(t *testing.T) {
	r := record(t)
	s := openStore(t, t.TempDir(), engine.Options{Kind: engine.Page})
	defer s.Close()
	c := newChain(t, s)
	defer closeChain(t, c)
	rows, most := 0, 0
	for at := range r.events { // one by one, as roots come behind the blocks
		feed(t, c, r.events[at:at+1])
		if c.counted.Roots == 0 {
			continue
		}
		rows = 0
		for number := max(c.First(), c.counted.Roots-min(c.counted.Roots, 50)); number < c.counted.Roots; number++ {
			if _, err := c.state.RootAt(c.store, uint64(number)); err == nil {
				rows++
			} else if !errors.Is(err, store.ErrNotFound) {
				t.Fatal(err)
			}
		}
		most = max(most, rows)
	}
	if most > 1 {
		t.Errorf("%d roots that are in their log have rows", most)
	}
	if c.counted.Roots <= c.First()+5 {
		t.Errorf("only the roots before block %d are in their log", c.counted.Roots)
	}
}
