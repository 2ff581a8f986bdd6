package node

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"tarn/antelope/chain"
	"tarn/antelope/consensus"
	"tarn/antelope/finality"
	"tarn/antelope/rpc"
	"tarn/antelope/types"
)

// Who replays or catches up need not remember all votes, nor say whose are missing: of older blocks one of
// so many is enough (Spring: tracked_votes.cpp). Who left the policies is forgotten when too many are known.
const (
	newVotes  = 5 * time.Minute
	oldVotes  = 1000    // blocks
	keptVotes = 1 << 16 // finalizers, with those that are in no policy any more; a chain may have any number of them
)

// showsVotes tells whether what a block says of votes is of interest.
func showsVotes(b *consensus.BlockState) bool {
	return b.IsProper() && (b.BlockNum%oldVotes == 0 || age(b) <= newVotes)
}

// age is how long ago the block's slot was.
func age(b *consensus.BlockState) time.Duration {
	return time.Since(b.Header.Timestamp.TimePoint().Time())
}

// certifiedBlock is the block that a block brings a certificate for; nil for none.
func (n *Node) certifiedBlock(b *consensus.BlockState) *finality.State {
	if b.Certificate == nil {
		return nil
	}
	if ref := b.Finality.Core.Ref(b.Certificate.Block); ref != nil {
		if h := n.chain.Fork().HeaderState(ref.ID); h != nil {
			return h.Finality
		}
	}
	return nil
}

// trackVotes remembers how finalizers voted last.
func (n *Node) trackVotes(c *rpc.Config) {
	votes := new(finality.LastVotes)
	n.chain.Subscribe(chain.Hooks{AcceptedBlock: func(b *consensus.BlockState) {
		if !showsVotes(b) || b.Certificate == nil {
			return
		}
		if certified := n.certifiedBlock(b); certified != nil {
			votes.Add(certified, b.Certificate)
		}
		votes.Keep(keptVotes, b.Finality.Policies()...)
	}})
	c.LastVote = votes.Of
}

// logVotes says of each block whose votes its certificate lacks, and of the own finalizers above all.
// Scripts read these lines (Spring: tracked_votes_impl::log_missing_votes, which writes none unless the level is info).
func (n *Node) logVotes(log *slog.Logger, own []types.BLSPublicKey) {
	n.chain.Subscribe(chain.Hooks{AcceptedBlock: func(b *consensus.BlockState) {
		if !showsVotes(b) || !log.Enabled(context.Background(), slog.LevelWarn) {
			return
		}
		block := func(has string) string {
			return fmt.Sprintf("Block %s... #%d @ %s produced by %s, latency: %dms has %s",
				b.ID.String()[8:24], b.BlockNum, b.Header.Timestamp, b.Header.Producer, age(b).Milliseconds(), has)
		}
		if b.Certificate == nil {
			log.Info(block("no qc, claim: " + string(b.Finality.Core.Claim().AppendJSON(nil))))
			return
		}
		certified := n.certifiedBlock(b)
		if certified == nil {
			return
		}
		var names []string
		for _, f := range finality.Missing(certified, b.Certificate) {
			if slices.Contains(own, f.Key) {
				log.Warn(fmt.Sprintf("Local finalizer %s did not vote in block %d : %s for block %d",
					f.Description, b.BlockNum, b.ID.String()[8:24], b.Certificate.Block))
			}
			names = append(names, f.Description)
		}
		if len(names) > 0 {
			log.Info(block(fmt.Sprintf("no votes for block #%d from finalizers: %s",
				b.Certificate.Block, strings.Join(names, ","))))
		}
	}})
}
