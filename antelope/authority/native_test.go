package authority_test

import (
	"testing"

	"tarn/antelope/authority"
	"tarn/antelope/exception"
	"tarn/antelope/state"
	"tarn/antelope/types"
)

func n(s string) types.Name { return types.N(s) }

// newFamily is a chain where alice has spending below active, scud below spending,
// and trading below active. Their keys are s, u and t.
func newFamily(t testing.TB) *chain {
	c := newChain(t)
	c.make("alice", "spending", "active", auth(1, share{'s', 1}))
	c.make("alice", "scud", "spending", auth(1, share{'u', 1}))
	c.make("alice", "trading", "active", auth(1, share{'t', 1}))
	return c
}

func TestPermissionsAreChangedByThemselvesOrTheirAncestors(t *testing.T) {
	c := newFamily(t)
	update := func(permission, parent string) types.UpdateAuth {
		return types.UpdateAuth{Account: n("alice"), Permission: n(permission), Parent: n(parent), Authority: *auth(1)}
	}
	irrelevant := func(declared, minimum string) string {
		return "updateauth action declares irrelevant authority '" + level("alice", declared).String() +
			"'; minimum authority is " + level("alice", minimum).String()
	}
	missing := func(permission string) string {
		return "Failed to retrieve permission: " + level("alice", permission).String() + unknown + "(alice " +
			permission + "))"
	}
	remove := func(permission string) types.DeleteAuth {
		return types.DeleteAuth{Account: n("alice"), Permission: n(permission)}
	}
	for _, q := range []struct {
		name    string
		action  types.Action
		keys    string
		kind    *exception.Kind // nil: it passes
		message string
	}{
		{"itself", native("updateauth", update("spending", "active"), level("alice", "spending")), "s", nil, ""},
		{"its parent", native("updateauth", update("spending", "active"), level("alice", "active")), "a", nil, ""},
		{"its owner", native("updateauth", update("scud", "spending"), level("alice", "owner")), "A", nil, ""},
		{"its child", native("updateauth", update("spending", "active"), level("alice", "scud")),
			"u", exception.IrrelevantAuth, irrelevant("scud", "spending")},
		{"its sibling", native("updateauth", update("spending", "active"), level("alice", "trading")),
			"t", exception.IrrelevantAuth, irrelevant("trading", "spending")},
		{"a new one's parent", native("updateauth", update("fresh", "spending"), level("alice", "spending")), "s", nil, ""},
		{"a new one's uncle", native("updateauth", update("fresh", "spending"), level("alice", "trading")),
			"t", exception.IrrelevantAuth, irrelevant("trading", "spending")},
		{"a new one's missing parent", native("updateauth", update("fresh", "nobody"), level("alice", "active")),
			"a", exception.PermissionQuery, missing("nobody")},
		{"without a name", native("updateauth", update("", "active"), level("alice", "active")), "a", exception.InvalidPermission, "Invalid permission"},
		{"a stranger", native("updateauth", update("spending", "active"), level("bob", "active")),
			"b", exception.IrrelevantAuth,
			"the owner of the affected permission needs to be the actor of the declared authorization"},
		{"two", native("updateauth", update("spending", "active"), level("alice", "active"), level("bob", "active")),
			"ab", exception.IrrelevantAuth,
			"updateauth action should only have one declared authorization"},
		{"nobody", native("updateauth", update("spending", "active")), "", exception.IrrelevantAuth,
			"updateauth action should only have one declared authorization"},
		{"the wrong key", native("updateauth", update("spending", "active"), level("alice", "spending")),
			"su", exception.TxIrrelevantSig,
			`transaction bears irrelevant signatures from these keys: ["` + publicKey('u').String() + `"]`},

		{"removal by itself", native("deleteauth", remove("scud"), level("alice", "scud")), "u", nil, ""},
		{"removal by its parent", native("deleteauth", remove("scud"), level("alice", "spending")), "s", nil, ""},
		{"removal by its uncle", native("deleteauth", remove("scud"), level("alice", "trading")), "t", exception.IrrelevantAuth, irrelevant("trading", "scud")},
		{"removal of nothing", native("deleteauth", remove("nobody"), level("alice", "active")), "a", exception.PermissionQuery, missing("nobody")},
		{"removal by a stranger", native("deleteauth", remove("scud"), level("bob", "active")),
			"b", exception.IrrelevantAuth,
			"the owner of the permission to delete needs to be the actor of the declared authorization"},
		{"removal by nobody", native("deleteauth", remove("scud")), "", exception.IrrelevantAuth,
			"deleteauth action should only have one declared authorization"},
	} {
		t.Run(q.name, func(t *testing.T) {
			c.t = t
			if err := c.check(q.action, q.keys); q.kind == nil {
				c.must(err)
			} else {
				c.fails(err, q.kind, q.message)
			}
		})
	}
}

