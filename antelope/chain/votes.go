package chain

import (
	"sync"

	"tarn/antelope/consensus"
	"tarn/antelope/finality"
	"tarn/antelope/types"
)

// votes sums up what finalizers vote for the proper blocks above the last irreversible one, and keeps
// the certificates that came with blocks. Any goroutine may call its methods.
type votes struct {
	mu     sync.Mutex
	blocks map[types.Checksum256]*finality.Aggregate
}

// ExpectVotes begins to count votes for a block whose header was found good, and keeps the certificate that it
// brings for an earlier one. A block that is not in the fork database is the caller's to remember, until
// [Chain.ForgetVotes]. Any goroutine may call it, again for the same block too.
func (v *votes) ExpectVotes(b *consensus.BlockState) {
	if !b.IsProper() {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.blocks == nil {
		v.blocks = make(map[types.Checksum256]*finality.Aggregate)
	}
	if v.blocks[b.ID] == nil {
		v.blocks[b.ID] = finality.NewAggregate(b.Finality)
	}
	if b.Certificate == nil {
		return
	}
	if r := b.Finality.Core.Ref(b.Certificate.Block); r != nil && v.blocks[r.ID] != nil {
		v.blocks[r.ID].Receive(b.Certificate)
	}
}

// best is the best certificate for a block; nil for none.
func (v *votes) best(id types.Checksum256) *types.QuorumCertificate {
	v.mu.Lock()
	defer v.mu.Unlock()
	if a := v.blocks[id]; a != nil {
		return a.Best()
	}
	return nil
}

// forget drops blocks.
func (v *votes) forget(ids []types.Checksum256) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, id := range ids {
		delete(v.blocks, id)
	}
}

// ForgetVotes drops what was voted for a block that has not come into the fork database. Any goroutine may call it.
func (c *Chain) ForgetVotes(id types.Checksum256) {
	if c.fork.Block(id) == nil {
		c.votes.forget([]types.Checksum256{id})
	}
}

// Vote counts a finalizer's vote, after its signature was verified, which takes more than a
// millisecond. It returns the finalizer too, if the block has one with that key. Any goroutine may call
// it.
func (v *votes) Vote(x *finality.Vote) (finality.Result, *types.Finalizer) {
	v.mu.Lock()
	a := v.blocks[x.Block]
	if a == nil {
		v.mu.Unlock()
		return finality.NoBlock, nil
	}
	result, f := a.Find(x), a.Finalizer(&x.Key)
	v.mu.Unlock()
	switch {
	case result != finality.Counted:
		return result, f
	case !a.Verify(x):
		return finality.Invalid, f
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return a.Add(x), f
}
