package consensus

import (
	"unsafe"

	"tarn/antelope/finality"
	"tarn/antelope/types"
)

// fixedBytes is about what a block and its header state take in memory without what differs in size.
const fixedBytes = int64(unsafe.Sizeof(BlockState{})+unsafe.Sizeof(HeaderState{})+unsafe.Sizeof(types.SignedBlock{})) +
	512

// parts tells of the memory that the state may share with those of other blocks, as [finality.State.Parts] does.
func (s *HeaderState) parts(tell func(key any, bytes func() int64)) {
	if s.Finality != nil {
		s.Finality.Parts(tell)
	}
	schedules := []*types.ProducerSchedule{s.Pending.Schedule}
	if !s.IsProper() { // else it is in a policy
		schedules = append(schedules, s.ActiveSchedule)
	}
	for _, p := range schedules {
		if p != nil && len(p.Producers) > 0 {
			tell(p, p.Footprint)
		}
	}
}

// ownBytes is about what the block and its header state take that no other state shares.
func (b *BlockState) ownBytes() int64 {
	n := fixedBytes + int64(len(b.LastProduced)+len(b.LastImpliedIRB))*int64(unsafe.Sizeof(ProducerBlock{})) +
		int64(len(b.ConfirmCount)+len(b.BlockrootMerkle.nodes)*len(types.Checksum256{}))
	if b.Finality != nil {
		n += finality.FixedBytes
	}
	if b.Block != nil {
		n += b.Block.Footprint()
	}
	return n
}

// grownBytes is about what is kept in memory because the block is, if the state prev of the block before is kept.
func (b *BlockState) grownBytes(prev *HeaderState) int64 {
	before := map[any]bool{}
	prev.parts(func(key any, _ func() int64) { before[key] = true })
	n := b.ownBytes()
	b.parts(func(key any, bytes func() int64) {
		if !before[key] {
			before[key] = true
			n += bytes()
		}
	})
	return n
}

// Holding counts what block states take in memory together. What several share counts once. The zero value holds
// nothing. One goroutine at a time may use it.
type Holding struct {
	own    int64
	shared map[any]*sharedPart
	parts  int64
}

// sharedPart is memory that several states have in common.
type sharedPart struct {
	holders int
	bytes   int64
}

// Bytes is about what the states take.
func (h *Holding) Bytes() int64 { return h.own + h.parts }

// Add counts a state that is kept from now on.
func (h *Holding) Add(b *BlockState) {
	if h.shared == nil {
		h.shared = map[any]*sharedPart{}
	}
	h.own += b.ownBytes()
	b.parts(func(key any, bytes func() int64) {
		p := h.shared[key]
		if p == nil {
			p = &sharedPart{bytes: bytes()}
			h.shared[key] = p
			h.parts += p.bytes
		}
		p.holders++
	})
}

// Remove counts a state no more that Add counted.
func (h *Holding) Remove(b *BlockState) {
	h.own -= b.ownBytes()
	b.parts(func(key any, _ func() int64) {
		p := h.shared[key]
		if p.holders--; p.holders == 0 {
			h.parts -= p.bytes
			delete(h.shared, key)
		}
	})
}
