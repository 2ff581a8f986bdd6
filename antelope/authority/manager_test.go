package authority_test

import (
	"errors"
	"strings"
	"testing"

	"tarn/antelope/authority"
	"tarn/antelope/exception"
	"tarn/antelope/state"
	"tarn/antelope/types"
	"tarn/store"
	"tarn/store/page"
	"tarn/store/revision"
)

// chain is a Manager over a state in memory, with the accounts alice, bob and
// carol. Each one's owner has the key of its capital, active the small letter.
type chain struct {
	*authority.Manager
	t     testing.TB
	s     *state.State
	store store.Store
	fixed bool // FIX_LINKAUTH_RESTRICTION
}

func newChain(t testing.TB) *chain {
	t.Helper()
	rows, err := page.OpenVolatile(16 << 20)
	if err != nil {
		t.Fatal(err)
	}
	st, err := revision.Open(rows)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	c := &chain{t: t, store: st}
	c.s, err = state.Open(st)
	c.must(err)
	var one state.Singletons
	one.Global.Configuration.MaxAuthorityDepth = 6
	one.Global.Configuration.MaxTransactionDelay = 100
	one.Protocol.KeyTypes = 2
	c.must(c.s.Initialise(one))
	c.Manager = authority.New(c.s, authority.Options{LinkRestrictionFixed: func() bool { return c.fixed }})
	c.must(c.Reserve())
	for _, name := range []string{"alice", "bob", "carol"} {
		_, err := c.s.Accounts.Create(types.N(name), state.Account{Name: types.N(name)})
		c.must(err)
		c.make(name, "owner", "", auth(1, share{rune(name[0] - 'a' + 'A'), 1}))
		c.make(name, "active", "owner", auth(1, share{rune(name[0]), 1}))
	}
	return c
}

func (c *chain) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *chain) fails(err error, k *exception.Kind, message string) {
	c.t.Helper()
	if !exception.Is(err, k) {
		c.t.Errorf("%v, want a %s", err, k.Name)
		return
	}
	if got := exception.Of(err).Message(); got != message {
		c.t.Errorf("the message is\n%q, want\n%q", got, message)
	}
}

func (c *chain) make(account, name, parent string, a *types.Authority) {
	c.t.Helper()
	_, err := c.CreatePermission(types.N(account), types.N(name), types.N(parent), *a, 1000)
	c.must(err)
}

func (c *chain) link(account, code, action, required string) {
	c.t.Helper()
	_, err := c.SetLink(state.LinkKey{Account: types.N(account), Code: types.N(code), Action: types.N(action)},
		types.N(required))
	c.must(err)
}

func action(code, name string, levels ...types.PermissionLevel) types.Action {
	return types.Action{Account: types.N(code), Name: types.N(name), Authorization: levels}
}

func native(name string, data interface{ Append([]byte) []byte }, levels ...types.PermissionLevel) types.Action {
	a := action("eosio", name, levels...)
	a.Data = data.Append(nil)
	return a
}

// check checks one action with keys.
func (c *chain) check(a types.Action, keys string) error {
	return c.CheckAuthorization([]types.Action{a}, &authority.Check{Keys: publicKeys(keys)})
}

const unknown = " (unknown key (boost::tuples::tuple<eosio::chain::name, eosio::chain::name, " +
	"boost::tuples::null_type, boost::tuples::null_type, " +
	"boost::tuples::null_type, boost::tuples::null_type, boost::tuples::null_type, boost::tuples::null_type, " +
	"boost::tuples::null_type, boost::tuples::null_type>): "

func TestPermissionsAreFoundOrReportedAsNodeosDoes(t *testing.T) {
	c := newChain(t)
	p, err := c.Get(level("alice", "active"))
	c.must(err)
	if p.ID != 2 || p.Parent != types.N("owner") || p.LastUpdated != 1000 || p.LastUsed != 1000 {
		t.Errorf("permission %+v", p)
	}
	if p, err := c.Find(level("alice", "spending")); err != nil || p != nil {
		t.Errorf("a permission that does not exist: %+v, %v", p, err)
	}
	_, err = c.Get(level("alice", "spending"))
	c.fails(err, exception.PermissionQuery, `Failed to retrieve permission: {"actor":"alice","permission":"spending"}`+
		unknown+"(alice spending))")
	for _, l := range []types.PermissionLevel{level("", "active"), level("alice", "")} {
		_, err = c.Get(l)
		c.fails(err, exception.InvalidPermission, "Invalid permission")
		var e *exception.Error
		if !errors.As(err, &e) || len(e.Later()) != 1 {
			t.Fatalf("%v has not one note", err)
		}
		want := `Failed to retrieve permission: {"actor":"` + l.Actor.String() + `","permission":"` +
			l.Permission.String() + `"}`
		if got := e.Later()[0].Text(); got != want {
			t.Errorf("the note is %q, want %q", got, want)
		}
	}
}

