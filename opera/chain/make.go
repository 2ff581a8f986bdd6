package chain

import (
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"tarn/opera/dag"
	"tarn/opera/epoch"
	"tarn/opera/evm"
	"tarn/opera/inter"
	"tarn/opera/state"
)

// draft is a block that is being made.
type draft struct {
	*epoch.Block
	chain    *Chain
	events   []*inter.Payload // that carry transactions, by id
	state    *state.Block
	machine  *evm.Block
	records  *records
	internal types.Transactions
}

// make makes a block of a decided frame, or skips it, and tells whether it sealed the
// epoch.
func (c *Chain) make(d *dag.Decision) (sealed bool, err error) {
	b := &draft{Block: epoch.Begin(&c.block, c.epoch, d.Atropos, d.Cheaters), chain: c, records: &records{chain: c}}
	if err := b.confirm(d.Confirmed); err != nil {
		return false, err
	}
	if b.Decide() {
		c.block, c.decided = b.State, d.Frame
		return false, nil
	}
	if b.Sealing() {
		// The next epoch's state names the root of the block before this one.
		if b.State.FinalizedStateRoot, err = c.Root(b.State.LastBlock.Number); err != nil {
			return false, err
		}
	}
	if err := b.execute(); err != nil {
		return false, err
	}
	done, err := b.finish()
	if err != nil {
		return false, err
	}
	if err := c.push(b, done, d.Frame); err != nil {
		return false, err
	}
	return b.Sealing(), nil
}

// confirm counts the events that the block confirms, and what they prove.
func (b *draft) confirm(ids []inter.EventID) error {
	for _, id := range ids {
		v := b.chain.vertices[id]
		p := v.payload
		if p == nil {
			return fmt.Errorf("event %v is confirmed twice", id)
		}
		b.Confirm(epoch.Event{
			ID: id, Creator: p.Creator, Seq: p.Seq, MedianTime: p.MedianTime,
			GasPowerUsed: p.GasPowerUsed, GasPowerLeft: p.GasPowerLeft, HasTxs: p.AnyTxs,
		})
		if p.AnyTxs {
			b.events = append(b.events, p)
		}
		for i := range p.Proofs {
			for _, id := range epoch.Convicted(&p.Proofs[i], b.records) {
				b.Accuse(id)
			}
		}
		v.payload = nil
	}
	return b.records.err
}

// execute executes the block's transactions: what the driver contract is told before and
// after an epoch is sealed, then those of the events, the newest that fit into a block.
func (b *draft) execute() error {
	c := b.chain
	b.state = state.NewBlock(c.state.Flat(c.store)).Remember(c.hashes)
	b.machine = evm.NewBlock(evm.Header{
		Number: b.Info.Number, Time: b.Info.Time, ID: b.Info.Atropos,
		Config: c.config, BaseFee: evm.BaseFee(&c.epoch.Rules), BlockID: c.ids.get,
	}, b.state, c.analyses)
	defer b.machine.Close()
	signer := evm.Signer(c.config, b.Info.Number)
	limit := c.epoch.Rules.Blocks.MaxBlockGas
	if err := b.call(b.CallsBefore()); err != nil {
		return err
	}
	if b.Sealing() {
		if err := b.Seal(); err != nil {
			return err
		}
		// The events' gas is bounded by the rules that hold after the seal.
		limit = b.Epoch.Rules.Blocks.MaxBlockGas
	}
	if err := b.call(b.CallsAfter()); err != nil {
		return err
	}
	used := make([]uint64, len(b.events))
	for i, p := range b.events {
		used[i] = p.GasPowerUsed
	}
	b.events = b.events[epoch.Spill(used, limit):]
	txs, err := b.transactions(signer)
	if err != nil {
		return err
	}
	_, err = b.machine.Execute(txs, b.listen)
	return err
}

// call executes calls of the driver contract. They begin with the nonce that the zero address has now, which
// contracts of code there raise too (go-opera, gossip/blockproc/drivermodule: InternalTxBuilder).
func (b *draft) call(calls [][]byte) error {
	nonce := b.state.GetNonce(common.Address{})
	txs := make([]evm.Tx, len(calls))
	for i, data := range calls {
		tx := epoch.InternalTx(nonce+uint64(i), epoch.Driver(), data)
		txs[i] = evm.Tx{Transaction: tx}
		b.internal = append(b.internal, tx)
	}
	receipts, err := b.machine.Execute(txs, b.listen)
	for _, r := range receipts {
		if r.Status == types.ReceiptStatusFailed {
			b.chain.warn(fmt.Errorf("block %d: the driver contract failed in the internal transaction %v",
				b.Info.Number, r.TxHash))
		}
	}
	return err
}

// transactions returns those of the events, with their senders, which a Verifier has
// found already.
func (b *draft) transactions(signer types.Signer) ([]evm.Tx, error) {
	var txs []evm.Tx
	for _, p := range b.events {
		for _, tx := range p.Txs {
			from, err := evm.Sender(signer, tx)
			if err != nil {
				return nil, fmt.Errorf("the sender of transaction %v of event %v: %w", tx.Hash(), p.ID(), err)
			}
			txs = append(txs, evm.Tx{Transaction: tx, From: from})
		}
	}
	return txs, nil
}

// listen hears the logs of executed transactions.
func (b *draft) listen(l *types.Log) {
	if err := b.Log(l); err != nil {
		b.chain.warn(fmt.Errorf("block %d: %w", b.Info.Number, err))
	}
}

// finish ends the block: who gets the fees, what has changed.
func (b *draft) finish() (*Block, error) {
	changes, err := b.state.Finish(uint64(b.Info.Number))
	if err != nil {
		return nil, err
	}
	origins := map[common.Hash]inter.ValidatorID{}
	for _, p := range b.events {
		for _, tx := range p.Txs {
			if _, before := origins[tx.Hash()]; !before {
				origins[tx.Hash()] = p.Creator
			}
		}
	}
	txs, receipts := b.machine.Txs(), b.machine.Receipts()
	if len(txs) != len(receipts) {
		return nil, errors.New("there are not as many receipts as transactions")
	}
	for i, tx := range txs {
		b.Receipt(tx, receipts[i].GasUsed, origins[tx.Hash()])
	}
	done := &Block{
		Number: b.Info.Number, Time: b.Info.Time, ID: b.Info.Atropos, GasUsed: b.machine.GasUsed(),
		BaseFee: evm.BaseFee(&b.chain.epoch.Rules), Internal: b.internal, Txs: txs, Senders: b.machine.Senders(),
		Receipts: receipts, changes: changes,
	}
	for _, p := range b.events {
		done.Events = append(done.Events, p.ID())
		done.events = append(done.events, b.chain.vertices[p.ID()].number)
	}
	done.renameAll(b.events)
	done.renameReceipts()
	for _, s := range b.machine.Skipped() {
		done.Skipped = append(done.Skipped, uint32(s.Index))
	}
	return done, nil
}
