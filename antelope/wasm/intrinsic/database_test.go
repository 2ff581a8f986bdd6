package intrinsic

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	"tarn/antelope/exception"
)

func databaseBehaviours() map[string]behaviour {
	alice, bob, carol := name("alice"), name("bob"), name("carol")
	finds := func(fn, method string) behaviour {
		return func(h *harness) {
			h.chain.itr = 3
			h.returns(3, fn, alice, bob, carol, 5)
			h.chain.itr = -2
			h.returns(0xfffffffe, fn, alice, bob, carol, math.MaxUint64)
			h.checkAsked(method+"(alice,bob,carol,5)", method+"(alice,bob,carol,18446744073709551615)")
			h.forwards(fn, alice, bob, carol, 5)
		}
	}
	tests := map[string]behaviour{
		"db_store_i64": func(h *harness) {
			p, n := h.put(101, []byte{1, 2, 3})
			h.chain.itr = 7
			h.returns(7, "db_store_i64", alice, bob, carol, 5, p, n)
			h.returns(7, "db_store_i64", alice, bob, carol, 5, 0, 0)
			h.checkAsked("StoreI64(alice,bob,carol,5,010203)", "StoreI64(alice,bob,carol,5,)")
			h.forwards("db_store_i64", alice, bob, carol, 5, p, n)
		},
		"db_update_i64": func(h *harness) {
			p, n := h.put(101, []byte{1, 2, 3})
			h.call("db_update_i64", i32(-3), alice, p, n)
			h.checkAsked("UpdateI64(-3,alice,010203)")
			h.forwards("db_update_i64", 1, alice, p, n)
		},
		"db_remove_i64": func(h *harness) {
			h.call("db_remove_i64", i32(-3))
			h.checkAsked("RemoveI64(-3)")
			h.forwards("db_remove_i64", 1)
		},
		"db_get_i64": func(h *harness) {
			h.copiesOut([]byte("row"), func(b []byte) { h.chain.data = b }, "db_get_i64", 4)
			h.chain.calls = nil
			h.call("db_get_i64", i32(-1), 0, 0)
			h.checkAsked("GetI64(-1)")
			h.forwards("db_get_i64", 1, 0, 0)
		},
		"db_next_i64":       moves("db_next_i64", "NextI64("),
		"db_previous_i64":   moves("db_previous_i64", "PreviousI64("),
		"db_find_i64":       finds("db_find_i64", "FindI64"),
		"db_lowerbound_i64": finds("db_lowerbound_i64", "LowerBoundI64"),
		"db_upperbound_i64": finds("db_upperbound_i64", "UpperBoundI64"),
		"db_end_i64": func(h *harness) {
			h.chain.itr = -5
			h.returns(i32(-5), "db_end_i64", alice, bob, carol)
			h.checkAsked("EndI64(alice,bob,carol)")
			h.forwards("db_end_i64", alice, bob, carol)
		},
	}
	for _, x := range []struct {
		prefix string
		index  Index
		align  uint64
	}{
		{"db_idx64_", Index64, 8}, {"db_idx128_", Index128, 16}, {"db_idx256_", Index256, 16},
		{"db_idx_double_", IndexDouble, 8}, {"db_idx_long_double_", IndexLongDouble, 8},
	} {
		for name, test := range indexBehaviours(x.prefix, x.index, x.align) {
			tests[name] = test
		}
	}
	return tests
}

// moves tests a function from an iterator to another, which writes a primary key
// only if it found a row.
func moves(fn, method string) behaviour {
	return func(h *harness) {
		for p := uint64(104); p < 112; p++ {
			h.putWord(int(p), 1, 1, 1)
			h.chain.itr, h.chain.primary = -2, 9
			h.returns(i32(-2), fn, i32(-7), p)
			h.chain.itr = -1
			h.returns(i32(-1), fn, 5, p)
			if got := h.word(int(p)); got != 1 {
				h.Errorf("%s wrote %d without a row", fn, got)
			}
			h.chain.itr = 0
			h.returns(0, fn, 5, p)
			if h.word(int(p)) != 9 || h.word(int(p)+8) != 1 {
				h.Errorf("%s did not write the key", fn)
			}
			h.checkAsked(method+"-7)", method+"5)", method+"5)")
		}
		h.forwards(fn, 5, 104)
	}
}

