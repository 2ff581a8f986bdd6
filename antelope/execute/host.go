package execute

import (
	"tarn/antelope/authority"
	"tarn/antelope/exception"
	"tarn/antelope/feature"
	"tarn/antelope/types"
	"tarn/antelope/wasm/intrinsic"
)

// What host functions ask about accounts, permissions, privileges and the
// surroundings of an action.

// IsAccount implements intrinsic.Authorizer. An account and its metadata are made
// together and stay for ever: the metadata is asked because a notification of the
// account, which mostly follows, needs it anyway.
func (a *action) IsAccount(n types.Name) (bool, error) {
	m, err := a.e.state.Metadata.Get(n)
	return m != nil, err
}

// CodeOf implements intrinsic.Authorizer.
func (a *action) CodeOf(n types.Name) (intrinsic.Code, error) {
	m, err := a.e.state.Metadata.Get(n)
	if err != nil || m == nil {
		return intrinsic.Code{}, err
	}
	if m.CodeHash.IsZero() {
		return intrinsic.Code{Sequence: m.CodeSequence}, nil
	}
	return intrinsic.Code{Sequence: m.CodeSequence, Hash: m.CodeHash, VMType: m.VMType, VMVersion: m.VMVersion}, nil
}

// CheckTransactionAuthorization implements intrinsic.Permissions.
func (a *action) CheckTransactionAuthorization(actions []types.Action, keys []types.PublicKey, levels []types.PermissionLevel, delay int64) error {
	return a.e.authority.CheckAuthorization(actions, &authority.Check{Keys: keys, Provided: levels, Delay: delay, Checktime: a.trx.checktime})
}

// CheckPermissionAuthorization implements intrinsic.Permissions.
func (a *action) CheckPermissionAuthorization(account, permission types.Name, keys []types.PublicKey, levels []types.PermissionLevel, delay int64) error {
	return a.e.authority.CheckPermission(types.PermissionLevel{Actor: account, Permission: permission},
		&authority.Check{Keys: keys, Provided: levels, Delay: delay, Checktime: a.trx.checktime})
}

// PermissionLastUsed implements intrinsic.Permissions.
func (a *action) PermissionLastUsed(account, permission types.Name) (types.TimePoint, error) {
	return a.e.authority.LastUsed(types.PermissionLevel{Actor: account, Permission: permission})
}

// AccountCreation implements intrinsic.Permissions.
func (a *action) AccountCreation(n types.Name) (types.TimePoint, bool, error) {
	account, err := a.e.state.Accounts.Get(n)
	if err != nil || account == nil {
		return 0, false, err
	}
	return account.Created.TimePoint(), true, nil
}

// PreactivateFeature implements intrinsic.Privileges (Leap: controller::
// preactivate_feature).
func (a *action) PreactivateFeature(digest types.Checksum256) error {
	e, set := a.e, a.e.features.Set()
	bad := exception.ProtocolFeatureBadBlock
	if e.speculative() {
		bad = exception.SubjectiveBlockProduction
	}
	if err := set.CheckRecognised(digest, e.block.time(), bad); err != nil {
		return err
	}
	if e.block.featureActivated(digest) {
		return exception.New(exception.ProtocolFeature, "protocol feature with digest '%s' is already activated", digest)
	}
	p, err := e.state.Protocol()
	if err != nil {
		return err
	}
	preactivated := func(d types.Checksum256) bool {
		for i := range p.Preactivated {
			if p.Preactivated[i] == d {
				return true
			}
		}
		return false
	}
	if preactivated(digest) {
		return exception.New(exception.ProtocolFeature, "protocol feature with digest '%s' is already pre-activated", digest)
	}
	if !set.DependenciesMet(digest, func(d types.Checksum256) bool { return e.block.featureActivated(d) || preactivated(d) }) {
		return exception.New(exception.ProtocolFeature, "not all dependencies of protocol feature with digest '%s' have been activated or pre-activated", digest)
	}
	if d := a.deepMind(); d != nil {
		if f := set.Find(digest); f != nil {
			d.PreactivateFeature(f)
		}
	}
	if p, err = e.state.EditProtocol(); err != nil {
		return err
	}
	p.Preactivated = append(p.Preactivated[:len(p.Preactivated):len(p.Preactivated)], digest)
	return nil
}

// SetResourceLimits implements intrinsic.Privileges.
func (a *action) SetResourceLimits(account types.Name, ram, net, cpu int64) error {
	decreased, err := a.e.resources.SetLimits(account, ram, net, cpu)
	if err != nil {
		return err
	}
	if d := a.deepMind(); d != nil {
		l, err := a.e.state.PendingLimits.Get(account)
		if err != nil {
			return err
		}
		d.SetAccountLimits(l)
	}
	if decreased {
		a.trx.verifyRAM = putName(a.trx.verifyRAM, account)
	}
	return nil
}

// ResourceLimits implements intrinsic.Privileges.
func (a *action) ResourceLimits(account types.Name) (ram, net, cpu int64, err error) {
	return a.e.resources.Limits(account)
}

