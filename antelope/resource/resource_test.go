package resource_test

import (
	"math"
	"testing"

	"tarn/antelope/exception"
	"tarn/antelope/resource"
	"tarn/antelope/state"
	"tarn/antelope/types"
	"tarn/store/page"
	"tarn/store/revision"
)

const (
	blockCPU = 200_000
	blockNet = 1 << 20
	alice    = types.Name(1 << 10)
)

// chain is a Manager over a state in memory.
type chain struct {
	*resource.Manager
	t testing.TB
}

func newChain(t testing.TB) chain {
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
	s, err := state.Open(st)
	if err != nil {
		t.Fatal(err)
	}
	c := chain{resource.New(s), t}
	var one state.Singletons
	one.ResourceConfig, one.ResourceState = resource.Initial()
	c.must(s.Initialise(one))
	return c
}

func (c chain) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c chain) fails(err error, k *exception.Kind, message string) {
	c.t.Helper()
	if !exception.Is(err, k) {
		c.t.Fatalf("%v, want a %s", err, k.Name)
	}
	if message != "" && exception.Of(err).Message() != message {
		c.t.Errorf("the message is %q, want %q", exception.Of(err).Message(), message)
	}
}

// account makes an account with limits that hold at once.
func (c chain) account(n types.Name, ram, net, cpu int64) {
	c.t.Helper()
	c.must(c.InitialiseAccount(n))
	c.limit(n, ram, net, cpu)
}

func (c chain) limit(n types.Name, ram, net, cpu int64) {
	c.t.Helper()
	_, err := c.SetLimits(n, ram, net, cpu)
	c.must(err)
	c.must(c.ProcessPendingLimits())
}

func (c chain) use(n types.Name, cpu, net uint64, slot uint32) error {
	return c.AddTransactionUsage([]types.Name{n}, cpu, net, slot)
}

// elasticSteps is how many blocks a limit takes from one value to another.
func elasticSteps(from, to, num, den uint64) (n uint32) {
	for v := from; from < to && v < to || from > to && v > to; n++ {
		v = v * num / den
	}
	return n
}

// averageSteps is how many full blocks it takes until the average is above target.
func averageSteps(target, value, window uint64) (n uint32) {
	for v := uint64(0); v < target; n++ {
		v = v*(window-1)/window + value/window
	}
	return n
}

func TestBlockLimitsRelaxWhenIdleAndContractWhenFull(t *testing.T) {
	for _, r := range []struct {
		name     string
		most     uint64
		cpu, net uint64
		limit    func(*state.ResourceState) uint64
	}{
		{"cpu", blockCPU, blockCPU, 0, func(s *state.ResourceState) uint64 { return s.VirtualCPU }},
		{"net", blockNet, 0, blockNet, func(s *state.ResourceState) uint64 { return s.VirtualNet }},
	} {
		t.Run(r.name, func(t *testing.T) {
			c := newChain(t)
			c.account(alice, -1, -1, -1)
			idle := r.most * resource.MaxElasticMultiplier
			relax := elasticSteps(r.most, idle, 1000, 999)
			contract := averageSteps(r.most/10, r.most, resource.BlockWindow) + elasticSteps(idle, r.most, 99, 100) - 1
			block := uint32(0)
			run := func(until, cpu, net uint64, limit uint32) {
				for {
					now, err := c.S.ResourceState.Get()
					c.must(err)
					if r.limit(now) == until || block > limit {
						break
					}
					c.must(c.use(alice, cpu, net, block))
					c.must(c.ProcessBlockUsage(block))
					block++
				}
			}
			run(idle, 0, 0, relax)
			if block != relax {
				t.Fatalf("idle after %d blocks, want %d", block, relax)
			}
			run(r.most, r.cpu, r.net, relax+contract)
			if block != relax+contract {
				t.Fatalf("congested after %d blocks, want %d", block, relax+contract)
			}
		})
	}
}

