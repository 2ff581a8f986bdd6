package difftest

import (
	"slices"
	"time"

	"tarn/antelope/chain/chaintest"
	"tarn/antelope/types"
	"tarn/contracts"
)

// producerNames are who a node can produce for besides eosio.
func producerNames() []string { return []string{"proda", "prodb", "prodc"} }

// anyProducers are one to three of the producers and eosio, in random order.
func (w *world) anyProducers() []types.Name {
	all := append(names(producerNames()...), system)
	w.Rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:1+w.Rand.IntN(3)]
}

// legacySchedule is a random list of producers, as set_proposed_producers takes it.
func (w *world) legacySchedule() field {
	var out []types.LegacyProducerKey
	for _, n := range w.anyProducers() {
		out = append(out, types.LegacyProducerKey{Producer: n, Key: w.Key(n).Public()})
	}
	return list(out)
}

// schedule is a random list of producers, as bios' setprods takes it.
func (w *world) schedule(multisig bool) field {
	var out []types.ProducerAuthority
	for _, n := range w.anyProducers() {
		a := types.BlockSigningAuthority{Threshold: 1, Keys: []types.KeyWeight{{Key: w.Key(n).Public(), Weight: 1}}}
		if multisig && w.One(2) {
			// The node has all of these keys and signs with as many as it takes.
			for _, m := range names(producerNames()...) {
				if m != n {
					a.Keys = append(a.Keys, types.KeyWeight{Key: w.Key(m).Public(), Weight: uint16(1 + w.Rand.IntN(2))})
				}
			}
			a.Threshold = uint32(1 + w.Rand.IntN(3))
			slices.SortFunc(a.Keys, func(x, y types.KeyWeight) int { return x.Key.Compare(y.Key) })
		}
		out = append(out, types.ProducerAuthority{Producer: n, Authority: a})
	}
	return list(out)
}

// runProducers returns a workload that changes the schedule time and again. The
// package's eosio.bios takes setprods and does nothing; other contracts do it here.
func runProducers(features int) func(d *Driver, until time.Time) error {
	return func(d *Driver, until time.Time) error {
		others, err := d.boot()
		if err != nil {
			return err
		}
		if err := d.create(names(producerNames()...)...); err != nil {
			return err
		}
		w := d.newWorld(names(producerNames()...))
		half := d.halfway(until)
		propose := func(schedule field) error {
			if err := w.pace(4 * time.Second); err != nil {
				return err
			}
			return d.May(Tx{Actions: []types.Action{action(system, "setprods", system, schedule)}})
		}
		if features != first {
			end := until
			if features == halfway {
				end = half
			}
			if err := d.Must(setCode(system, chaintest.SystemCode())); err != nil {
				return err
			}
			if err := d.until(end, func() error { return propose(w.legacySchedule()) }); err != nil ||
				features == never {
				return err
			}
			if err := d.deploy(system, "eosio.bios"); err != nil {
				return err
			}
		}
		if err := d.activate(others...); err != nil {
			return err
		}
		if err := d.Blocks(2); err != nil {
			return err
		}
		if err := d.Must(setCode(system, contracts.Bios().Code)); err != nil {
			return err
		}
		return d.until(until, func() error { return propose(w.schedule(d.ground.now().After(half))) })
	}
}

// runLimits sets accounts' limits, the chain's parameters and privileges at random
// while others transfer.
func runLimits(features bool) func(d *Driver, until time.Time) error {
	return func(d *Driver, until time.Time) error {
		others, err := d.boot()
		if err != nil {
			return err
		}
		if features {
			if err := d.activate(others...); err != nil {
				return err
			}
		}
		w, err := d.tokenWorld(12)
		if err != nil {
			return err
		}
		return d.until(until, func() error {
			if err := w.pace(15 * time.Millisecond); err != nil {
				return err
			}
			return w.limitsStep()
		})
	}
}

