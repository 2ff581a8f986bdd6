package authority_test

import (
	"testing"

	"tarn/antelope/authority"
	"tarn/antelope/exception"
	"tarn/antelope/types"
)

const second = 1_000_000

// delayedAuthority is an authority of a key that has to wait.
func delayedAuthority(key rune, seconds int) *types.Authority {
	return auth(2, share{key, 1}, share{seconds, 1})
}

// Each permission waits as its own authority says, whatever those above or below it
// do, and whatever the link is to.
func TestEveryPermissionHasItsOwnDelay(t *testing.T) {
	c := newChain(t)
	c.must(c.ModifyPermission(level("alice", "active"), *delayedAuthority('a', 15), 1))
	c.make("alice", "first", "active", auth(1, share{'f', 1}))
	c.make("alice", "second", "first", delayedAuthority('s', 20))
	c.make("alice", "lent", "active", auth(1, share{level("bob", "active"), 1}))
	c.link("alice", "eosio.token", "transfer", "second")
	c.link("alice", "eosio.token", "open", "lent")
	transfer := func(permission string) types.Action {
		return action("eosio.token", "transfer", level("alice", permission))
	}
	for _, q := range []struct {
		action types.Action
		key    string
		after  int64 // seconds; below zero: never
	}{
		{transfer("second"), "s", 20}, {transfer("first"), "f", 0}, {transfer("active"), "a", 15},
		{transfer("owner"), "A", 0},
		{action("eosio.token", "open", level("alice", "lent")), "b", 0},
		{action("eosio.token", "close", level("alice", "active")), "a", 15},
		{transfer("second"), "b", -1}, {transfer("lent"), "b", -1},
	} {
		for _, delay := range []int64{0, 15*second - 1, 15 * second, 20*second - 1, 20 * second, 1000 * second} {
			enough := q.after >= 0 && delay >= q.after*second
			err := c.CheckAuthorization([]types.Action{q.action},
				&authority.Check{Keys: publicKeys(q.key), Delay: delay})
			if (err == nil) != enough {
				t.Errorf("%s with key %s and %d us: %v", q.action.Authorization[0], q.key, delay, err)
			}
		}
	}
	// A transaction waits for the slowest of its permissions.
	both := []types.Action{transfer("active"), transfer("second")}
	for delay, enough := range map[int64]bool{15 * second: false, 20 * second: true} {
		if err := c.CheckAuthorization(both,
			&authority.Check{Keys: publicKeys("as"), Delay: delay}); (err == nil) != enough {
			t.Errorf("both with %d us: %v", delay, err)
		}
	}
}

// The table of the host function's test (Leap: api_tests.cpp, permission_tests).
func TestPermissionsAreCheckedForContracts(t *testing.T) {
	c := newChain(t)
	for _, q := range []struct {
		level types.PermissionLevel
		keys  string
		kind  *exception.Kind
	}{
		{level("alice", "active"), "a", nil},
		{level("alice", "active"), "x", exception.UnsatisfiedAuthorization},
		{level("alice", "active"), "ax", exception.TxIrrelevantSig},
		{level("noname", "active"), "a", exception.UnsatisfiedAuthorization},
		{level("alice", "active"), "", exception.UnsatisfiedAuthorization},
		{level("alice", "noname"), "a", exception.UnsatisfiedAuthorization},
		{level("alice", ""), "a", exception.InvalidPermission},
	} {
		err := c.CheckPermission(q.level, &authority.Check{Keys: publicKeys(q.keys)})
		if q.kind == nil && err != nil || q.kind != nil && !exception.Is(err, q.kind) {
			t.Errorf("%s with %q: %v, want %v", q.level, q.keys, err, q.kind)
		}
	}
}
