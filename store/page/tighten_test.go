package page

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestTighteningNeverTakesRoom: a page that is full to the last bytes has none for a
// longer prefix that takes more than it saves.
func TestTighteningNeverTakesRoom(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		n, spare := scratchNode(), scratchNode()
		n.reset(uint8(r.IntN(2)), nil)
		var keys [][]byte
		shared := bytes.Repeat([]byte("p"), 1+r.IntN(20))
		if n.level > 0 {
			n.insertChild(0, nil, ref{7, 7}, spare)
			keys = append(keys, nil)
		}
		for i, gap := 0, pageSize; ; i++ {
			// The last key takes what is left, or nearly.
			long := 2 + r.IntN(1000)
			if left := gap - slotSize - n.fixedSize() - len(shared); left < 1004 {
				long = max(left-r.IntN(6), 4)
			}
			key := fmt.Appendf(bytes.Clone(shared), "%02d%0*d", i, long-2, 0)
			if !n.fits(key, n.payloadOf()) || i == 99 {
				break
			}
			if n.level > 0 {
				n.insertChild(len(keys), key, ref{uint32(i), 7}, spare)
			} else {
				n.insertValue(len(keys), key, nil, false, spare)
			}
			keys = append(keys, key)
			gap = n.gap()
		}
		// Only some of what they share is shared by the key to come.
		before := n.gap()
		changed := n.tighten(shared[:1+r.IntN(len(shared))], spare)
		if n.gap() < 0 || n.gap() < before || changed != (n.gap() > before) {
			t.Fatalf("seed %d: room of %d bytes became %d, changed %v, prefix of %d",
				seed, before, n.gap(), changed, n.prefixLen)
		}
		for i, key := range keys {
			if i == 0 && n.level > 0 {
				continue
			}
			if got := n.key(nil, i); !bytes.Equal(got, key) {
				t.Fatalf("seed %d: key %d is %q, was %q", seed, i, got, key)
			}
			if n.level > 0 && n.child(i) != (ref{uint32(i - 1), 7}) {
				t.Fatalf("seed %d: child %d is %v", seed, i, n.child(i))
			}
		}
	}
}

// payloadOf is what fits is asked with for the rows of this test.
func (n *node) payloadOf() int {
	if n.level > 0 {
		return childSize
	}
	return 0
}
