package resource

import (
	"math"
	"math/bits"

	"tarn/antelope/exception"
	"tarn/antelope/state"
	"tarn/antelope/types"
)

// maxUnits is the largest usage that can be counted at once.
const maxUnits = math.MaxUint64 / Precision

func inconsistent(message string) error {
	return exception.New(exception.RateLimitingStateInconsistent, message)
}

const tooPrecise = "Usage exceeds maximum value representable after extending for precision"

// divCeil is n/d rounded up.
func divCeil(n, d uint64) uint64 {
	q := n / d
	if n%d > 0 {
		q++
	}
	return q
}

// averageOf returns the average usage of a period, rounded up.
func averageOf(u state.Usage) uint64 { return divCeil(u.ValueEx, Precision) }

// Add adds units to an average over a window of so many periods, in the period
// ordinal, which never goes back (Leap: exponential_moving_average_accumulator).
// On an error u is as it was.
func Add(u *state.Usage, units uint64, ordinal, window uint32) error {
	if window == 0 {
		return exception.New(exception.ResourceLimit, "elastic limit parameter 'periods' cannot be zero")
	}
	if units > maxUnits {
		return inconsistent(tooPrecise)
	}
	if math.MaxUint64-u.Consumed < units {
		return inconsistent("Overflow in tracked usage when adding usage!")
	}
	contribution := divCeil(units*Precision, uint64(window))
	if math.MaxUint64-u.ValueEx < contribution {
		return inconsistent("Overflow in accumulated value when adding usage!")
	}
	if u.LastOrdinal != ordinal {
		if err := decay(u, ordinal, window); err != nil {
			return err
		}
	}
	u.Consumed += units
	u.ValueEx += contribution
	return nil
}

// decay lets an average sink until ordinal.
func decay(u *state.Usage, ordinal, window uint32) error {
	if ordinal < u.LastOrdinal {
		return exception.New(exception.ResourceLimit, "new ordinal cannot be less than the previous ordinal")
	}
	value := uint64(0)
	if passed := ordinal - u.LastOrdinal; passed < window {
		var err error
		if value, err = scale(u.ValueEx,
			state.Ratio{Numerator: uint64(window - passed), Denominator: uint64(window)}); err != nil {
			return err
		}
	}
	u.ValueEx, u.LastOrdinal = value, ordinal
	u.Consumed = averageOf(*u)
	return nil
}

// scale multiplies by a ratio; the product must fit before it is divided.
func scale(v uint64, r state.Ratio) (uint64, error) {
	hi, lo := bits.Mul64(v, r.Numerator)
	if hi != 0 || r.Numerator != 0 && math.MaxUint64/r.Numerator < v {
		return 0, inconsistent(tooPrecise)
	}
	return lo / r.Denominator, nil
}

// UpdateAccountUsage lets the averages of accounts sink until slot, before a
// transaction that will be billed to them runs.
func (m *Manager) UpdateAccountUsage(accounts []types.Name, slot uint32) error {
	c, err := m.S.ResourceConfig.Get()
	if err != nil {
		return err
	}
	for _, n := range accounts {
		if err := m.addUsage(n, c, 0, 0, slot); err != nil {
			return err
		}
	}
	return nil
}

func (m *Manager) addUsage(n types.Name, c *state.ResourceConfig, cpuUS, netBytes uint64, slot uint32) error {
	u, err := m.editUsage(n)
	if err != nil {
		return err
	}
	if err := Add(&u.Net, netBytes, slot, c.AccountNetWindow); err != nil {
		return err
	}
	return Add(&u.CPU, cpuUS, slot, c.AccountCPUWindow)
}

// AddTransactionUsage bills a transaction to accounts, which are in ascending
// order, and to the block. It fails if it is more than one of them may use.
func (m *Manager) AddTransactionUsage(accounts []types.Name, cpuUS, netBytes uint64, slot uint32) error {
	c, st, err := m.rows()
	if err != nil {
		return err
	}
	for _, n := range accounts {
		if err := m.bill(n, c, st, cpuUS, netBytes, slot); err != nil {
			return err
		}
	}
	if st, err = m.S.ResourceState.Edit(); err != nil {
		return err
	}
	st.PendingCPU += cpuUS
	st.PendingNet += netBytes
	if st.PendingCPU > c.CPU.Max {
		return exception.New(exception.BlockResourceExhausted, "Block has insufficient cpu resources")
	}
	if st.PendingNet > c.Net.Max {
		return exception.New(exception.BlockResourceExhausted, "Block has insufficient net resources")
	}
	return nil
}

