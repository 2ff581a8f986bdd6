package execute

import "tarn/antelope/types"

// proposals are what contracts propose to Savanna's rules. They are no state: those of a block's last
// transaction that succeeded and had any go into its header (Spring: trx_block_context).
type proposals struct {
	finalizers *types.FinalizerPolicy    // nil for none
	producers  []types.ProducerAuthority // nil for none; in proper blocks only
}

// propose takes a transaction's proposals. The first finalizers end what the older rules have under
// way: a schedule that was proposed, or that became pending with this block, is dropped
// (Spring: controller_impl::apply_trx_block_context).
func (b *Block) propose(p *proposals) error {
	if p.producers != nil {
		b.proposed.producers = p.producers
	}
	if p.finalizers == nil {
		return nil
	}
	b.proposed.finalizers = p.finalizers
	if b.header.Proper() {
		return nil
	}
	b.schedule = nil
	g, err := b.e.state.Global.Get()
	if err != nil || g.ProposedScheduleBlock == nil {
		return err
	}
	if g, err = b.e.state.Global.Edit(); err != nil {
		return err
	}
	g.ProposedScheduleBlock, g.ProposedSchedule = nil, types.ProducerSchedule{}
	return nil
}
