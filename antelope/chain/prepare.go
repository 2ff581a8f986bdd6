package chain

import (
	"slices"
	"time"

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
	return x.RecoverKeysUntil(chain, time.Time{})
}

// RecoverKeysUntil is RecoverKeys for a transaction that is in no block: it fails
// with exception.TxCPUUsageExceeded when the deadline passes, unless that is zero.
func (x *Candidate) RecoverKeysUntil(chain types.Checksum256, deadline time.Time) error {
	x.Keys = nil
	signatures := x.Packed.Signatures
	if len(signatures) == 0 {
		return nil
	}
	start := time.Now()
	digest := x.Trx.SigningDigest(chain, x.CFD)
	var keys []types.PublicKey
	var found map[types.PublicKey]bool
	if len(signatures) > 1 {
		found = make(map[types.PublicKey]bool)
	}
	for _, s := range signatures {
		if !deadline.IsZero() {
			if now := time.Now(); !now.Before(deadline) {
				return exception.New(exception.TxCPUUsageExceeded, "transaction signature verification executed for too long %dus",
					now.Sub(start).Microseconds()).With("")
			}
		}
		key, err := crypto.Recover(s, digest, true)
		if err != nil {
			return err
		}
		if found[key] {
			return exception.New(exception.TxDuplicateSig,
				"transaction includes more than one signature signed using the same key associated with public key: %s", key).With("")
		}
		if found != nil {
			found[key] = true
		}
		keys = append(keys, key)
	}
	slices.SortFunc(keys, types.PublicKey.Compare)
	x.Keys = keys
	return nil
}
