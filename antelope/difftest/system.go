package difftest

import (
	"math"
	"slices"
	"time"

	"tarn/antelope/types"
)

// bootSystem makes a chain with eosio.token, eosio.msig, eosio.wrap and, on eosio,
// eosio.system, and some users with tokens, RAM and bandwidth.
func (d *Driver) bootSystem(users int, features bool) (*world, error) {
	others, err := d.boot()
	if err != nil {
		return nil, err
	}
	if !features { // without this one the contract's code is refused
		others = slices.DeleteFunc(others, func(f Feature) bool { return f.Name() != "WTMSIG_BLOCK_SIGNATURES" })
	}
	if err := d.activate(others...); err != nil {
		return nil, err
	}
	if err := d.Blocks(2); err != nil {
		return nil, err
	}
	if err := d.create(systemAccounts()...); err != nil {
		return nil, err
	}
	if err := d.mint("SYS"); err != nil {
		return nil, err
	}
	if err := d.deploy(types.N("eosio.msig"), "eosio.msig"); err != nil {
		return nil, err
	}
	if err := d.deploy(types.N("eosio.wrap"), "eosio.wrap"); err != nil {
		return nil, err
	}
	for _, n := range names("eosio.msig", "eosio.wrap") {
		if err := d.Must(action(system, "setpriv", system, n, u8(1))); err != nil {
			return nil, err
		}
	}
	if err := d.deploy(system, "eosio.system"); err != nil {
		return nil, err
	}
	if err := d.Must(action(system, "init", system, vu(0), tokens(0, "SYS").Symbol)); err != nil {
		return nil, err
	}
	return d.systemWorld(users)
}

// systemAccounts are those that eosio.system works with.
func systemAccounts() []types.Name {
	return names("eosio.bpay", "eosio.msig", "eosio.names", "eosio.ram", "eosio.ramfee",
		"eosio.saving", "eosio.stake", "eosio.vpay", "eosio.rex", "eosio.wrap", "eosio.reserv", "eosio.pay",
		"eosio.svpay", "eosio.fees")
}

// systemWorld makes users through the system contract.
func (d *Driver) systemWorld(n int) (*world, error) {
	var users []types.Name
	for i := range n {
		u := account("sysusr", i)
		users = append(users, u)
		if err := d.Must(
			newAccount(system, u, d.simple(u), d.simple(u)),
			action(system, "buyrambytes", system, system, u, u32(200_000)),
			action(system, "delegatebw", system, system, u, tokens(1000_0000, "SYS"), tokens(1000_0000, "SYS"), u8(1)),
			transfer(system, u, tokens(10_000_0000, "SYS"), "start")); err != nil {
			return nil, err
		}
	}
	return d.newWorld(users), nil
}

// present is an optional field that is there.
func present(f field) field { return raw(encode(u8(1), f)) }

// openMarkets sets up what most actions of eosio.system need: votes (for a proxy)
// without which there is no REX, a REX pool, powerup, staking pools.
func (w *world) openMarkets() error {
	proxy := w.users[0]
	if err := w.Must(action(system, "regproxy", proxy, proxy, u8(1)),
		action(system, "buyrambytes", system, system, types.N("eosio.reserv"), u32(65536))); err != nil {
		return err
	}
	for _, u := range w.users[1:] {
		if err := w.Must(
			action(system, "voteproducer", u, u, proxy, list([]types.Name(nil))),
			action(system, "deposit", u, u, tokens(500_0000, "SYS")),
			action(system, "buyrex", u, u, tokens(300_0000, "SYS"))); err != nil {
			return err
		}
	}
	resource := func() field {
		ratio := present(u64(10_000_000_000_000))
		return raw(encode(ratio, ratio, present(u64(1_000_000_000)),
			present(u32(w.ground.chainTime().Add(24*time.Hour).Unix())),
			present(u64(math.Float64bits(2))), present(u32(86400)), present(tokens(2500_0000, "SYS")),
			present(tokens(100_000_0000, "SYS"))))
	}
	if err := w.May(Tx{Actions: []types.Action{action(system, "cfgpowerup", system, resource(), resource(),
		present(u32(1)), present(tokens(1, "SYS")))}}); err != nil {
		return err
	}
	now := types.NewBlockTimestamp(types.TimePoint(w.ground.chainTime().UnixMicro()))
	numbers := func(v ...uint32) field {
		var out []u32
		for _, x := range v {
			out = append(out, u32(x))
		}
		return present(list(out))
	}
	weights := present(list([]u64{u64(math.Float64bits(1)), u64(math.Float64bits(1.5))}))
	return w.May(Tx{Actions: []types.Action{action(system, "cfgsrpool", system, numbers(1024, 2048),
		numbers(64, 64), weights,
		present(u32(now)), present(u32(now+100_000)), present(u64(math.Float64bits(0.01))),
		present(u64(math.Float64bits(0.01))),
		present(u8(21)), present(u64(math.Float64bits(0.1))), present(tokens(1, "SYS")))}})
}

