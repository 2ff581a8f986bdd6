package execute

import (
	"tarn/antelope/feature"
	"tarn/antelope/types"
)

// leafKinds says by which rules a block's actions are put into trees. A block that follows the
// older rules needs Savanna's tree too once it may be the genesis block or one in transition: the
// proper blocks after it commit to that. Before, it is made for who asks ([Watch]).
type leafKinds struct{ older, savanna bool }

// leafKinds are those of a block whose features have been activated.
func (b *Block) leafKinds() leafKinds {
	if b.header.Proper() {
		return leafKinds{savanna: true}
	}
	return leafKinds{older: true, savanna: b.e.active(feature.Savanna) || b.e.watch.Roots}
}

// leaves are the digests of actions' receipts that a block commits to, by both rules; of a kind
// that the block does not have there are none.
type leaves struct{ older, savanna []types.Checksum256 }

// add adds an action's receipt, which has the action's digest.
func (l *leaves) add(kinds leafKinds, r *types.ActionReceipt, act *types.Action) {
	if kinds.older {
		l.older = append(l.older, r.Digest())
	}
	if kinds.savanna {
		l.savanna = append(l.savanna, r.SavannaDigest(act.Account, act.Name))
	}
}

func (l *leaves) append(more *leaves) {
	l.older = append(l.older, more.older...)
	l.savanna = append(l.savanna, more.savanna...)
}

// emptyLeaves are no leaves, with the memory of these.
func (l *leaves) emptyLeaves() leaves { return leaves{l.older[:0], l.savanna[:0]} }
