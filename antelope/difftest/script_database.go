package difftest

import (
	"slices"

	"tarn/antelope/types"
)

// indexKind is one of the six kinds of tables.
type indexKind struct {
	name  string // in the functions' names: db_X_store; i64 for the primary one
	words int    // of the secondary key
}

func indexKinds() []indexKind {
	return []indexKind{{"i64", 0}, {"idx64", 1}, {"idx128", 2}, {"idx256", 4}, {"idx_double", 1},
		{"idx_long_double", 2}}
}

// function is the name of a function of the kind.
func (k indexKind) function(op string) string {
	if k.words == 0 {
		return "db_" + op + "_i64"
	}
	return "db_" + k.name + "_" + op
}

// secondary writes a key of the kind, of few values so that some are equal, and
// returns its operands.
func (g *scripts) secondary(s *script, k indexKind) []operand {
	words := make([]uint64, k.words)
	switch k.name {
	case "idx_double":
		for words[0] = double(g.Rand); words[0]<<1 > 0x7ff<<53; { // not a NaN: those fail
			words[0] = double(g.Rand)
		}
		if g.One(2) {
			words[0] = uint64(g.Rand.IntN(3)) << 62
		}
	case "idx_long_double":
		words[0], words[1] = quad(g.Rand)
		for words[1]<<1 >= 0x7fff<<49 {
			words[0], words[1] = quad(g.Rand)
		}
	default:
		for i := range words {
			words[i] = uint64(g.Rand.IntN(3))
			if g.One(3) {
				words[i] = number64(g.Rand)
			}
		}
	}
	at := s.words(words...)
	if k.words == 4 {
		return []operand{pointer(at), number(2)} // two of 128 bits
	}
	return []operand{pointer(at)}
}

// output is where functions may write a secondary key.
func (k indexKind) output(at int) []operand {
	if k.words == 4 {
		return []operand{pointer(at), number(2)}
	}
	return []operand{pointer(at)}
}

// database works on the account's own tables.
func (g *scripts) database(s *script) {
	if g.One(2) {
		g.stale(s, pick(g.Driver, indexKinds()))
	}
	for range 3 + g.Rand.IntN(12) {
		k := pick(g.Driver, indexKinds())
		scope := uint64(g.Rand.IntN(2))
		table := types.N(pick(g.Driver, []string{"tab", "tac"}))
		for range 1 + g.Rand.IntN(3) {
			if g.One(2) {
				g.walk(s, k, scope, table)
			} else {
				g.change(s, k, scope, table)
			}
		}
	}
}

// change stores a row, or updates or removes it if it is there.
func (g *scripts) change(s *script, k indexKind, scope uint64, table types.Name) {
	primary := uint64(g.Rand.IntN(6))
	if g.One(10) {
		primary = -uint64(g.Rand.IntN(4)) // the end of the range
	}
	value := func() []operand {
		if k.words > 0 {
			return g.secondary(s, k)
		}
		b := g.bytes(60)
		return []operand{pointer(s.data(b)), number(uint64(len(b)))}
	}
	where := []operand{register(receiverRegister), number(scope), number(uint64(table))}
	if k.words == 0 {
		s.call("db_find_i64", 2, append(where, number(primary))...)
	} else {
		s.call(k.function("find_primary"), 2, slices.Concat(where, k.output(scratchAt), []operand{number(primary)})...)
		s.call("mix", -1, pointer(scratchAt), number(32))
	}
	s.either(2, func() {
		if g.One(3) {
			s.call(k.function("remove"), -1, register(2))
			return
		}
		payer := register(receiverRegister)
		if g.One(3) {
			payer = number(0) // as before
		}
		v := value()
		s.call(k.function("update"), -1, slices.Concat([]operand{register(2), payer}, v)...)
	}, func() {
		v := value()
		s.call(k.function("store"), 1,
			slices.Concat(where[1:], []operand{register(receiverRegister), number(primary)}, v)...)
	})
}

