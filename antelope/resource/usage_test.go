package resource_test

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"tarn/antelope/exception"
	"tarn/antelope/resource"
	"tarn/antelope/state"
	"tarn/antelope/types"
)

// number is of all sizes alike.
func number(r *rand.Rand) uint64 { return r.Uint64() >> r.UintN(64) }

func ceil(n, d *big.Int) *big.Int {
	q, m := new(big.Int).QuoRem(n, d, new(big.Int))
	if m.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	return q
}

func wide(v uint64) *big.Int { return new(big.Int).SetUint64(v) }

var million = big.NewInt(resource.Precision)

// average is the accumulator in unbounded numbers; ok is false where one of nodeos'
// numbers would not fit.
type average struct {
	last     uint64
	value    *big.Int
	consumed *big.Int
}

func (a *average) add(units, ordinal, window uint64) (ok bool) {
	scaled := new(big.Int).Mul(wide(units), million)
	part := ceil(scaled, wide(window))
	if !scaled.IsUint64() || !new(big.Int).Add(a.consumed, wide(units)).IsUint64() ||
		!new(big.Int).Add(a.value, part).IsUint64() {
		return false
	}
	if ordinal < a.last {
		return false
	}
	if passed := ordinal - a.last; passed > 0 {
		value := new(big.Int)
		if passed < window {
			value.Mul(a.value, wide(window-passed))
			if !value.IsUint64() {
				return false
			}
			value.Div(value, wide(window))
		}
		a.value, a.last = value, ordinal
		a.consumed = ceil(value, million)
	}
	a.consumed = new(big.Int).Add(a.consumed, wide(units))
	a.value = new(big.Int).Add(a.value, part)
	return true
}

func TestAveragesAreThoseOfUnboundedNumbers(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	refused := 0
	for range 2000 {
		var u state.Usage
		a := average{value: new(big.Int), consumed: new(big.Int)}
		window := max(1, uint32(number(r)))
		for range 30 {
			units, step := number(r), uint32(number(r))
			if r.IntN(4) > 0 {
				units >>= 24
				step %= 2*window | 1
			}
			ordinal := u.LastOrdinal + step
			if r.IntN(50) == 0 {
				ordinal = u.LastOrdinal - 1
			}
			before := u
			err := resource.Add(&u, units, ordinal, window)
			ok := a.add(units, uint64(ordinal), uint64(window))
			if ok != (err == nil) {
				t.Fatalf("%d units at %d in a window of %d on %+v: %v, want success %v",
					units, ordinal, window, before, err, ok)
			}
			if !ok {
				refused++
				if u != before || !exception.Is(err, exception.RateLimitingStateInconsistent, exception.ResourceLimit) {
					t.Fatalf("a failure changed %+v to %+v, or has the wrong kind: %v", before, u, err)
				}
				continue
			}
			if uint64(u.LastOrdinal) != a.last || wide(u.ValueEx).Cmp(a.value) != 0 ||
				wide(u.Consumed).Cmp(a.consumed) != 0 {
				t.Fatalf("%+v became %+v, want %v", before, u, a)
			}
		}
	}
	if refused == 0 {
		t.Error("nothing was refused: the numbers are too small")
	}
}

// report is what get_account reports, in unbounded numbers but for the product
// that nodeos cuts to 128 bits.
func report(
	u state.Usage, c *state.ResourceConfig, virtual uint64, weight int64, total uint64, greylist uint32, now uint32,
) (a resource.AccountLimit, greylisted, ok bool) {
	most := c.CPU.Max * uint64(greylist)
	if greylist < 1000 && most < virtual {
		virtual, greylisted = most, true
	}
	window := wide(uint64(c.AccountCPUWindow))
	limit := new(big.Int).Mul(new(big.Int).Mul(wide(virtual), window), big.NewInt(weight))
	limit.And(limit, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 128), big.NewInt(1)))
	limit.Div(limit, wide(total))
	use := func(value *big.Int) *big.Int { return ceil(new(big.Int).Mul(value, window), million) }
	used := use(wide(u.ValueEx))
	current := used
	if now > u.LastOrdinal {
		later := average{uint64(u.LastOrdinal), wide(u.ValueEx), wide(u.Consumed)}
		if !later.add(0, uint64(now), window.Uint64()) {
			return a, greylisted, false
		}
		current = use(later.value)
	}
	left := new(big.Int).Sub(limit, used)
	if left.Sign() < 0 {
		left = new(big.Int)
	}
	ok = left.IsInt64() && used.IsInt64() && limit.IsInt64() && current.IsInt64()
	return resource.AccountLimit{Used: used.Int64(), Available: left.Int64(), Max: limit.Int64(),
		LastUpdate: types.BlockTimestamp(u.LastOrdinal), CurrentUsed: current.Int64()}, greylisted, ok
}