func TestLinksAreChangedByWhatIsEnoughForTheAction(t *testing.T) {
	c := newFamily(t)
	c.link("alice", "bob", "spend", "spending")
	c.link("alice", "bob", "free", "eosio.any")
	link := func(code, action string, l ...types.PermissionLevel) types.Action {
		return native("linkauth", types.LinkAuth{Account: n("alice"), Code: n(code), Action: n(action),
			Requirement: n("scud")}, l...)
	}
	unlink := func(code, action string, l ...types.PermissionLevel) types.Action {
		return native("unlinkauth", types.UnlinkAuth{Account: n("alice"), Code: n(code), Action: n(action)}, l...)
	}
	spending, scud, active := level("alice", "spending"), level("alice", "scud"), level("alice", "active")
	for _, q := range []struct {
		name    string
		action  types.Action
		keys    string
		kind    *exception.Kind
		message string
	}{
		{"active, where there is no link", link("bob", "other", active), "a", nil, ""},
		{"less than active", link("bob", "other", spending), "s", exception.IrrelevantAuth,
			"link action declares irrelevant authority '" + spending.String() + "'; minimum authority is " +
				active.String()},
		{"what is linked", link("bob", "spend", spending), "s", nil, ""},
		{"less than what is linked", link("bob", "spend", scud), "u", exception.IrrelevantAuth,
			"link action declares irrelevant authority '" + scud.String() + "'; minimum authority is " +
				spending.String()},
		{"any", link("bob", "free", scud), "u", nil, ""},
		{"a stranger", link("bob", "other", level("bob", "active")), "b", exception.IrrelevantAuth,
			"the owner of the linked permission needs to be the actor of the declared authorization"},
		{"nobody", link("bob", "other"), "", exception.IrrelevantAuth, "link action should only have one declared authorization"},
		{"unlinked by what is linked", unlink("bob", "spend", spending), "s", nil, ""},
		{"unlinked by less", unlink("bob", "spend", scud), "u", exception.IrrelevantAuth,
			"unlink action declares irrelevant authority '" + scud.String() + "'; minimum authority is " +
				spending.String()},
		{"unlinked by any", unlink("bob", "free", scud), "u", nil, ""},
		{"unlinked where there is no link", unlink("bob", "other", active), "a", exception.Transaction,
			"cannot unlink non-existent permission link of account 'alice' for actions matching 'bob::other'"},
		{"unlinked by a stranger", unlink("bob", "spend", level("bob", "active")), "b", exception.IrrelevantAuth,
			"the owner of the linked permission needs to be the actor of the declared authorization"},
		{"unlinked by nobody", unlink("bob", "spend"), "", exception.IrrelevantAuth, "unlink action should only have one declared authorization"},
	} {
		t.Run(q.name, func(t *testing.T) {
			c.t = t
			if err := c.check(q.action, q.keys); q.kind == nil {
				c.must(err)
			} else {
				c.fails(err, q.kind, q.message)
			}
		})
	}
	c.t = t
	for _, name := range []string{"updateauth", "deleteauth", "linkauth", "unlinkauth", "canceldelay"} {
		message := "Cannot link eosio::" + name + " to a minimum permission"
		for _, fixed := range []bool{false, true} {
			c.fixed = fixed
			c.fails(c.check(link("eosio", name, active), "a"), exception.ActionValidate, message)
			if err := c.check(link("bob", name, active), "a"); fixed {
				c.must(err)
			} else {
				c.fails(err, exception.ActionValidate, message)
			}
		}
	}
}

