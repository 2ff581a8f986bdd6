package authority_test

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"tarn/antelope/authority"
	"tarn/antelope/types"
)

// publicKey is a key in name only. Their order is that of their letters.
func publicKey(letter byte) types.PublicKey { return types.PublicKey{Point: [33]byte{2, letter}} }

func publicKeys(letters string) (keys []types.PublicKey) {
	for _, l := range []byte(letters) {
		keys = append(keys, publicKey(l))
	}
	return keys
}

// letters is the opposite of publicKeys.
func letters(keys []types.PublicKey) string {
	var s []byte
	for _, k := range keys {
		s = append(s, k.Point[1])
	}
	return string(s)
}

func level(actor, permission string) types.PermissionLevel {
	return types.PermissionLevel{Actor: types.N(actor), Permission: types.N(permission)}
}

// share is a letter with a weight, as in a2.
type share struct {
	of     any // byte: a key; PermissionLevel; int: a wait in seconds
	weight uint16
}

func auth(threshold uint32, shares ...share) *types.Authority {
	a := &types.Authority{Threshold: threshold}
	for _, s := range shares {
		switch of := s.of.(type) {
		case rune:
			a.Keys = append(a.Keys, types.KeyWeight{Key: publicKey(byte(of)), Weight: s.weight})
		case types.PermissionLevel:
			a.Accounts = append(a.Accounts, types.PermissionLevelWeight{Permission: of, Weight: s.weight})
		case int:
			a.Waits = append(a.Waits, types.WaitWeight{WaitSec: uint32(of), Weight: s.weight})
		}
	}
	return a
}

func TestAuthoritiesAreSatisfiedByKeysAndPermissions(t *testing.T) {
	hello, top, bottom := level("hello", "world"), level("top", "top"), level("bottom", "bottom")
	find := func(l types.PermissionLevel) (*types.Authority, error) {
		switch l {
		case hello:
			return auth(1, share{'c', 1}), nil
		case top:
			return auth(2, share{'d', 1}, share{bottom, 1}), nil
		case bottom:
			return auth(1, share{'e', 1}), nil
		}
		return nil, nil
	}
	both := auth(2, share{'a', 1}, share{'b', 1})
	heavy := auth(2, share{'a', 2}, share{'b', 1}, share{hello, 1})
	heavier := auth(3, share{'a', 2}, share{'b', 1}, share{hello, 3})
	equal := auth(2, share{'a', 1}, share{'b', 1}, share{hello, 1})
	enough := auth(2, share{'a', 1}, share{'b', 1}, share{hello, 2})
	deep := auth(5, share{'a', 2}, share{'b', 2}, share{'c', 2}, share{top, 5})
	for _, c := range []struct {
		name      string
		authority *types.Authority
		depth     uint16
		keys      string
		satisfied bool
		used      string
	}{
		{"both keys", both, 2, "ab", true, "ab"},
		{"one of two", both, 2, "ac", false, ""},
		{"one too many", both, 2, "abc", true, "ab"},
		{"the other of two", both, 2, "bc", false, ""},
		{"three keys", auth(3, share{'a', 1}, share{'b', 1}, share{'c', 1}), 2, "abc", true, "abc"},
		{"two of three", auth(3, share{'a', 1}, share{'b', 1}, share{'c', 1}), 2, "ab", false, ""},
		{"any of two", auth(1, share{'a', 1}, share{'b', 1}), 2, "b", true, "b"},
		{"none of two", auth(1, share{'a', 1}, share{'b', 1}), 2, "c", false, ""},
		{"the heaviest is enough", heavy, 2, "a", true, "a"},
		{"too light", heavy, 2, "b", false, ""},
		{"a permission alone", heavy, 2, "c", false, ""},
		{"a key and a permission", heavy, 2, "bc", true, "bc"},
		{"the heaviest comes first", heavy, 2, "abc", true, "a"},
		{"keys", heavier, 2, "ab", true, "ab"},
		{"a permission that is heavier than keys", heavier, 2, "abc", true, "c"},
		{"keys before permissions of one weight", equal, 2, "abc", true, "ab"},
		{"a key and a permission of one weight", equal, 2, "ac", true, "ac"},
		{"one key of two shares", equal, 2, "a", false, ""},
		{"a permission is enough", enough, 2, "abc", true, "c"},
		{"two levels down", deep, 2, "de", true, "de"},
		{"two levels down, and more", deep, 2, "abcde", true, "de"},
		{"given back when not enough", deep, 2, "abce", true, "abc"},
		{"not deep enough", deep, 1, "de", false, ""},
		{"not deep, but not needed", deep, 1, "abc", true, "abc"},
		{"a permission that does not exist", auth(1, share{level("no", "body"), 1}, share{'a', 1}), 2, "a", true, "a"},
		{"nothing to satisfy it with", auth(1), 2, "a", false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			keys := publicKeys(c.keys)
			k := authority.NewChecker(find, c.depth, keys, nil)
			ok, err := k.SatisfiedAuthority(c.authority, 0)
			if err != nil || ok != c.satisfied {
				t.Fatalf("satisfied %v, %v; want %v", ok, err, c.satisfied)
			}
			if got := letters(k.UsedKeys()); got != c.used || k.AllKeysUsed() != (len(c.used) == len(c.keys)) ||
				len(k.UnusedKeys()) != len(keys)-len(got) {
				t.Errorf("used %q, unused %q, all %v; want %q", got, letters(k.UnusedKeys()), k.AllKeysUsed(), c.used)
			}
		})
	}
}

