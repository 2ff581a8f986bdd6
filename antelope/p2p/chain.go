package p2p

import (
	"context"
	"sync"
	"sync/atomic"

	"tarn/antelope/types"
)

// Info is where a chain is.
type Info struct {
	LIBNum  uint32 // last irreversible block
	LIBID   types.Checksum256
	HeadNum uint32 // head of the fork database: of the headers, in irreversible mode
	HeadID  types.Checksum256
	Time    types.BlockTimestamp // of the head, or of a block before it that it has applied
	First   uint32               // lowest block that can be had from this node
}

// Chain is what the network needs of the node that it serves. Any goroutine calls
// its methods, many at once. Those that are not said to wait must not.
type Chain interface {
	// ID is the chain's id; it never changes.
	ID() types.Checksum256
	// Info tells where the chain is. It is asked for with every message.
	Info() Info
	// BlockID is the id of a block of the head's branch, the log included. Errors
	// of the kind exception.UnknownBlock mean that the node does not have it.
	BlockID(num uint32) (types.Checksum256, error)
	// Block is the encoding of a block of the head's branch, nil if the node does
	// not have it. It may read a file. The caller does not change it.
	Block(num uint32) ([]byte, error)
	// BlockByID is the same of a block that is known by its id.
	BlockByID(id types.Checksum256) ([]byte, error)
	// Knows tells whether the fork database has the block, or has it as its root,
	// so that a block after it could be checked.
	Knows(id types.Checksum256) bool

	// CheckHeader checks a block's header and signatures against the block before
	// it. linked is false, without an error, if that one is not known yet. The
	// block is passed on to peers when it is linked and good. Blocks of ranges are
	// checked ahead of those before them being applied; the Chain does best to keep
	// what it found for Apply, and to check against headers that it has checked.
	CheckHeader(b *Block) (linked bool, err error)
	// Prepare does what can be done in any order for blocks whose header was checked,
	// such as finding the keys of their transactions, and may leave what it made in
	// b.Prepared. It may take its time. It is called before Apply, but for a block
	// whose header is not good or does not follow a known one; when it is called again
	// meanwhile, the Chain does the work once.
	Prepare(b *Block) error
	// Apply gives a block to the chain, and waits, also until the chain takes blocks
	// again if it is making some. One goroutine calls it. It returns nil also for a
	// block that did not become the head, an error of the kind
	// exception.UnlinkableBlock if the block before is not known, one of another kind
	// if the block is bad.
	Apply(ctx context.Context, b *Block) error

	// Transactions gives transactions of one peer to the chain, which keeps their
	// order, but not the list. It may wait for their keys to be found. It calls done
	// once for each, on any goroutine, with the reason if it was refused. When one is
	// accepted, whoever it came from, [Network.TransactionAccepted] is to be called.
	Transactions(list []*Transaction, done func(t *Transaction, err error))
}

// Block is a block on its way. Its methods may be called by any goroutine.
type Block struct {
	ID     types.Checksum256
	Num    uint32
	Signed *types.SignedBlock // not to be changed

	Prepared any // the Chain's, set before Apply

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
