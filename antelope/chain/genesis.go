package chain

import (
	"fmt"
	"slices"

	"tarn/antelope/abi"
	"tarn/antelope/authority"
	"tarn/antelope/consensus"
	"tarn/antelope/resource"
	"tarn/antelope/state"
	"tarn/antelope/types"
	"tarn/antelope/wasm/intrinsic"
)

// Genesis fills an empty state with that of a chain's first block (Leap:
// controller_impl::initialize_blockchain_state, initialize_database).
func (c *Chain) Genesis(g *types.Genesis) error {
	if err := c.mustBeEmpty(); err != nil {
		return err
	}
	if err := g.InitialConfiguration.Validate(); err != nil {
		return err
	}
	head := consensus.Genesis(g)
	if err := c.initialise(g, head); err != nil {
		return fmt.Errorf("make the state of the genesis block: %w", err)
	}
	block := &types.SignedBlock{SignedBlockHeader: head.Header}
	return c.begin(&consensus.BlockState{HeaderState: head, Block: block})
}

func (c *Chain) mustBeEmpty() error {
	empty, err := c.state.Empty()
	if err == nil && !empty {
		err = fmt.Errorf("the chain state is that of block %d, not empty", c.head.BlockNum)
	}
	return err
}

// begin makes a state that was filled outside sessions that of a head.
func (c *Chain) begin(head *consensus.BlockState) error {
	if err := c.state.SetHead(head.HeaderState.Append(nil)); err != nil {
		return err
	}
	if err := c.state.Flush(); err != nil {
		return err
	}
	if err := c.store.SetRevision(uint64(head.BlockNum)); err != nil {
		return err
	}
	if err := c.store.Publish(); err != nil {
		return err
	}
	if err := c.load(); err != nil {
		return err
	}
	c.head = head
	c.fork.Reset(head.HeaderState)
	return nil
}

// Load fills an empty state with what fill writes, a snapshot's rows, and goes on
// from the block whose header state fill returns.
func (c *Chain) Load(fill func(*state.State) (*consensus.HeaderState, error)) error {
	if err := c.mustBeEmpty(); err != nil {
		return err
	}
	head, err := fill(c.state)
	if err != nil {
		return err
	}
	return c.begin(&consensus.BlockState{HeaderState: head})
}

func (c *Chain) initialise(g *types.Genesis, head *consensus.HeaderState) error {
	config, limits := resource.Initial()
	v := state.Singletons{
		Global: state.GlobalProperty{
			Configuration: g.InitialConfiguration, ChainID: g.ChainID(), Wasm: types.DefaultWasmConfig(),
		},
		Protocol:       state.ProtocolState{Intrinsics: slices.Sorted(slices.Values(intrinsic.Genesis())), KeyTypes: 2},
		ResourceConfig: config, ResourceState: limits,
	}
	if err := c.state.Initialise(v); err != nil {
		return err
	}
	if err := c.state.SetBlockSummary(1, head.ID); err != nil {
		return err
	}
	if err := c.authority.Reserve(); err != nil {
		return err
	}
	d := c.tracer()
	if d != nil {
		d.InitResourceLimits(&config, &limits)
	}
	key := types.KeyAuthority(g.InitialKey)
	nobody := types.Authority{Threshold: 1}
	producers := types.Authority{Threshold: 1, Accounts: []types.PermissionLevelWeight{
		{Permission: types.PermissionLevel{Actor: nameEosio, Permission: nameActive}, Weight: 1},
	}}
	at := g.InitialTimestamp
	if err := c.nativeAccount(nameEosio, key, key, true, at); err != nil {
		return err
	}
	if err := c.nativeAccount(nameNull, nobody, nobody, false, at); err != nil {
		return err
	}
	if err := c.nativeAccount(nameProds, nobody, producers, false, at); err != nil {
		return err
	}
	if _, err := c.createPermission(d, nameProds, nameMajor, nameActive, producers, at); err != nil {
		return err
	}
	_, err := c.createPermission(d, nameProds, nameMinor, nameMajor, producers, at)
	return err
}

// nativeAccount makes an account that no transaction created.
func (c *Chain) nativeAccount(n types.Name, owner, active types.Authority, privileged bool, at types.TimePoint) error {
	if _, err := c.state.Accounts.Create(n, state.Account{Name: n, Created: types.NewBlockTimestamp(at)}); err != nil {
		return err
	}
	if n == nameEosio { // its ABI is not charged for
		if err := c.state.SetABI(n, abi.System()); err != nil {
			return err
		}
	}
	d := c.tracer()
	m := state.AccountMetadata{Name: n}
	m.SetPrivileged(privileged)
	if _, err := c.state.Metadata.Create(n, m); err != nil {
		return err
	}
	if _, err := c.createPermission(d, n, nameOwner, 0, owner, at); err != nil {
		return err
	}
	if _, err := c.createPermission(d, n, nameActive, nameOwner, active, at); err != nil {
		return err
	}
	if err := c.initialiseAccount(d, n); err != nil {
		return err
	}
	if d != nil {
		d.RAMEvent(n.String(), "account", "add", "newaccount")
	}
	ram := int64(billableAccount) + authority.BillableSize(&owner) + authority.BillableSize(&active)
	if err := c.chargeRAM(d, n, ram); err != nil {
		return err
	}
	return c.resources.VerifyRAM(n)
}

func permissionKey(l types.PermissionLevel) state.PermissionKey {
	return state.PermissionKey{Owner: l.Actor, Name: l.Permission}
}
