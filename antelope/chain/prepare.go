package chain

import (
	"tarn/antelope/consensus"
	"tarn/antelope/execute"
)

// Prepared is a block whose transactions have been unpacked, and maybe checked, on
// other goroutines than the writer's.
type Prepared struct {
	State      *consensus.BlockState
	candidates []*execute.Candidate // by receipt; nil for those of the state
}

// candidate returns the transaction of a receipt, with its keys unless the pending
// block is trusted: one that was unpacked without may be applied in the course of
// another producer's.
func (p *Prepared) candidate(c *Chain, i int) (*execute.Candidate, error) {
	if p.candidates != nil && p.candidates[i] != nil {
		x := p.candidates[i]
		if len(x.Keys) > 0 || len(x.Packed.Signatures) == 0 || c.executor.SkipsChecks() {
			return x, nil
		}
	}
	x, err := execute.NewCandidate(p.State.Block.Transactions[i].Packed, execute.Input)
	err = undecoded(err)
	if err != nil || c.executor.SkipsChecks() {
		return x, err
	}
	if errs := c.keys.Recover(execute.Unlimited, 1, []*execute.Candidate{x}); errs != nil {
		return x, errs[0]
	}
	return x, nil
}