// SetProposedProducers implements intrinsic.Privileges (Leap: controller::
// set_proposed_producers).
func (a *action) SetProposedProducers(producers []types.ProducerAuthority) (int64, error) {
	e := a.e
	if len(producers) == 0 && e.active(feature.DisallowEmptyProducerSchedule) {
		return -1, nil
	}
	g, err := e.state.Global()
	if err != nil {
		return 0, err
	}
	block := e.head.BlockNum + 1
	wanted := types.ProducerSchedule{Producers: producers}
	same := func(s *types.ProducerSchedule) bool {
		wanted.Version = s.Version
		return wanted.Equal(s)
	}
	if g.ProposedScheduleBlock != nil && (*g.ProposedScheduleBlock != block || same(&g.ProposedSchedule)) {
		return -1, nil
	}
	current := e.block.nextSchedule()
	if len(current.Producers) == 0 {
		current = e.block.header.ActiveSchedule
	}
	if same(current) {
		return -1, nil
	}
	wanted.Version = current.Version + 1
	if g, err = e.state.EditGlobal(); err != nil {
		return 0, err
	}
	g.ProposedScheduleBlock, g.ProposedSchedule = &block, wanted
	return int64(wanted.Version), nil
}

// ChainConfig implements intrinsic.Privileges.
func (a *action) ChainConfig() *types.ChainConfig {
	g, err := a.e.state.Global()
	if err != nil {
		return &types.ChainConfig{}
	}
	return &g.Configuration
}

// SetChainConfig implements intrinsic.Privileges.
func (a *action) SetChainConfig(config types.ChainConfig) error {
	g, err := a.e.state.EditGlobal()
	if err == nil {
		g.Configuration = config
	}
	return err
}

// WasmConfig implements intrinsic.Privileges.
func (a *action) WasmConfig() *types.WasmConfig {
	g, err := a.e.state.Global()
	if err != nil {
		return &types.WasmConfig{}
	}
	return &g.Wasm
}

// SetWasmConfig implements intrinsic.Privileges.
func (a *action) SetWasmConfig(config types.WasmConfig) error {
	g, err := a.e.state.EditGlobal()
	if err == nil {
		g.Wasm = config
	}
	return err
}

// IsPrivileged implements intrinsic.Privileges.
func (a *action) IsPrivileged(n types.Name) (bool, error) {
	m, err := a.e.metadata(n)
	if err != nil {
		return false, err
	}
	return m.Privileged(), nil
}

// SetPrivileged implements intrinsic.Privileges.
func (a *action) SetPrivileged(n types.Name, privileged bool) error {
	m, err := a.e.editMetadata(n)
	if err != nil {
		return err
	}
	m.SetPrivileged(privileged)
	return nil
}

// EmptyScheduleAllowed implements intrinsic.Privileges.
func (a *action) EmptyScheduleAllowed() bool {
	return !a.e.active(feature.DisallowEmptyProducerSchedule)
}

// ReturnValueConfigured implements intrinsic.Privileges.
func (a *action) ReturnValueConfigured() bool { return a.e.active(feature.ActionReturnValue) }

// Transaction implements intrinsic.Surroundings.
func (a *action) Transaction() *types.Transaction { return a.trx.trx }

// PackedTransaction implements intrinsic.Surroundings.
func (a *action) PackedTransaction() []byte { return a.trx.packed }

// ContextFreeData implements intrinsic.Surroundings.
func (a *action) ContextFreeData(i uint32) ([]byte, bool) {
	if uint64(i) >= uint64(len(a.trx.cfd)) {
		return nil, false
	}
	return a.trx.cfd[i], true
}

// BlockTime implements intrinsic.Surroundings.
func (a *action) BlockTime() types.TimePoint { return a.e.block.time() }

// BlockNum implements intrinsic.Surroundings.
func (a *action) BlockNum() uint32 { return a.e.head.BlockNum + 1 }

// PublicationTime implements intrinsic.Surroundings.
func (a *action) PublicationTime() types.TimePoint { return a.trx.published }

// FeatureActivated implements intrinsic.Surroundings.
func (a *action) FeatureActivated(digest types.Checksum256) bool {
	return a.e.block.featureActivated(digest)
}

// ActiveProducers implements intrinsic.Surroundings.
func (a *action) ActiveProducers() []types.Name {
	list := a.e.block.header.ActiveSchedule.Producers
	names := make([]types.Name, len(list))
	for i := range list {
		names[i] = list[i].Producer
	}
	return names
}

// KeyTypes implements intrinsic.Surroundings.
func (a *action) KeyTypes() int {
	p, err := a.e.state.Protocol()
	if err != nil {
		return 2
	}
	return int(p.KeyTypes)
}

// MaxSignatureSize implements intrinsic.Surroundings.
func (a *action) MaxSignatureSize() uint32 { return a.e.opt.MaxVariableSignature }

// Print implements intrinsic.Surroundings.
func (a *action) Print(text []byte) {
	a.console = append(a.console, a.trx.room.print(text)...)
}

// CheckTime implements intrinsic.Surroundings.
func (a *action) CheckTime() error { return a.trx.checktime() }