func TestDelayedTransactionsAreCanceledByWhoDelayedThem(t *testing.T) {
	c := newFamily(t)
	c.must(c.ModifyPermission(level("alice", "active"), *auth(2, share{'a', 1}, share{10, 1}), 1))
	delayed := types.Transaction{Actions: []types.Action{action("bob", "x", level("bob", "active")),
		action("bob", "x", level("alice", "spending"))}}
	id := types.Checksum256{1}
	d := state.Deferred{TrxID: id, SenderID: types.U128(1), Published: 1_000_000, DelayUntil: 11_000_000,
		Packed: delayed.Append(nil)}
	c.must(c.s.CreateDeferred(&d))
	sent := state.Deferred{TrxID: types.Checksum256{2}, Sender: n("bob"), Packed: d.Packed}
	c.must(c.s.CreateDeferred(&sent))

	cancel := func(canceling types.PermissionLevel, id types.Checksum256, l ...types.PermissionLevel) types.Action {
		return native("canceldelay", types.CancelDelay{CancelingAuth: canceling, TrxID: id}, l...)
	}
	spending, active, bob := level("alice", "spending"), level("alice", "active"), level("bob", "active")
	c.must(c.check(cancel(spending, id, spending), "s"))
	// Active waits ten seconds: as long as the transaction was delayed.
	c.must(c.check(cancel(spending, id, active), "a"))
	c.must(c.check(cancel(bob, id, bob), "b"))
	// A delay of one's own counts if it is longer, and for the other actions too.
	c.must(c.ModifyPermission(level("alice", "active"), *auth(2, share{'a', 1}, share{20, 1}), 1))
	remove := native("deleteauth", types.DeleteAuth{Account: n("alice"), Permission: n("scud")}, active)
	for _, a := range []types.Action{cancel(spending, id, active), remove} {
		for delay, enough := range map[int64]bool{0: false, 19_999_999: false, 20_000_000: true} {
			err := c.CheckAuthorization([]types.Action{a}, &authority.Check{Keys: publicKeys("a"), Delay: delay})
			if (err == nil) != enough {
				t.Errorf("%s with %d us: %v", a.Name, delay, err)
			}
		}
	}
	c.must(c.ModifyPermission(level("alice", "active"), *auth(2, share{'a', 1}, share{10, 1}), 1))
	absent := types.Checksum256{3}
	for _, id := range []types.Checksum256{absent, sent.TrxID} {
		c.fails(c.check(cancel(spending, id, spending), "s"), exception.TxNotFound,
			"cannot cancel trx_id="+id.String()+", there is no deferred transaction with that transaction id")
	}
	c.fails(c.check(cancel(level("alice", "scud"), id, spending), "s"), exception.ActionValidate,
		"canceling_auth in canceldelay action was not found as authorization in the original delayed transaction")
	c.fails(c.check(cancel(spending, id, bob), "b"), exception.IrrelevantAuth,
		"canceldelay action declares irrelevant authority '"+bob.String()+
			"'; specified authority to satisfy is "+spending.String())
	c.fails(c.check(cancel(spending, id), ""), exception.IrrelevantAuth,
		"canceldelay action should only have one declared authorization")

	// Declared by another action as well, active has the shorter delay: none.
	both := []types.Action{cancel(spending, id, active), action("bob", "x", active)}
	for _, actions := range [][]types.Action{both, {both[1], both[0]}} {
		err := c.CheckAuthorization(actions, &authority.Check{Keys: publicKeys("a")})
		if !exception.Is(err, exception.UnsatisfiedAuthorization) {
			t.Errorf("a delay was lent to another action: %v", err)
		}
		c.must(c.CheckAuthorization(actions, &authority.Check{Keys: publicKeys("a"), Delay: 10_000_000}))
	}
}

func TestTheLongestDelayIsForever(t *testing.T) {
	c := newFamily(t)
	c.must(c.ModifyPermission(level("alice", "active"), *auth(2, share{'a', 1}, share{1000, 1}), 1))
	actions := []types.Action{action("bob", "x", level("alice", "active"))}
	for delay, enough := range map[int64]bool{99_999_999: false, 100_000_000: true, 1000_000_000: true} {
		check := &authority.Check{Keys: publicKeys("a"), Delay: delay}
		if err := c.CheckAuthorization(actions, check); (err == nil) != enough {
			t.Errorf("%d us: %v", delay, err)
		}
		if err := c.CheckPermission(level("alice", "active"), check); (err == nil) != enough {
			t.Errorf("%d us: %v", delay, err)
		}
	}
}

func TestActionsThatAreCutShortAreRefused(t *testing.T) {
	c := newFamily(t)
	for _, name := range []string{"updateauth", "deleteauth", "linkauth", "unlinkauth", "canceldelay"} {
		a := action("eosio", name, level("alice", "active"))
		a.Data = make([]byte, 11)
		if err := c.check(a, "a"); !exception.Is(err, exception.FCOutOfRange) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// What follows the data does not matter.
	long := native("deleteauth", types.DeleteAuth{Account: n("alice"), Permission: n("scud")}, level("alice", "active"))
	long.Data = append(long.Data, 1, 2, 3)
	c.must(c.check(long, "a"))
}