func TestPermissionsChange(t *testing.T) {
	c := newChain(t)
	spending := level("alice", "spending")
	c.make("alice", "spending", "active", auth(1, share{'s', 1}))
	c.make("alice", "scud", "spending", auth(1, share{'t', 1}))
	c.must(c.ModifyPermission(spending, *auth(1, share{'u', 1}), 2000))
	c.must(c.UpdateUsage(spending, 3000))
	p, err := c.Get(spending)
	c.must(err)
	if used, err := c.LastUsed(spending); err != nil || used != 3000 || p.LastUpdated != 2000 ||
		p.Authority.Keys[0].Key != publicKey('u') {
		t.Errorf("permission %+v, last used %d, %v", p, used, err)
	}
	c.fails(c.RemovePermission(spending), exception.ActionValidate,
		"Cannot remove a permission which has children. Remove the children first.")
	c.must(c.RemovePermission(level("alice", "scud")))
	c.must(c.RemovePermission(spending))
	if p, err := c.Find(spending); err != nil || p != nil {
		t.Errorf("a removed permission: %+v, %v", p, err)
	}
	for _, err := range []error{c.RemovePermission(spending), c.UpdateUsage(spending, 1),
		c.ModifyPermission(spending, *auth(1), 1)} {
		if !exception.Is(err, exception.PermissionQuery) {
			t.Errorf("a removed permission: %v", err)
		}
	}
}

func TestKeysOfTypesThatAreNotActivatedAreRefused(t *testing.T) {
	c := newChain(t)
	a := *auth(1, share{'a', 1})
	a.Keys = append(a.Keys, types.KeyWeight{Key: types.PublicKey{Type: types.WebAuthn, RPID: "x"}, Weight: 1})
	_, err := c.CreatePermission(types.N("alice"), types.N("web"), types.N("active"), a, 1)
	c.fails(err, exception.UnactivatedKeyType, "Unactivated key type used when creating permission")
	c.fails(c.ModifyPermission(level("alice", "active"), a, 1), exception.UnactivatedKeyType,
		"Unactivated key type used when modifying permission")
	p, err := c.s.Protocol.Edit()
	c.must(err)
	p.KeyTypes = 3
	c.must(c.ModifyPermission(level("alice", "active"), a, 1))
}

func TestPermissionsSatisfyTheirDescendants(t *testing.T) {
	c := newChain(t)
	c.make("alice", "one", "active", auth(1))
	c.make("alice", "two", "one", auth(1))
	c.make("alice", "other", "active", auth(1))
	get := func(l types.PermissionLevel) *state.Permission {
		p, err := c.Get(l)
		c.must(err)
		return p
	}
	order := []string{"owner", "active", "one", "two"}
	for i, above := range order {
		for j, below := range order {
			ok, err := c.Satisfies(get(level("alice", above)), get(level("alice", below)))
			if err != nil || ok != (i <= j) {
				t.Errorf("%s satisfies %s: %v, %v", above, below, ok, err)
			}
		}
	}
	for _, pair := range [][2]types.PermissionLevel{
		{level("alice", "other"), level("alice", "two")}, {level("alice", "two"), level("alice", "other")},
		{level("alice", "owner"), level("bob", "owner")}, {level("bob", "owner"), level("alice", "active")},
	} {
		if ok, err := c.Satisfies(get(pair[0]), get(pair[1])); err != nil || ok {
			t.Errorf("%s satisfies %s: %v, %v", pair[0], pair[1], ok, err)
		}
	}
}

