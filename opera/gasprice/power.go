package gasprice

import (
	"tarn/opera/chain"
	"tarn/opera/eventcheck"
	"tarn/opera/inter"
)

// powerLeft is how much gas power all validators have together by their newest events, or
// by their newest confirmed ones if an epoch began meanwhile.
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

// newest returns the validators' newest events, nil if they are of another epoch.
func (p *Oracle) newest(epoch inter.Epoch) map[inter.ValidatorID]inter.EventID {
	events := p.o.Chain.LastEvents()
	for _, id := range events {
		if id.Epoch() != epoch {
			return nil
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