func TestUsedKeysAddUpOverQuestions(t *testing.T) {
	k := authority.NewChecker(nil, 2, publicKeys("abc"), nil)
	for _, a := range []*types.Authority{auth(2, share{'a', 1}, share{'b', 1}, share{'c', 1}),
		auth(1, share{'b', 1}, share{'c', 1}), auth(9, share{'c', 1})} {
		if _, err := k.SatisfiedAuthority(a, 0); err != nil {
			t.Fatal(err)
		}
	}
	if letters(k.UsedKeys()) != "ab" || letters(k.UnusedKeys()) != "c" {
		t.Errorf("used %q, unused %q", letters(k.UsedKeys()), letters(k.UnusedKeys()))
	}
}

func TestCirclesEnd(t *testing.T) {
	one, two := level("one", "active"), level("two", "active")
	all := map[types.PermissionLevel]*types.Authority{
		one: auth(1, share{two, 2}, share{'a', 1}),
		two: auth(1, share{one, 2}, share{'b', 1}),
	}
	for keys, want := range map[string]bool{"a": true, "b": true, "c": false, "": false} {
		k := authority.NewChecker(func(l types.PermissionLevel) (*types.Authority, error) { return all[l], nil }, 6,
			publicKeys(keys), nil)
		for _, l := range []types.PermissionLevel{one, two} {
			if ok, err := k.Satisfied(l, 0); err != nil || ok != want {
				t.Errorf("%s with keys %q: %v, %v", l, keys, ok, err)
			}
		}
	}
}

func TestWaitsAndProvidedPermissions(t *testing.T) {
	alice := level("alice", "active")
	find := func(l types.PermissionLevel) (*types.Authority, error) {
		if l == alice {
			return auth(2, share{level("bob", "eosio.code"), 1}, share{level("carol", "active"), 1}, share{10, 1}), nil
		}
		return nil, nil
	}
	const second = 1_000_000
	for _, c := range []struct {
		provided []types.PermissionLevel
		delay    int64
		want     bool
	}{
		{nil, authority.Forever, false},
		{[]types.PermissionLevel{level("bob", "eosio.code")}, 10*second - 1, false},
		{[]types.PermissionLevel{level("bob", "eosio.code")}, 10 * second, true},
		{[]types.PermissionLevel{level("bob", "")}, 10 * second, true},
		{[]types.PermissionLevel{level("bob", "active")}, 10 * second, false},
		{[]types.PermissionLevel{level("bob", "eosio.code"), level("carol", "")}, 0, true},
		{[]types.PermissionLevel{alice}, 0, true},
		{[]types.PermissionLevel{level("alice", "")}, 0, true},
	} {
		k := authority.NewChecker(find, 6, nil, c.provided)
		if ok, err := k.Satisfied(alice, c.delay); err != nil || ok != c.want {
			t.Errorf("%v and %d us: %v, %v", c.provided, c.delay, ok, err)
		}
	}
}

// slow is the checker as one would write it down first: sets are copied, nothing is
// clever.
type slow struct {
	authorities map[types.PermissionLevel]*types.Authority
	depth       int
	provided    []types.PermissionLevel
	keys        []types.PublicKey
	used        map[types.PublicKey]bool
	delay       int64
	state       map[types.PermissionLevel]string
}

func (s *slow) question(l types.PermissionLevel, delay int64) bool {
	s.delay = delay
	s.state = map[types.PermissionLevel]string{}
	for _, p := range s.provided {
		s.state[p] = "yes"
	}
	return s.permission(l, 0)
}

func (s *slow) permission(l types.PermissionLevel, depth int) bool {
	known, ok := s.state[l]
	if !ok {
		known, ok = s.state[types.PermissionLevel{Actor: l.Actor}]
	}
	if ok {
		return known == "yes"
	}
	a := s.authorities[l]
	if depth == s.depth || a == nil {
		return false
	}
	s.state[l] = "asking"
	if s.authority(a, depth+1) {
		s.state[l] = "yes"
		return true
	}
	s.state[l] = "no"
	return false
}

