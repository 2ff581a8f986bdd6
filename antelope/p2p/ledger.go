package p2p

import (
	"context"
	"fmt"
	"sync"

	"tarn/antelope/chain"
	"tarn/antelope/exception"
	"tarn/antelope/execute"
	"tarn/antelope/finality"
	"tarn/antelope/producer"
	"tarn/antelope/serial"
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
	// Spring says that the network is one of Spring's nodes: what connections are for is said and heard as
	// there.
	Spring bool
}

// Ledger is what the network asks of the chain that it serves. Any goroutine calls
// its methods, many at once. Those that are not said to wait must not.
type Ledger interface {
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
	// checked ahead of those before them being applied; the Ledger does best to keep
	// what it found for Apply, and to check against headers that it has checked.
	CheckHeader(b *Block) (linked bool, err error)
	// Prepare does what can be done in any order for blocks whose header was checked,
	// such as finding the keys of their transactions, and may leave what it made in
	// b.Prepared. It may take its time. It is called before Apply, but for a block
	// whose header is not good or does not follow a known one; when it is called again
	// meanwhile, the Ledger does the work once.
	Prepare(b *Block) error
	// Apply gives a block to the chain, and waits, also until the chain takes blocks
	// again if it is making some. One goroutine calls it. It returns nil also for a
	// block that did not become the head, an error of the kind
	// exception.UnlinkableBlock if the block before is not known, one of another kind
	// if the block is bad.
	Apply(ctx context.Context, b *Block) error

	// Vote counts finalizers' votes, one at least and all for one block, after it verified their signatures, which
	// takes a millisecond, and hardly more for several. What it counted is passed on to peers.
	Vote(list ...*finality.Vote) []finality.Result

	// PeerKeys asks the system contract for the producers that may gossip, the first one first, and for
	// their keys (Spring: getpeerkeys). It may take its time. Without such a contract there are none.
	PeerKeys(ctx context.Context) ([]PeerKey, error)

	// RefusesTransactions tells whether the chain takes none now. It is asked for each that comes.
	RefusesTransactions() bool
	// Transactions gives transactions of one peer to the chain, which keeps their
	// order, but not the list. It may wait for their keys to be found. It calls done
	// once for each, on any goroutine, with the reason if it was refused. When one is
	// accepted, whoever it came from, [Network.TransactionAccepted] is to be called.
	Transactions(list []*Transaction, done func(t *Transaction, err error))
}

// NewLedger returns the ledger of a chain whose writer p runs. blocks finds what the chain has.
func NewLedger(c *chain.Chain, p *producer.Producer, blocks *chain.Blocks) Ledger {
	return &ledger{chain: c, producer: p, blocks: blocks}
}

type ledger struct {
	chain    *chain.Chain
	producer *producer.Producer
	blocks   *chain.Blocks

	mu sync.Mutex // of Block.Prepared
}

func (l *ledger) ID() types.Checksum256 { return l.chain.ID() }

func (l *ledger) Info() Info {
	h := l.producer.Head()
	return Info{
		LIBNum: h.IrreversibleNum, LIBID: h.IrreversibleID, HeadNum: h.ForkNum, HeadID: h.ForkID, Time: h.Time,
		First: l.blocks.First(), Spring: h.Spring,
	}
}

func (l *ledger) BlockID(num uint32) (types.Checksum256, error) {
	if b := l.blocks.Reversible(l.producer.Head().ForkID, num); b != nil {
		return b.ID, nil
	}
	id, err := l.blocks.LoggedID(num)
	if err != nil {
		return id, exception.Wrap(exception.UnknownBlock, err, "could not find block ${num}", "num", num)
	}
	return id, nil
}

func (l *ledger) Block(num uint32) ([]byte, error) {
	return l.blocks.Packed(l.producer.Head().ForkID, num)
}

func (l *ledger) BlockByID(id types.Checksum256) ([]byte, error) { return l.blocks.ByID(id) }

func (l *ledger) Knows(id types.Checksum256) bool { return l.producer.Knows(id) }

// block is the producer's part of a block, made once.
func (l *ledger) block(b *Block) *producer.Block {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b.Prepared == nil {
		b.Prepared = l.producer.NewBlock(b.Signed, b.ID)
	}
	return b.Prepared.(*producer.Block)
}

func (l *ledger) CheckHeader(b *Block) (linked bool, err error) {
	err = l.producer.CheckHeader(l.block(b))
	if exception.Is(err, exception.UnlinkableBlock) {
		return false, nil
	}
	return err == nil, err
}

func (l *ledger) Prepare(b *Block) error { return l.producer.Prepare(l.block(b)) }

func (l *ledger) Apply(ctx context.Context, b *Block) error {
	return l.producer.Apply(ctx, l.block(b))
}

func (l *ledger) Vote(list ...*finality.Vote) []finality.Result { return l.producer.Vote(list...) }

func (l *ledger) PeerKeys(ctx context.Context) ([]PeerKey, error) {
	told, err := l.producer.Ask(ctx, types.N("eosio"), types.N("getpeerkeys"), keysTime)
	if err != nil || len(told) == 0 {
		return nil, err
	}
	return readPeerKeys(told)
}

// readPeerKeys reads what the contract answers: names, each with a key or none.
func readPeerKeys(b []byte) (list []PeerKey, err error) {
	r := serial.NewReader(b)
	const least = 8 + 1
	for range r.Count(least) {
		k := PeerKey{Producer: types.Name(r.Uint64())}
		if r.Bool() {
			k.Key.Read(r)
		}
		list = append(list, k)
	}
	if r.Err() != nil {
		return nil, fmt.Errorf("answer of getpeerkeys, at byte %d: %w", r.Offset(), r.Err())
	}
	return list, nil
}

func (l *ledger) RefusesTransactions() bool { return l.producer.RefusesTransactions() }

func (l *ledger) Transactions(list []*Transaction, done func(*Transaction, error)) {
	given := make([]producer.Submission, 0, len(list))
	for _, t := range list {
		x, err := execute.UnpackedCandidate(t.Packed, t.Trx, t.ContextFreeData, execute.Input)
		if err != nil {
			done(t, err)
			continue
		}
		given = append(given, producer.Submission{Candidate: x, Done: func(_ *types.TransactionTrace, err error) {
			done(t, err)
		}})
	}
	l.producer.Submit(execute.TransactionOptions{Kind: execute.Input, Lent: true}, given...)
}