func TestAccountsMayUseTheirShareAndNoMore(t *testing.T) {
	weights := []int64{1, 3, 9, 234, 511, 672, 800, 1213, 4242, 77777, 888888, 999999}
	total := int64(0)
	for _, w := range weights {
		total += w
	}
	for _, r := range []struct {
		name  string
		most  uint64
		kind  *exception.Kind
		limit func(chain, types.Name, int64)
		left  func(chain, types.Name) (int64, bool, error)
		use   func(chain, types.Name, uint64) error
	}{
		{"cpu", blockCPU, exception.TxCPUUsageExceeded,
			func(c chain, n types.Name, w int64) { c.limit(n, -1, -1, w) },
			func(c chain, n types.Name) (int64, bool, error) { return c.AccountCPULimit(n, 1000) },
			func(c chain, n types.Name, v uint64) error { return c.use(n, v, 0, 0) }},
		{"net", blockNet, exception.TxNetUsageExceeded,
			func(c chain, n types.Name, w int64) { c.limit(n, -1, w, -1) },
			func(c chain, n types.Name) (int64, bool, error) { return c.AccountNetLimit(n, 1000) },
			func(c chain, n types.Name, v uint64) error { return c.use(n, 0, v, 0) }},
	} {
		t.Run(r.name, func(t *testing.T) {
			c := newChain(t)
			name := func(i int) types.Name { return types.Name(i+100) << 8 }
			for i, w := range weights {
				c.must(c.InitialiseAccount(name(i)))
				r.limit(c, name(i), w)
			}
			for i, w := range weights {
				n := name(i)
				want := int64(resource.AccountWindow*r.most) * w / total
				left, greylisted, err := r.left(c, n)
				c.must(err)
				if left != want || greylisted {
					t.Errorf("weight %d leaves %d, want %d (greylisted %v)", w, left, want, greylisted)
				}
				c.must(c.S.Begin())
				if err := r.use(c, n, uint64(want)); uint64(want) <= r.most {
					c.must(err)
				} else {
					c.fails(err, exception.BlockResourceExhausted, "Block has insufficient "+r.name+" resources")
				}
				c.must(c.S.Undo())
				c.must(c.S.Begin())
				c.fails(r.use(c, n, uint64(want)+1), r.kind, "")
				c.must(c.S.Undo())
			}
		})
	}
}

func TestTheMessagesNameAccountAndUse(t *testing.T) {
	c := newChain(t)
	c.account(types.N("dan"), 0, 0, 1_0000)
	c.account(types.N("everyone"), 0, 1, 1_000_000_000_0000-1_0000)
	c.must(c.S.Begin())
	c.fails(c.use(types.N("dan"), 35, 0, 1), exception.TxCPUUsageExceeded,
		"authorizing account 'dan' has insufficient objective cpu resources for this transaction, used in window "+
			"35us, allowed in window 34us")
	c.must(c.S.Undo())
	c.must(c.S.Begin())
	c.fails(c.use(types.N("dan"), 0, 8, 1), exception.TxNetUsageExceeded,
		"authorizing account 'dan' has insufficient net resources for this transaction, used in window 8, allowed "+
			"in window 0")
	c.must(c.S.Undo())
	// A day later nothing of what was used counts any more.
	c.must(c.use(types.N("dan"), 34, 0, 1))
	c.must(c.use(types.N("dan"), 34, 0, 2+resource.AccountWindow))
}

func TestBlocksHaveLimits(t *testing.T) {
	for _, r := range []struct{ cpu, net, times uint64 }{{1000, 0, blockCPU / 1000}, {0, 1000, blockNet / 1000}} {
		c := newChain(t)
		c.account(alice, -1, -1, -1)
		for range r.times {
			c.must(c.use(alice, r.cpu, r.net, 0))
		}
		cpu, err := c.BlockCPULimit()
		c.must(err)
		net, err := c.BlockNetLimit()
		c.must(err)
		if cpu != blockCPU-r.cpu*r.times || net != blockNet-r.net*r.times {
			t.Errorf("%d us and %d bytes are left", cpu, net)
		}
		c.fails(c.use(alice, r.cpu, r.net, 0), exception.BlockResourceExhausted, "")
	}
}

func TestRAMIsLimited(t *testing.T) {
	c := newChain(t)
	c.account(alice, 1000, -1, -1)
	for range 12 {
		c.must(c.AddPendingRAM(alice, 77))
		c.must(c.VerifyRAM(alice))
	}
	c.must(c.AddPendingRAM(alice, 77))
	c.fails(c.VerifyRAM(alice), exception.RAMUsageExceeded,
		"account "+alice.String()+" has insufficient ram; needs 1001 bytes has 1000 bytes")
	if v, err := c.RAMUsage(alice); err != nil || v != 1001 {
		t.Errorf("RAM usage %d, %v", v, err)
	}
	c.must(c.AddPendingRAM(alice, -1001))
	c.fails(c.AddPendingRAM(alice, -1), exception.Transaction, "Ram usage delta would underflow UINT64_MAX")
	c.limit(alice, -1, -1, -1)
	c.must(c.AddPendingRAM(alice, math.MaxInt64))
	c.must(c.AddPendingRAM(alice, math.MaxInt64))
	c.must(c.VerifyRAM(alice))
	c.fails(c.AddPendingRAM(alice, 2), exception.Transaction, "Ram usage delta would overflow UINT64_MAX")
	c.must(c.AddPendingRAM(alice, 1))
}

