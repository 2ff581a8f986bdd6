package chain

import (
	"slices"
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
	c.votes.mu.Lock()
	defer c.votes.mu.Unlock()
	if c.fork.Block(id) == nil { // one that comes from now on is expected after that
		delete(c.votes.blocks, id)
	}
}

// Voted is what became of a vote.
type Voted struct {
	Result    finality.Result
	Finalizer *types.Finalizer // whose key it has; nil if the block has none with it
}

// Vote counts finalizers' votes, one at least and all for one block, after their signatures were verified, which takes
// more than a millisecond, and hardly more for several. Any goroutine may call it.
func (v *votes) Vote(list ...*finality.Vote) []Voted {
	told := make([]Voted, len(list))
	v.mu.Lock()
	a := v.blocks[list[0].Block]
	if a == nil {
		v.mu.Unlock()
		for i := range told {
			told[i].Result = finality.NoBlock
		}
		return told
	}
	var fresh []*finality.Vote
	for i, x := range list {
		told[i] = Voted{a.Find(x), a.Finalizer(&x.Key)}
		if told[i].Result == finality.Counted {
			fresh = append(fresh, x)
		}
	}
	v.mu.Unlock()
	good := a.Verify(fresh)
	v.mu.Lock()
	defer v.mu.Unlock()
	for i, x := range list {
		switch {
		case told[i].Result != finality.Counted:
		case slices.Contains(good, x):
			told[i].Result = a.Add(x)
		default:
			told[i].Result = finality.Invalid
		}
	}
	return told
}