func (w *world) limitsStep() error {
	u := pick(w.Driver, w.users)
	limit := func(most int64) u64 {
		if w.One(3) {
			return u64(1<<64 - 1) // -1: none
		}
		return u64(w.Rand.Int64N(most))
	}
	switch w.Rand.IntN(8) {
	case 0, 1:
		return w.May(Tx{Actions: []types.Action{action(system, "setalimits", system, u,
			limit(20_000), limit(1_000_000), limit(1_000_000))}})
	case 2:
		return w.May(Tx{Actions: []types.Action{action(system, "setpriv", system, u, u8(w.Rand.IntN(2)))}})
	case 3:
		if w.One(2) {
			return w.May(
				Tx{Actions: []types.Action{action(system, "setparams", system, raw(w.parameters().AppendV0(nil)))}})
		}
	case 4:
		p := account("perm", w.Rand.IntN(3))
		return w.May(Tx{Actions: []types.Action{
			with(action(system, "updateauth", u, u, p, types.N(active), w.simple(u)), level(u, active))}})
	}
	return w.May(Tx{Actions: w.tokenActions(w.users), Edit: func(t *types.Transaction) {
		if w.One(4) {
			t.MaxNetUsageWords = uint32(w.Rand.IntN(60))
		}
		if w.One(4) {
			t.MaxCPUUsageMS = uint8(w.Rand.IntN(50))
		}
	}})
}

// parameters are valid ones, mostly, about as large as those of the genesis.
func (w *world) parameters() types.ChainConfig {
	c := types.DefaultChainConfig()
	c.MaxBlockNetUsage = uint64(1<<20 + w.Rand.IntN(1<<20))
	c.TargetBlockNetUsagePct = uint32(10 + w.Rand.IntN(3000))
	c.MaxTransactionNetUsage = uint32(1<<19 + w.Rand.IntN(1<<19))
	c.BasePerTransactionNetUsage = uint32(w.Rand.IntN(40))
	c.NetUsageLeeway = uint32(w.Rand.IntN(1000))
	c.ContextFreeDiscountNetUsageNum = uint32(w.Rand.IntN(100))
	c.MaxBlockCPUUsage = uint32(400_000 + w.Rand.IntN(1_600_000))
	c.TargetBlockCPUUsagePct = uint32(10 + w.Rand.IntN(3000))
	c.MaxTransactionCPUUsage = uint32(150_000 + w.Rand.IntN(200_000))
	c.MinTransactionCPUUsage = uint32(1 + w.Rand.IntN(200))
	c.MaxTransactionLifetime = uint32(3600 + w.Rand.IntN(3600))
	c.DeferredTrxExpirationWindow = uint32(1 + w.Rand.IntN(600))
	c.MaxInlineActionSize = uint32(4096 + w.Rand.IntN(500_000))
	c.MaxInlineActionDepth = uint16(1 + w.Rand.IntN(8))
	c.MaxAuthorityDepth = uint16(1 + w.Rand.IntN(8))
	if w.One(10) {
		c.MinTransactionCPUUsage = c.MaxTransactionCPUUsage + 1
	}
	return c
}

// runCode puts code and ABIs on accounts and takes them away again.
func runCode(features bool) func(d *Driver, until time.Time) error {
	return func(d *Driver, until time.Time) error {
		others, err := d.boot()
		if err != nil {
			return err
		}
		if features {
			if err := d.activate(others...); err != nil {
				return err
			}
		}
		w, err := d.tokenWorld(8)
		if err != nil {
			return err
		}
		var codes, abis [][]byte
		for _, name := range []string{"eosio.token", "eosio.wrap", "eosio.bios"} {
			wasm, doc, err := d.Peer.Contract(name)
			if err != nil {
				return err
			}
			packed, err := packABI(doc)
			if err != nil {
				return err
			}
			codes, abis = append(codes, wasm), append(abis, packed)
		}
		codes, abis = append(codes, nil, codes[0][:1000]), append(abis, nil, []byte("anything"))
		return d.until(until, func() error {
			if err := w.pace(40 * time.Millisecond); err != nil {
				return err
			}
			u := pick(w.Driver, w.users)
			var t Tx
			for range 1 + w.Rand.IntN(2) {
				switch w.Rand.IntN(5) {
				case 0, 1:
					t.Actions = append(t.Actions, setCode(u, pick(d, codes)))
				case 2:
					t.Actions = append(t.Actions, setABI(u, pick(d, abis)))
				case 3:
					t.Actions = append(t.Actions, action(u, "create", u, u, tokens(1_000_000, "ABC")))
				default:
					v := pick(d, w.users)
					t.Actions = append(t.Actions, transfer(v, u, tokens(1+w.Rand.Int64N(100), "SYS"), ""))
				}
			}
			return d.May(t)
		})
	}
}