func (s *slow) authority(a *types.Authority, depth int) bool {
	before := maps.Clone(s.used)
	type condition struct {
		weight uint16
		kind   int
		holds  func() bool
	}
	var all []condition
	for _, w := range a.Accounts {
		all = append(all, condition{w.Weight, 1, func() bool { return s.permission(w.Permission, depth) }})
	}
	for _, w := range a.Keys {
		all = append(all, condition{w.Weight, 2, func() bool {
			has := slices.Contains(s.keys, w.Key)
			if has {
				s.used[w.Key] = true
			}
			return has
		}})
	}
	for _, w := range a.Waits {
		all = append(all, condition{w.Weight, 3, func() bool { return s.delay/1_000_000 >= int64(w.WaitSec) }})
	}
	slices.SortStableFunc(all, func(v, w condition) int {
		return cmp.Or(-cmp.Compare(v.weight, w.weight), -cmp.Compare(v.kind, w.kind))
	})
	total := uint32(0)
	for _, c := range all {
		if c.holds() {
			total += uint32(c.weight)
		}
		if total >= a.Threshold {
			return true
		}
	}
	s.used = before
	return false
}

// randomLevel is one of a few, so that permissions share and circle.
func randomLevel(r *rand.Rand) types.PermissionLevel {
	return types.PermissionLevel{Actor: 1 + types.Name(r.Uint64N(5)), Permission: 1 + types.Name(r.Uint64N(4))}
}

func randomAuthority(r *rand.Rand) *types.Authority {
	a := &types.Authority{Threshold: r.Uint32N(8)}
	for range r.IntN(4) {
		a.Keys = append(a.Keys, types.KeyWeight{Key: publicKey('a' + byte(r.UintN(14))), Weight: uint16(r.UintN(4))})
	}
	for range r.IntN(4) {
		a.Accounts = append(a.Accounts,
			types.PermissionLevelWeight{Permission: randomLevel(r), Weight: uint16(r.UintN(5))})
	}
	for range r.IntN(2) {
		a.Waits = append(a.Waits, types.WaitWeight{WaitSec: r.Uint32N(4), Weight: uint16(r.UintN(4))})
	}
	return a
}

func TestTheCheckerAnswersAsTheSlowOneDoes(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	satisfied, released := 0, 0
	for range 20000 {
		s := slow{authorities: map[types.PermissionLevel]*types.Authority{}, depth: r.IntN(7),
			used: map[types.PublicKey]bool{}}
		for range r.IntN(20) {
			s.authorities[randomLevel(r)] = randomAuthority(r)
		}
		for l := range byte(14) {
			if r.IntN(3) > 0 {
				s.keys = append(s.keys, publicKey('a'+l))
			}
		}
		for range r.IntN(3) {
			l := randomLevel(r)
			if r.IntN(3) == 0 {
				l.Permission = 0
			}
			s.provided = append(s.provided, l)
		}
		slices.SortFunc(s.provided, types.PermissionLevel.Compare)
		s.provided = slices.Compact(s.provided)
		k := authority.NewChecker(func(l types.PermissionLevel) (*types.Authority,
			error) {
			return s.authorities[l], nil
		}, uint16(s.depth), s.keys, s.provided)
		for range 4 {
			l, delay := randomLevel(r), int64(r.IntN(4_000_000))
			want := s.question(l, delay)
			got, err := k.Satisfied(l, delay)
			if err != nil || got != want {
				t.Fatalf("%v: %v, %v; want %v", l, got, err, want)
			}
			if got {
				satisfied++
			} else {
				released++
			}
			for _, key := range k.UsedKeys() {
				if !s.used[key] {
					t.Fatalf("key %c is used", key.Point[1])
				}
			}
			if len(k.UsedKeys()) != len(s.used) {
				t.Fatalf("%q are used, want %d", letters(k.UsedKeys()), len(s.used))
			}
		}
	}
	if satisfied < 1000 || released < 1000 {
		t.Errorf("%d satisfied, %d not: the authorities are one-sided", satisfied, released)
	}
}

func TestManyPermissionsAreRemembered(t *testing.T) {
	asked := 0
	wide := auth(1000)
	for i := range 600 {
		wide.Accounts = append(wide.Accounts,
			types.PermissionLevelWeight{Permission: types.PermissionLevel{Actor: types.Name(i%300 + 1), Permission: 1},
				Weight: 1})
	}
	k := authority.NewChecker(func(types.PermissionLevel) (*types.Authority, error) {
		asked++
		return auth(1, share{'a', 1}), nil
	}, 6, publicKeys("a"), nil)
	ok, err := k.SatisfiedAuthority(wide, 0)
	if err != nil || ok || asked != 300 {
		t.Errorf("%v, %v; %d permissions were looked up, want 300", ok, err, asked)
	}
}
