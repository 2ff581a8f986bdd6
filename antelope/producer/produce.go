package producer

import (
	"errors"
	"time"

	"tarn/antelope/exception"
	"tarn/antelope/types"
)

// produce signs the pending block (Leap: produce_block).
func (p *Producer) produce() error {
	start := time.Now()
	pending, building := p.chain.Pending()
	if !building || !p.producing {
		return exception.New(exception.MissingPendingBlockState,
			"pending_block_state does not exist but it should, another plugin may have corrupted it")
	}
	signers := p.signers(pending.Authority)
	if len(signers) == 0 {
		return exception.New(exception.ProducerPrivKeyNotFound,
			"Attempting to produce a block for which we don't have any relevant private keys")
	}
	if p.signalled {
		p.features, p.signalled = nil, false
	}
	p.making = p.chain.PendingInput()
	defer func() { p.making = nil }()
	b, err := p.chain.ProduceBlock(func(digest types.Checksum256) ([]types.Signature, error) {
		all := make([]types.Signature, 0, len(signers))
		for _, sign := range signers {
			s, err := sign(digest)
			if err != nil {
				return nil, err
			}
			all = append(all, s)
		}
		return all, nil
	}, recoverKey)
	if err != nil {
		return err
	}
	p.producing = false
	if err := errors.Join(p.chain.Publish(), p.chain.LogIrreversible()); err != nil {
		p.writer.Fail(err)
		return err
	}
	p.shown = false
	p.said.forget(b.Header.Producer)
	p.between()
	p.writer.Release()
	p.reportProduced(b, start)
	return nil
}