func TestLinksSayWhichPermissionIsEnough(t *testing.T) {
	c := newChain(t)
	c.make("alice", "spending", "active", auth(1, share{'s', 1}))
	c.make("alice", "scud", "spending", auth(1, share{'t', 1}))
	reqauth := func(permission string) types.Action {
		return action("eosio", "reqauth", level("alice", permission))
	}
	irrelevant := func(permission, minimum string) string {
		return "action declares irrelevant authority '" + level("alice", permission).String() +
			"'; minimum authority is " + level("alice", minimum).String()
	}
	c.must(c.check(reqauth("active"), "a"))
	c.must(c.check(reqauth("owner"), "A"))
	c.fails(c.check(reqauth("spending"), "s"), exception.IrrelevantAuth, irrelevant("spending", "active"))
	c.link("alice", "eosio", "reqauth", "spending")
	c.must(c.check(reqauth("spending"), "s"))
	c.must(c.check(reqauth("active"), "a"))
	c.fails(c.check(reqauth("scud"), "t"), exception.IrrelevantAuth, irrelevant("scud", "spending"))
	_, err := c.SetLink(state.LinkKey{Account: types.N("alice"), Code: types.N("eosio"), Action: types.N("reqauth")},
		types.N("spending"))
	c.fails(err, exception.ActionValidate,
		"Attempting to update required authority, but new requirement is same as old")
	// A link to the contract counts where there is none to the action.
	c.link("alice", "eosio", "", "scud")
	c.fails(c.check(reqauth("scud"), "t"), exception.IrrelevantAuth, irrelevant("scud", "spending"))
	c.must(c.check(action("eosio", "other", level("alice", "scud")), "t"))
	k := state.LinkKey{Account: types.N("alice"), Code: types.N("eosio"), Action: types.N("reqauth")}
	c.must(c.RemoveLink(k))
	c.must(c.check(reqauth("scud"), "t"))
	c.fails(c.RemoveLink(k), exception.ActionValidate, "Attempting to unlink authority, but no link found")
	c.link("alice", "eosio", "reqauth", "eosio.any")
	c.make("alice", "low", "active", auth(1, share{'l', 1}))
	c.must(c.check(reqauth("low"), "l"))
}

func TestPermissionsThatAreLinkedToAreFound(t *testing.T) {
	c := newChain(t)
	c.link("alice", "middle", "b", "active")
	c.link("alice", "bob", "c", "active")
	c.link("alice", "zzz", "c", "active")
	c.link("bob", "bob", "c", "spending")
	for l, want := range map[types.PermissionLevel]string{level("alice", "active"): "middle",
		level("bob", "spending"): "bob"} {
		if p, err := c.LinkTo(l); err != nil || p == nil || p.Key.Code != types.N(want) {
			t.Errorf("link to %s: %+v, %v; want that of %s", l, p, err, want)
		}
	}
	if p, err := c.LinkTo(level("alice", "spending")); err != nil || p != nil {
		t.Errorf("a link that does not exist: %+v, %v", p, err)
	}
	c.make("bob", "spending", "active", auth(1))
	for name, want := range map[string]bool{"owner": true, "spending": true, "nobody": false} {
		if in, err := c.NameInUse(types.N(name), types.N("alice")); err != nil || in != want {
			t.Errorf("%s is in use: %v, %v", name, in, err)
		}
	}
}

func TestNativeActionsHaveNoMinimumPermission(t *testing.T) {
	c := newChain(t)
	for _, name := range []string{"updateauth", "deleteauth", "linkauth", "unlinkauth", "canceldelay"} {
		_, _, err := c.LookupMinimumPermission(types.N("alice"), types.N("eosio"), types.N(name))
		c.fails(err, exception.UnlinkableMinPermissionAction,
			"cannot call lookup_minimum_permission on native actions that are not allowed to be linked to minimum permissions")
		if p, required, err := c.LookupMinimumPermission(types.N("alice"), types.N("bob"), types.N(name)); err != nil ||
			!required || p != types.N("active") {
			t.Errorf("%s of another contract: %s, %v, %v", name, p, required, err)
		}
	}
}

