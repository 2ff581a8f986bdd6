package gasprice

import (
	"context"
	"time"

	"tarn/opera/chain"
	"tarn/opera/eventcheck"
	"tarn/opera/inter"
)

// patience is how long the estimate waits for the writer to tell the newest events.
const patience = 100 * time.Millisecond

// powerLeft is how much gas power all validators have together by their newest events, or
// by their newest confirmed ones if the writer is too busy to tell.
func (p *Oracle) powerLeft(v *chain.View) uint64 {
	epoch := v.Epoch()
	block := v.Present()
	newest := p.newest(epoch.Epoch)
	total := uint64(0)
	for i := range epoch.Validators.Len() {
		most, startup := eventcheck.LongGasPower(epoch, i)
		left, known := uint64(0), false
		if id, ok := newest[epoch.Validators.At(i).ID]; ok {
			left, known = p.eventPower(id)
			left += block.ValidatorStates[i].DirtyGasRefund
		} else if last := block.ValidatorStates[i].LastEvent; newest == nil && last.ID.Epoch() == epoch.Epoch {
			left, known = last.GasPowerLeft.Gas[inter.Long]+block.ValidatorStates[i].DirtyGasRefund, true
		}
		if known {
			total += min(left, most)
			continue
		}
		state := epoch.ValidatorStates[i]
		total += max(min(state.PrevEpochEvent.GasPowerLeft.Gas[inter.Long]+state.GasRefund, most), startup)
	}
	return total
}

// newest returns the validators' newest events, nil if the writer does not tell.
func (p *Oracle) newest(epoch inter.Epoch) map[inter.ValidatorID]inter.EventID {
	if p.o.Writer == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	told := make(chan map[inter.ValidatorID]inter.EventID, 1)
	if err := p.o.Writer.Do(ctx, func(c *chain.Chain) error {
		told <- c.LastEvents()
		return nil
	}); err != nil {
		return nil
	}
	events := <-told
	for _, id := range events {
		if id.Epoch() != epoch {
			return nil // an epoch began meanwhile
		}
	}
	return events
}

func (p *Oracle) eventPower(id inter.EventID) (uint64, bool) {
	raw, err := p.o.Chain.Event(id)
	if err != nil || raw == nil {
		return 0, false
	}
	e, err := inter.DecodePayload(raw)
	if err != nil {
		return 0, false
	}
	return e.GasPowerLeft.Gas[inter.Long], true
}
