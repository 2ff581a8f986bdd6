package inter

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/trie"
)

// BlockRecord is a whole block as it is exchanged without its events: in a genesis, and
// by nodes that fill in what is far behind (go-opera, inter/ibr).
type BlockRecord struct {
	Block  BlockContent
	Number BlockNumber
}

// BlockContent is what a block holds.
type BlockContent struct {
	Atropos  EventID
	Root     [32]byte // of the state after it
	Txs      types.Transactions
	Receipts []*types.ReceiptForStorage // one for each transaction
	Time     Timestamp
	GasUsed  uint64
}

// Hash returns what validators vote for: SHA-256 over the block's id, the state's root,
// the hashes of transactions and receipts, time and gas.
func (b *BlockContent) Hash() [32]byte { return b.hash(TxsRoot(b.Txs), ReceiptsHash(b.Receipts)) }

// hash is Hash by the hashes of transactions and receipts.
func (b *BlockContent) hash(txs, receipts [32]byte) [32]byte {
	h := sha256.New()
	for _, part := range [][]byte{b.Atropos[:], b.Root[:], txs[:], receipts[:]} {
		h.Write(part)
	}
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(b.Time)))
	h.Write(binary.BigEndian.AppendUint64(nil, b.GasUsed))
	return [32]byte(h.Sum(nil))
}

// TxsRoot returns the root of the trie of transactions, Ethereum's hash of a block's
// body.
func TxsRoot(txs types.Transactions) [32]byte {
	return types.DeriveSha(txs, trie.NewStackTrie(nil))
}

// ReceiptsHash returns the SHA-256 of the receipts' RLP in their stored form: status, gas
// used so far, logs.
func ReceiptsHash(receipts []*types.ReceiptForStorage) [32]byte { return hashRLP(receipts) }

// EpochRecord is an epoch's beginning (go-opera, inter/ier): the state of the block that
// sealed the one before, and what holds in this one.
type EpochRecord struct {
	State EpochContent
	Epoch Epoch
}

// EpochContent is the state with which an epoch begins.
type EpochContent struct {
	BlockState BlockState
	EpochState EpochState
}

// Hash returns what validators vote for: SHA-256 over the hashes of both states.
func (e *EpochContent) Hash() [32]byte {
	block, epoch := e.BlockState.Hash(), e.EpochState.Hash()
	return sha256.Sum256(append(block[:], epoch[:]...))
}

// Supported tells whether Opera knows the type of a transaction: plain ones, with an
// access list, and with dynamic fees.
func Supported(tx *types.Transaction) bool { return tx.Type() <= types.DynamicFeeTxType }

// DecodeRLP reads [atropos, root, transactions, receipts, time, gas used].
func (b *BlockContent) DecodeRLP(s *rlp.Stream) error {
	type plain BlockContent
	var p plain
	if err := s.Decode(&p); err != nil {
		return fmt.Errorf("decode a block's record: %w", err)
	}
	*b = BlockContent(p)
	return checkTypes(p.Txs)
}

// checkTypes refuses a block's transactions of other types.
func checkTypes(txs types.Transactions) error {
	for i, tx := range txs {
		if !Supported(tx) {
			return fmt.Errorf("decode a block's record: transaction %d has the type %d", i, tx.Type())
		}
	}
	return nil
}
