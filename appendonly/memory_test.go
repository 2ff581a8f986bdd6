package appendonly

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestMemoryIsLikeAMap does at random to a memory and to a map what an index does, and asks both.
func TestMemoryIsLikeAMap(t *testing.T) {
	rng := rand.New(rand.NewPCG(seed(t), 11))
	for range 30 {
		m, model := newMemory(), map[string][]posting{}
		number, taken := uint64(rng.IntN(100)), int64(0)
		for range 400 {
			switch n := rng.IntN(100); {
			case n < 88:
				got, err := m.gather(number, func(emit func(key, value []byte)) error {
					for range rng.IntN(60) {
						p := posting{fmt.Append(nil, "key", rng.IntN(1+rng.IntN(2000))), number, make([]byte, rng.IntN(400))}
						model[string(p.key)] = append(model[string(p.key)], p)
						emit(p.key, p.value)
					}
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				taken += got
				number += uint64(rng.IntN(3))
			case n < 95:
				number -= min(number, uint64(rng.IntN(6)))
				taken -= m.cut(number)
				without(model, func(p posting) bool { return p.number >= number })
			default:
				from := number - min(number, uint64(rng.IntN(60)))
				kept, left := m.kept.snapshot(), newMemory()
				taken = left.addSince(kept, from, begin(0))
				p := posting{[]byte("meanwhile"), number, nil}
				model["meanwhile"] = append(model["meanwhile"], p)
				m.add(&p)
				taken += left.addSince(m.kept, from, kept.end())
				m = left
				without(model, func(p posting) bool { return p.number < from })
			}
		}
		compareMemory(t, m, model, taken)
	}
}

func without(model map[string][]posting, drops func(posting) bool) {
	for key, list := range model {
		if list = slices.DeleteFunc(list, drops); len(list) == 0 {
			delete(model, key)
		} else {
			model[key] = list
		}
	}
}

func compareMemory(t *testing.T, m *memory, model map[string][]posting, taken int64) {
	t.Helper()
	keys, cost := []string{}, int64(0)
	for key, list := range model {
		keys = append(keys, key)
		from, to := list[len(list)/3].number, list[len(list)*2/3].number
		for _, span := range [][2]uint64{{0, math.MaxUint64}, {from, to}, {from + 1, to}, {0, from}, {to, math.MaxUint64}} {
			var want []posting
			for _, p := range list {
				if p.number >= span[0] && p.number <= span[1] {
					want = append(want, p)
				}
			}
			found := m.find([]byte(key), span[0], span[1])
			equalPostings(t, all(&found, math.MaxInt), want)
			equalPostings(t, all(&found, 20), want[:min(20, len(want))])
		}
		for _, p := range list {
			cost += m.cost(p.key, p.value)
		}
	}
	if cost != taken {
		t.Errorf("%d bytes are counted, %d are there", taken, cost)
	}
	if found := m.find([]byte("another"), 0, math.MaxUint64); all(&found, 1) != nil {
		t.Error("a key that is not there has postings")
	}
	slices.Sort(keys)
	var want, got []posting
	for _, key := range keys {
		want = append(want, model[key]...)
	}
	for _, at := range m.kept.sorted(func(*posting) bool { return true }) {
		got = append(got, m.kept.at(at))
	}
	equalPostings(t, got, want)
	if len(m.newest) != len(keys) {
		t.Errorf("%d keys are there, not %d", len(m.newest), len(keys))
	}
}

// all returns the first postings that were found, at most so many.
func all(of *found, most int) (list []posting) {
	of.each(func(number uint64, value []byte) bool {
		list = append(list, posting{of.key, number, value})
		return len(list) < most
	})
	return list
}

func equalPostings(t *testing.T, got, want []posting) {
	t.Helper()
	if !slices.EqualFunc(got, want, func(a, b posting) bool {
		return bytes.Equal(a.key, b.key) && a.number == b.number && bytes.Equal(a.value, b.value)
	}) {
		t.Fatalf("%d postings, want %d, or others", len(got), len(want))
	}
}

// What was found stays as it was while the index is cut and gets others in its place.
func TestFoundPostingsAreNotWrittenOver(t *testing.T) {
	m := newMemory()
	m.add(&posting{[]byte("key"), 1, []byte("before")})
	m.add(&posting{[]byte("key"), 2, []byte("cut")})
	found := m.find([]byte("key"), 0, 9)
	m.cut(2)
	m.add(&posting{[]byte("yek"), 2, []byte("new")})
	if list := all(&found, 9); len(list) != 2 || string(list[1].value) != "cut" {
		t.Errorf("found %v", list)
	}
}

// A search for old entries of a key with very many costs the logarithm of these.
func TestOldEntriesOfAKeyWithManyAreFoundAtOnce(t *testing.T) {
	m := newMemory()
	for number := range uint64(1 << 16) {
		m.add(&posting{[]byte("token"), number, nil})
	}
	steps, at := 0, m.newest[maphash.String(m.seed, "token")]
	for ; m.kept.number(at) > 77; steps++ {
		before, jump, _ := m.kept.links(at)
		if at = before; jump != 0 && m.kept.number(jump) > 77 {
			at = jump
		}
	}
	if steps > 64 {
		t.Errorf("%d steps", steps)
	}
	found := m.find([]byte("token"), 70, 77)
	if list := all(&found, 99); len(list) != 8 || list[0].number != 70 {
		t.Errorf("found %d", len(list))
	}
}

// Chunks that are filled to their last byte end where the next one begins.
func TestFullChunks(t *testing.T) {
	for _, count := range []uint64{2046, 2047, 2048, 4094, 4095, 4096} {
		m, key := newMemory(), []byte("8 bytes.")
		var taken int64
		for number := range count {
			p := posting{key, number, nil} // 2,048 fill a chunk
			m.add(&p)
			taken += m.cost(p.key, p.value)
		}
		left := newMemory()
		if n := left.addSince(m.kept, count, begin(0)); n != 0 || left.kept.end() != begin(0) {
			t.Errorf("%d postings of %d are above all", n, count)
		}
		if n := m.cut(count); n != 0 {
			t.Errorf("%d bytes of %d postings are above all", n, count)
		}
		if n := m.cut(0); n != taken || len(m.newest) != 0 || len(m.kept.chunks) != 0 {
			t.Errorf("%d bytes of %d are cut", n, taken)
		}
	}
}
