package chain

import (
	"errors"
	"fmt"

	"tarn/antelope/consensus"
	"tarn/antelope/crypto"
	"tarn/antelope/exception"
	"tarn/antelope/execute"
	"tarn/antelope/feature"
	"tarn/antelope/finality"
	"tarn/antelope/types"
)

// Replay applies the block after the head, which is known to be good: from the
// block log with status Irreversible, from the fork database with Validated.
// candidates may be nil (Leap: controller_impl::replay_push_block).
func (c *Chain) Replay(b *types.SignedBlock, candidates []*execute.Candidate, status execute.Status) error {
	if status != execute.Irreversible && status != execute.Validated {
		return exception.New(exception.BlockValidate, "invalid block status for replay")
	}
	if len(c.opt.Checkpoints) > 0 {
		if err := c.checkpoint(b.BlockNum(), b.ID()); err != nil {
			return fmt.Errorf("replay block %d: %w", b.BlockNum(), err)
		}
	}
	var recoverKey consensus.Recover
	if c.opt.ForceAllChecks {
		recoverKey = c.opt.blockKey(c.head.HeaderState)
	}
	bs, err := consensus.NewBlockState(c.head.HeaderState, b, c.opt.Features, recoverKey)
	if err != nil {
		return fmt.Errorf("replay block %d: %w", c.head.BlockNum+1, err)
	}
	if err := c.validate(&Prepared{bs, candidates}, status); err != nil {
		return fmt.Errorf("replay block %d: %w", bs.BlockNum, err)
	}
	if status != execute.Irreversible || c.batch.open {
		return nil
	}
	if err := c.store.Commit(uint64(bs.BlockNum)); err != nil {
		return err
	}
	c.hooks.settled()
	return nil
}

// batch is irreversible blocks that are replayed as one revision: a row that changes
// in many of them is written once. Nobody sees, and no image holds, a state within
// a batch; a failure takes all of it back.
type batch struct {
	open     bool
	before   *consensus.HeaderState // of its first block
	blocks   []batched
	receipts int               // of its actions
	hashers  []*execute.Hasher // of its blocks, the one that is being applied among them
}

// batched is a block of a batch, with the root of its actions by Savanna's rules, or who computes it.
type batched struct {
	state  *consensus.HeaderState
	block  *consensus.BlockState // nil if nobody is told of it
	hasher *execute.Hasher       // nil if the root is there
	root   types.Checksum256
}

// add adds a block that has been executed, and the one before it. It is kept if somebody is told of it.
func (b *batch) add(before *consensus.BlockState, s *consensus.BlockState, done *execute.Block, keep bool) {
	if len(b.blocks) == 0 {
		b.before = before.HeaderState
	}
	x := batched{state: s.HeaderState, hasher: done.Hasher(), root: done.Savanna()}
	if keep {
		x.block = s
	}
	b.blocks = append(b.blocks, x)
	b.receipts += done.Executed()
}

// How large a batch becomes: so much a failure, or the end of the process, costs. A
// transfer has three receipts. What they changed is kept for undoing until the batch
// ends: a batch of more than a few megabytes leaves the processor's cache. One action
// may change thousands of rows.
const (
	batchBlocks   = 256
	batchReceipts = 49_152
	batchBytes    = 8 << 20 // of what is kept for undoing
)

// joins tells whether the next block needs no session of its own.
func (b *batch) joins() bool { return b.open && len(b.blocks) > 0 }

// full tells whether the batch has to end, which has so many bytes for undoing.
func (b *batch) full(recorded int) bool {
	return len(b.blocks) >= batchBlocks || b.receipts >= batchReceipts || recorded >= batchBytes
}

// endBatch makes the blocks of the batch one revision, with the number of the last.
func (c *Chain) endBatch() error {
	if len(c.batch.blocks) == 0 {
		c.batch = batch{}
		return nil
	}
	v, err := c.batch.check(c.validation)
	if err != nil {
		return errors.Join(err, c.dropBatch())
	}
	done := c.batch
	c.batch, c.validation = batch{}, v
	if err := c.state.SetHead(c.Standing().Append(nil)); err != nil {
		return err
	}
	if err := c.state.Push(); err != nil {
		return fmt.Errorf("finish blocks up to %d: %w", c.head.BlockNum, err)
	}
	if c.hooks.pushed {
		if err := c.hooks.tellPushed(changedRows(c.store), done.news()...); err != nil {
			return err
		}
	}
	if err := c.store.Commit(c.store.Head()); err != nil {
		return err
	}
	if err := c.store.SetRevision(uint64(c.head.BlockNum)); err != nil {
		return err
	}
	c.hooks.settled()
	return nil
}

// news are the blocks of the batch, where somebody is told of them.
func (b *batch) news() (blocks []*consensus.BlockState) {
	for i := range b.blocks {
		blocks = append(blocks, b.blocks[i].block)
	}
	return blocks
}

// check waits for the roots of the blocks' actions, and compares what headers say of them. It returns
// the tree after the last block, given the one after the block before the batch.
func (b *batch) check(v *finality.Validation) (*finality.Validation, error) {
	before := b.before
	for i := range b.blocks {
		x := &b.blocks[i]
		if x.hasher != nil {
			var err error
			if x.root, err = x.hasher.Check(); err != nil {
				return nil, err
			}
		}
		var err error
		if v, err = validationAfter(before, v, x.state, x.root); err != nil {
			return nil, fmt.Errorf("replay block %d: %w", x.state.BlockNum, err)
		}
		before = x.state
	}
	return v, nil
}

// blockKey finds the key of the signature of the block after prev.
func (o *Options) blockKey(prev *consensus.HeaderState) consensus.Recover {
	find := crypto.Recover
	if prev.IsActive(o.Features, feature.Savanna) {
		find = crypto.RecoverSpring
	}
	return func(s types.Signature, digest types.Checksum256) (types.PublicKey, error) {
		return find(s, digest, true)
	}
}

// dropBatch takes the blocks of an open batch back.
func (c *Chain) dropBatch() error {
	if !c.batch.open {
		return nil
	}
	for _, h := range c.batch.hashers {
		h.End()
	}
	c.batch = batch{}
	for c.state.Depth() > 0 {
		if err := c.state.Undo(); err != nil {
			return fmt.Errorf("take back the blocks of a batch: %w", err)
		}
	}
	return c.load()
}
