package chain

import (
	"bytes"
	"slices"
	"time"

	"tarn/antelope/consensus"
	"tarn/antelope/control"
	"tarn/antelope/exception"
	"tarn/antelope/feature"
	"tarn/antelope/types"
)

// Report is what the transactions of a block used and took.
type Report struct {
	Net, CPU uint64        // bytes, and microseconds as billed
	Elapsed  time.Duration // in transactions
	Total    time.Duration // from the block's start to its end; of a validated block
}

// Report is that of the block that was finished last, on this node and since its
// start (Leap: controller::block_report).
func (c *Chain) Report() Report { return c.report }

// Worked is how long this process has worked on the blocks that it finished, which is
// about what they would take again.
func (c *Chain) Worked() time.Duration { return c.worked }

// count adds a transaction that is no attempt to the pending block's report.
func (c *Chain) count(trace *types.TransactionTrace) {
	r := &c.pending.report
	r.Net += trace.NetUsage
	if trace.Receipt != nil {
		r.CPU += uint64(trace.Receipt.CPUUsageUS)
	}
	r.Elapsed += time.Duration(trace.Elapsed) * time.Microsecond
}

// Pending describes the pending block.
type Pending struct {
	Num       uint32
	Time      types.BlockTimestamp
	Producer  types.Name
	Authority *types.BlockSigningAuthority // that has to sign it
	Status    Status
}

// Pending describes the pending block; ok is false if there is none.
func (c *Chain) Pending() (p Pending, ok bool) {
	if c.pending == nil {
		return p, false
	}
	h := c.pending.header
	return Pending{Num: h.BlockNum, Time: h.Timestamp, Producer: h.Producer, Authority: h.Authority, Status: c.pending.status}, true
}

// IrreversibleMode tells whether only irreversible blocks are applied.
func (c *Chain) IrreversibleMode() bool { return c.opt.IrreversibleMode }

// LightValidation tells whether the producers of all signed blocks are trusted.
func (c *Chain) LightValidation() bool { return c.opt.LightValidation }

// Speculative tells whether transactions stay in a pending block that is no one's.
func (c *Chain) Speculative() bool { return c.opt.Speculative }

// Features are those that the node recognises. Any goroutine may ask.
func (c *Chain) Features() *feature.Set { return c.opt.Features }

// Active tells whether a feature is active in the pending block, or without one
// after the head.
func (c *Chain) Active(f feature.Codename) bool { return c.active(f) }

// What follows changes what an operator decides; the writer calls it between
// transactions.

// Lists are the white- and blacklists. The maps must not be changed.
func (c *Chain) Lists() control.Lists { return c.opt.Lists }

// SetLists replaces the white- and blacklists. The maps must not be changed
// afterwards.
func (c *Chain) SetLists(l control.Lists) { c.opt.Lists = l; c.share() }

// SetGreylist replaces the accounts that only their own stake counts of. The map
// must not be changed afterwards.
func (c *Chain) SetGreylist(list map[types.Name]bool) { c.opt.Greylist = list; c.share() }

// GreylistLimit is the multiple of their stake that accounts may use, 1 to 1000.
func (c *Chain) GreylistLimit() uint32 { return c.opt.greylistLimit(0) }

// SetGreylistLimit replaces it.
func (c *Chain) SetGreylistLimit(limit uint32) { c.opt.GreylistLimit = limit; c.share() }

// Leeway is how much longer than its accounts can pay a transaction may run.
func (c *Chain) Leeway() time.Duration { return c.opt.Leeway }

// SetLeeway replaces it.
func (c *Chain) SetLeeway(d time.Duration) { c.opt.Leeway = d; c.share() }

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
func (c *Chain) UnpackBlock(b *types.SignedBlock, known func(id types.Checksum256) *Candidate) ([]*Candidate, error) {
	if c.trusts(b.Producer) {
		return Unpack(b)
	}
	return c.unpackBlock(b, known, max(1, c.opt.Threads))
}

func (c *Chain) unpackBlock(b *types.SignedBlock, known func(id types.Checksum256) *Candidate, goroutines int) ([]*Candidate, error) {
	list := make([]*Candidate, len(b.Transactions))
	errs := make([]error, len(list))
	spread(goroutines, len(list), func(from, to int) bool {
		unknown := make([]*Candidate, 0, to-from)
		for i := from; i < to; i++ {
			packed := b.Transactions[i].Packed
			if packed == nil {
				continue
			}
			if list[i], errs[i] = NewCandidate(packed, control.Input); errs[i] != nil {
				return false
			}
			if !list[i].takeKeys(known) {
				unknown = append(unknown, list[i])
			}
		}
		c.recoverKeys(Unlimited, unknown, errs[from:])
		return firstError(errs[from:to]) == nil
	})
	return list, firstError(errs)
}

// takeKeys takes the keys that were found for the same transaction before.
func (x *Candidate) takeKeys(known func(types.Checksum256) *Candidate) bool {
	if known == nil {
		return false
	}
	k := known(x.ID)
	if k == nil || !slices.Equal(k.Packed.Signatures, x.Packed.Signatures) ||
		!bytes.Equal(k.Packed.PackedContextFreeData, x.Packed.PackedContextFreeData) || k.Packed.Compression != x.Packed.Compression {
		return false
	}
	x.Keys = k.Keys
	return true
}

// NewPrepared joins what CheckHeader and UnpackBlock made of one block.
func NewPrepared(b *consensus.BlockState, candidates []*Candidate) *Prepared {
	return &Prepared{State: b, candidates: candidates}
}
