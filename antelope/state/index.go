package state

// index finds cached rows by their keys: a hash table with open addressing, whose
// slots point to the rows. It only grows, until it is cleared. It is several times
// faster than a map for the small keys of a chain, which are looked up some thirty
// times a transaction.
type index[K comparable, V any] struct {
	slots []*row[K, V] // a power of two of them, at most half in use
	used  int
}

// minSlots is where an index begins.
const minSlots = 64

// get returns the row with this key and hash, nil if there is none.
func (x *index[K, V]) get(k K, hash uint64) *row[K, V] {
	if x.slots == nil {
		return nil
	}
	mask := uint64(len(x.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		e := x.slots[i]
		if e == nil || e.key == k {
			return e
		}
	}
}

// put adds a row that is not there.
func (x *index[K, V]) put(e *row[K, V]) {
	if 2*(x.used+1) > len(x.slots) {
		old := x.slots
		x.slots = make([]*row[K, V], max(minSlots, 2*len(old)))
		for _, r := range old {
			if r != nil {
				x.place(r)
			}
		}
	}
	x.used++
	x.place(e)
}

func (x *index[K, V]) place(e *row[K, V]) {
	mask := uint64(len(x.slots) - 1)
	i := e.hash & mask
	for x.slots[i] != nil {
		i = (i + 1) & mask
	}
	x.slots[i] = e
}

// clear forgets all rows, and keeps the memory.
func (x *index[K, V]) clear() {
	clear(x.slots)
	x.used = 0
}

// mix spreads a word over all bits, so that the low ones find a slot (the finalizer
// of MurmurHash3). Keys are mixed with a seed that nobody outside knows: names are
// other people's choice, and must not meet in one slot.
func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