func indexBehaviours(prefix string, i Index, align uint64) map[string]behaviour {
	alice, bob, carol := name("alice"), name("bob"), name("carol")
	k := SecondaryKey{0x1112131415161718, 0x2122232425262728, 0x3132333435363738, 0x4142434445464748}
	for w := i.Size() / 8; w < 4; w++ {
		k[w] = 0
	}
	// key writes the key at p and returns how the functions take it.
	key := func(h *harness, p int) []uint64 {
		k.Put(i, h.m[p:])
		if i == Index256 {
			return []uint64{uint64(p), 2}
		}
		return []uint64{uint64(p)}
	}
	args := func(parts ...any) (s []uint64) {
		for _, p := range parts {
			switch p := p.(type) {
			case uint64:
				s = append(s, p)
			case []uint64:
				s = append(s, p...)
			}
		}
		return s
	}
	ask := func(format string, v ...any) string { return fmt.Sprintf(format, v...) }
	moving := func(fn, method string) behaviour { return moves(prefix+fn, ask("%s(%d,", method, i)) }
	// badKeys are refused by the functions that read the key at p.
	badKeys := func(h *harness, fn string, p int, s []uint64) {
		h.Helper()
		switch i {
		case IndexDouble, IndexLongDouble:
			top := map[Index]uint64{IndexDouble: 0x7ff8000000000000, IndexLongDouble: 0x7fff800000000000}[i]
			for _, sign := range []uint64{0, 1 << 63} {
				h.putWord(p+i.Size()-8, top|sign)
				h.fails(exception.Transaction, "NaN is not an allowed value for a secondary key", prefix+fn, s...)
			}
			k.Put(i, h.m[p:])
		case Index256:
			h.sizes(prefix+fn, uint64(p), s)
		}
	}
	bound := func(fn, method string) behaviour {
		return func(h *harness) {
			s := args(alice, bob, carol, key(h, 101), uint64(205))
			h.chain.itr = -1
			h.returns(i32(-1), prefix+fn, s...)
			h.checkAsked(ask("%s(%d,alice,bob,carol,%x)", method, i, k))
			badKeys(h, fn, 101, s)
			h.chain.calls = nil
			h.forwards(prefix+fn, s...)
			h.overlaps(prefix+fn, i, align, func(p int) []uint64 { return key(h, p) })
		}
	}
	return map[string]behaviour{
		prefix + "store": func(h *harness) {
			s := args(alice, bob, carol, uint64(5), key(h, 101))
			h.chain.itr = 4
			h.returns(4, prefix+"store", s...)
			h.checkAsked(ask("Store(%d,alice,bob,carol,5,%x)", i, k))
			badKeys(h, "store", 101, s)
			h.forwards(prefix+"store", s...)
		},
		prefix + "update": func(h *harness) {
			s := args(uint64(6), alice, key(h, 101))
			h.call(prefix+"update", s...)
			h.checkAsked(ask("Update(%d,6,alice,%x)", i, k))
			badKeys(h, "update", 101, s)
			h.forwards(prefix+"update", s...)
		},
		prefix + "remove": func(h *harness) {
			h.call(prefix+"remove", i32(-4))
			h.checkAsked(ask("Remove(%d,-4)", i))
			h.forwards(prefix+"remove", 4)
		},
		prefix + "find_secondary": func(h *harness) {
			s := args(alice, bob, carol, key(h, 101), uint64(205))
			h.chain.itr, h.chain.primary = -2, 9
			h.returns(i32(-2), prefix+"find_secondary", s...)
			if h.word(205) != 0 {
				h.Errorf("wrote a key without a row")
			}
			h.chain.itr = 1
			h.returns(1, prefix+"find_secondary", s...)
			if h.word(205) != 9 {
				h.Errorf("did not write the key")
			}
			want := ask("Find(%d,alice,bob,carol,%x)", i, k)
			h.checkAsked(want, want)
			badKeys(h, "find_secondary", 101, s)
			h.forwards(prefix+"find_secondary", s...)
		},
		prefix + "find_primary": func(h *harness) {
			s := args(alice, bob, carol, key(h, 101), uint64(5))
			clear(h.m)
			h.chain.itr, h.chain.key = -2, k
			h.returns(i32(-2), prefix+"find_primary", s...)
			h.holds(101, make([]byte, 40))
			h.chain.itr = 1
			h.returns(1, prefix+"find_primary", s...)
			var want [33]byte
			k.Put(i, want[:])
			h.holds(101, want[:i.Size()+1])
			asked := ask("FindPrimary(%d,alice,bob,carol,5)", i)
			h.checkAsked(asked, asked)
			if i == IndexDouble { // what is there is no concern
				h.putWord(101, math.Float64bits(math.NaN()))
				h.returns(1, prefix+"find_primary", s...)
			}
			if i == Index256 {
				h.sizes(prefix+"find_primary", 101, s)
			}
			h.chain.calls = nil
			h.forwards(prefix+"find_primary", s...)
		},
		prefix + "lowerbound": bound("lowerbound", "LowerBound"),
		prefix + "upperbound": bound("upperbound", "UpperBound"),
		prefix + "end": func(h *harness) {
			h.chain.itr = -5
			h.returns(i32(-5), prefix+"end", alice, bob, carol)
			h.checkAsked(ask("End(%d,alice,bob,carol)", i))
			h.forwards(prefix+"end", alice, bob, carol)
		},
		prefix + "next":     moving("next", "Next"),
		prefix + "previous": moving("previous", "Previous"),
	}
}

