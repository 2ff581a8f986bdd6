package resource

import (
	"math"

	"tarn/antelope/exception"
	"tarn/antelope/state"
	"tarn/antelope/types"
)

// AccountLimit is account_resource_limit: what an account uses of a resource and
// may use, over its window. All but the time are -1 if it is not limited.
type AccountLimit struct {
	Used        int64 // in the window, when it was updated last
	Available   int64
	Max         int64
	LastUpdate  types.BlockTimestamp
	CurrentUsed int64 // in the window, at the slot that was asked for
}

// CPULimit returns what an account may use of CPU, in us, from its rows. greylist
// is the largest multiple of the block's limit that counts for it; at
// MaxElasticMultiplier and above that is no restriction. now is the slot for
// CurrentUsed, 0 for the last update. It tells too whether the greylist made a
// difference (Leap: get_account_cpu_limit_ex).
func CPULimit(
	c *state.ResourceConfig, st *state.ResourceState, u *state.ResourceUsage, weight int64, greylist uint32,
	now types.BlockTimestamp,
) (AccountLimit, bool, error) {
	return accountLimit(&u.CPU, c.AccountCPUWindow, c.CPU.Max, st.VirtualCPU, weight, st.TotalCPUWeight, greylist, now)
}

// NetLimit is the same of network, in bytes.
func NetLimit(
	c *state.ResourceConfig, st *state.ResourceState, u *state.ResourceUsage, weight int64, greylist uint32,
	now types.BlockTimestamp,
) (AccountLimit, bool, error) {
	return accountLimit(&u.Net, c.AccountNetWindow, c.Net.Max, st.VirtualNet, weight, st.TotalNetWeight, greylist, now)
}

func accountLimit(
	u *state.Usage, window uint32, blockMax, virtual uint64, weight int64, total uint64, greylist uint32,
	now types.BlockTimestamp,
) (AccountLimit, bool, error) {
	a := AccountLimit{-1, -1, -1, types.BlockTimestamp(u.LastOrdinal), -1}
	if weight < 0 || total == 0 {
		return a, false, nil
	}
	greylisted := false
	if greylist < MaxElasticMultiplier {
		if v := blockMax * uint64(greylist); v < virtual {
			virtual, greylisted = v, true
		}
	}
	most := windowLimit(virtual, window, weight, total)
	used := windowUseCeil(u.ValueEx, window)
	left := types.Uint128{}
	if most.Compare(used) > 0 {
		left = most.Sub(used)
	}
	var err error
	narrow := func(to *int64, v types.Uint128) {
		if err == nil {
			*to, err = toInt64(v)
		}
	}
	narrow(&a.Available, left)
	narrow(&a.Used, used)
	narrow(&a.Max, most)
	a.CurrentUsed = a.Used
	if err == nil && uint32(now) > u.LastOrdinal {
		later := *u
		if err = Add(&later, 0, uint32(now), window); err == nil {
			narrow(&a.CurrentUsed, windowUseCeil(later.ValueEx, window))
		}
	}
	return a, greylisted, err
}

// windowUseCeil returns what an average means for a whole window, rounded up.
func windowUseCeil(valueEx uint64, window uint32) types.Uint128 {
	q, r := types.Mul64(valueEx, uint64(window)).Div64(Precision)
	if r > 0 {
		q = q.Add(types.U128(1))
	}
	return q
}

func toInt64(v types.Uint128) (int64, error) {
	if v.Hi != 0 || v.Lo > math.MaxInt64 {
		return 0, exception.New(exception.RateLimitingStateInconsistent,
			"Casting a higher bit integer value ${v} to a lower bit integer value"+
				" which cannot contain the value, valid range is [${min}, ${max}]",
			"v", v, "min", 0, "max", int64(math.MaxInt64))
	}
	return int64(v.Lo), nil
}

// AccountCPULimit returns how much CPU an account has left, in us, -1 if it is not
// limited, and whether the greylist made it less.
func (m *Manager) AccountCPULimit(n types.Name, greylist uint32) (int64, bool, error) {
	a, greylisted, err := m.AccountCPULimitAt(n, greylist, 0)
	return a.Available, greylisted, err
}

// AccountNetLimit returns how much network an account has left, in bytes.
func (m *Manager) AccountNetLimit(n types.Name, greylist uint32) (int64, bool, error) {
	a, greylisted, err := m.AccountNetLimitAt(n, greylist, 0)
	return a.Available, greylisted, err
}

// AccountCPULimitAt is [CPULimit] of an account.
func (m *Manager) AccountCPULimitAt(
	n types.Name, greylist uint32, now types.BlockTimestamp,
) (AccountLimit, bool, error) {
	c, st, u, l, err := m.account(n)
	if err != nil {
		return AccountLimit{}, false, err
	}
	return CPULimit(c, st, u, l.CPUWeight, greylist, now)
}

// AccountNetLimitAt is [NetLimit] of an account.
func (m *Manager) AccountNetLimitAt(
	n types.Name, greylist uint32, now types.BlockTimestamp,
) (AccountLimit, bool, error) {
	c, st, u, l, err := m.account(n)
	if err != nil {
		return AccountLimit{}, false, err
	}
	return NetLimit(c, st, u, l.NetWeight, greylist, now)
}

func (m *Manager) account(
	n types.Name,
) (c *state.ResourceConfig, st *state.ResourceState, u *state.ResourceUsage, l *state.ResourceLimits, err error) {
	if c, st, err = m.rows(); err != nil {
		return
	}
	if u, err = m.usage(n); err != nil {
		return
	}
	l, err = m.limits(n)
	return
}