func TestWhatIsMissingIsSaid(t *testing.T) {
	c := newChain(t)
	a := action("eosio", "reqauth", level("alice", "active"))
	key := func(letter byte) string { return `"` + publicKey(letter).String() + `"` }
	c.fails(c.check(a, "b"), exception.UnsatisfiedAuthorization,
		`transaction declares authority '{"actor":"alice","permission":"active"}', `+
			`but does not have signatures for it under a provided delay of 0 ms, provided permissions [], `+
			`provided keys [`+key('b')+`], and a delay max limit of 100000 ms`)
	c.fails(c.check(a, "abc"), exception.TxIrrelevantSig, "transaction bears irrelevant signatures from these keys: ["+
		key('b')+","+key('c')+"]")
	keys := publicKeys("bc")
	provided := []types.PermissionLevel{level("bob", "eosio.code"), level("carol", "")}
	c.fails(c.CheckPermission(level("alice", "owner"),
		&authority.Check{Keys: keys, Provided: provided, Delay: 1_234_567}), exception.UnsatisfiedAuthorization,
		`permission '{"actor":"alice","permission":"owner"}' was not satisfied under a provided delay of 1234 ms, `+
			`provided permissions `+
			`[{"actor":"bob","permission":"eosio.code"},{"actor":"carol","permission":""}], provided keys [`+key('b')+
			","+key('c')+`], and a delay max limit of 100000 ms`)
	c.fails(c.CheckPermission(level("bob", "active"), &authority.Check{Keys: keys}), exception.TxIrrelevantSig,
		"irrelevant keys provided: ["+key('c')+"]")
	c.must(c.CheckPermission(level("bob", "active"), &authority.Check{Keys: keys, AllowUnusedKeys: true}))
	c.must(c.CheckPermission(level("carol", "nonsense"), &authority.Check{Provided: provided}))
}

func TestChecksMayBeTolerantAndSkipWhatIsKnown(t *testing.T) {
	c := newChain(t)
	actions := []types.Action{action("eosio", "reqauth", level("alice", "active"), level("bob", "active"))}
	c.must(c.CheckAuthorization(actions, &authority.Check{Keys: publicKeys("xyz"), Tolerant: true}))
	c.must(c.CheckAuthorization(actions, &authority.Check{Keys: publicKeys("abc"), AllowUnusedKeys: true}))
	c.must(c.CheckAuthorization(actions,
		&authority.Check{Keys: publicKeys("a"), Satisfied: []types.PermissionLevel{level("bob", "active")}}))
	c.must(c.CheckAuthorization(actions,
		&authority.Check{Provided: []types.PermissionLevel{level("alice", "active"), level("bob", "")}}))
	// Irrelevant permissions are not tolerated.
	c.make("alice", "low", "active", auth(1))
	err := c.CheckAuthorization([]types.Action{action("eosio", "reqauth", level("alice", "low"))},
		&authority.Check{Tolerant: true})
	if !exception.Is(err, exception.IrrelevantAuth) {
		t.Error(err)
	}
}

func TestChecksAreTimed(t *testing.T) {
	c := newChain(t)
	twice := []types.Action{action("eosio", "a", level("alice", "active"), level("bob", "active")),
		action("eosio", "b", level("alice", "active"))}
	late := errors.New("late")
	for stop := range 7 {
		calls := 0
		err := c.CheckAuthorization(twice, &authority.Check{Keys: publicKeys("ab"), Checktime: func() error {
			if calls++; calls > stop {
				return late
			}
			return nil
		}})
		// Once for each of three declarations, and of two permissions.
		if (stop >= 5) != (err == nil) || err != nil && !errors.Is(err, late) {
			t.Errorf("stopped after %d calls: %v", stop, err)
		}
		if err == nil && calls != 5 {
			t.Errorf("%d calls, want 5", calls)
		}
	}
}

func TestOnlyTheKeysThatAreNeededAreRequired(t *testing.T) {
	c := newChain(t)
	c.make("alice", "joint", "active", auth(2, share{'j', 1}, share{level("bob", "active"), 1}, share{'k', 1},
		share{20, 1}))
	trx := &types.Transaction{Actions: []types.Action{action("eosio", "a", level("alice", "joint")),
		action("eosio", "b", level("carol", "active"))}}
	c.must(c.s.Flush())
	c.must(c.store.Publish())
	v, err := c.s.View()
	c.must(err)
	defer v.Close()
	for _, r := range []struct {
		candidates string
		delay      int64
		want       string
	}{{"abcjk", 0, "cjk"}, {"abcj", 0, "bcj"}, {"abcj", 20_000_000, "cj"}} {
		got, err := c.RequiredKeys(trx, publicKeys(r.candidates), r.delay)
		c.must(err)
		there, err := authority.RequiredKeys(v, trx, publicKeys(r.candidates), r.delay)
		c.must(err)
		if letters(got) != r.want || letters(there) != r.want {
			t.Errorf("of %q with %d us: %q, of a block %q, want %q", r.candidates, r.delay, letters(got),
				letters(there), r.want)
		}
	}
	_, err = c.RequiredKeys(trx, publicKeys("abcd"), 0)
	c.fails(err, exception.UnsatisfiedAuthorization,
		`transaction declares authority '{"actor":"alice","permission":"joint"}', but does not have signatures for it.`)
}

