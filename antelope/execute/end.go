package execute

import (
	"tarn/antelope/consensus"
	"tarn/antelope/finality"
	"tarn/antelope/resource"
	"tarn/antelope/types"
)

// Commitment is what the header of a proper block says of finality: the newest certificate, and
// the root of the validation tree after the block that it is for.
type Commitment struct {
	Claim types.QCClaim
	Root  types.Checksum256
}

// Finish ends the block's transactions and returns its unsigned header, with c in a proper block
// (Leap: controller_impl::finalize_block). The block stays pending until Executor.At.
func (b *Block) Finish(c Commitment) (types.SignedBlockHeader, error) {
	var none types.SignedBlockHeader
	if err := b.finishLimits(); err != nil {
		return none, err
	}
	content := consensus.Content{
		Actions: c.Root, Claim: c.Claim, Features: b.activations, Schedule: b.schedule,
		Finalizers: b.proposed.finalizers, Proposers: b.proposed.producers,
	}
	switch {
	case b.root != nil:
		content.Transactions = *b.root
	case b.header.Proper():
		content.Transactions = finality.Root(b.digests)
	default:
		content.Transactions = consensus.MerkleRoot(b.digests)
	}
	if b.hasher != nil {
		b.hasher.End()
	} else {
		b.savanna = finality.Root(b.actions.savanna)
	}
	switch {
	case b.header.Proper():
	case b.hasher != nil:
		content.Actions = b.claimed.ActionMRoot // to be compared when it is there
	default:
		content.Actions = consensus.MerkleRoot(b.actions.older)
	}
	b.e.digests, b.e.leaves = b.digests, b.actions
	h, err := b.header.Header(&content, b.e.opt.Features)
	if err != nil {
		return none, err
	}
	id := h.ID()
	return h, b.e.state.SetBlockSummary(uint16(types.BlockNum(id)), id)
}

// Savanna is the root of the block's actions in a tree by Savanna's rules, after Finish; zero if a
// [Hasher] computes it, or if the block can be no part of a change to these rules and nobody asks
// for it ([Watch]).
func (b *Block) Savanna() types.Checksum256 { return b.savanna }

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
