package chain

import (
	"time"

	"tarn/antelope/consensus"
	"tarn/antelope/exception"
	"tarn/antelope/execute"
	"tarn/antelope/feature"
	"tarn/antelope/types"
)

// Report is that of the block that was finished last, on this node and since its
// start (Leap: controller::block_report).
func (c *Chain) Report() execute.Report { return c.report }

// Worked is how long this process has worked on the blocks that it finished, which is
// about what they would take again.
func (c *Chain) Worked() time.Duration { return c.worked }

// IrreversibleMode tells whether only irreversible blocks are applied.
func (c *Chain) IrreversibleMode() bool { return c.opt.IrreversibleMode }

// LightValidation tells whether the producers of all signed blocks are trusted.
func (c *Chain) LightValidation() bool { return c.opt.LightValidation }

// Speculative tells whether transactions stay in a pending block that is no one's.
func (c *Chain) Speculative() bool { return c.opt.Speculative }

// Features are those that the node recognises. Any goroutine may ask.
func (c *Chain) Features() *feature.Set { return c.opt.Features }

// CheckHeader checks the header and the signatures of a block that follows prev,
// and that it holds the transactions that it says. Any goroutine may call it. id is
// the block's, which the caller computed.
func (c *Chain) CheckHeader(prev *consensus.HeaderState, b *types.SignedBlock, id types.Checksum256) (*consensus.BlockState, error) {
	digests := make([]types.Checksum256, len(b.Transactions))
	for i := range b.Transactions {
		digests[i] = b.Transactions[i].Digest()
	}
	if root := consensus.MerkleRoot(digests); root != b.TransactionMRoot {
		return nil, exception.New(exception.BlockValidate, "invalid block transaction merkle root %s != %s", b.TransactionMRoot, root)
	}
	bs, err := consensus.NewBlockState(prev, b, c.opt.Features, recoverBlockKey)
	if err != nil {
		return nil, err
	}
	if bs.ID != id {
		return nil, exception.New(exception.BlockValidate, "provided id %s does not match block id %s", id, bs.ID)
	}
	return bs, nil
}

// UnpackBlock unpacks the transactions of a block, and finds their keys unless its
// producer is trusted, on several goroutines if there are many. known returns what
// is known of a transaction, nil for nothing: keys that were found for the same
// signatures are not found again; it may be nil. Any goroutine may call it, before
// or after the header is checked.
func (c *Chain) UnpackBlock(b *types.SignedBlock, known func(id types.Checksum256) *execute.Candidate) ([]*execute.Candidate, error) {
	if c.trusts(b.Producer) {
		return execute.Unpack(b)
	}
	return c.keys.Unpack(b, known, max(1, c.opt.Threads))
}

// NewPrepared joins what CheckHeader and UnpackBlock made of one block.
func NewPrepared(b *consensus.BlockState, candidates []*execute.Candidate) *Prepared {
	return &Prepared{State: b, candidates: candidates}
}
