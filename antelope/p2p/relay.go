package p2p

import (
	"context"
	"sync"

	"tarn/antelope/types"
)

// maxRelayed bounds what waits to be passed on, in bytes. What does not fit is not
// passed on.
const maxRelayed = 64 << 20

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
func (n *Network) BlockAccepted(b *Block) { n.relay.add(relayed{block: b}, b.size) }

// TransactionAccepted is to be called with each transaction that the chain has
// accepted, whoever it came from. It does not wait.
func (n *Network) TransactionAccepted(t *Transaction) {
	n.relay.add(relayed{trx: t}, len(t.Packed.PackedTrx)+len(t.Packed.PackedContextFreeData))
}

func (r *relay) add(e relayed, size int) {
	r.mu.Lock()
	fits := e.block != nil || r.bytes+size <= maxRelayed
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
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		}
		r.mu.Lock()
		list := r.list
		r.list, r.bytes = nil, 0
		r.mu.Unlock()
		for _, e := range list {
			if e.block != nil {
				r.net.broadcastBlock(e.block)
			} else {
				to = r.net.broadcastTransaction(e.trx, to[:0])
			}
		}
		clear(to)
	}
}

// broadcastTransaction passes a transaction on to the peers that are not known to
// have it. It uses the memory of scratch.
func (n *Network) broadcastTransaction(t *Transaction, scratch []*conn) []*conn {
	to := n.trxs.spread(t.ID, t.Expiration, *n.conns.Load(), scratch)
	if len(to) == 0 {
		return to
	}
	frame, _ := AppendFrame(make([]byte, 0, 256+len(t.Packed.PackedTrx)), t.Packed) // it has a type
	n.trxOut.Add(uint64(len(to)))
	for _, c := range to {
		c.enqueue(frame, true)
	}
	return to
}

// SchedulesChanged is to be called with the active and the pending schedule when a
// block is accepted; pending may be nil. It does not wait.
func (n *Network) SchedulesChanged(active, pending *types.ProducerSchedule) {
	n.peering.schedules(active, pending)
}
