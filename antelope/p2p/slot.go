package p2p

import "time"

// slotList gives connections small numbers, so that sets of them are sets of bits.
type slotList struct {
	limits *Limits
	count  int
	freed  []freedSlot // the longest unused first
}

type freedSlot struct {
	slot int
	at   time.Time
}

func (s *slotList) take(now time.Time) int {
	if len(s.freed) > 0 && (s.count >= s.limits.Slots || now.Sub(s.freed[0].at) > s.limits.SlotRest) {
		slot := s.freed[0].slot
		s.freed = s.freed[1:]
		return slot
	}
	s.count++
	return s.count - 1
}

func (s *slotList) free(slot int, now time.Time) { s.freed = append(s.freed, freedSlot{slot, now}) }

// slotSet is a set of connections. Most have few, so the first 64 take no memory
// of their own.
type slotSet struct {
	low  uint64
	high []uint64
}

// add adds a slot and tells whether it was missing.
func (s *slotSet) add(slot int) bool {
	word := s.word(slot)
	bit := uint64(1) << (slot % 64)
	missing := *word&bit == 0
	*word |= bit
	return missing
}

func (s *slotSet) has(slot int) bool {
	if i := slot/64 - 1; i < 0 {
		return s.low>>slot&1 != 0
	} else if i < len(s.high) {
		return s.high[i]>>(slot%64)&1 != 0
	}
	return false
}

func (s *slotSet) remove(slot int) {
	if s.has(slot) {
		*s.word(slot) &^= 1 << (slot % 64)
	}
}

func (s *slotSet) word(slot int) *uint64 {
	i := slot/64 - 1
	if i < 0 {
		return &s.low
	}
	for i >= len(s.high) {
		s.high = append(s.high, 0)
	}
	return &s.high[i]
}
