package consensus

import (
	"slices"

	"tarn/antelope/exception"
	"tarn/antelope/feature"
	"tarn/antelope/finality"
	"tarn/antelope/types"
)

// PendingHeader is the state that a block's header is made from, or checked
// against (Leap: pending_block_header_state). It is immutable.
type PendingHeader struct {
	Progress
	Activated       *feature.Active // before this block
	PrevPending     ScheduleInfo
	Promoted        bool // the schedule that was pending became active
	Previous        types.Checksum256
	Producer        types.Name
	Timestamp       types.BlockTimestamp
	ScheduleVersion uint32 // of the schedule that this block's producer is from
	Confirmed       uint16

	proper bool
	before *finality.State // the block before by Savanna's rules, nil for none
}

// ScheduledProducer returns who produces the block of a slot after s, nil if the
// schedule is empty (Leap: block_header_state::get_scheduled_producer).
func (s *HeaderState) ScheduledProducer(slot types.BlockTimestamp) *types.ProducerAuthority {
	if s.PrecedesProper() {
		return s.Finality.ProducerAt(slot)
	}
	producers := s.ActiveSchedule.Producers
	if len(producers) == 0 {
		return nil
	}
	i := uint64(slot) % (uint64(len(producers)) * ProducerRepetitions) / ProducerRepetitions
	return &producers[i]
}

// Next returns what a block at a slot after s starts from: 0 means the slot right
// after s. Its producer confirms, besides the new block, that many before it
// (Leap: block_header_state::next).
func (s *HeaderState) Next(slot types.BlockTimestamp, confirmed uint16) (*PendingHeader, error) {
	switch {
	case slot == 0:
		slot = s.Header.Timestamp + 1
	case slot <= s.Header.Timestamp:
		return nil, exception.New(exception.BlockValidate, "next block must be in the future")
	}
	if s.PrecedesProper() {
		return s.nextProper(slot), nil
	}
	producer := s.ScheduledProducer(slot)
	if producer == nil {
		return nil, exception.New(exception.BlockValidate, "no producer is scheduled after block ${num}",
			"num", s.BlockNum)
	}
	if last, ok := s.LastProduced.Get(producer.Producer); ok && last >= s.BlockNum+1-uint32(confirmed) {
		return nil, exception.New(exception.ProducerDoubleConfirm, "producer ${prod} double-confirming known range",
			"prod", producer.Producer, "num", s.BlockNum+1, "confirmed", confirmed, "last_produced", last)
	}
	p := &PendingHeader{
		Progress: Progress{
			BlockNum:        s.BlockNum + 1,
			ActiveSchedule:  s.ActiveSchedule,
			BlockrootMerkle: s.BlockrootMerkle.With(s.ID),
			Authority:       &producer.Authority,
		},
		Activated:       s.Activated,
		PrevPending:     s.Pending,
		Previous:        s.ID,
		Producer:        producer.Producer,
		Timestamp:       slot,
		ScheduleVersion: s.ActiveSchedule.Version,
		Confirmed:       confirmed,
		before:          s.Finality,
	}
	p.ConfirmCount, p.ProposedIrreversible = s.confirm(confirmed)
	p.Irreversible = s.irreversible(producer.Producer)
	if s.HasPendingProducers() && p.Irreversible >= s.Pending.LIBNum {
		p.promote(s)
	} else {
		p.LastProduced = s.LastProduced.with(p.Producer, p.BlockNum)
		p.LastImpliedIRB = s.LastImpliedIRB.with(p.Producer, s.ProposedIrreversible)
	}
	return p, nil
}

// confirm counts the confirmations of the block after s. The latest block that has
// all that it needs is proposed to become irreversible; it and those before it
// need not be counted any more.
func (s *HeaderState) confirm(confirmed uint16) (counts []uint8, proposed uint32) {
	old := s.ConfirmCount
	if len(old) >= maxConfirmations {
		old = old[1:]
	}
	counts = make([]uint8, len(old)+1)
	last := copy(counts, old)
	counts[last] = uint8(uint32(len(s.ActiveSchedule.Producers)*2/3) + 1)
	for i, n := last, int(confirmed)+1; i >= 0 && n > 0; i, n = i-1, n-1 {
		if counts[i]--; counts[i] == 0 {
			return counts[i+1:], s.BlockNum + 1 - uint32(last-i)
		}
	}
	return counts, s.ProposedIrreversible
}

// irreversible returns the block that is irreversible once producer's block after
// s has said what it implies: the latest that more than two thirds of the
// producers imply (Leap: block_header_state::calc_dpos_last_irreversible).
func (s *HeaderState) irreversible(producer types.Name) uint32 {
	if len(s.LastImpliedIRB) == 0 {
		return 0
	}
	var buf [MaxProducers]uint32
	blocks := buf[:0]
	for _, e := range s.LastImpliedIRB {
		if e.Producer == producer {
			e.Block = s.ProposedIrreversible
		}
		blocks = append(blocks, e.Block)
	}
	slices.Sort(blocks)
	return blocks[(len(blocks)-1)/3]
}

// promote makes the pending schedule the active one. What is known of its
// producers stays; new ones start at the irreversible block.
func (p *PendingHeader) promote(s *HeaderState) {
	p.ActiveSchedule = s.Pending.Schedule
	p.Promoted = true
	p.LastProduced = p.follow(s.LastProduced).with(p.Producer, p.BlockNum)
	p.LastImpliedIRB = p.follow(s.LastImpliedIRB)
	if _, ok := p.LastImpliedIRB.Get(p.Producer); ok {
		p.LastImpliedIRB = p.LastImpliedIRB.with(p.Producer, s.ProposedIrreversible)
	}
}

// follow returns m for the producers of the new schedule.
func (p *PendingHeader) follow(m ProducerBlocks) ProducerBlocks {
	next := make(ProducerBlocks, 0, len(p.ActiveSchedule.Producers))
	for i := range p.ActiveSchedule.Producers {
		name := p.ActiveSchedule.Producers[i].Producer
		at, known := next.search(name)
		if known {
			continue
		}
		block, ok := m.Get(name)
		if !ok {
			block = p.Irreversible
		}
		next = slices.Insert(next, at, ProducerBlock{name, block})
	}
	return next
}