func TestPendingLimitsHoldForRAMAtOnceAndForTotalsAfterTheBlock(t *testing.T) {
	c := newChain(t)
	c.account(alice, 1000, 5, 7)
	c.must(c.AddPendingRAM(alice, 600))
	for _, step := range []struct {
		ram       int64
		decreased bool
		fits      bool
	}{{1000, false, true}, {600, true, true}, {599, true, false}, {-1, false, true}, {2000, true, true},
		{2001, false, true}} {
		decreased, err := c.SetLimits(alice, step.ram, 50, 70)
		c.must(err)
		if decreased != step.decreased || (c.VerifyRAM(alice) == nil) != step.fits {
			t.Errorf("RAM %d: decreased %v, %v", step.ram, decreased, c.VerifyRAM(alice))
		}
	}
	st, err := c.S.ResourceState.Get()
	c.must(err)
	if st.TotalRAM != 1000 || st.TotalNetWeight != 5 || st.TotalCPUWeight != 7 {
		t.Errorf("totals before the block's end %+v", st)
	}
	c.must(c.ProcessPendingLimits())
	if st.TotalRAM != 2001 || st.TotalNetWeight != 50 || st.TotalCPUWeight != 70 {
		t.Errorf("totals after it %+v", st)
	}
	if left, err := c.S.PendingLimits.Get(alice); err != nil || left != nil {
		t.Errorf("pending limits are still there: %+v, %v", left, err)
	}
	ram, net, cpu, err := c.Limits(alice)
	c.must(err)
	if ram != 2001 || net != 50 || cpu != 70 {
		t.Errorf("limits %d %d %d", ram, net, cpu)
	}
}

func TestUnlimitedIsWhatHoldsNotWhatIsPending(t *testing.T) {
	c := newChain(t)
	c.must(c.InitialiseAccount(alice))
	_, err := c.SetLimits(alice, -1, -1, 5)
	c.must(err)
	if u, err := c.IsUnlimitedCPU(alice); err != nil || !u {
		t.Errorf("unlimited %v, %v", u, err)
	}
	c.must(c.ProcessPendingLimits())
	if u, err := c.IsUnlimitedCPU(alice); err != nil || u {
		t.Errorf("unlimited %v, %v", u, err)
	}
	if u, err := c.IsUnlimitedCPU(alice + 1); err != nil || u {
		t.Errorf("no account: unlimited %v, %v", u, err)
	}
}

func TestAccountsThatDoNotExistAreReportedAsNodeosDoes(t *testing.T) {
	c := newChain(t)
	_, err := c.RAMUsage(types.N("nobody"))
	c.fails(err, exception.FCStd, "rethrow unknown key (eosio::chain::name): nobody: ")
	_, _, _, err = c.Limits(types.N("nobody"))
	c.fails(err, exception.FCStd,
		"rethrow unknown key (boost::tuples::tuple<bool, eosio::chain::name, boost::tuples::null_type, "+
			"boost::tuples::null_type, boost::tuples::null_type, boost::tuples::null_type, boost::tuples::null_type, "+
			"boost::tuples::null_type, boost::tuples::null_type, boost::tuples::null_type>): (0 nobody): ")
}

func TestParametersOfBlocksMustMakeSense(t *testing.T) {
	c := newChain(t)
	good := resource.ElasticLimitOf(1000, 2000)
	if good.Target != 200 || good.Max != 1000 || good.Periods != 120 {
		t.Errorf("parameters %+v", good)
	}
	for _, spoil := range []func(*state.ElasticLimit){
		func(e *state.ElasticLimit) { e.Periods = 0 },
		func(e *state.ElasticLimit) { e.Contract.Denominator = 0 },
		func(e *state.ElasticLimit) { e.Expand.Denominator = 0 },
	} {
		bad := good
		spoil(&bad)
		c.fails(c.SetBlockParameters(bad, good), exception.ResourceLimit, "")
		c.fails(c.SetBlockParameters(good, bad), exception.ResourceLimit, "")
	}
	c.must(c.SetBlockParameters(good, good))
	if r, err := c.S.ResourceConfig.Get(); err != nil || r.CPU != good || r.Net != good {
		t.Errorf("configuration %+v, %v", r, err)
	}
}
