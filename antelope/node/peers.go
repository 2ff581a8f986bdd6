package node

import (
	"context"
	"sync"

	"tarn/antelope/chain"
	"tarn/antelope/consensus"
	"tarn/antelope/control"
	"tarn/antelope/exception"
	"tarn/antelope/execute"
	"tarn/antelope/p2p"
	"tarn/antelope/producer"
	"tarn/antelope/types"
)

// peers is the chain as the network sees it.
type peers struct {
	n *Node
	p *producer.Producer

	mu sync.Mutex // of p2p.Block.Prepared
}

// ID implements p2p.Chain.
func (s *peers) ID() types.Checksum256 { return s.n.chain.ID() }

// Info implements p2p.Chain.
func (s *peers) Info() p2p.Info {
	h := s.p.Head()
	return p2p.Info{
		LIBNum: h.IrreversibleNum, LIBID: h.IrreversibleID, HeadNum: h.ForkNum, HeadID: h.ForkID, Time: h.Time, First: s.n.firstBlock(),
	}
}

// firstBlock is the oldest block that the node has.
func (n *Node) firstBlock() uint32 {
	if _, _, ok := n.log.Head(); ok {
		return n.log.First()
	}
	return n.chain.Fork().Root().BlockNum + 1
}

// reversible returns a block of the head's branch above the root, nil if num is not
// above it.
func (s *peers) reversible(num uint32) *consensus.BlockState {
	fork := s.n.chain.Fork()
	if num < fork.Root().BlockNum {
		return nil
	}
	return fork.SearchOnBranch(s.p.Head().ForkID, num)
}

// BlockID implements p2p.Chain.
func (s *peers) BlockID(num uint32) (types.Checksum256, error) {
	if b := s.reversible(num); b != nil {
		return b.ID, nil
	}
	h, err := s.n.log.ReadHeader(num)
	if err != nil {
		s.n.damaged(err)
		return types.Checksum256{}, exception.Wrap(exception.UnknownBlock, err, "could not find block ${num}", "num", num)
	}
	return h.ID(), nil
}

// Block implements p2p.Chain.
func (s *peers) Block(num uint32) ([]byte, error) {
	if b := s.reversible(num); b != nil && b.Block != nil {
		return b.Block.Append(nil), nil
	}
	return s.n.loggedBlock(num)
}

// BlockByID implements p2p.Chain.
func (s *peers) BlockByID(id types.Checksum256) ([]byte, error) { return s.n.blockByID(id) }

// Knows implements p2p.Chain.
func (s *peers) Knows(id types.Checksum256) bool { return s.p.Knows(id) }

// block is the producer's part of a block, made once.
func (s *peers) block(b *p2p.Block) *producer.Block {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.Prepared == nil {
		b.Prepared = s.p.NewBlock(b.Signed, b.ID)
	}
	return b.Prepared.(*producer.Block)
}

// CheckHeader implements p2p.Chain.
func (s *peers) CheckHeader(b *p2p.Block) (linked bool, err error) {
	err = s.p.CheckHeader(s.block(b))
	if exception.Is(err, exception.UnlinkableBlock) {
		return false, nil
	}
	return err == nil, err
}

// Prepare implements p2p.Chain.
func (s *peers) Prepare(b *p2p.Block) error { return s.p.Prepare(s.block(b)) }

// Apply implements p2p.Chain.
func (s *peers) Apply(ctx context.Context, b *p2p.Block) error {
	return s.p.Apply(ctx, s.block(b))
}

// Transactions implements p2p.Chain.
func (s *peers) Transactions(list []*p2p.Transaction, done func(*p2p.Transaction, error)) {
	given := make([]producer.Submission, 0, len(list))
	for _, t := range list {
		x, err := execute.UnpackedCandidate(t.Packed, t.Trx, t.ContextFreeData, control.Input)
		if err != nil {
			done(t, err)
			continue
		}
		given = append(given, producer.Submission{Candidate: x, Done: func(_ *types.TransactionTrace, err error) { done(t, err) }})
	}
	s.p.Submit(control.TransactionOptions{Kind: control.Input, Lent: true}, given...)
}

// relay passes on what the chain accepted.
func (s *peers) relay(network *p2p.Network) {
	s.n.chain.Subscribe(chain.Hooks{
		AcceptedHeader: func(b *consensus.BlockState) {
			if b.Block != nil {
				network.BlockAccepted(p2p.NewBlock(b.Block))
			}
		},
		AcceptedBlock: func(b *consensus.BlockState) {
			network.SchedulesChanged(b.ActiveSchedule, b.Pending.Schedule)
		},
	})
	s.p.Subscribe(producer.Events{
		Acked: func(packed *types.PackedTransaction, x *execute.Candidate, err error) {
			if err == nil && x != nil && x.Kind == control.Input {
				network.TransactionAccepted(&p2p.Transaction{ID: x.ID, Expiration: x.Trx.Expiration, Packed: packed})
			}
		},
	})
}
