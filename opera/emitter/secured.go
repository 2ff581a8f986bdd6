package emitter

import (
	"fmt"

	"tarn/opera/inter"
)

// secure sees to it that what an own event follows from will be durable before the event: in the
// journal, beside the event, as long as that is little, else in the log, which it syncs. Others lose
// their power too, perhaps for ever: a start that cannot connect the journal's event again would
// wait for them. It returns the events of others for the journal, and the number of the log's event up
// to which all will be durable then, 0 while that is not known.
func (em *Emitter) secure(p *inter.Payload) (others [][]byte, reached uint64, err error) {
	reached = em.o.Chain.NextEvent()
	_, self := p.SelfParent()
	switch {
	case self && em.secured > 0:
		if others, few := em.unsecuredEvents(reached); few {
			return others, reached, nil
		}
	case self && len(p.Parents) == 1: // it follows from nothing but what the journal has
		return nil, 0, nil
	}
	// So for the first event of an epoch, too: the ledger may be back in the epoch before.
	if err := em.o.Chain.SyncEvents(); err != nil {
		return nil, 0, fmt.Errorf("make durable what the own event %v follows from: %w", p.ID(), err)
	}
	return nil, reached, nil
}

// unsecuredEvents returns the events of others up to a number that neither the log nor the journal has
// durably, and whether they are few enough for a record of the journal, and could be read.
func (em *Emitter) unsecuredEvents(before uint64) (others [][]byte, few bool) {
	own, left := em.journal.id(), mostOthers
	for number := em.secured; number < before; number++ {
		id, raw, err := em.o.Chain.EventAt(number)
		if err != nil {
			return nil, false
		}
		if id == own { // the one before, which was connected when that number had been reached
			continue
		}
		if left -= 4 + len(raw); left < 0 {
			return nil, false
		}
		others = append(others, raw)
	}
	return others, true
}
