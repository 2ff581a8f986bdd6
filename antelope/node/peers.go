package node

import (
	"tarn/antelope/chain"
	"tarn/antelope/consensus"
	"tarn/antelope/execute"
	"tarn/antelope/p2p"
	"tarn/antelope/producer"
	"tarn/antelope/types"
)

// relay passes on what the chain accepted.
func relay(c *chain.Chain, p *producer.Producer, network *p2p.Network) {
	c.Subscribe(chain.Hooks{
		AcceptedHeader: func(b *consensus.BlockState) {
			if b.Block != nil {
				network.BlockAccepted(p2p.NewBlock(b.Block))
			}
		},
		AcceptedBlock: func(b *consensus.BlockState) {
			network.SchedulesChanged(b.ActiveSchedule, b.Pending.Schedule)
		},
	})
	p.Subscribe(producer.Events{
		Between: func() { network.HeadShown(p.Head().Num) },
		Acked: func(packed *types.PackedTransaction, x *execute.Candidate, err error) {
			if err == nil && x != nil && x.Kind == execute.Input {
				network.TransactionAccepted(&p2p.Transaction{ID: x.ID, Expiration: x.Trx.Expiration, Packed: packed})
			}
		},
	})
}
