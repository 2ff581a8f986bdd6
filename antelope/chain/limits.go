package chain

import (
	"tarn/antelope/deepmind"
	"tarn/antelope/resource"
	"tarn/antelope/state"
	"tarn/antelope/types"
)

// finishLimits counts what the block used, and sets what the next one may use.
func (c *Chain) finishLimits() error {
	if err := c.resources.ProcessPendingLimits(); err != nil {
		return err
	}
	if err := c.tellResourceState(); err != nil {
		return err
	}
	g, err := c.state.Global()
	if err != nil {
		return err
	}
	cfg := &g.Configuration
	cpu := resource.ElasticLimitOf(uint64(cfg.MaxBlockCPUUsage), cfg.TargetBlockCPUUsagePct)
	net := resource.ElasticLimitOf(cfg.MaxBlockNetUsage, cfg.TargetBlockNetUsagePct)
	if err := c.setBlockParameters(cpu, net); err != nil {
		return err
	}
	if err := c.resources.ProcessBlockUsage(c.pending.header.BlockNum); err != nil {
		return err
	}
	return c.tellResourceState()
}

// tellResourceState tells what the block has used, and may use.
func (c *Chain) tellResourceState() error {
	d := c.tracer()
	if d == nil {
		return nil
	}
	s, err := c.state.ResourceState()
	if err == nil {
		d.UpdateResourceState(s)
	}
	return err
}

// setBlockParameters sets the limits of blocks, and tells if they are others.
func (c *Chain) setBlockParameters(cpu, net state.ElasticLimit) error {
	d := c.tracer()
	if d == nil {
		return c.resources.SetBlockParameters(cpu, net)
	}
	now, err := c.state.ResourceConfig()
	if err != nil {
		return err
	}
	was := *now
	if err := c.resources.SetBlockParameters(cpu, net); err != nil {
		return err
	}
	if now, err = c.state.ResourceConfig(); err == nil && *now != was {
		d.UpdateResourceConfig(now)
	}
	return err
}

// initialiseAccount makes the resource rows of a new account.
func (c *Chain) initialiseAccount(d deepmind.Tracer, n types.Name) error {
	if err := c.resources.InitialiseAccount(n); err != nil || d == nil {
		return err
	}
	l, err := c.state.Limits.Get(n)
	if err != nil {
		return err
	}
	u, err := c.state.Usages.Get(n)
	if err == nil {
		d.NewAccountLimits(l, u)
	}
	return err
}

// chargeRAM changes what an account uses.
func (c *Chain) chargeRAM(d deepmind.Tracer, n types.Name, delta int64) error {
	if err := c.resources.AddPendingRAM(n, delta); err != nil || d == nil || delta == 0 {
		return err
	}
	used, err := c.resources.RAMUsage(n)
	if err == nil {
		d.RAMUsage(n, uint64(used), delta)
	}
	return err
}

// billUsage bills a transaction to accounts.
func (c *Chain) billUsage(d deepmind.Tracer, accounts []types.Name, cpuUS, netBytes uint64) error {
	if d != nil {
		c.resources.Billed = d.UpdateAccountUsage
		defer func() { c.resources.Billed = nil }()
	}
	return c.resources.AddTransactionUsage(accounts, cpuUS, netBytes, uint32(c.pending.header.Timestamp))
}
