package appendonly

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"sort"
)

// memory is the newest part of an index: postings in the order in which they came, whose numbers
// ascend, found by their keys. Garbage collection looks at a few chunks and one map in place of
// millions of strings. Reading and adding need a lock, but postings never change: what [memory.kept]
// returned may be read without one while others are added.
type memory struct {
	seed   maphash.Seed
	newest map[uint64]place // by a key's hash
	kept   postings
}

// postings are chunks of memory, filled one after the other.
type postings [][]byte

// place is where a posting is: the chunk, then 16 bits of the offset in it. None is at 0.
type place uint32

const (
	chunkBytes = 1 << 16
	mostChunks = 1 << 16

	// A posting is: the place of the one before with the same hash, that of an earlier one to which
	// a search may jump, how many there are before, the entry's number, the sizes of key and value,
	// key and value.
	postingHeader = 4 + 4 + 4 + 8 + 2 + 2

	// postingCost is about what a posting takes beside its key and value: its header, and a slot of a
	// map that is two thirds full.
	postingCost = postingHeader + 24
)

func newMemory() *memory {
	return &memory{seed: maphash.MakeSeed(), newest: map[uint64]place{}}
}

// gather adds the keys of an entry, and tells how many bytes these take, about.
func (m *memory) gather(number uint64, keys func(emit func(key, value []byte)) error) (taken int64, err error) {
	var refused error
	err = keys(func(key, value []byte) {
		if len(key) > maxIndexed || len(value) > maxIndexed {
			refused = fmt.Errorf("a key of %d bytes with a value of %d", len(key), len(value))
			return
		}
		if len(m.kept) == mostChunks {
			refused = errors.New("there is no room for more keys in memory: no run was made for too long")
			return
		}
		m.add(&posting{key, number, value})
		taken += m.cost(key, value)
	})
	return taken, errors.Join(err, refused)
}

func (m *memory) cost(key, value []byte) int64 { return int64(len(key)+len(value)) + postingCost }

// add copies a posting, whose number is not below those that are there.
func (m *memory) add(p *posting) {
	size := postingHeader + len(p.key) + len(p.value)
	last := len(m.kept) - 1
	if last < 0 || len(m.kept[last])+size > chunkBytes {
		last++
		m.kept = append(m.kept, make([]byte, begin(last)&(chunkBytes-1), chunkBytes))
	}
	at := place(last<<16 | len(m.kept[last]))
	hash := maphash.Bytes(m.seed, p.key)
	before := m.newest[hash]
	jump, depth := m.kept.jump(before)
	b := m.kept[last]
	b = binary.LittleEndian.AppendUint32(b, uint32(before))
	b = binary.LittleEndian.AppendUint32(b, uint32(jump))
	b = binary.LittleEndian.AppendUint32(b, depth)
	b = binary.LittleEndian.AppendUint64(b, p.number)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(p.key)))
	b = binary.LittleEndian.AppendUint16(b, uint16(len(p.value)))
	m.kept[last] = append(append(b, p.key...), p.value...)
	m.newest[hash] = at
}

// find returns the postings of a key from one number to another, both included, ascending. It costs what
// is found, and the logarithm of what the key has.
func (m *memory) find(key []byte, from, to uint64) (found []posting) {
	at := m.newest[maphash.Bytes(m.seed, key)]
	for at != 0 && m.kept.number(at) > to {
		at = m.kept.back(at, to)
	}
	for at != 0 && m.kept.number(at) >= from {
		if p := m.kept.at(at); bytes.Equal(p.key, key) {
			found = append(found, p)
		}
		at, _, _ = m.kept.links(at)
	}
	slices.Reverse(found)
	return found
}

// since returns a memory of the postings from a number on, and what these take.
func (m *memory) since(number uint64) (n *memory, taken int64) {
	n = newMemory()
	m.kept.each(m.kept.search(number), func(_ place, p posting) {
		n.add(&p)
		taken += m.cost(p.key, p.value)
	})
	return n, taken
}

