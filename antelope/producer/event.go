package producer

import (
	"time"

	"tarn/antelope/chain"
	"tarn/antelope/consensus"
	"tarn/antelope/types"
)

// Events are functions that the writer calls; nil is for nobody. They must return
// soon, must not call what waits for the writer, and must not change what they get.
type Events struct {
	// StartBlock comes before a block is begun, also one that is never finished.
	StartBlock func(num uint32)
	// AcceptedHeader comes when a block is in the fork database, AcceptedBlock when
	// its state is the head's, Irreversible when it cannot be taken back any more.
	AcceptedHeader func(*consensus.BlockState)
	AcceptedBlock  func(*consensus.BlockState)
	Irreversible   func(*consensus.BlockState)
	Forked         func([]*consensus.BlockState) // newest first
	// Applied comes with each transaction that was executed in a block, whoever
	// made it, and whether it failed. In blocks that are given up they come again.
	// The candidate is nil for scheduled ones and those that failed.
	Applied func(*types.TransactionTrace, *chain.Candidate)
	// Acked comes when a transaction from outside was answered: err says why it was
	// refused (Leap: channel transaction_ack). What was accepted goes to peers.
	Acked func(packed *types.PackedTransaction, x *chain.Candidate, err error)
	// Rejected comes with a block that is not valid.
	Rejected func(*types.SignedBlock, error)
	// Between comes after each block that was applied or produced, when none is
	// pending and views show it: the place for checkpoints.
	Between func()

	// What nodeos' metrics are made of.
	Produced    func(ProducedBlock)
	Speculative func(BlockTime)
	Incoming    func(IncomingBlock)
}

// Subscribe adds who wants to know. It is called before Run.
func (p *Producer) Subscribe(e Events) {
	var list []Events
	if old := p.events.Load(); old != nil {
		list = append(list, *old...)
	}
	list = append(list, e)
	p.events.Store(&list)
	p.observe()
}

func (p *Producer) each(f func(*Events)) {
	list := p.events.Load()
	if list == nil {
		return
	}
	for i := range *list {
		f(&(*list)[i])
	}
}

// observe listens to the chain, for itself and for the subscribers.
func (p *Producer) observe() {
	o := chain.Observer{
		StartBlock: func(num uint32) {
			p.each(func(e *Events) {
				if e.StartBlock != nil {
					e.StartBlock(num)
				}
			})
			p.snapshot.startBlock(num)
		},
		AcceptedHeader: p.onHeader,
		AcceptedBlock:  p.onBlock,
		Irreversible:   p.onIrreversible,
		Forked: func(list []*consensus.BlockState) {
			p.queue.addForked(list)
			p.each(func(e *Events) {
				if e.Forked != nil {
					e.Forked(list)
				}
			})
		},
	}
	applied := false
	p.each(func(e *Events) { applied = applied || e.Applied != nil })
	if applied {
		o.Applied = func(t *types.TransactionTrace, x *chain.Candidate) {
			p.each(func(e *Events) {
				if e.Applied != nil {
					e.Applied(t, x)
				}
			})
		}
	}
	p.chain.Observe(o)
}

// onHeader notes what producers of this node have signed, wherever it came from.
func (p *Producer) onHeader(b *consensus.BlockState) {
	if n := b.Header.Producer; p.opt.isProducer(n) {
		p.watermarks.consider(n, b.BlockNum, b.Header.Timestamp)
	}
	p.each(func(e *Events) {
		if e.AcceptedHeader != nil {
			e.AcceptedHeader(b)
		}
	})
}

func (p *Producer) onBlock(b *consensus.BlockState) {
	if p.queue.len() > 0 || p.bills.waiting() {
		ids := p.transactionIDs(b)
		p.queue.removeApplied(ids)
		p.bills.onBlock(ids, time.Now())
	}
	p.each(func(e *Events) {
		if e.AcceptedBlock != nil {
			e.AcceptedBlock(b)
		}
	})
}

// transactionIDs are the ids of the transactions that came from outside.
func (p *Producer) transactionIDs(b *consensus.BlockState) []types.Checksum256 {
	var ids []types.Checksum256
	if p.making != nil {
		return p.making
	}
	if p.applying != nil && p.applying.ID == b.ID {
		if list, err := p.applying.candidates(); err == nil {
			for _, x := range list {
				if x != nil {
					ids = append(ids, x.ID)
				}
			}
			return ids
		}
	}
	if b.Block == nil {
		return nil
	}
	for i := range b.Block.Transactions {
		if packed := b.Block.Transactions[i].Packed; packed != nil {
			if trx, _, err := packed.Unpack(); err == nil {
				ids = append(ids, trx.ID())
			}
		}
	}
	return ids
}

func (p *Producer) onIrreversible(b *consensus.BlockState) {
	p.lib = b.Header.Timestamp.TimePoint().Time()
	p.snapshot.irreversible(b)
	p.each(func(e *Events) {
		if e.Irreversible != nil {
			e.Irreversible(b)
		}
	})
}

// between publishes the new head, and lets those work who need to be alone with
// the chain.
func (p *Producer) between() {
	p.updateHead()
	p.each(func(e *Events) {
		if e.Between != nil {
			e.Between()
		}
	})
}
