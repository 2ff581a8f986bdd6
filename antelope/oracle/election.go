package oracle

import (
	"slices"
	"time"

	"tarn/antelope/types"
	"tarn/contracts"
)

// elected are the producers that eosio.system's voters choose from: the first of its
// users.
func elected() []string {
	var list []string
	for i := range 26 {
		list = append(list, account("sysusr", i).String())
	}
	return list
}

// signing is a random authority over a producer's blocks: mostly its own key, with
// keys of others and of sites beside it. Those of sites sign no blocks.
func (w *world) signing(p types.Name, others []types.Name) types.BlockSigningAuthority {
	a := types.BlockSigningAuthority{Threshold: 1, Keys: []types.KeyWeight{{Key: w.Key(p).Public(), Weight: uint16(1 + w.Rand.IntN(3))}}}
	if w.One(2) {
		return a
	}
	for range w.Rand.IntN(4) {
		k := w.Key(pick(w.Driver, others)).Public()
		if w.One(3) {
			k = newAuthenticator(w.Seed, p.String()).Public()
		}
		a.Keys = append(a.Keys, types.KeyWeight{Key: k, Weight: uint16(1 + w.Rand.IntN(3))})
	}
	slices.SortFunc(a.Keys, func(x, y types.KeyWeight) int { return x.Key.Compare(y.Key) })
	a.Keys = slices.CompactFunc(a.Keys, func(x, y types.KeyWeight) bool { return x.Key == y.Key })
	known := 0
	for _, k := range a.Keys {
		if k.Key.Type != types.WebAuthn {
			known += int(k.Weight)
		}
	}
	a.Threshold = uint32(1 + w.Rand.IntN(known))
	return a
}

// runElection is the life of a chain whose producers are voted for: more of them than
// there are places, rewards once a day, refunds after three, names sold after weeks.
func runElection(features bool) func(d *Driver, until time.Time) error {
	return func(d *Driver, until time.Time) error {
		w, err := d.bootSystem(len(elected())+6, features)
		if err != nil {
			return err
		}
		c, err := d.contractOf(system, "eosio.system")
		if err != nil {
			return err
		}
		producers := names(elected()...)
		for _, p := range producers {
			if err := d.Must(action(system, "regproducer2", p, types.ProducerAuthority{Producer: p,
				Authority: w.signing(p, producers)}, text("http://x"), u16(1))); err != nil {
				return err
			}
		}
		// Enough of a stake that producers are paid.
		for _, v := range w.users[len(producers):] {
			if err := d.Must(action(system, "delegatebw", system, system, v, tokens(40_000_000_0000, "SYS"), tokens(40_000_000_0000, "SYS"), u8(1))); err != nil {
				return err
			}
			if err := d.Must(action(system, "voteproducer", v, v, types.Name(0), list(producers))); err != nil {
				return err
			}
		}
		if err := w.openMarkets(); err != nil {
			return err
		}
		return d.until(until, func() error {
			if err := w.pace(15 * time.Millisecond); err != nil {
				return err
			}
			var t Tx
			for range 1 + w.Rand.IntN(2) {
				t.Actions = append(t.Actions, w.electionAction(c, producers))
			}
			return d.May(t)
		})
	}
}

// electionAction is something that voters or producers do, or that anybody does with
// eosio.system.
func (w *world) electionAction(c *contract, producers []types.Name) types.Action {
	p, v := pick(w.Driver, producers), pick(w.Driver, w.users[len(producers):])
	amount := func() types.Asset { return tokens(1+w.Rand.Int64N(1000_0000), "SYS") }
	switch w.Rand.IntN(16) {
	case 0, 1, 2:
		return action(system, "claimrewards", p, p)
	case 3:
		chosen := slices.Clone(producers)
		w.Rand.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
		chosen = chosen[:15+w.Rand.IntN(len(chosen)-14)]
		slices.Sort(chosen)
		return action(system, "voteproducer", v, v, types.Name(0), list(chosen))
	case 4:
		return action(system, "regproducer2", p, types.ProducerAuthority{Producer: p, Authority: w.signing(p, producers)},
			text("http://z"), u16(w.Rand.IntN(900)))
	case 5:
		if w.One(4) {
			return action(system, "unregprod", p, p)
		}
		return action(system, "undelegatebw", v, v, v, amount(), amount())
	case 6:
		return action(system, "delegatebw", v, v, pick(w.Driver, w.users), amount(), amount(), u8(w.Rand.IntN(2)))
	case 7:
		return action(system, "refund", v, v)
	case 8:
		return action(system, "bidname", v, v, account("b", w.Rand.IntN(5)).Prefix(), amount())
	case 9:
		return action(system, "sellrex", v, v, tokens(1+w.Rand.Int64N(100_0000), "REX"))
	}
	return w.systemAction(c)
}

// manyNames are producers that are set, not voted for: more than rounds of Leap have.
func manyNames() []string {
	var list []string
	for i := range 40 {
		list = append(list, account("many", i).String())
	}
	return list
}

// runSchedules sets schedules of twenty to forty producers, time and again.
func runSchedules(d *Driver, until time.Time) error {
	if err := d.bootAll(); err != nil {
		return err
	}
	all := names(manyNames()...)
	if err := d.create(all...); err != nil {
		return err
	}
	if err := d.Must(setCode(system, contracts.Bios().Code)); err != nil {
		return err
	}
	w := d.newWorld(all)
	return d.until(until, func() error {
		if err := w.pace(2 * time.Second); err != nil {
			return err
		}
		w.Rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		var schedule []types.ProducerAuthority
		for _, p := range all[:20+w.Rand.IntN(len(all)-19)] {
			schedule = append(schedule, types.ProducerAuthority{Producer: p, Authority: w.signing(p, all)})
		}
		return d.May(Tx{Actions: []types.Action{action(system, "setprods", system, list(schedule))}})
	})
}
