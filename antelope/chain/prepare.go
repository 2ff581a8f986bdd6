package chain

import (
	"tarn/antelope/consensus"
	"tarn/antelope/control"
	"tarn/antelope/types"
)

// Prepared is a block whose transactions have been unpacked, and maybe checked, on
// other goroutines than the writer's.
type Prepared struct {
	State      *consensus.BlockState
	candidates []*Candidate // by receipt; nil for those of the state
}

// Unpack unpacks the transactions of a block. It may run on any goroutine.
func Unpack(b *types.SignedBlock) ([]*Candidate, error) {
	list := make([]*Candidate, len(b.Transactions))
	for i := range b.Transactions {
		if packed := b.Transactions[i].Packed; packed != nil {
			x, err := NewCandidate(packed, control.Input)
			if err != nil {
				return nil, err
			}
			list[i] = x
		}
	}
	return list, nil
}

// candidate returns the transaction of a receipt, with its keys unless the pending
// block is trusted: one that was unpacked without may be applied in the course of
// another producer's.
func (p *Prepared) candidate(c *Chain, i int) (*Candidate, error) {
	if p.candidates != nil && p.candidates[i] != nil {
		x := p.candidates[i]
		if len(x.Keys) > 0 || len(x.Packed.Signatures) == 0 || c.skipChecks() {
			return x, nil
		}
	}
	x, err := NewCandidate(p.State.Block.Transactions[i].Packed, control.Input)
	if err != nil || c.skipChecks() {
		return x, err
	}
	return x, firstError(c.RecoverKeys(Unlimited, 1, []*Candidate{x}))
}