// stale removes tables, makes others, and steps back from the ends of the first:
// where the others have come into the same memory, they are found.
func (g *scripts) stale(s *script, k indexKind) {
	const rows, ends, found = 10, 20, 30 // registers
	scope := uint64(1000 + g.Rand.IntN(1<<30))
	where := func(scope uint64) []operand { return []operand{number(scope), nameOperand("tab")} }
	store := func(to int, k indexKind, scope, primary uint64) {
		value := []operand{pointer(scratchAt), number(4)}
		if k.words > 0 {
			value = g.secondary(s, k)
		}
		s.call(k.function("store"), to,
			slices.Concat(where(scope), []operand{register(receiverRegister), number(primary)}, value)...)
	}
	end := func(to int, scope uint64) {
		s.call(k.function("end"), to, slices.Concat([]operand{register(receiverRegister)}, where(scope))...)
	}
	tables := 1 + g.Rand.IntN(3)
	for i := range tables {
		store(rows+i, k, scope+uint64(i), 1)
		end(ends+i, scope+uint64(i))
	}
	// One that an earlier transaction has made, if it has.
	old := uint64(100 + g.Rand.IntN(4))
	end(ends+tables, old)
	s.skipIf(register(ends+tables), number(1<<32-1), func() {
		s.call(k.function("previous"), rows+tables, register(ends+tables), pointer(scratchAt))
		s.whileRow(rows+tables, func() {
			s.call(k.function("remove"), -1, register(rows+tables))
			s.call(k.function("previous"), rows+tables, register(ends+tables), pointer(scratchAt))
		})
	})
	for _, i := range g.Rand.Perm(tables) {
		if !g.One(5) {
			s.call(k.function("remove"), -1, register(rows+i))
		}
	}
	made := g.Rand.IntN(tables + 2)
	for i := range made {
		of := k
		if g.One(5) {
			of = pick(g.Driver, indexKinds())
		}
		to := scope + 10 + uint64(i)
		switch {
		case i == 0 && g.One(4):
			to = old // which stays
		case g.One(5):
			to = scope + uint64(i) // as before
		}
		store(found+1, of, to, g.Rand.Uint64())
		if g.One(3) {
			store(found+1, k, to, g.Rand.Uint64())
		}
	}
	for _, i := range g.Rand.Perm(tables + 1) {
		s.skipIf(register(ends+i), number(1<<32-1), func() {
			s.call(k.function("previous"), found, register(ends+i), pointer(scratchAt))
			s.call("mix", -1, pointer(scratchAt), number(8))
		})
		s.whileRow(found, func() {
			s.call(k.function("previous"), found, register(found), pointer(scratchAt))
			s.call("mix", -1, pointer(scratchAt), number(8))
		})
	}
}

// walk goes through a table, from somewhere, in one direction.
func (g *scripts) walk(s *script, k indexKind, scope uint64, table types.Name) {
	code := register(receiverRegister)
	if g.One(4) {
		code = accountOf(pick(g.Driver, g.users)) // another's, or none
	}
	where := []operand{code, number(scope), number(uint64(table))}
	bound := pick(g.Driver, []string{"lowerbound", "upperbound"})
	primary := scratchAt + 64
	switch {
	case g.One(5):
		s.call(k.function("end"), 3, where...)
	case k.words == 0:
		if g.One(3) {
			bound = "find"
		}
		s.call(k.function(bound), 3, append(where, number(uint64(g.Rand.IntN(7))))...)
	case g.One(3):
		key := g.secondary(s, k)
		s.call(k.function("find_secondary"), 3, slices.Concat(where, key, []operand{pointer(primary)})...)
	case g.One(3):
		s.call(k.function("find_primary"), 3,
			slices.Concat(where, k.output(scratchAt), []operand{number(uint64(g.Rand.IntN(7)))})...)
	default:
		key := g.secondary(s, k)
		s.call(k.function(bound), 3, slices.Concat(where, key, []operand{pointer(primary)})...)
		at := key[0].number
		s.call("mix", -1, number(at), number(uint64(8*k.words)))
	}
	s.call("mix", -1, pointer(primary), number(8))
	next := pick(g.Driver, []string{"next", "previous"})
	if next == "previous" {
		// One may step back from a table's end, but not from a table that isn't there.
		s.skipIf(register(3), number(1<<32-1), func() {
			s.call(k.function("previous"), 3, register(3), pointer(primary))
		})
	}
	s.whileRow(3, func() {
		s.call("mix", -1, pointer(primary), number(8))
		if k.words == 0 {
			s.call("db_get_i64", 5, register(3), pointer(scratchAt), number(uint64(g.Rand.IntN(70))))
			s.call("mix", -1, pointer(scratchAt), number(70))
		}
		s.call(k.function(next), 3, register(3), pointer(primary))
	})
}

