package chain

import (
	"slices"

	"tarn/antelope/consensus"
	"tarn/antelope/crypto"
	"tarn/antelope/exception"
	"tarn/antelope/types"
)

// Prepared is a block whose transactions have been unpacked, and maybe checked, on
// other goroutines than the writer's.
type Prepared struct {
	State      *consensus.BlockState
	candidates []*Candidate // by receipt; nil for those of the state
}

// Unpack unpacks the transactions of a block; keys are found if chain is not nil.
// It may run on any goroutine.
func Unpack(b *types.SignedBlock, chain *types.Checksum256) ([]*Candidate, error) {
	list := make([]*Candidate, len(b.Transactions))
	for i := range b.Transactions {
		packed := b.Transactions[i].Packed
		if packed == nil {
			continue
		}
		x, err := NewCandidate(packed, Input)
		if err == nil && chain != nil {
			err = x.RecoverKeys(*chain)
		}
		if err != nil {
			return nil, err
		}
		list[i] = x
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
	x, err := NewCandidate(p.State.Block.Transactions[i].Packed, Input)
	if err != nil || c.skipChecks() {
		return x, err
	}
	g, err := c.state.Global()
	if err != nil {
		return nil, err
	}
	return x, x.RecoverKeys(g.ChainID)
}

// RecoverKeys finds out with which keys a transaction is signed (Leap:
// transaction::get_signature_keys). It may run on any goroutine, before others
// see x.
func (x *Candidate) RecoverKeys(chain types.Checksum256) error {
	x.Keys = nil
	if len(x.Packed.Signatures) == 0 {
		return nil
	}
	digest := x.Trx.SigningDigest(chain, x.CFD)
	for _, s := range x.Packed.Signatures {
		key, err := crypto.Recover(s, digest, true)
		if err != nil {
			return err
		}
		i, found := slices.BinarySearchFunc(x.Keys, key, types.PublicKey.Compare)
		if found {
			return exception.New(exception.TxDuplicateSig,
				"transaction includes more than one signature signed using the same key associated with public key: %s", key).With("")
		}
		x.Keys = slices.Insert(x.Keys, i, key)
	}
	return nil
}
