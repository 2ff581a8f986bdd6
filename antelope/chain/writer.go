package chain

import (
	"time"

	"tarn/antelope/consensus"
	"tarn/antelope/execute"
	"tarn/antelope/feature"
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

// Spring tells whether the blocks after the head are Spring's to make: SAVANNA is active, so that no
// nodeos of Leap can follow, and what Leap and Spring do differently is done as by Spring. The state may
// not be empty.
func (c *Chain) Spring() bool { return c.head.IsActive(c.opt.Features, feature.Savanna) }

// Features are those that the node recognises. Any goroutine may ask.
func (c *Chain) Features() *feature.Set { return c.opt.Features }

// NewPrepared joins what CheckHeader and UnpackBlock made of one block.
func NewPrepared(b *consensus.BlockState, candidates []*execute.Candidate) *Prepared {
	return &Prepared{State: b, candidates: candidates}
}
