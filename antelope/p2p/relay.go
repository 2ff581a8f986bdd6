package p2p

import (
	"context"
	"sync"
	"time"

	"tarn/antelope/types"
)

// relay passes on what the chain accepted, on a goroutine of its own, so that who
// tells of it does not wait.
type relay struct {
	net  *Network
	wake chan struct{}

	mu    sync.Mutex
	list  []relayed
	bytes int
}

// relayed is a block or a transaction.
type relayed struct {
	block *Block
	trx   *Transaction
}

func newRelay(n *Network) *relay { return &relay{net: n, wake: make(chan struct{}, 1)} }

// BlockAccepted is to be called with each block whose header the chain has accepted,
// the node's own included. It does not wait.
func (n *Network) BlockAccepted(b *Block) {
	n.votes.blockCame(b.ID)
	n.relay.add(relayed{block: b}, b.size)
}

// TransactionAccepted is to be called with each transaction that the chain has
// accepted, whoever it came from. It does not wait.
func (n *Network) TransactionAccepted(t *Transaction) {
	n.relay.add(relayed{trx: t}, len(t.Packed.PackedTrx)+len(t.Packed.PackedContextFreeData))
}

func (r *relay) add(e relayed, size int) {
	r.mu.Lock()
	fits := e.block != nil || r.bytes+size <= r.net.config.Limits.RelayBytes
	if fits {
		r.list = append(r.list, e)
		r.bytes += size
	}
	r.mu.Unlock()
	if !fits {
		r.net.droppedTrx.Add(1)
		return
	}
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

func (r *relay) run(ctx context.Context) {
	var to []*conn
	due := time.NewTimer(r.net.config.Limits.GatherMost) // for what is gathered
	due.Stop()
	gathering := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-due.C:
			r.net.prompt()
			gathering = false
			continue
		case <-r.wake:
		}
		r.mu.Lock()
		list := r.list
		r.list, r.bytes = nil, 0
		r.mu.Unlock()
		wait := r.net.config.Limits.gatherTime(*r.net.conns.Load())
		for _, e := range list {
			if e.block == nil {
				continue
			}
			r.net.broadcastBlock(e.block)
			if gathering { // most has gone with the block
				r.net.prompt()
				due.Stop()
				gathering = false
			}
		}
		for _, e := range list {
			if e.block != nil {
				continue
			}
			to = r.net.broadcastTransaction(e.trx, wait > 0, to[:0])
			if wait > 0 && len(to) > 0 && !gathering {
				due.Reset(wait)
				gathering = true
			}
		}
		clear(to)
	}
}

// prompt lets all that is gathered be written.
func (n *Network) prompt() {
	for _, c := range *n.conns.Load() {
		c.writeNow()
	}
}

// gatherTime is how long transactions for peers that have connected here wait for company, the
// longer the more of them there are; 0 if they don't.
func (l *Limits) gatherTime(conns []*conn) time.Duration {
	visitors := 0
	for _, c := range conns {
		if c.incoming() {
			visitors++
		}
	}
	if visitors < l.GatherFrom {
		return 0
	}
	return min(time.Duration(visitors)*l.GatherEach, l.GatherMost)
}

// broadcastTransaction passes a transaction on to the peers that are not known to
// have it; with gather those that have connected here get it when they are written
// to anyway, or prompted. It uses the memory of scratch.
func (n *Network) broadcastTransaction(t *Transaction, gather bool, scratch []*conn) []*conn {
	to := n.trxs.spread(t.ID, t.Expiration, *n.conns.Load(), scratch)
	if len(to) == 0 {
		return to
	}
	frame, _ := AppendFrame(make([]byte, 0, 256+len(t.Packed.PackedTrx)), t.Packed) // it has a type
	n.trxOut.Add(uint64(len(to)))
	for _, c := range to {
		c.enqueue(frame, trxLane)
		if !gather || !c.incoming() || c.producers() {
			c.writeNow()
		}
	}
	return to
}

// SchedulesChanged is to be called with the active and the pending schedule when a
// block is accepted; pending may be nil. It does not wait.
func (n *Network) SchedulesChanged(active, pending *types.ProducerSchedule) {
	n.peering.schedules(active, pending)
}