// systemProducers are the first users of [Driver.bootSystem].
func systemProducers() []string {
	var list []string
	for i := range 3 {
		list = append(list, account("sysusr", i).String())
	}
	return list
}

// systemNames are the actions of eosio.system that users call.
func systemNames() []string {
	return []string{"bidname", "bidrefund", "buyram", "buyrambytes", "buyrex", "claimrewards", "closerex",
		"cnclrexorder", "consolidate", "defcpuloan", "defnetloan", "delegatebw", "deposit", "fundcpuloan",
		"fundnetloan", "mvfrsavings", "mvtosavings", "powerup", "powerupexec", "refund", "regproxy", "rentcpu",
		"rentnet", "rexexec", "sellram", "sellrex", "undelegatebw", "unregprod", "unstaketorex", "updaterex",
		"updatevotes", "voteproducer", "withdraw", "stake2pool",
		"claimstake", "transferstake", "upgradestake", "votewithpool", "updatepay", "regpoolproxy", "setpoolnotif"}
}

// adminNames are those that only eosio may call.
func adminNames() []string {
	return []string{"setram", "setramrate", "setrex", "setinflation", "rmvproducer", "setacctram", "setacctnet",
		"setacctcpu", "setalimits", "updtrevision"}
}

// systemAction is a random call of eosio.system: half of them with data that make
// sense, the rest by its ABI.
func (w *world) systemAction(c *contract) types.Action {
	u, v := pick(w.Driver, w.users), pick(w.Driver, w.users)
	some := func() types.Asset { return tokens(1+w.Rand.Int64N(100_0000), "SYS") }
	rex := func() types.Asset { return tokens(1+w.Rand.Int64N(100_0000), "REX") }
	switch w.Rand.IntN(30) {
	case 0:
		return action(system, "buyram", u, u, v, some())
	case 1:
		return action(system, "buyrambytes", u, u, v, u32(w.Rand.IntN(5000)))
	case 2:
		return action(system, "sellram", u, u, u64(w.Rand.IntN(3000)))
	case 3, 4:
		return action(system, "delegatebw", u, u, v, some(), some(), u8(w.Rand.IntN(2)))
	case 5:
		return action(system, "undelegatebw", u, u, v, some(), some())
	case 6, 7:
		return action(system, "deposit", u, u, some())
	case 8:
		return action(system, "buyrex", u, u, some())
	case 9:
		return action(system, "sellrex", u, u, rex())
	case 10:
		return action(system, pick(w.Driver, []string{"rentcpu", "rentnet"}), u, u, v, some(), some())
	case 11:
		p := pick(w.Driver, w.users[:len(systemProducers())]) // those that the node can produce for
		if w.One(2) {
			return action(system, "regproducer", p, p, w.Key(p).Public(), text("http://x"), u16(w.Rand.IntN(5)))
		}
		return action(system, "regproducer2", p,
			types.ProducerAuthority{Producer: p, Authority: types.BlockSigningAuthority{
				Threshold: 1, Keys: []types.KeyWeight{{Key: w.Key(p).Public(), Weight: 1}}}}, text("http://y"),
			u16(w.Rand.IntN(5)))
	case 12, 13:
		return action(system, "voteproducer", u, u, types.Name(0), list(w.some(3)))
	case 14:
		return action(system, "bidname", u, u, account("b", w.Rand.IntN(5)).Prefix(), some())
	case 15:
		return transfer(u, v, some(), "")
	case 16:
		return pick(w.Driver, []types.Action{
			action(system, "refund", u, u),
			action(system, "powerup", u, u, v, u32(1), u64(w.Rand.Int64N(1_000_000_000)),
				u64(w.Rand.Int64N(1_000_000_000)), tokens(100_000_0000, "SYS")),
			action(system, "stake2pool", u, u, u32(w.Rand.IntN(2)), some()),
			action(system, "setrex", system, tokens(w.Rand.Int64N(1_000_000_0000), "SYS")),
		})
	case 17:
		a := c.random(w, pick(w.Driver, adminNames()), u)
		return with(a, level(system, active))
	}
	return c.random(w, pick(w.Driver, systemNames()), u)
}

// some are up to n users, in the order of names.
func (w *world) some(n int) []types.Name {
	var out []types.Name
	for range w.Rand.IntN(n + 1) {
		out = append(out, pick(w.Driver, w.users))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func runSystem(features bool) func(d *Driver, until time.Time) error {
	return func(d *Driver, until time.Time) error {
		w, err := d.bootSystem(15, features)
		if err != nil {
			return err
		}
		c, err := d.contractOf(system, "eosio.system")
		if err != nil {
			return err
		}
		if err := w.openMarkets(); err != nil {
			return err
		}
		return d.until(until, func() error {
			if err := w.pace(15 * time.Millisecond); err != nil {
				return err
			}
			var t Tx
			for range 1 + w.Rand.IntN(1+w.Rand.IntN(3)) {
				t.Actions = append(t.Actions, w.systemAction(c))
			}
			return d.May(t)
		})
	}
}