// wrong works on tables in ways that are refused, or may be.
func (g *scripts) wrong(s *script) {
	k := pick(g.Driver, indexKinds())
	other := pick(g.Driver, g.users)
	where := []operand{number(0), nameOperand("tab")}
	key := g.secondary(s, k)
	if k.words == 0 {
		key = []operand{pointer(scratchAt), number(8)}
	}
	nan := []operand{pointer(s.words(0, 0x7fff8<<44)), number(2)}
	iterator := number(pick(g.Driver, []uint64{0, 1, 7, 1<<32 - 1, 1<<32 - 2, 1<<32 - 3, 1 << 31}))
	pick(g.Driver, []func(){
		func() { s.call(k.function("remove"), -1, iterator) },
		func() { s.call(k.function("next"), 1, iterator, pointer(scratchAt)) },
		func() { s.call(k.function("previous"), 1, iterator, pointer(scratchAt)) },
		func() { s.call(k.function("update"), -1, slices.Concat([]operand{iterator, number(0)}, key)...) },
		func() { s.call("db_get_i64", 1, iterator, pointer(scratchAt), number(8)) },
		// Another payer: allowed to the privileged, or if it authorised.
		func() {
			s.call(k.function("store"), 1,
				slices.Concat(where, []operand{accountOf(other), number(1000 + g.Rand.Uint64N(1000))}, key)...)
		},
		func() {
			s.call(k.function("store"), 1, slices.Concat(where, []operand{number(0), number(77)}, key)...)
		},
		func() { // a key that is there, or will be the second time
			s.call(k.function("store"), 1,
				slices.Concat(where, []operand{register(receiverRegister), number(5000)}, key)...)
			s.call(k.function("store"), 1,
				slices.Concat(where, []operand{register(receiverRegister), number(5000)}, key)...)
		},
		func() { // another's row
			s.call("db_find_i64", 2, accountOf(other), accountOf(other), nameOperand("digest"), number(1))
			s.call("db_update_i64", -1, register(2), number(0), pointer(scratchAt), number(8))
		},
		func() {
			s.call("db_idx_double_store", 1, number(0), nameOperand("tab"), register(receiverRegister), number(88),
				pointer(s.words(0x7ff8<<48)))
		},
		func() {
			s.call("db_idx_long_double_lowerbound",
				1, slices.Concat([]operand{accountOf(g.account)}, where, nan[:1], []operand{pointer(scratchAt)})...)
		},
		func() { // an iterator of a row that was removed
			s.call("db_store_i64", 1, number(3), nameOperand("tab"), register(receiverRegister), number(1),
				pointer(scratchAt), number(4))
			s.call("db_remove_i64", -1, register(1))
			s.call(pick(g.Driver, []string{"db_next_i64", "db_previous_i64"}), 1, register(1), pointer(scratchAt))
		},
		func() {
			s.call("db_store_i64", 1, number(3), nameOperand("tab"), register(receiverRegister), number(1),
				number(65530), number(40))
		},
	})()
}