func TestReportedLimitsAreThoseOfUnboundedNumbers(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	fit, cut := 0, 0
	for range 20000 {
		c := &state.ResourceConfig{CPU: state.ElasticLimit{Max: number(r)}, AccountCPUWindow: max(1, uint32(number(r)))}
		st := &state.ResourceState{VirtualCPU: number(r), TotalCPUWeight: 1 + number(r)>>1}
		u := &state.ResourceUsage{CPU: state.Usage{LastOrdinal: uint32(number(r) >> 32), ValueEx: number(r)}}
		weight, greylist, now := int64(number(r)>>1), uint32(r.UintN(1500)), uint32(number(r))
		want, wantGreylisted, ok := report(u.CPU, c, st.VirtualCPU, weight, st.TotalCPUWeight, greylist, now)
		got, greylisted, err := resource.CPULimit(c, st, u, weight, greylist, types.BlockTimestamp(now))
		if ok != (err == nil) || greylisted != wantGreylisted {
			t.Fatalf("%+v %+v %+v: %v, want success %v; greylisted %v", c, st, u, err, ok, greylisted)
		}
		if !ok {
			cut++
			if !exception.Is(err, exception.RateLimitingStateInconsistent) {
				t.Fatal(err)
			}
			continue
		}
		fit++
		if got != want {
			t.Fatalf("%+v %+v %+v weight %d greylist %d now %d:\n got %+v\nwant %+v",
				c, st, u, weight, greylist, now, got, want)
		}
	}
	if fit < 1000 || cut < 1000 {
		t.Errorf("%d fit, %d did not: the numbers are one-sided", fit, cut)
	}
}

func TestCurrentUseDecaysWithTime(t *testing.T) {
	c := newChain(t)
	c.account(alice, -1, -1, -1)
	none := resource.AccountLimit{Used: -1, Available: -1, Max: -1, CurrentUsed: -1}
	if a, _, err := c.AccountCPULimitAt(alice, 1000, 101); err != nil || a != none {
		t.Errorf("unlimited: %+v, %v", a, err)
	}
	c.limit(alice, -1, 1024, 2048)
	c.must(c.use(alice, 800, 700, 1))
	for _, r := range []struct {
		used int64
		at   func(types.BlockTimestamp) (resource.AccountLimit, bool, error)
	}{
		{800, func(now types.BlockTimestamp) (resource.AccountLimit, bool, error) {
			return c.AccountCPULimitAt(alice, 1000, now)
		}},
		{700, func(now types.BlockTimestamp) (resource.AccountLimit, bool, error) {
			return c.AccountNetLimitAt(alice, 1000, now)
		}},
	} {
		for _, now := range []types.BlockTimestamp{0, 1, 101, 1 + resource.AccountWindow} {
			a, _, err := r.at(now)
			c.must(err)
			want := r.used
			if now == 101 {
				// What is left after 100 slots of the window, as the average keeps it:
				// cut down once, rounded up for the window.
				value := (uint64(r.used)*resource.Precision + resource.AccountWindow - 1) / resource.AccountWindow
				value = value * (resource.AccountWindow - 100) / resource.AccountWindow
				want = int64((value*resource.AccountWindow + resource.Precision - 1) / resource.Precision)
			} else if now > 101 {
				want = 0
			}
			// The average is rounded up, so that the whole window shows one more.
			if now <= 1 {
				want = a.Used
			}
			if a.Used < r.used || a.Used > r.used+1 || a.CurrentUsed != want || a.LastUpdate != 1 ||
				a.Available != a.Max-a.Used {
				t.Errorf("at %d: %+v, want %d used now", now, a, want)
			}
		}
	}
}

func TestTheGreylistCapsTheVirtualLimit(t *testing.T) {
	c := newChain(t)
	c.account(alice, -1, 1, 1)
	st, err := c.S.ResourceState.Edit()
	c.must(err)
	st.VirtualCPU, st.VirtualNet = 10*blockCPU, 10*blockNet
	for _, g := range []struct {
		limit      uint32
		times      int64
		greylisted bool
	}{{1, 1, true}, {9, 9, true}, {10, 10, false}, {1000, 10, false}, {5000, 10, false}} {
		cpu, greylisted, err := c.AccountCPULimit(alice, g.limit)
		c.must(err)
		net, greylistedNet, err := c.AccountNetLimit(alice, g.limit)
		c.must(err)
		if cpu != g.times*blockCPU*resource.AccountWindow || net != g.times*blockNet*resource.AccountWindow ||
			greylisted != g.greylisted || greylistedNet != g.greylisted {
			t.Errorf("limit %d: %d us (%v), %d bytes (%v)", g.limit, cpu, greylisted, net, greylistedNet)
		}
	}
}

func TestBillingAllocatesNothing(t *testing.T) {
	c := newChain(t)
	c.account(alice, -1, 1, 1)
	c.must(c.S.Begin())
	accounts, slot := []types.Name{alice}, uint32(1)
	allocated := testing.AllocsPerRun(100, func() {
		slot++
		if c.UpdateAccountUsage(accounts, slot) != nil || c.AddTransactionUsage(accounts, 1, 1, slot) != nil {
			t.Fatal("not billed")
		}
	})
	if allocated != 0 {
		t.Errorf("%v allocations a transaction", allocated)
	}
}

func BenchmarkAddTransactionUsage(b *testing.B) {
	c := newChain(b)
	c.account(alice, -1, 1, 1)
	c.must(c.S.Begin())
	accounts := []types.Name{alice}
	b.ReportAllocs()
	for i := range b.N {
		if c.UpdateAccountUsage(accounts, uint32(i)) != nil || c.AddTransactionUsage(accounts, 0, 0, uint32(i)) != nil {
			b.Fatal("not billed")
		}
	}
}
