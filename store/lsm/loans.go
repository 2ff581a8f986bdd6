package lsm

import "tarn/internal/invariants"

// loans are what the writer has borrowed since its last change: values of the base,
// in the arena, and values in layers, which are kept from being let go.
type loans struct {
	arena   []byte
	lent    bool // something may point into a layer
	retired []*counted
}

const (
	arenaSize = 1 << 20
	arenaRow  = arenaSize / 8 // a longer value has memory of its own
)

// room is what is left of the arena, empty.
func (l *loans) room() []byte { return l.arena[len(l.arena):] }

// lend takes a value that was appended to room. A full arena is left to the values
// in it, so that a writer that only reads holds no more than its caller does.
func (l *loans) lend(b []byte) []byte {
	switch n := len(b); {
	case n <= cap(l.arena)-len(l.arena):
		l.arena = l.arena[:len(l.arena)+n]
	case n <= arenaRow:
		l.arena = make([]byte, 0, arenaSize)
	}
	return b[:len(b):len(b)]
}

// retire lets c go when nothing in it is lent any more.
func (l *loans) retire(c *counted) {
	if !l.lent {
		c.drop()
		return
	}
	l.retired = append(l.retired, c)
}

// end is a change of the writer's.
func (l *loans) end() {
	if invariants.Enabled {
		invariants.Poison(l.arena)
	}
	l.arena = l.arena[:0]
	for _, c := range l.retired {
		c.drop()
	}
	clear(l.retired)
	l.retired, l.lent = l.retired[:0], false
}
