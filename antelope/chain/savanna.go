package chain

import (
	"tarn/antelope/consensus"
	"tarn/antelope/exception"
	"tarn/antelope/execute"
	"tarn/antelope/finality"
	"tarn/antelope/types"
)

// claimedCommitment is what the header of a block says of finality.
func claimedCommitment(b *consensus.BlockState) execute.Commitment {
	if !b.IsProper() {
		return execute.Commitment{}
	}
	return execute.Commitment{Claim: b.Finality.Core.Claim(), Root: b.Header.ActionMRoot}
}

// commitment is what the header of a block says of finality that is made after the head: the newest
// certificate that is known of a block on its branch, which is returned if it is news (Spring:
// building_block::get_qc_data).
func (c *Chain) commitment() (x execute.Commitment, certificate *types.QuorumCertificate, err error) {
	if !c.executor.Block().Header().Proper() {
		return x, nil, nil
	}
	x.Claim = c.head.Finality.Core.Claim()
	for b := c.head; b != nil; b = c.fork.Block(b.Header.Previous) {
		if qc := c.votes.best(b.ID); qc != nil {
			if x.Claim.Less(qc.Claim()) {
				x.Claim, certificate = qc.Claim(), qc
			}
			break
		}
	}
	var ok bool
	if x.Root, ok = c.validation.RootFor(c.head.Finality, x.Claim); !ok {
		return x, nil, exception.New(exception.BlockValidate, "the validation root of block ${num} is not known",
			"num", x.Claim.Block)
	}
	return x, certificate, nil
}

// validationAfter is the tree after a block that was executed after before, whose tree is v; actions is the
// root of what the block did. It refuses a proper block whose header commits to another tree than the
// one that this node has come to (Spring: controller_impl::apply_block).
func validationAfter(
	before *consensus.HeaderState, v *finality.Validation, b *consensus.HeaderState, actions types.Checksum256,
) (*finality.Validation, error) {
	s := b.Finality
	switch {
	case s == nil:
		return nil, nil
	case s.Core.IsGenesis():
		return new(finality.GenesisValidation(s, actions)), nil
	}
	after := v.With(before.Finality, s, actions)
	if !s.IsProper() {
		return &after, nil
	}
	if root, ok := after.RootFor(s, s.Core.Claim()); !ok || root != s.Header.ActionMRoot {
		return nil, exception.New(exception.BlockValidate,
			"finality_mroot does not match, received finality_mroot: ${r} != actual_finality_mroot: ${a} for block "+
				"${bn} ${id}",
			"r", s.Header.ActionMRoot, "a", root, "bn", b.BlockNum, "id", b.ID)
	}
	return &after, nil
}
