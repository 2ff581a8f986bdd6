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
// millions of strings. Its methods need a lock, but postings never change: what was found may be
// read without one while others are added or cut.
type memory struct {
	seed   maphash.Seed
	newest map[uint64]place // by a key's hash
	kept   postings
}

// postings are chunks of memory, filled one after the other.
type postings struct {
	chunks []*chunk
	used   []int // bytes of each
}

type chunk [chunkBytes]byte

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
		if len(m.kept.chunks) == mostChunks {
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
	at, b := m.kept.room(postingHeader + len(p.key) + len(p.value))
	hash := maphash.Bytes(m.seed, p.key)
	before := m.newest[hash]
	jump, depth := m.kept.jump(before)
	b = binary.LittleEndian.AppendUint32(b, uint32(before))
	b = binary.LittleEndian.AppendUint32(b, uint32(jump))
	b = binary.LittleEndian.AppendUint32(b, depth)
	b = binary.LittleEndian.AppendUint64(b, p.number)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(p.key)))
	b = binary.LittleEndian.AppendUint16(b, uint16(len(p.value)))
	_ = append(append(b, p.key...), p.value...)
	m.newest[hash] = at
}

// addSince adds the postings of others from a number and a place on, and tells what these take.
func (m *memory) addSince(c postings, number uint64, from place) (taken int64) {
	c.each(max(from, c.search(number)), func(_ place, p posting) {
		m.add(&p)
		taken += m.cost(p.key, p.value)
	})
	return taken
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
	if given != 0 {
		m.kept = m.kept.until(from)
	}
	return given
}

// find returns the postings of a key from one number to another, both included.
func (m *memory) find(key []byte, from, to uint64) found {
	f := found{postings: postings{chunks: m.kept.chunks}, key: key,
		newest: m.kept.back(m.newest[maphash.Bytes(m.seed, key)], to)}
	if from > 0 && f.newest != 0 {
		if before := m.kept.back(f.newest, from-1); before == f.newest {
			f.newest = 0
		} else if before != 0 {
			_, _, depth := m.kept.links(before)
			f.first = depth + 1
		}
	}
	return f
}

// found is a part of the postings with one hash, linked from the newest back.
type found struct {
	postings
	key    []byte
	newest place  // 0: none
	first  uint32 // how many are before the oldest
}

// each calls fn for the postings of the key, ascending, until it returns false. It needs no lock, and costs
// what it calls fn for and a little more.
func (f *found) each(fn func(number uint64, value []byte) bool) bool {
	if f.newest == 0 {
		return true
	}
	_, _, last := f.links(f.newest)
	var list []place
	for first, n := f.first, uint32(16); first <= last; first, n = first+n, min(2*n, 1<<12) {
		list = list[:0]
		at := f.ancestor(f.newest, min(first+n-1, last))
		for _, _, depth := f.links(at); depth >= first; depth-- {
			list = append(list, at)
			if at, _, _ = f.links(at); at == 0 {
				break
			}
		}
		for _, at := range slices.Backward(list) {
			if p := f.at(at); bytes.Equal(p.key, f.key) && !fn(p.number, p.value) {
				return false
			}
		}
	}
	return true
}

// jump returns to where a posting after the one at before may jump, and how many are before it: the
// jumps are those of a skew-binary list, so that a search takes logarithmic time (Myers, An applicative
// random-access stack, 1983).
func (c postings) jump(before place) (jump place, depth uint32) {
	if before == 0 {
		return 0, 0
	}
	_, first, at := c.links(before)
	if first == 0 {
		return before, at + 1
	}
	if _, second, middle := c.links(first); second != 0 {
		if _, _, last := c.links(second); at-middle == middle-last {
			return second, at + 1
		}
	}
	return before, at + 1
}

// back returns the newest posting from one on back whose number is not above another, 0 if there is none. It
// takes logarithmic time.
func (c postings) back(at place, number uint64) place {
	for at != 0 && c.number(at) > number {
		before, jump, _ := c.links(at)
		if at = before; jump != 0 && c.number(jump) > number {
			at = jump
		}
	}
	return at
}

// ancestor returns the posting from one on back that has so many before it. It takes logarithmic time.
func (c postings) ancestor(at place, depth uint32) place {
	for {
		before, jump, here := c.links(at)
		if here == depth {
			return at
		}
		if at = before; jump != 0 {
			if _, _, there := c.links(jump); there >= depth {
				at = jump
			}
		}
	}
}

// room makes room for a posting, and returns where it is and its memory, empty.
func (c *postings) room(size int) (place, []byte) {
	last := len(c.chunks) - 1
	if last < 0 || c.used[last]+size > chunkBytes {
		last++
		c.chunks, c.used = append(c.chunks, new(chunk)), append(c.used, int(begin(last)&(chunkBytes-1)))
	}
	at := c.used[last]
	c.used[last] += size
	return place(last<<16 | at), c.chunks[last][at : at : at+size]
}

// until returns the postings up to a place, which share no memory with the others that may still be written.
func (c postings) until(end place) postings {
	last := int(end >> 16)
	short := postings{c.chunks[:last:last], slices.Clone(c.used[:last])}
	if end != begin(last) {
		part, bytes := new(chunk), int(end&(chunkBytes-1))
		copy(part[:bytes], c.chunks[last][:bytes])
		short.chunks, short.used = append(short.chunks, part), append(short.used, bytes)
	}
	return short
}

// snapshot returns the postings of this moment: others may be added beside who reads them.
func (c postings) snapshot() postings { return postings{c.chunks, slices.Clone(c.used)} }

// end is where the next posting comes, or the next chunk begins.
func (c postings) end() place {
	last := len(c.chunks) - 1
	if last < 0 {
		return begin(0)
	}
	return place(last<<16 + c.used[last])
}

func (c postings) bytes(at place) []byte { return c.chunks[at>>16][at&(chunkBytes-1):] }

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
	after := sort.Search(len(c.chunks), func(i int) bool { return c.number(begin(i)) >= number })
	if after == 0 {
		return begin(0)
	}
	at := begin(after - 1) // in this chunk the number may be reached
	for int(at)-(after-1)<<16 < c.used[after-1] {
		if c.number(at) >= number {
			return at
		}
		at += c.size(at)
	}
	if after < len(c.chunks) {
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
	for chunk := int(from >> 16); chunk < len(c.chunks); chunk++ {
		for at := max(from, begin(chunk)); int(at)-chunk<<16 < c.used[chunk]; at += c.size(at) {
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
