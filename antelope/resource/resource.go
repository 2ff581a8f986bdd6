// Package resource counts what accounts and blocks use of CPU, network and RAM,
// and what they may use: averages over windows, limits by weight, the elastic
// limits of blocks (Leap: resource_limits.cpp). All of it is state; the package
// keeps none of its own.
//
// It never measures time or sizes, never decides who is billed for what, and never
// undoes: where a method fails, the session around it must be undone.
package resource

import (
	"tarn/antelope/exception"
	"tarn/antelope/state"
	"tarn/antelope/types"
)

// The constants of resource accounting (Leap: config.hpp).
const (
	Precision            = 1_000_000   // of state.Usage.ValueEx
	AccountWindow        = 172_800     // slots: 24 hours
	BlockWindow          = 120         // blocks: 60 seconds
	MaxElasticMultiplier = 1000        // of virtual block limits, and the greylist limit that is none
	percent              = 10_000      // 100 %, in the configuration's units
	defaultMaxBlockCPU   = 200_000     // us
	defaultMaxBlockNet   = 1024 * 1024 // bytes
	defaultTargetPercent = 1000        // in the configuration's units
)

// Manager changes the resource tables of a State. Like the State it is for one
// goroutine at a time.
type Manager struct {
	S *state.State
	// Billed is told of each account's usage once a transaction was added to it, be
	// it too much or not. It must not keep the row. Nil for nobody.
	Billed func(*state.ResourceUsage)
}

// New returns a Manager of s.
func New(s *state.State) *Manager { return &Manager{S: s} }

// Percent returns a share of v in the configuration's units of 0.01 % (Leap:
// EOS_PERCENT).
func Percent(v uint64, share uint32) uint64 { return v * uint64(share) / percent }

// ElasticLimitOf returns the parameters of a resource of blocks from what the
// chain's configuration has: the maximum of a block, and the target as a share of
// it (Leap: controller.cpp, finalize_block).
func ElasticLimitOf(most uint64, targetPct uint32) state.ElasticLimit {
	return state.ElasticLimit{
		Target:        Percent(most, targetPct),
		Max:           most,
		Periods:       BlockWindow,
		MaxMultiplier: MaxElasticMultiplier,
		Contract:      state.Ratio{Numerator: 99, Denominator: 100},
		Expand:        state.Ratio{Numerator: 1000, Denominator: 999},
	}
}

// Initial returns the rows of a chain that begins: nodeos' defaults, whatever the
// genesis says, and a chain that counts as congested.
func Initial() (state.ResourceConfig, state.ResourceState) {
	c := state.ResourceConfig{
		CPU:              ElasticLimitOf(defaultMaxBlockCPU, defaultTargetPercent),
		Net:              ElasticLimitOf(defaultMaxBlockNet, defaultTargetPercent),
		AccountCPUWindow: AccountWindow,
		AccountNetWindow: AccountWindow,
	}
	return c, state.ResourceState{VirtualCPU: c.CPU.Max, VirtualNet: c.Net.Max}
}

// InitialiseAccount makes the rows of a new account, which has no limits.
func (m *Manager) InitialiseAccount(n types.Name) error {
	_, err := m.S.Limits.Create(n, state.ResourceLimits{Owner: n, NetWeight: -1, CPUWeight: -1, RAMBytes: -1})
	if err != nil {
		return err
	}
	_, err = m.S.Usages.Create(n, state.ResourceUsage{Owner: n})
	return err
}

// SetBlockParameters sets the parameters of block limits, if they are others than
// before.
func (m *Manager) SetBlockParameters(cpu, net state.ElasticLimit) error {
	if err := validate(&cpu); err != nil {
		return err
	}
	if err := validate(&net); err != nil {
		return err
	}
	c, err := m.S.ResourceConfig.Get()
	if err != nil || c.CPU == cpu && c.Net == net {
		return err
	}
	if c, err = m.S.ResourceConfig.Edit(); err != nil {
		return err
	}
	c.CPU, c.Net = cpu, net
	return nil
}

func validate(e *state.ElasticLimit) error {
	switch {
	case e.Periods == 0:
		return exception.New(exception.ResourceLimit, "elastic limit parameter 'periods' cannot be zero")
	case e.Contract.Denominator == 0:
		return exception.New(exception.ResourceLimit,
			"elastic limit parameter 'contract_rate' is not a well-defined ratio")
	case e.Expand.Denominator == 0:
		return exception.New(exception.ResourceLimit,
			"elastic limit parameter 'expand_rate' is not a well-defined ratio")
	}
	return nil
}

// missing is what nodeos reports where an account has no rows (chainbase: get).
func missing(n types.Name) error {
	return exception.Standard(exception.OutOfRange, "unknown key (eosio::chain::name): %s", n)
}

func missingLimits(n types.Name) error {
	return exception.Standard(exception.OutOfRange, "unknown key (boost::tuples::tuple<bool, eosio::chain::name, "+
		"boost::tuples::null_type, boost::tuples::null_type, boost::tuples::null_type, boost::tuples::null_type, "+
		"boost::tuples::null_type, boost::tuples::null_type, boost::tuples::null_type, boost::tuples::null_type>): (0 %s)", n)
}

