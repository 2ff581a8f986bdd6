package chain

import (
	"tarn/antelope/consensus"
	"tarn/antelope/exception"
	"tarn/antelope/execute"
	"tarn/antelope/finality"
	"tarn/antelope/types"
)

// claimed is what the header of a block says of finality.
func claimed(b *consensus.BlockState) execute.Commitment {
	if !b.IsProper() {
		return execute.Commitment{}
	}
	return execute.Commitment{Claim: b.Finality.Core.Claim(), Root: b.Header.ActionMRoot}
}

// commitment is what the header of a block says of finality that is made after the head: it repeats
// the newest certificate, as no other is known.
func (c *Chain) commitment() (execute.Commitment, error) {
	if !c.executor.Block().Header().Proper() {
		return execute.Commitment{}, nil
	}
	at := c.head.Finality
	claim := at.Core.Claim()
	root, ok := c.validation.RootFor(at, claim)
	if !ok {
		return execute.Commitment{}, exception.New(exception.BlockValidate, "the validation root of block ${num} is not known", "num", claim.Block)
	}
	return execute.Commitment{Claim: claim, Root: root}, nil
}

// validationAfter is the tree after a block that was executed after before, whose tree is v; actions is the
// root of what the block did. It refuses a proper block whose header commits to another tree than the
// one that this node has come to (Spring: controller_impl::apply_block).
func validationAfter(before *consensus.HeaderState, v *finality.Validation, b *consensus.HeaderState, actions types.Checksum256) (*finality.Validation, error) {
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
			"finality_mroot does not match, received finality_mroot: ${r} != actual_finality_mroot: ${a} for block ${bn} ${id}",
			"r", s.Header.ActionMRoot, "a", root, "bn", b.BlockNum, "id", b.ID)
	}
	return &after, nil
}
