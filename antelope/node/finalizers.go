package node

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"tarn/antelope/chain"
	"tarn/antelope/consensus"
	"tarn/antelope/finality"
	"tarn/antelope/finalizer"
	"tarn/antelope/types"
)

// recent is how old a block may be that a finalizer votes for: others have long voted for older ones
// (Spring: block_state::is_recent).
const recent = 30 * time.Second

// voter lets the finalizers of this node vote, on a goroutine of its own: a vote waits for the disk.
type voter struct {
	own   *finalizer.Finalizers
	fork  *consensus.ForkDatabase
	count func(...*finality.Vote) []finality.Result
	tell  func(*finality.Vote) // peers; nil for a node without any
	log   *slog.Logger
	queue chan ballot
	late  late
	roles roles

	certified func(*consensus.BlockState) *finality.State // what it brings a certificate for; nil for nothing
}

// ballot is a block to vote for, or a certificate to learn from.
type ballot struct {
	state       *finality.State
	certificate *types.QuorumCertificate // for state; nil for a block to vote for
}

// waitingBallots is how many there may be; the oldest ones go. A finalizer that is so late is of no use.
const waitingBallots = 64

// vote opens the finalizers and tells them what the chain accepts; who checks headers is to tell the voter of
// them. It is called before the first block of this life. count and tell are given each vote when it is durable; tell
// may be nil. log is
// told why a finalizer may not vote.
func (n *Node) vote(
	o *finalizer.Options, count func(...*finality.Vote) []finality.Result, tell func(*finality.Vote), log *slog.Logger,
) (*voter, error) {
	options := *o
	options.Log = log
	own, err := finalizer.Open(options)
	if err != nil {
		return nil, err
	}
	v := &voter{own: own, fork: n.chain.Fork(), certified: n.certifiedBlock, count: count, tell: tell, log: n.o.Log,
		queue: make(chan ballot, waitingBallots), late: late{log: n.o.Log},
		roles: roles{log: n.o.Log, keys: own.Keys()}}
	if root := n.chain.Fork().Root(); n.chain.Head().PrecedesProper() && root.Finality != nil {
		own.Begin(finality.Safety{Lock: finality.Remember(root.Finality.Ref())})
	}
	n.chain.Subscribe(chain.Hooks{AcceptedHeader: v.header, AcceptedBlock: v.block})
	v.roles.tell(n.chain.Head().Finality)
	return v, nil
}

// header looks at the certificate that a block brings whose header was found good, and votes for the block if all is
// known that its certificate is about: so a vote does not wait until the block is executed (Spring:
// consider_voting). Any goroutine may call it, again for the same block too.
func (v *voter) header(b *consensus.BlockState) {
	if certified := v.certified(b); certified != nil {
		v.put(ballot{certified, b.Certificate})
	}
	if !b.IsProper() || age(b) >= recent {
		return
	}
	core := &b.Finality.Core
	if ref := core.Ref(core.Claim().Block); ref != nil && v.fork.ValidSince(b.Header.Previous, ref.ID) {
		v.put(ballot{b.Finality, nil})
	}
}

// block votes for a block that has become the head, unless that was done.
func (v *voter) block(b *consensus.BlockState) {
	v.roles.tell(b.Finality)
	switch {
	case b.IsProper():
		if age(b) < recent {
			v.put(ballot{b.Finality, nil})
		}
	case b.PrecedesProper():
		ref := finality.Remember(b.Finality.Ref())
		v.own.Begin(finality.Safety{Last: ref, Lock: ref})
	}
}

// put never waits.
func (v *voter) put(x ballot) {
	for {
		select {
		case v.queue <- x:
			return
		default:
		}
		select {
		case old := <-v.queue:
			v.late.note(old, time.Now())
		default:
		}
	}
}

// run votes until ctx ends, and closes the finalizers.
func (v *voter) run(ctx context.Context) {
	defer v.own.Close() //nolint:errcheck // what it holds is a lock
	for {
		select {
		case <-ctx.Done():
			return
		case x := <-v.queue:
			if err := v.take(x); err != nil {
				v.log.Error(fmt.Sprintf("A finalizer of this node cannot vote: %v. A vote is sent only after it "+
					"is on the disk. Free space on the disk of finalizers-dir, or repair that disk", err))
			}
		}
	}
}

func (v *voter) take(x ballot) error {
	if x.certificate != nil {
		return v.own.Learn(x.state, x.certificate)
	}
	votes, err := v.own.Vote(x.state)
	for i := range votes {
		v.count(&votes[i])
		if v.tell != nil {
			v.tell(&votes[i])
		}
	}
	return err
}