// bill adds a transaction to one account and compares with its limits.
func (m *Manager) bill(
	n types.Name, c *state.ResourceConfig, st *state.ResourceState, cpuUS, netBytes uint64, slot uint32,
) error {
	u, err := m.usage(n)
	if err != nil {
		return err
	}
	l, err := m.limits(n)
	if err != nil {
		return err
	}
	if err := m.addUsage(n, c, cpuUS, netBytes, slot); err != nil {
		return err
	}
	if m.Billed != nil {
		m.Billed(u)
	}
	if l.CPUWeight >= 0 && st.TotalCPUWeight > 0 {
		used := windowUse(u.CPU.ValueEx, c.AccountCPUWindow)
		most := windowLimit(st.VirtualCPU, c.AccountCPUWindow, l.CPUWeight, st.TotalCPUWeight)
		if used.Compare(most) > 0 {
			return exception.New(exception.TxCPUUsageExceeded,
				"authorizing account '${n}' has insufficient objective cpu resources for this transaction, used in "+
					"window ${cpu_used_in_window}us, allowed in window ${max_user_use_in_window}us",
				"n", n, "cpu_used_in_window", used, "max_user_use_in_window", most)
		}
	}
	if l.NetWeight >= 0 && st.TotalNetWeight > 0 {
		used := windowUse(u.Net.ValueEx, c.AccountNetWindow)
		most := windowLimit(st.VirtualNet, c.AccountNetWindow, l.NetWeight, st.TotalNetWeight)
		if used.Compare(most) > 0 {
			return exception.New(exception.TxNetUsageExceeded,
				"authorizing account '${n}' has insufficient net resources for this transaction, used in window "+
					"${net_used_in_window}, allowed in window ${max_user_use_in_window}",
				"n", n, "net_used_in_window", used, "max_user_use_in_window", most)
		}
	}
	return nil
}

// windowUse returns what an average means for a whole window, rounded down.
func windowUse(valueEx uint64, window uint32) types.Uint128 {
	q, _ := types.Mul64(valueEx, uint64(window)).Div64(Precision)
	return q
}

// windowLimit returns an account's part of a window: by weight, of the virtual
// limit. Like nodeos it drops what is above 128 bits before it divides.
func windowLimit(virtual uint64, window uint32, weight int64, total uint64) types.Uint128 {
	q, _ := types.Mul64(virtual, uint64(window)).Mul(types.U128(uint64(weight))).Div64(total)
	return q
}

// ProcessPendingLimits makes the limits that were set in the block those that
// hold, in the order of accounts.
func (m *Manager) ProcessPendingLimits() error {
	st, err := m.S.ResourceState.Edit()
	if err != nil {
		return err
	}
	var owners []types.Name
	err = m.S.PendingLimits.Scan(0, math.MaxUint64, func(l *state.ResourceLimits) (bool, error) {
		owners = append(owners, l.Owner)
		return true, nil
	})
	if err != nil {
		return err
	}
	for _, n := range owners {
		if err := m.processPending(st, n); err != nil {
			return err
		}
	}
	return nil
}

func (m *Manager) processPending(st *state.ResourceState, n types.Name) error {
	pending, err := m.S.PendingLimits.Get(n)
	if err != nil {
		return err
	}
	l, err := m.S.Limits.Get(n)
	if err == nil && l == nil {
		err = missingLimits(n)
	}
	if err != nil {
		return err
	}
	if l, err = m.S.Limits.Edit(n); err != nil {
		return err
	}
	if err := replace(&st.TotalRAM, &l.RAMBytes, pending.RAMBytes, "ram_bytes"); err != nil {
		return err
	}
	if err := replace(&st.TotalCPUWeight, &l.CPUWeight, pending.CPUWeight, "cpu_weight"); err != nil {
		return err
	}
	if err := replace(&st.TotalNetWeight, &l.NetWeight, pending.NetWeight, "net_weight"); err != nil {
		return err
	}
	return m.S.PendingLimits.Remove(n)
}

// replace sets a limit, and counts in total what limits there are.
func replace(total *uint64, value *int64, pending int64, which string) error {
	if *value > 0 {
		if *total < uint64(*value) {
			return inconsistent("underflow when reverting old value to " + which)
		}
		*total -= uint64(*value)
	}
	if pending > 0 {
		if math.MaxUint64-*total < uint64(pending) {
			return inconsistent("overflow when applying new value to " + which)
		}
		*total += uint64(pending)
	}
	*value = pending
	return nil
}

// ProcessBlockUsage ends a block: what it used goes into the averages, and the
// virtual limits grow or shrink.
func (m *Manager) ProcessBlockUsage(blockNum uint32) error {
	c, err := m.S.ResourceConfig.Get()
	if err != nil {
		return err
	}
	st, err := m.S.ResourceState.Edit()
	if err != nil {
		return err
	}
	if err := processBlock(&st.AverageBlockCPU, &st.PendingCPU, &st.VirtualCPU, blockNum, &c.CPU); err != nil {
		return err
	}
	return processBlock(&st.AverageBlockNet, &st.PendingNet, &st.VirtualNet, blockNum, &c.Net)
}

func processBlock(average *state.Usage, pending, virtual *uint64, blockNum uint32, e *state.ElasticLimit) error {
	if err := Add(average, *pending, blockNum, e.Periods); err != nil {
		return err
	}
	rate := e.Expand
	if averageOf(*average) > e.Target {
		rate = e.Contract
	}
	v, err := scale(*virtual, rate)
	if err != nil {
		return err
	}
	*virtual = min(max(v, e.Max), e.Max*uint64(e.MaxMultiplier))
	*pending = 0
	return nil
}