func TestReferencesMustExist(t *testing.T) {
	c := newChain(t)
	for l, message := range map[types.PermissionLevel]string{
		level("bob", "owner"): "", level("bob", "active"): "", level("bob", "eosio.code"): "",
		level("dave", "active"):  "account 'dave' does not exist",
		level("bob", "spending"): `permission '{"actor":"bob","permission":"spending"}' does not exist`,
	} {
		err := c.CheckReferences(auth(1, share{level("alice", "active"), 1}, share{l, 1}))
		if message == "" {
			c.must(err)
		} else {
			c.fails(err, exception.ActionValidate, message)
		}
	}
}

// What nodeos logged of accounts and permissions that were made (Leap:
// unittests/deep-mind), and what nodeos 4.1 told of accounts with WebAuthn keys; an
// account itself is 2048 bytes.
func TestBillableSizesAreThoseThatNodeosRecorded(t *testing.T) {
	webauthn := func(rpid int) *types.Authority {
		a := types.KeyAuthority(types.PublicKey{Type: types.WebAuthn, RPID: strings.Repeat("r", rpid)})
		return &a
	}
	mixed := auth(2, share{'a', 1}, share{level("eosio", "active"), 1}, share{60, 1})
	mixed.Keys = append(mixed.Keys, webauthn(12).Keys[0], webauthn(93).Keys[0])
	key, code, other := share{'a', 1}, share{level("alice", "eosio.code"), 1}, share{level("eosio", "active"), 1}
	for _, r := range []struct {
		authorities []*types.Authority
		want        int64
	}{
		{[]*types.Authority{auth(1, key), auth(1, key)}, 2724 - 2048},
		{[]*types.Authority{auth(1), auth(1)}, 2624 - 2048},
		{[]*types.Authority{auth(1), auth(1, other)}, 2656 - 2048},
		{[]*types.Authority{auth(1, key, code), auth(1, key, code)}, 2788 - 2048},
		{[]*types.Authority{auth(1, other)}, 320},
		{[]*types.Authority{auth(1, share{10, 1})}, 288 + 16},
		{[]*types.Authority{webauthn(12), webauthn(12)}, 2754 - 2048},
		{[]*types.Authority{webauthn(92), webauthn(92)}, 2914 - 2048},
		{[]*types.Authority{webauthn(93), webauthn(93)}, 2918 - 2048},
		{[]*types.Authority{webauthn(200), webauthn(200)}, 3134 - 2048},
		{[]*types.Authority{mixed}, 3352 - 2754},
	} {
		sum := int64(0)
		for _, a := range r.authorities {
			sum += authority.BillableSize(a)
		}
		if sum != r.want {
			t.Errorf("%d bytes, want %d", sum, r.want)
		}
	}
}

func TestTheCommonCheckAllocatesNothing(t *testing.T) {
	c := newChain(t)
	c.must(c.s.Begin())
	actions := []types.Action{action("eosio.token", "transfer", level("alice", "active"))}
	check := &authority.Check{Keys: publicKeys("a")}
	c.must(c.CheckAuthorization(actions, check))
	if n := testing.AllocsPerRun(100, func() {
		if c.CheckAuthorization(actions, check) != nil {
			t.Fatal("not satisfied")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkCheckAuthorization(b *testing.B) {
	c := newChain(b)
	actions := []types.Action{action("eosio.token", "transfer", level("alice", "active"))}
	check := &authority.Check{Keys: publicKeys("a")}
	b.ReportAllocs()
	for b.Loop() {
		if err := c.CheckAuthorization(actions, check); err != nil {
			b.Fatal(err)
		}
	}
}
