package execute

import (
	"math"

	"tarn/antelope/consensus"
	"tarn/antelope/exception"
	"tarn/antelope/feature"
	"tarn/antelope/types"
)

// privileges does what privileged contracts ask for ([intrinsic.Privileges]).
type privileges struct{ *action }

// PreactivateFeature implements intrinsic.Privileges (Leap: controller::
// preactivate_feature).
func (p privileges) PreactivateFeature(digest types.Checksum256) error {
	e, set := p.e, p.e.features.Set()
	bad := exception.ProtocolFeatureBadBlock
	if e.speculative() {
		bad = exception.SubjectiveBlockProduction
	}
	if err := set.CheckRecognised(digest, e.block.time(), bad); err != nil {
		return err
	}
	if e.block.featureActivated(digest) {
		return exception.New(exception.ProtocolFeature, "protocol feature with digest '${digest}' is already activated",
			"digest", digest)
	}
	protocol, err := e.state.Protocol.Get()
	if err != nil {
		return err
	}
	preactivated := func(d types.Checksum256) bool {
		for i := range protocol.Preactivated {
			if protocol.Preactivated[i] == d {
				return true
			}
		}
		return false
	}
	if preactivated(digest) {
		return exception.New(exception.ProtocolFeature,
			"protocol feature with digest '${digest}' is already pre-activated", "digest", digest)
	}
	if !set.DependenciesMet(digest, func(d types.Checksum256) bool {
		return e.block.featureActivated(d) ||
			preactivated(d)
	}) {
		return exception.New(exception.ProtocolFeature,
			"not all dependencies of protocol feature with digest '${digest}' have been activated or pre-activated",
			"digest", digest)
	}
	if d := p.deepMind(); d != nil {
		if f := set.Find(digest); f != nil {
			d.PreactivateFeature(f)
		}
	}
	if protocol, err = e.state.Protocol.Edit(); err != nil {
		return err
	}
	protocol.Preactivated = append(protocol.Preactivated[:len(protocol.Preactivated):len(protocol.Preactivated)],
		digest)
	return nil
}

// SetResourceLimits implements intrinsic.Privileges.
func (p privileges) SetResourceLimits(account types.Name, ram, net, cpu int64) error {
	decreased, err := p.e.resources.SetLimits(account, ram, net, cpu)
	if err != nil {
		return err
	}
	if d := p.deepMind(); d != nil {
		l, err := p.e.state.PendingLimits.Get(account)
		if err != nil {
			return err
		}
		d.SetAccountLimits(l)
	}
	if decreased {
		p.trx.verifyRAM = putName(p.trx.verifyRAM, account)
	}
	return nil
}

// ResourceLimits implements intrinsic.Privileges.
func (p privileges) ResourceLimits(account types.Name) (ram, net, cpu int64, err error) {
	return p.e.resources.Limits(account)
}

// SetProposedProducers implements intrinsic.Privileges (Leap: controller::
// set_proposed_producers).
func (p privileges) SetProposedProducers(producers []types.ProducerAuthority) (int64, error) {
	e := p.e
	if e.block.header.Proper() {
		p.trx.proposed.producers = producers
		return math.MaxUint32, nil // whether it is a proposal is found at the block's end
	}
	if len(producers) == 0 && e.active(feature.DisallowEmptyProducerSchedule) {
		return -1, nil
	}
	g, err := e.state.Global.Get()
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
	if same(current) || e.block.header.InTransition() || e.block.proposed.finalizers != nil {
		return -1, nil
	}
	wanted.Version = current.Version + 1
	if g, err = e.state.Global.Edit(); err != nil {
		return 0, err
	}
	g.ProposedScheduleBlock, g.ProposedSchedule = &block, wanted
	return int64(wanted.Version), nil
}

// MostProducers implements intrinsic.Privileges.
func (p privileges) MostProducers() int {
	if p.e.block.header.Proper() {
		return types.MaxProposers
	}
	return consensus.MaxProducers
}

// SetFinalizers implements intrinsic.Privileges.
func (p privileges) SetFinalizers(policy *types.FinalizerPolicy) { p.trx.proposed.finalizers = policy }

// ChainConfig implements intrinsic.Privileges.
func (p privileges) ChainConfig() *types.ChainConfig {
	g, err := p.e.state.Global.Get()
	if err != nil {
		return &types.ChainConfig{}
	}
	return &g.Configuration
}

// SetChainConfig implements intrinsic.Privileges.
func (p privileges) SetChainConfig(config types.ChainConfig) error {
	g, err := p.e.state.Global.Edit()
	if err == nil {
		g.Configuration = config
	}
	return err
}

// WasmConfig implements intrinsic.Privileges.
func (p privileges) WasmConfig() *types.WasmConfig {
	g, err := p.e.state.Global.Get()
	if err != nil {
		return &types.WasmConfig{}
	}
	return &g.Wasm
}

// SetWasmConfig implements intrinsic.Privileges.
func (p privileges) SetWasmConfig(config types.WasmConfig) error {
	g, err := p.e.state.Global.Edit()
	if err == nil {
		g.Wasm = config
	}
	return err
}

// IsPrivileged implements intrinsic.Privileges.
func (p privileges) IsPrivileged(n types.Name) (bool, error) {
	m, err := p.e.metadata(n)
	if err != nil {
		return false, err
	}
	return m.Privileged(), nil
}

// SetPrivileged implements intrinsic.Privileges.
func (p privileges) SetPrivileged(n types.Name, privileged bool) error {
	m, err := p.e.editMetadata(n)
	if err != nil {
		return err
	}
	m.SetPrivileged(privileged)
	return nil
}

// EmptyScheduleAllowed implements intrinsic.Privileges.
func (p privileges) EmptyScheduleAllowed() bool {
	return !p.e.active(feature.DisallowEmptyProducerSchedule)
}

// ReturnValueConfigured implements intrinsic.Privileges.
func (p privileges) ReturnValueConfigured() bool { return p.e.active(feature.ActionReturnValue) }
