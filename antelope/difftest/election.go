package difftest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tarn/antelope/types"
	"tarn/contracts"
)

// electedProducers are the producers that eosio.system's voters choose from: the first of its
// users.
func electedProducers() []string {
	var list []string
	for i := range 26 {
		list = append(list, account("sysusr", i).String())
	}
	return list
}

// signing is a random authority over a producer's blocks: mostly its own key, with
// keys of others beside it, and of sites where their type is activated: one key of another
// type, and no schedule is taken. Those of sites sign no blocks.
func (w *world) signing(p types.Name, others []types.Name, sites bool) types.BlockSigningAuthority {
	a := types.BlockSigningAuthority{Threshold: 1,
		Keys: []types.KeyWeight{{Key: w.Key(p).Public(), Weight: uint16(1 + w.Rand.IntN(3))}}}
	if w.One(2) {
		return a
	}
	for range w.Rand.IntN(4) {
		k := w.Key(pick(w.Driver, others)).Public()
		if sites && w.One(3) {
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
		w, err := d.bootSystem(len(electedProducers())+electionVoters, features)
		if err != nil {
			return err
		}
		c, err := d.contractOf(system, "eosio.system")
		if err != nil {
			return err
		}
		producers := names(electedProducers()...)
		for _, p := range producers {
			if err := d.Must(action(system, "regproducer2", p, types.ProducerAuthority{Producer: p,
				Authority: w.signing(p, producers, features)}, text("http://x"), u16(1))); err != nil {
				return err
			}
		}
		// Enough of a stake that producers are paid.
		for _, v := range w.users[len(producers):] {
			if err := d.Must(action(system, "delegatebw", system, system, v, tokens(40_000_000_0000, "SYS"),
				tokens(40_000_000_0000, "SYS"), u8(1))); err != nil {
				return err
			}
			if err := d.Must(action(system, "voteproducer", v, v, types.Name(0), list(producers))); err != nil {
				return err
			}
		}
		if err := w.openMarkets(); err != nil {
			return err
		}
		e := election{world: w, system: c, sites: features, producers: producers, voters: w.users[len(producers):],
			claimed: map[types.Name]time.Time{}, undelegated: map[types.Name]time.Time{}, left: map[types.Name]bool{},
			bids: map[types.Name]bid{}}
		if err := e.firstTerm(); err != nil {
			return err
		}
		return d.until(until, e.step)
	}
}

// reachedByElection tells what of an election did not come about. It counts actions only.
// What they paid is rows of the token contract and of the system contract, and these are
// in the hash of the state, which has to be nodeos'.
func reachedByElection(m *Manifest) error {
	var lacks []string
	for _, name := range []string{"eosio::claimrewards", "eosio::refund", "eosio::bidname"} {
		if m.Actions[name] == 0 {
			lacks = append(lacks, name)
		}
	}
	if m.Actions["eosio::newaccount"] <= len(electedProducers())+electionVoters+len(systemAccounts())+1 { // eosio.token
		lacks = append(lacks, "a name that is sold")
	}
	if m.LargestSchedule < 21 {
		lacks = append(lacks, fmt.Sprintf("a schedule of 21, not of %d", m.LargestSchedule))
	}
	if len(lacks) > 0 {
		return fmt.Errorf("the election lacks %s: %d transactions were accepted, %d refused: %v",
			strings.Join(lacks, ", "), m.Executed, m.Refused, m.Refusals)
	}
	return nil
}

const electionVoters = 6

// election is what is known of a chain with voters, so that most of what is done there
// can be done.
type election struct {
	*world
	system            *contract
	sites             bool // whether keys of theirs may be producers'
	producers, voters []types.Name
	claimed           map[types.Name]time.Time // rewards, by producer
	undelegated       map[types.Name]time.Time // what is to be refunded
	left              map[types.Name]bool      // producers that do not want to be any more
	bids              map[types.Name]bid       // the highest, by name
	sold              int
}

// bid is for a name.
type bid struct {
	by    types.Name
	price int64
	at    time.Time
}

const day = 24 * time.Hour

// firstTerm does once all that needs days: it waits until eosio.system pays producers and
// sells names, which is two weeks after the votes were enough. Where time cannot be chosen
// there is none of it.
func (e *election) firstTerm() error {
	if e.Node != nil {
		return nil
	}
	v, p, name := e.voters[0], e.producers[0], e.forSale()
	small := tokens(10_0000, "SYS")
	after := func(days int) error { // and two elections, which are a minute apart
		return errors.Join(e.ground.leap(time.Duration(days)*day), e.Blocks(130))
	}
	for _, do := range []func() error{
		func() error { return e.Must(action(system, "bidname", v, v, name, tokens(100_0000, "SYS"))) },
		func() error { return after(15) },
		func() error { return e.Must(action(system, "delegatebw", v, v, v, small, small, u8(0))) },
		func() error { return e.Must(action(system, "undelegatebw", v, v, v, small, small)) },
		func() error { return after(4) },
		func() error { return e.Must(action(system, "refund", v, v)) },
		func() error { return e.Must(action(system, "claimrewards", p, p)) },
		func() error { return e.Must(e.settle(v, name)...) },
	} {
		if err := do(); err != nil {
			return err
		}
	}
	e.claimed[p], e.sold = e.ground.chainTime(), 1
	return nil
}

// forSale is the name that is bid for.
func (e *election) forSale() types.Name { return account("bid", e.sold) }

// settle makes the account of a name that was bought.
func (e *election) settle(by, name types.Name) []types.Action {
	some := tokens(10_0000, "SYS")
	return []types.Action{newAccount(by, name, e.simple(name), e.simple(name)),
		action(system, "buyrambytes", by, by, name, u32(8000)),
		action(system, "delegatebw", by, by, name, some, some, u8(1))}
}

// step does something, and lets days go by now and then.
func (e *election) step() error {
	if err := e.pace(15 * time.Millisecond); err != nil {
		return err
	}
	if e.One(25) {
		if err := e.ground.leap(time.Duration(e.Rand.Int64N(int64(4 * day)))); err != nil {
			return err
		}
	}
	actions, noted := e.action()
	if e.One(4) {
		actions = append(actions, e.systemAction(e.system))
	}
	_, err := e.Send(Tx{Actions: actions})
	var refused *Refusal
	switch {
	case err == nil:
		noted()
	case !errors.As(err, &refused):
		return err
	}
	return nil
}

// action is something that voters or producers do, or that anybody does with
// eosio.system, and what is noted if it succeeds. Most of it can be done at that time.
func (e *election) action() ([]types.Action, func()) {
	p, v, now := pick(e.Driver, e.producers), pick(e.Driver, e.voters), e.ground.chainTime()
	amount := func() types.Asset { return tokens(1+e.Rand.Int64N(1_0000), "SYS") }
	nothing := func() {}
	switch e.Rand.IntN(16) {
	case 0, 1, 2:
		if i := slices.IndexFunc(e.producers,
			func(p types.Name) bool { return !e.left[p] && now.Sub(e.claimed[p]) > day }); i >= 0 && !e.One(4) {
			p = e.producers[i]
		}
		return []types.Action{action(system, "claimrewards", p, p)}, func() { e.claimed[p] = now }
	case 3:
		return []types.Action{e.vote(v)}, nothing
	case 4:
		return []types.Action{action(system, "regproducer2", p,
			types.ProducerAuthority{Producer: p, Authority: e.signing(p, e.producers, e.sites)},
			text("http://z"), u16(e.Rand.IntN(900)))}, func() { delete(e.left, p) }
	case 5:
		if e.One(6) {
			return []types.Action{action(system, "unregprod", p, p)}, func() { e.left[p] = true }
		}
		return []types.Action{action(system, "undelegatebw", v, v, v, amount(), amount())}, func() {
			e.undelegated[v] = now
		}
	case 6, 7:
		to := v
		if e.One(2) {
			to = pick(e.Driver, e.users)
		}
		return []types.Action{action(system, "delegatebw", v, v, to, amount(), amount(), u8(0))}, nothing
	case 8, 9:
		for _, u := range e.voters {
			if at, ok := e.undelegated[u]; ok && now.Sub(at) > 3*day {
				v = u
			}
		}
		return []types.Action{action(system, "refund", v, v)}, func() { delete(e.undelegated, v) }
	case 10, 11:
		return e.name(v, now)
	case 12:
		return []types.Action{action(system, "sellrex", v, v, tokens(1+e.Rand.Int64N(100_0000), "REX"))}, nothing
	}
	return []types.Action{e.systemAction(e.system)}, nothing
}

// vote is for more than twenty producers, as who has REX must, mostly of those that want
// to be.
func (e *election) vote(v types.Name) types.Action {
	chosen := slices.Clone(e.producers)
	e.Rand.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
	if willing := slices.DeleteFunc(slices.Clone(chosen),
		func(p types.Name) bool { return e.left[p] }); len(willing) >= 21 && !e.One(8) {
		chosen = willing
	}
	chosen = chosen[:21+e.Rand.IntN(len(chosen)-20)]
	slices.Sort(chosen)
	return action(system, "voteproducer", v, v, types.Name(0), list(chosen))
}

// name bids for a name, or makes its account when the highest bid has stood for a day.
func (e *election) name(v types.Name, now time.Time) ([]types.Action, func()) {
	name := e.forSale()
	highest, ok := e.bids[name]
	if ok && now.Sub(highest.at) > day && !e.One(4) {
		return e.settle(highest.by, name), func() { e.sold++ }
	}
	price := highest.price + highest.price/5 + 1 + e.Rand.Int64N(1_0000)
	for ok && v == highest.by {
		v = pick(e.Driver, e.voters)
	}
	return []types.Action{action(system, "bidname", v, v, name, tokens(price, "SYS"))}, func() {
		e.bids[name] = bid{v, price, now}
	}
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
			schedule = append(schedule, types.ProducerAuthority{Producer: p, Authority: w.signing(p, all, true)})
		}
		return d.May(Tx{Actions: []types.Action{action(system, "setprods", system, list(schedule))}})
	})
}