// sizes tests that a key of 256 bits is two elements long.
func (h *harness) sizes(fn string, p uint64, s []uint64) {
	h.Helper()
	for at := range s {
		if s[at] == p {
			for _, n := range []uint64{0, 1, 3, 32} {
				bad := append([]uint64(nil), s...)
				bad[at+1] = n
				h.fails(exception.DBAPI, fmt.Sprintf(
					"invalid size of secondary key array for idx256: given %d bytes but expected 2 bytes", n), fn,
					bad...)
			}
			return
		}
	}
}

// overlaps tests what a bound leaves in memory when its two outputs may overlap,
// against a model of what nodeos does: outputs that are not aligned are copies,
// which are written back in the end, the secondary key first.
func (h *harness) overlaps(fn string, i Index, align uint64, key func(p int) []uint64) {
	h.Helper()
	found := SecondaryKey{0xa1a2a3a4a5a6a7a8, 0xb1b2b3b4b5b6b7b8, 0xc1c2c3c4c5c6c7c8, 0xd1d2d3d4d5d6d7d8}
	primary := []byte{1, 2, 3, 4, 5, 6, 7, 8}
	h.chain.key, h.chain.primary, h.chain.itr = found, 0x0807060504030201, 2
	secondary := make([]byte, i.Size())
	found.Put(i, secondary)
	for p := uint64(160); p < 200; p++ {
		for q := uint64(150); q < 250; q++ {
			clear(h.m)
			args := append(append([]uint64{1, 2, 3}, key(int(p))...), q)
			want := bytes.Clone(h.m[:512])
			if q%8 == 0 {
				copy(want[q:], primary)
			}
			if p%align == 0 {
				copy(want[p:], secondary)
			}
			if p%align != 0 {
				copy(want[p:], secondary)
			}
			if q%8 != 0 {
				copy(want[q:], primary)
			}
			h.returns(2, fn, args...)
			if !bytes.Equal(h.m[:512], want) {
				h.Fatalf("%s: outputs at %d and %d: %x, want %x", fn, p, q, h.m[150:260], want[150:260])
			}
		}
	}
}

func TestHotFunctionsDoNotAllocate(t *testing.T) {
	h := newHarness(t)
	h.a.Chain = by(silent{h.chain})
	h.a.Data, h.chain.data, h.chain.itr = make([]byte, 100), make([]byte, 50), 3
	for name, s := range map[string][]uint64{
		"read_action_data": {100, 100}, "action_data_size": {0}, "current_receiver": {0}, "require_auth": {1},
		"has_auth": {1}, "is_account": {1}, "current_time": {0}, "memcpy": {100, 200, 50}, "memmove": {100, 120, 50},
		"memcmp": {100, 200, 50}, "memset": {100, 1, 50}, "eosio_assert": {1, 100},
		"db_store_i64": {1, 2, 3, 4, 100, 20}, "db_update_i64": {1, 2, 100, 20}, "db_remove_i64": {1},
		"db_get_i64": {1, 100, 50}, "db_next_i64": {1, 100}, "db_previous_i64": {1, 100}, "db_find_i64": {1, 2, 3, 4},
		"db_lowerbound_i64": {1, 2, 3, 4}, "db_upperbound_i64": {1, 2, 3, 4}, "db_end_i64": {1, 2, 3},
		"db_idx64_store": {1, 2, 3, 4, 100}, "db_idx64_update": {1, 2, 100}, "db_idx64_remove": {1},
		"db_idx64_find_secondary": {1, 2, 3, 100, 200}, "db_idx64_find_primary": {1, 2, 3, 100, 4},
		"db_idx128_lowerbound": {1, 2, 3, 100, 200}, "db_idx256_upperbound": {1, 2, 3, 100, 2, 200},
		"db_idx_double_next": {1, 100}, "db_idx_long_double_find_secondary": {1, 2, 3, 100, 200},
		"__multi3": {100, 1, 2, 3, 4}, "__divti3": {100, 1, 2, 3, 4}, "__addtf3": {100, 1, 2, 3, 4},
		"sha256": {100, 20, 200},
	} {
		f := h.table[name]
		stack := make([]uint64, max(len(s), 1))
		if n := testing.AllocsPerRun(100, func() {
			copy(stack, s)
			if _, err := f.call(h.a, h.m, stack); err != nil {
				t.Fatal(name, err)
			}
		}); n != 0 {
			t.Errorf("%s: %g allocations", name, n)
		}
	}
}

// The other tests write keys by Put.
func TestTheWordsOfAKeyLieWithTheirLowestByteFirst(t *testing.T) {
	k := SecondaryKey{0x0706050403020100, 0x0f0e0d0c0b0a0908, 0x1716151413121110, 0x1f1e1d1c1b1a1918}
	for i := range IndexLongDouble + 1 {
		memory, want := make([]byte, 32), make([]byte, 32)
		for at := range i.Size() {
			want[at] = byte(at)
		}
		k.Put(i, memory)
		if !bytes.Equal(memory, want) {
			t.Errorf("index %d: %x", i, memory)
		}
		if back := ReadSecondaryKey(i, want); !slices.Equal(back[:i.Size()/8], k[:i.Size()/8]) {
			t.Errorf("index %d: %x", i, back)
		}
	}
}
