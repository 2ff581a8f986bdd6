package execute

import (
	"tarn/antelope/abi"
	"tarn/antelope/authority"
	"tarn/antelope/consensus"
	"tarn/antelope/resource"
	"tarn/antelope/state"
	"tarn/antelope/types"
	"tarn/antelope/wasm/intrinsic"
)

// Genesis fills an empty state with that of a chain's first block (Leap:
// controller_impl::initialize_database).
func (e *Executor) Genesis(g *types.Genesis, head *consensus.HeaderState) error {
	return e.genesis(g, head, intrinsic.GenesisOf(g.ChainID(), e.opt.GenesisIntrinsics))
}

func (b *books) genesis(g *types.Genesis, head *consensus.HeaderState, intrinsics []string) error {
	config, limits := resource.Initial()
	v := state.Singletons{
		Global: state.GlobalProperty{
			Configuration: g.InitialConfiguration, ChainID: g.ChainID(), Wasm: types.DefaultWasmConfig(),
		},
		Protocol:       state.ProtocolState{Intrinsics: intrinsics, KeyTypes: 2},
		ResourceConfig: config, ResourceState: limits,
	}
	if err := b.state.Initialise(v); err != nil {
		return err
	}
	if err := b.state.SetBlockSummary(1, head.ID); err != nil {
		return err
	}
	if err := b.authority.Reserve(); err != nil {
		return err
	}
	d := b.tracer
	if d != nil {
		d.InitResourceLimits(&config, &limits)
	}
	key := types.KeyAuthority(g.InitialKey)
	nobody := types.Authority{Threshold: 1}
	producers := types.Authority{Threshold: 1, Accounts: []types.PermissionLevelWeight{
		{Permission: types.PermissionLevel{Actor: nameEosio, Permission: nameActive}, Weight: 1},
	}}
	at := g.InitialTimestamp
	if err := b.nativeAccount(nameEosio, key, key, true, at); err != nil {
		return err
	}
	if err := b.nativeAccount(nameNull, nobody, nobody, false, at); err != nil {
		return err
	}
	if err := b.nativeAccount(nameProds, nobody, producers, false, at); err != nil {
		return err
	}
	if _, err := b.createPermission(d, nameProds, nameMajor, nameActive, producers, at); err != nil {
		return err
	}
	_, err := b.createPermission(d, nameProds, nameMinor, nameMajor, producers, at)
	return err
}

// nativeAccount makes an account that no transaction created.
func (b *books) nativeAccount(n types.Name, owner, active types.Authority, privileged bool, at types.TimePoint) error {
	if _, err := b.state.Accounts.Create(n, state.Account{Name: n, Created: types.NewBlockTimestamp(at)}); err != nil {
		return err
	}
	if n == nameEosio { // its ABI is not charged for
		if err := b.state.SetABI(n, abi.System()); err != nil {
			return err
		}
	}
	d := b.tracer
	m := state.AccountMetadata{Name: n}
	m.SetPrivileged(privileged)
	if _, err := b.state.Metadata.Create(n, m); err != nil {
		return err
	}
	if _, err := b.createPermission(d, n, nameOwner, 0, owner, at); err != nil {
		return err
	}
	if _, err := b.createPermission(d, n, nameActive, nameOwner, active, at); err != nil {
		return err
	}
	if err := b.initialiseAccount(d, n); err != nil {
		return err
	}
	if d != nil {
		d.RAMEvent(n.String(), "account", "add", "newaccount")
	}
	ram := int64(billableAccount) + authority.BillableSize(&owner) + authority.BillableSize(&active)
	if err := b.chargeRAM(d, n, ram); err != nil {
		return err
	}
	return b.resources.VerifyRAM(n)
}

func permissionKey(l types.PermissionLevel) state.PermissionKey {
	return state.PermissionKey{Owner: l.Actor, Name: l.Permission}
}
