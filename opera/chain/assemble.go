package chain

import (
	"fmt"

	"github.com/ethereum/go-ethereum/common"

	"tarn/opera/evm"
	"tarn/opera/inter"
)

// Assemble puts the block together from what is told of it alone, with its senders. It has no base fee, and receipts
// have what is stored of them: status, gas used so far, logs with address, topics and data. There is a receipt for each
// transaction. What is told may be anything.
func (t *Told) Assemble() (*Block, error) {
	if err := t.checkEvents(); err != nil {
		return nil, err
	}
	b, err := assemble(t.Number, &t.Block, t.event)
	if err != nil {
		return nil, err
	}
	if len(b.Receipts) != len(b.Txs) {
		return nil, fmt.Errorf("block %d has %d receipts for %d transactions", t.Number, len(b.Receipts), len(b.Txs))
	}
	if len(b.Senders) == len(b.Txs) {
		return b, nil
	}
	b.Senders = make([]common.Address, len(b.Txs))
	for i, tx := range b.Txs {
		if b.Senders[i], err = evm.Sender(evm.SignerOf(tx), tx); err != nil {
			return nil, fmt.Errorf("transaction %d of block %d: %w", i, t.Number, err)
		}
	}
	return b, nil
}

// event reads an event by its place, which is there.
func (t *Told) event(n uint64) (inter.EventID, []byte, error) {
	return t.Events[n].ID, t.Events[n].Raw, nil
}
