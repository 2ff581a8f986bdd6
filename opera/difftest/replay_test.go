package difftest

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/trie"

	"tarn/opera/chain"
	"tarn/opera/chain/chaintest"
	"tarn/opera/eventfile"
	"tarn/opera/genesis"
	"tarn/opera/inter"
)

// newChain makes the chain of a fakenet with our own code.
func newChain(t *testing.T, dir string, validators int) *chaintest.Chain {
	t.Helper()
	c, err := chaintest.New(dir, validators, chaintest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// replayRecord makes the chain of a record with our own code.
func replayRecord(t *testing.T, dir string, r *Record, validators int) (*chaintest.Chain, error) {
	t.Helper()
	c := newChain(t, dir, validators)
	in, err := eventfile.Open(r.Events)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	fed, err := c.Feed(t.Context(), in.Next, nil)
	if err != nil {
		return nil, fmt.Errorf("after %+v and %d blocks: %w", fed, c.Head().Number, err)
	}
	return c, nil
}

// compare names the first difference between a chain and a record.
func compare(c *chain.Chain, r *Record) error {
	if err := same(c, r.Blocks); err != nil {
		return err
	}
	if err := sameEncoding("rules", uint64(c.Epoch().Epoch), &c.Epoch().Rules, &r.Rules); err != nil {
		return err
	}
	return sameRecords(c, r.Final)
}

// same compares the blocks that a node told with ours.
func same(c *chain.Chain, blocks []BlockAnswer) error {
	v, err := c.View()
	if err != nil {
		return err
	}
	defer v.Close()
	for _, want := range blocks {
		number := inter.BlockNumber(want.Number)
		b, err := v.Block(number)
		if err != nil {
			return err
		}
		if b == nil {
			return fmt.Errorf("there is no block %d, go-opera's is %+v", number, want)
		}
		root, err := v.Root(number)
		if err != nil {
			return err
		}
		epoch := b.ID.Epoch()
		got := BlockAnswer{
			Hash: common.Hash(b.ID), StateRoot: root, TransactionsRoot: inter.TxsRoot(b.Txs),
			ReceiptsRoot: types.DeriveSha(b.Receipts, trie.NewStackTrie(nil)),
		}
		bloom := types.MergeBloom(b.Receipts)
		h, err := v.Header(number)
		if err != nil {
			return err
		}
		if got.Hash != want.Hash || uint64(b.Time) != uint64(want.TimestampNano) || b.GasUsed != uint64(want.GasUsed) ||
			got.StateRoot != want.StateRoot || got.TransactionsRoot != want.TransactionsRoot ||
			got.ReceiptsRoot != want.ReceiptsRoot ||
			len(b.Txs) != len(want.Transactions) || uint64(epoch) != uint64(want.Epoch) ||
			!bytes.Equal(bloom[:], want.LogsBloom) ||
			(h.BaseFee == nil) != (want.BaseFee == nil) ||
			h.BaseFee != nil && h.BaseFee.Cmp(want.BaseFee.ToInt()) != 0 {
			return fmt.Errorf(
				"block %d of epoch %d is %+v with %d transactions at %d, base fee %v, gas %d, go-opera's is %+v",
				number, epoch, got, len(b.Txs), b.Time, h.BaseFee, b.GasUsed, want)
		}
	}
	if n := int(c.Head().Number); n != len(blocks) {
		return fmt.Errorf("%d blocks, go-opera has %d", n, len(blocks))
	}
	return nil
}

// sameRecords compares the records of an exported genesis with ours, byte by byte.
func sameRecords(c *chain.Chain, path string) error {
	f, err := genesis.Open(path, genesis.Options{})
	if err != nil {
		return err
	}
	defer f.Close()
	for theirs, err := range f.Epochs() {
		if err != nil {
			return err
		}
		ours, err := c.EpochRecord(theirs.Epoch)
		if err != nil {
			return err
		}
		if err := sameEncoding("record of epoch", uint64(theirs.Epoch), ours, theirs); err != nil {
			return err
		}
	}
	for theirs, err := range f.Blocks() {
		if err != nil {
			return err
		}
		ours, err := c.BlockRecord(theirs.Number)
		if err != nil {
			return err
		}
		if err := sameEncoding("record of block", uint64(theirs.Number), ours, theirs); err != nil {
			return err
		}
	}
	return nil
}

func sameEncoding(what string, number uint64, ours, theirs any) error {
	a, err := rlp.EncodeToBytes(ours)
	b, errTheirs := rlp.EncodeToBytes(theirs)
	if err = errors.Join(err, errTheirs); err != nil {
		return err
	}
	if !bytes.Equal(a, b) {
		return fmt.Errorf("the %s %d is\n%x, go-opera's\n%x", what, number, a, b)
	}
	return nil
}
