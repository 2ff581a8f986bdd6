package emitter

import (
	"fmt"
	"slices"

	"tarn/opera/inter"
)

// secured is what of the log of events is durable, there or in the journal.
type secured struct {
	before uint64          // up to this number all is; 0 while nothing is known
	own    []inter.EventID // from there on, which the journal has
}

// mostOwn bounds them: more come only where others' events are no parents for long.
const mostOwn = 64

// reach notes an own event that is connected, and the number that was reached with it.
func (s *secured) reach(before uint64, id inter.EventID) {
	if s.before != before {
		s.before, s.own = before, s.own[:0]
	}
	if s.own = append(s.own, id); len(s.own) > mostOwn {
		*s = secured{}
	}
}

// secure sees to it that what an own event follows from will be durable before the event: in the
// journal, beside the event, as long as that is little, else in the log, which it syncs. Others lose
// their power too, perhaps for ever: a start that cannot connect the journal's event again would
// wait for them. It returns the events of others for the journal, and the number of the log's event up
// to which all will be durable then.
func (em *Emitter) secure(p *inter.Payload) (others [][]byte, reached uint64, err error) {
	reached = em.o.Chain.NextEvent()
	_, self := p.SelfParent()
	if self && em.secured.before > 0 { // else the ledger may be back in the epoch before, or nothing is known yet
		if reached == em.secured.before+uint64(len(em.secured.own)) { // a lone validator
			return nil, reached, nil
		}
		if others, few := em.unsecured(reached); few {
			return others, reached, nil
		}
	}
	if self && len(p.Parents) == 1 { // it follows from nothing but what the journal has
		return nil, em.secured.before, nil
	}
	if err := em.o.Chain.SyncEvents(); err != nil {
		return nil, 0, fmt.Errorf("make durable what the own event %v follows from: %w", p.ID(), err)
	}
	return nil, reached, nil
}

// unsecured returns the events up to a number that neither the log nor the journal has durably, and
// whether they are few enough for a record of the journal, and could be read.
func (em *Emitter) unsecured(before uint64) (others [][]byte, few bool) {
	left := mostOthers
	for number := em.secured.before; number < before; number++ {
		id, raw, err := em.o.Chain.EventAt(number)
		if err != nil {
			return nil, false
		}
		if slices.Contains(em.secured.own, id) {
			continue
		}
		if left -= 4 + len(raw); left < 0 {
			return nil, false
		}
		others = append(others, raw)
	}
	return others, true
}