// cut forgets the postings from a number on, and tells what these took. Who found some may go on
// reading them: they are not written over.
func (m *memory) cut(number uint64) (given int64) {
	from := m.kept.search(number)
	m.kept.each(from, func(at place, p posting) {
		given += m.cost(p.key, p.value)
		switch before, _, _ := m.kept.links(at); {
		case before >= from: // this was done at the first one of the key
		case before == 0:
			delete(m.newest, maphash.Bytes(m.seed, p.key))
		default:
			m.newest[maphash.Bytes(m.seed, p.key)] = before
		}
	})
	if given == 0 {
		return 0
	}
	chunk := int(from >> 16)
	whole, last := m.kept[:chunk:chunk], m.kept[chunk][:from&(chunkBytes-1)]
	if m.kept = whole; from != begin(chunk) {
		m.kept = append(whole, append(make([]byte, 0, chunkBytes), last...))
	}
	return given
}

// jump returns to where a posting after the one at before may jump, and how many are before it: the
// jumps are those of a skew-binary list, so that a search takes logarithmic time (Myers, An applicative
// random-access stack, 1983).
func (c postings) jump(before place) (jump place, depth uint32) {
	if before == 0 {
		return 0, 0
	}
	_, first, at := c.links(before)
	if first != 0 {
		_, second, middle := c.links(first)
		last := uint32(0)
		if second != 0 {
			_, _, last = c.links(second)
		}
		if second != 0 && at-middle == middle-last {
			return second, at + 1
		}
	}
	return before, at + 1
}

// back goes from a posting whose number is above one as far back as a link leads, but not over the newest
// that isn't.
func (c postings) back(at place, number uint64) place {
	before, jump, _ := c.links(at)
	if jump != 0 && c.number(jump) > number {
		return jump
	}
	return before
}

func (c postings) bytes(at place) []byte { return c[at>>16][at&(chunkBytes-1):] }

func (c postings) links(at place) (before, jump place, depth uint32) {
	b := c.bytes(at)
	return place(binary.LittleEndian.Uint32(b)), place(binary.LittleEndian.Uint32(b[4:])),
		binary.LittleEndian.Uint32(b[8:])
}

func (c postings) number(at place) uint64 { return binary.LittleEndian.Uint64(c.bytes(at)[12:]) }

// at returns a posting, whose key and value are those in memory.
func (c postings) at(at place) posting {
	b := c.bytes(at)
	key := postingHeader + int(binary.LittleEndian.Uint16(b[20:]))
	value := key + int(binary.LittleEndian.Uint16(b[22:]))
	return posting{b[postingHeader:key:key], binary.LittleEndian.Uint64(b[12:]), b[key:value:value]}
}

// search returns where the first posting is whose number is not below one, or else the end.
func (c postings) search(number uint64) place {
	if len(c) == 0 {
		return 1
	}
	after := sort.Search(len(c), func(i int) bool { return c.number(begin(i)) >= number })
	chunk := max(after-1, 0) // in which the number may be reached
	at := begin(chunk)
	for int(at&(chunkBytes-1)) < len(c[chunk]) {
		if c.number(at) >= number {
			return at
		}
		at += c.size(at)
	}
	if after < len(c) {
		return begin(after)
	}
	return at
}

// begin is where the first posting of a chunk is.
func begin(chunk int) place {
	if chunk == 0 {
		return 1 // nothing is at place 0
	}
	return place(chunk << 16)
}

// size is of a posting, in bytes.
func (c postings) size(at place) place {
	b := c.bytes(at)
	return postingHeader + place(binary.LittleEndian.Uint16(b[20:])) + place(binary.LittleEndian.Uint16(b[22:]))
}

// each calls fn for the postings from one place on, in their order.
func (c postings) each(from place, fn func(place, posting)) {
	for chunk := int(from >> 16); chunk < len(c); chunk++ {
		for at := max(from, begin(chunk)); int(at)-chunk<<16 < len(c[chunk]); at += c.size(at) {
			fn(at, c.at(at))
		}
	}
}

// sorted returns where the postings are that a test takes, by their keys, those of one key in their order.
func (c postings) sorted(takes func(*posting) bool) []place {
	type entry struct {
		begins uint64 // of the key
		at     place
	}
	var all []entry
	c.each(begin(0), func(at place, p posting) {
		if takes(&p) {
			var b [8]byte
			copy(b[:], p.key)
			all = append(all, entry{binary.BigEndian.Uint64(b[:]), at})
		}
	})
	slices.SortFunc(all, func(a, b entry) int {
		if a.begins != b.begins {
			return cmp.Compare(a.begins, b.begins)
		}
		return cmp.Or(bytes.Compare(c.at(a.at).key, c.at(b.at).key), cmp.Compare(a.at, b.at))
	})
	list := make([]place, len(all))
	for i, e := range all {
		list[i] = e.at
	}
	return list
}
