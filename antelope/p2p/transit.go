package p2p

import (
	"sync"
	"sync/atomic"

	"tarn/antelope/types"
)

// Block is a block on its way. Its methods may be called by any goroutine.
type Block struct {
	ID     types.Checksum256
	Num    uint32
	Signed *types.SignedBlock // not to be changed

	Prepared any // the ledger's, set before Apply

	size     int // bytes on the wire
	prepared atomic.Bool
	once     sync.Once
	bytes    []byte
}

// NewBlock returns a block with its id computed.
func NewBlock(b *types.SignedBlock) *Block {
	id := b.BlockHeader.ID()
	return &Block{ID: id, Num: types.BlockNum(id), Signed: b}
}

// frame is the message that carries the block; it is made once.
func (b *Block) frame() []byte {
	b.once.Do(func() { b.bytes, _ = AppendFrame(make([]byte, 0, b.size+512), b.Signed) })
	return b.bytes
}

// Transaction is a transaction on its way. Nothing of it is to be changed.
type Transaction struct {
	ID         types.Checksum256
	Expiration types.TimePointSec
	Packed     *types.PackedTransaction

	// Trx and ContextFreeData are what Packed holds; nil if [Network.TransactionAccepted]
	// is called with what came from elsewhere.
	Trx             *types.Transaction
	ContextFreeData [][]byte

	size int64 // bytes that it takes, unpacked too
}

// NewTransaction unpacks a packed transaction. Errors are those of
// types.PackedTransaction.Unpack.
func NewTransaction(p *types.PackedTransaction) (*Transaction, error) {
	t, data, err := p.Unpack()
	if err != nil {
		return nil, err
	}
	return &Transaction{ID: t.ID(), Expiration: t.Expiration, Packed: p, Trx: t, ContextFreeData: data}, nil
}