func (m *Manager) usage(n types.Name) (*state.ResourceUsage, error) {
	u, err := m.S.Usages.Get(n)
	if err == nil && u == nil {
		err = missing(n)
	}
	return u, err
}

func (m *Manager) editUsage(n types.Name) (*state.ResourceUsage, error) {
	if _, err := m.usage(n); err != nil {
		return nil, err
	}
	return m.S.Usages.Edit(n)
}

// limits returns the row that holds for an account: the pending one if there is
// one.
func (m *Manager) limits(n types.Name) (*state.ResourceLimits, error) {
	l, err := m.S.PendingLimits.Get(n)
	if err != nil || l != nil {
		return l, err
	}
	l, err = m.S.Limits.Get(n)
	if err == nil && l == nil {
		err = missingLimits(n)
	}
	return l, err
}

// Limits returns an account's limits: RAM in bytes, weights of network and CPU.
// Below zero is none.
func (m *Manager) Limits(n types.Name) (ram, net, cpu int64, err error) {
	l, err := m.limits(n)
	if err != nil {
		return 0, 0, 0, err
	}
	return l.RAMBytes, l.NetWeight, l.CPUWeight, nil
}

// IsUnlimitedCPU tells whether an account's CPU is not limited, pending changes
// aside. An account that does not exist is limited.
func (m *Manager) IsUnlimitedCPU(n types.Name) (bool, error) {
	l, err := m.S.Limits.Get(n)
	return l != nil && l.CPUWeight == -1, err
}

// SetLimits changes an account's limits from the end of the block on, and tells
// whether RAM is less than it was.
func (m *Manager) SetLimits(n types.Name, ram, net, cpu int64) (decreased bool, err error) {
	l, err := m.S.PendingLimits.Get(n)
	if err != nil {
		return false, err
	}
	if l == nil {
		now, err := m.S.Limits.Get(n)
		if err == nil && now == nil {
			err = missingLimits(n)
		}
		if err != nil {
			return false, err
		}
		l, err = m.S.PendingLimits.Create(n, state.ResourceLimits{
			Owner: n, NetWeight: now.NetWeight, CPUWeight: now.CPUWeight, RAMBytes: now.RAMBytes,
		})
		if err != nil {
			return false, err
		}
	} else if l, err = m.S.PendingLimits.Edit(n); err != nil {
		return false, err
	}
	decreased = ram >= 0 && (l.RAMBytes < 0 || ram < l.RAMBytes)
	l.RAMBytes, l.NetWeight, l.CPUWeight = ram, net, cpu
	return decreased, nil
}

// RAMUsage returns the bytes that an account uses.
func (m *Manager) RAMUsage(n types.Name) (int64, error) {
	u, err := m.usage(n)
	if err != nil {
		return 0, err
	}
	return int64(u.RAM), nil
}

// AddPendingRAM adds to an account's RAM usage; [Manager.VerifyRAM] tells later
// whether it is allowed.
func (m *Manager) AddPendingRAM(n types.Name, delta int64) error {
	if delta == 0 {
		return nil
	}
	u, err := m.usage(n)
	if err != nil {
		return err
	}
	sum := u.RAM + uint64(delta)
	if delta > 0 && sum < u.RAM {
		return exception.New(exception.Transaction, "Ram usage delta would overflow UINT64_MAX")
	}
	if delta < 0 && sum > u.RAM {
		return exception.New(exception.Transaction, "Ram usage delta would underflow UINT64_MAX")
	}
	if u, err = m.S.Usages.Edit(n); err != nil {
		return err
	}
	u.RAM = sum
	return nil
}

// VerifyRAM fails if an account uses more RAM than it may.
func (m *Manager) VerifyRAM(n types.Name) error {
	l, err := m.limits(n)
	if err != nil {
		return err
	}
	u, err := m.usage(n)
	if err != nil {
		return err
	}
	if l.RAMBytes >= 0 && u.RAM > uint64(l.RAMBytes) {
		return exception.New(exception.RAMUsageExceeded,
			"account ${account} has insufficient ram; needs ${needs} bytes has ${available} bytes",
			"account", n, "needs", u.RAM, "available", l.RAMBytes)
	}
	return nil
}

// BlockCPULimit returns what is left of the block's CPU, in us.
func (m *Manager) BlockCPULimit() (uint64, error) {
	c, st, err := m.rows()
	if err != nil {
		return 0, err
	}
	return c.CPU.Max - st.PendingCPU, nil
}

// BlockNetLimit returns what is left of the block's network, in bytes.
func (m *Manager) BlockNetLimit() (uint64, error) {
	c, st, err := m.rows()
	if err != nil {
		return 0, err
	}
	return c.Net.Max - st.PendingNet, nil
}

func (m *Manager) rows() (*state.ResourceConfig, *state.ResourceState, error) {
	c, err := m.S.ResourceConfig.Get()
	if err != nil {
		return nil, nil, err
	}
	st, err := m.S.ResourceState.Get()
	return c, st, err
}
