package node

import (
	"time"

	"tarn/antelope/chain"
	"tarn/antelope/consensus"
	"tarn/antelope/finality"
	"tarn/antelope/rpc"
	"tarn/antelope/types"
)

// Who replays or catches up need not remember all votes: of older blocks one of so many is enough
// (Spring: tracked_votes.cpp).
const (
	newVotes = 5 * time.Minute
	oldVotes = 1000 // blocks
)

// trackVotes remembers how finalizers voted last.
func (n *Node) trackVotes(c *rpc.Config) {
	votes := new(finality.LastVotes)
	n.chain.Subscribe(chain.Hooks{AcceptedBlock: func(b *consensus.BlockState) {
		old := time.Since(b.Header.Timestamp.TimePoint().Time()) > newVotes
		if b.Certificate == nil || old && b.BlockNum%oldVotes != 0 {
			return
		}
		ref := b.Finality.Core.Ref(b.Certificate.Block)
		if ref == nil {
			return
		}
		if claimed := n.chain.Fork().HeaderState(ref.ID); claimed != nil {
			votes.Add(claimed.Finality, b.Certificate)
		}
		policies := []*types.FinalizerPolicy{b.Finality.Finalizers}
		if p := b.Finality.Pending; p != nil {
			policies = append(policies, p.Policy)
		}
		votes.Keep(policies...)
	}})
	c.LastVote = votes.Of
}
