package inter

import (
	"bytes"
	"crypto/sha256"
	"fmt"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/trie"
)

// SealedBlockRecord is a block's record whose transactions and receipts are not decoded yet. What
// validators vote for is known all the same, so that a stranger's record, which may decode to a
// hundred times its size, is opened only if it is the right one.
type SealedBlockRecord struct {
	Block struct {
		Atropos       EventID
		Root          [32]byte
		Txs, Receipts rlp.RawValue
		Time          Timestamp
		GasUsed       uint64
	}
	Number BlockNumber
}

// Hash returns what [BlockContent.Hash] does of the record, whose encoding must be the canonical
// one.
func (r *SealedBlockRecord) Hash() (hash [32]byte, err error) {
	txs, err := splitTxs(r.Block.Txs)
	if err != nil {
		return hash, fmt.Errorf("hash the record of block %d: %w", r.Number, err)
	}
	b := r.content()
	return b.hash(types.DeriveSha(txs, trie.NewStackTrie(nil)), sha256.Sum256(r.Block.Receipts)), nil
}

// content is the block without its transactions and receipts.
func (r *SealedBlockRecord) content() BlockContent {
	return BlockContent{Atropos: r.Block.Atropos, Root: r.Block.Root, Time: r.Block.Time, GasUsed: r.Block.GasUsed}
}

// Open decodes the record. Its hash must be known to be the right one.
func (r *SealedBlockRecord) Open() (*BlockRecord, error) {
	open := &BlockRecord{Number: r.Number, Block: r.content()}
	for _, part := range []struct {
		raw  []byte
		into any
	}{{r.Block.Txs, &open.Block.Txs}, {r.Block.Receipts, &open.Block.Receipts}} {
		if err := rlp.DecodeBytes(part.raw, part.into); err != nil {
			return nil, fmt.Errorf("decode the record of block %d: %w", r.Number, err)
		}
	}
	return open, checkTypes(open.Block.Txs)
}

// rawTxs are transactions as their root has them.
type rawTxs [][]byte

// Len implements types.DerivableList.
func (t rawTxs) Len() int { return len(t) }

// EncodeIndex implements types.DerivableList.
func (t rawTxs) EncodeIndex(i int, to *bytes.Buffer) { to.Write(t[i]) }

// leastTx is less than the bytes of any transaction: nine numbers and their list.
const leastTx = 10

// splitTxs splits the RLP of transactions: a plain one is a list, any other is in a string.
func splitTxs(raw []byte) (list rawTxs, err error) {
	rest, _, err := rlp.SplitList(raw)
	for err == nil && len(rest) > 0 {
		kind, tx, after, failed := rlp.Split(rest)
		if kind == rlp.List {
			tx = rest[:len(rest)-len(after)]
		}
		if err = failed; err == nil && len(tx) < leastTx {
			err = fmt.Errorf("transaction %d has %d bytes", len(list), len(tx))
		}
		list, rest = append(list, tx), after
	}
	return list, err
}
