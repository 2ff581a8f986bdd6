package node

import (
	"context"
	"fmt"
	"time"

	"tarn/antelope/chain"
	"tarn/antelope/consensus"
	"tarn/antelope/execute"
	"tarn/antelope/p2p"
	"tarn/antelope/rpc"
	"tarn/antelope/rpc/accountquery"
	"tarn/antelope/rpc/trxretry"
	"tarn/antelope/rpc/trxstatus"
	"tarn/antelope/types"
	"tarn/writerloop"
)

// Tracking says what the node remembers of transactions and permissions so that the
// API can answer for them. What is nil or false costs nothing, and is not served.
type Tracking struct {
	Authorizers bool
	Finality    *trxstatus.Options
	Retry       *trxretry.Options // Send and Render are the node's own; not on a node that produces
}

// track begins to remember what the API is to answer for.
func (n *Node) track(
	ctx context.Context, network *p2p.Network, t *Tracking, c *rpc.Config,
	render func(*types.TransactionTrace) ([]byte, error),
) {
	n.trackVotes(c)
	if t.Authorizers {
		n.trackAuthorizers(c)
	}
	if t.Finality != nil {
		n.trackFinality(*t.Finality, c)
	}
	if t.Retry != nil {
		d := n.retrying(*t.Retry, network, render)
		// Who waits must not keep the node.
		context.AfterFunc(ctx, func() { d.Stop(writerloop.ErrStopped) })
		c.Retry = d
	}
}

// trackAuthorizers makes the index of permissions, and keeps it up to date. A failure
// costs only what the index is for, as in nodeos.
func (n *Node) trackAuthorizers(c *rpc.Config) {
	n.o.Log.Info("Building account query DB")
	start := time.Now()
	x, err := n.indexPermissions()
	if err != nil {
		n.o.Log.Error("Unable to enable account queries", "error", err)
		return
	}
	n.o.Log.Info(fmt.Sprintf("Finished building account query DB in %g", time.Since(start).Seconds()))
	n.chain.Subscribe(chain.Hooks{
		Applied:       func(t *types.TransactionTrace, _ *execute.Candidate) { x.Applied(t) },
		AcceptedBlock: x.Accepted,
	})
	c.Authorizers = x
}

func (n *Node) indexPermissions() (*accountquery.Index, error) {
	v, err := n.chain.View()
	if err != nil {
		return nil, err
	}
	defer v.Close()
	return accountquery.New(v)
}

func (n *Node) trackFinality(o trxstatus.Options, c *rpc.Config) {
	t := trxstatus.New(o)
	n.chain.Subscribe(chain.Hooks{
		StartBlock: func(uint32) { t.StartBlock() },
		Applied: func(trace *types.TransactionTrace, x *execute.Candidate) {
			var expires types.TimePoint
			if x != nil {
				expires = x.Trx.Expiration.TimePoint()
			}
			t.Applied(trace, expires)
		},
		AcceptedBlock: t.Accepted,
		Irreversible:  t.Irreversible,
	})
	c.Finality = t
}

// retrying keeps transactions that are sent again. The functions of its options are
// called once the node runs.
func (n *Node) retrying(
	o trxretry.Options, network *p2p.Network, render func(*types.TransactionTrace) ([]byte, error),
) *trxretry.Database {
	o.Render = render
	o.Send = func(packed *types.PackedTransaction) {
		trx, _, err := packed.Unpack()
		if err == nil && network != nil {
			network.TransactionAccepted(&p2p.Transaction{ID: trx.ID(), Expiration: trx.Expiration, Packed: packed})
		}
	}
	d := trxretry.New(o)
	n.chain.Subscribe(chain.Hooks{
		StartBlock:    d.StartBlock,
		Applied:       func(t *types.TransactionTrace, _ *execute.Candidate) { d.Applied(t) },
		AcceptedBlock: func(b *consensus.BlockState) { d.Accepted(b) },
		Irreversible:  d.Irreversible,
	})
	return d
}
