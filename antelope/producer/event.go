package producer

import (
	"sync/atomic"
	"time"

	"tarn/antelope/chain"
	"tarn/antelope/consensus"
	"tarn/antelope/execute"
	"tarn/antelope/types"
)

// Events are functions that the writer calls besides the chain's own
// ([chain.Hooks]); nil is for nobody. They must return soon, must not call what waits
// for the writer, and must not change what they get.
type Events struct {
	// Header comes with a block from outside whose header was found good, before the block is executed, and
	// votes for it are counted. Any goroutine calls it, rarely twice for one block.
	Header func(*consensus.BlockState)
	// Acked comes when a transaction from outside was answered: err says why it was
	// refused (Leap: channel transaction_ack). What was accepted goes to peers.
	Acked func(packed *types.PackedTransaction, x *execute.Candidate, err error)
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

// listeners are those who want to know what the writer does. Any goroutine may tell them.
type listeners struct{ list atomic.Pointer[[]Events] }

// Subscribe adds who wants to know. It is called before Run.
func (l *listeners) Subscribe(e Events) {
	var list []Events
	if old := l.list.Load(); old != nil {
		list = append(list, *old...)
	}
	list = append(list, e)
	l.list.Store(&list)
}

func (l *listeners) each(f func(*Events)) {
	list := l.list.Load()
	if list == nil {
		return
	}
	for i := range *list {
		f(&(*list)[i])
	}
}

// tellAcked tells what became of a transaction from outside.
func (l *listeners) tellAcked(x *execute.Candidate, err error) {
	l.each(func(e *Events) {
		if e.Acked != nil {
			e.Acked(x.Packed, x, err)
		}
	})
}

// tellHeader tells of a block whose header was found good.
func (l *listeners) tellHeader(b *consensus.BlockState) {
	l.each(func(e *Events) {
		if e.Header != nil {
			e.Header(b)
		}
	})
}

// hooks are what the producer itself has to hear of the chain, before others do.
func (p *Producer) hooks() chain.Hooks {
	return chain.Hooks{
		StartBlock:     p.snapshot.startBlock,
		AcceptedHeader: p.onHeader,
		AcceptedBlock:  p.onBlock,
		Irreversible:   p.onIrreversible,
		Forked:         p.queue.addForked,
	}
}

func (p *Producer) onBlock(b *consensus.BlockState) {
	if p.applying != nil {
		p.logApplied(b, time.Now())
	}
	if p.queue.len() > 0 || p.bills.waiting() {
		ids := p.transactionIDs(b)
		p.queue.removeApplied(ids)
		p.bills.onBlock(ids, time.Now())
	}
}

// transactionIDs are the ids of the transactions that came from outside.
func (p *Producer) transactionIDs(b *consensus.BlockState) []types.Checksum256 {
	var ids []types.Checksum256
	if p.making != nil {
		return p.making
	}
	if b.Block == nil {
		return nil
	}
	unpacked := make([]*execute.Candidate, len(b.Block.Transactions))
	if p.applying != nil && p.applying.ID == b.ID {
		if list, err := p.applying.candidates(); err == nil {
			unpacked = list
		}
	}
	for i := range b.Block.Transactions {
		if x := unpacked[i]; x != nil {
			ids = append(ids, x.ID)
			continue
		}
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
