package execute

import (
	"tarn/antelope/consensus"
	"tarn/antelope/resource"
	"tarn/antelope/types"
)

// Finish ends the block's transactions and returns its unsigned header (Leap:
// controller_impl::finalize_block). The block stays pending until Executor.At.
func (b *Block) Finish() (types.SignedBlockHeader, error) {
	var none types.SignedBlockHeader
	if err := b.finishLimits(); err != nil {
		return none, err
	}
	root := b.root
	if root == nil {
		root = new(consensus.MerkleRoot(b.digests))
	}
	actions := consensus.MerkleRoot(b.actions)
	b.e.digests, b.e.actionDigests = b.digests, b.actions
	if b.hasher != nil {
		b.hasher.End()
		actions = b.hasher.want // to be compared when it is there
	}
	h, err := b.header.Header(*root, actions, b.schedule, b.activations, b.e.opt.Features)
	if err != nil {
		return none, err
	}
	id := h.ID()
	return h, b.e.state.SetBlockSummary(uint16(types.BlockNum(id)), id)
}

// finishLimits counts what the block used, and sets what the next one may use.
func (b *Block) finishLimits() error {
	if err := b.e.resources.ProcessPendingLimits(); err != nil {
		return err
	}
	if err := b.e.tellResourceState(); err != nil {
		return err
	}
	g, err := b.e.state.Global.Get()
	if err != nil {
		return err
	}
	cfg := &g.Configuration
	cpu := resource.ElasticLimitOf(uint64(cfg.MaxBlockCPUUsage), cfg.TargetBlockCPUUsagePct)
	net := resource.ElasticLimitOf(cfg.MaxBlockNetUsage, cfg.TargetBlockNetUsagePct)
	if err := b.e.setBlockParameters(cpu, net); err != nil {
		return err
	}
	if err := b.e.resources.ProcessBlockUsage(b.header.BlockNum); err != nil {
		return err
	}
	return b.e.tellResourceState()
}
