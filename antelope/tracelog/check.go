package tracelog

import (
	"errors"
	"fmt"
	"slices"

	"tarn/antelope/tracelog/wire"
	"tarn/antelope/types"
)

// agree is an error unless the traces of an irreversible block agree with the ids of the transactions
// that have a receipt in it, and with the block. Either is nil if it is not there.
func agree(b *wire.Block, ids []types.Checksum256, block *types.SignedBlock) error {
	if block != nil {
		if err := agreeHeader(b, block); err != nil {
			return err
		}
		if ids != nil && len(ids) != len(block.Transactions) {
			return fmt.Errorf("%d ids of transactions, and the block has %d", len(ids), len(block.Transactions))
		}
	}
	if ids == nil {
		return nil
	}
	next, found := 0, 0
	for i := range b.Transactions {
		t := &b.Transactions[i]
		at := slices.Index(ids[next:], t.ID)
		if at < 0 && i == 0 { // the chain's own has no receipt in the block
			if err := agreeOwn(t, block); err != nil {
				return err
			}
			continue
		}
		if at < 0 {
			return fmt.Errorf("transaction %s is not among the block's, or not in its place", t.ID)
		}
		next, found = next+at+1, found+1
		if block != nil {
			if err := agreeReceipt(t, &block.Transactions[next-1]); err != nil {
				return fmt.Errorf("transaction %s: %w", t.ID, err)
			}
		}
	}
	if block == nil {
		return nil
	}
	for i := range block.Transactions {
		if s := block.Transactions[i].Status; s == types.StatusExecuted || s == types.StatusSoftFail {
			found--
		}
	}
	if found != 0 {
		return fmt.Errorf("they have %d transactions more than the block executed", found)
	}
	return nil
}

// idsOf are the ids of the transactions that have a receipt in a block.
func idsOf(block *types.SignedBlock) ([]types.Checksum256, error) {
	ids := make([]types.Checksum256, len(block.Transactions))
	for i := range block.Transactions {
		r := &block.Transactions[i]
		if ids[i] = r.ID; r.Packed == nil {
			continue
		}
		trx, _, err := r.Packed.Unpack()
		if err != nil {
			return nil, fmt.Errorf("unpack transaction %d of block %d: %w", i, block.BlockNum(), err)
		}
		ids[i] = trx.ID()
	}
	return ids, nil
}

// agreeOwn is an error unless the chain's own transaction at the beginning of a block has the id that follows from its
// action and the block (Leap: controller_impl::get_on_block_transaction). What failed has no action.
func agreeOwn(t *wire.Transaction, block *types.SignedBlock) error {
	if len(t.Actions) == 0 || block == nil {
		return nil
	}
	a := &t.Actions[0]
	own := types.Transaction{Actions: []types.Action{
		{Account: a.Account, Name: a.Name, Authorization: a.Authorization, Data: a.Data}}}
	if own.ID() == t.ID {
		return nil
	}
	// Before NO_DUPLICATE_DEFERRED_ID its header is of the block.
	own.Expiration = (block.Timestamp.TimePoint() + 999_999).Sec()
	own.SetRefBlock(block.Previous)
	if own.ID() != t.ID {
		return fmt.Errorf("the chain's own transaction %s would have another id by what it did", t.ID)
	}
	return nil
}

func agreeHeader(b *wire.Block, block *types.SignedBlock) error {
	h := &block.BlockHeader
	if id := h.ID(); id != b.ID {
		return fmt.Errorf("they are of block %s, and the block log has %s", b.ID, id)
	}
	if b.Previous != h.Previous || b.Timestamp != h.Timestamp || b.Producer != h.Producer {
		return fmt.Errorf("they say that %s of producer %s at %s is the block", b.ID, b.Producer, b.Timestamp)
	}
	if r := b.Roots; r != nil &&
		(r.Transactions != h.TransactionMRoot || r.Actions != h.ActionMRoot || r.ScheduleVersion != h.ScheduleVersion) {
		return errors.New("they have other roots than the block, or another schedule")
	}
	return nil
}

// agreeReceipt is an error unless a transaction has the receipt that it has in its block.
func agreeReceipt(t *wire.Transaction, in *types.TransactionReceipt) error {
	r := t.Receipt
	if r == nil {
		return nil
	}
	if r.Status != in.Status || r.CPUUsageUS != in.CPUUsageUS || r.NetUsageWords != in.NetUsageWords {
		return fmt.Errorf("its receipt says %s, %d us, %d words, and in the block it is %s, %d, %d",
			r.Status, r.CPUUsageUS, r.NetUsageWords, in.Status, in.CPUUsageUS, in.NetUsageWords)
	}
	if in.Packed == nil {
		if in.ID != t.ID {
			return fmt.Errorf("in the block it is %s", in.ID)
		}
		return nil
	}
	trx, _, err := in.Packed.Unpack()
	if err != nil {
		return fmt.Errorf("unpack it as it is in the block: %w", err)
	}
	if id := trx.ID(); id != t.ID {
		return fmt.Errorf("in the block it is %s", id)
	}
	if !slices.EqualFunc(r.Signatures, in.Packed.Signatures, func(a, b types.Signature) bool { return a == b }) {
		return errors.New("it has other signatures than in the block")
	}
	if trx.TransactionHeader != r.Header {
		return errors.New("it has another header than in the block")
	}
	return nil
}
