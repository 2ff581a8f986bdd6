package emitter

import "tarn/opera/piecewise"

// unit is 1 in numbers that stand for fractions.
const unit = piecewise.Unit

// The curves are go-opera's (gossip/emitter).

// confirmingCurve says by which factor a validator waits longer before it confirms, by
// the share of the stake that greater validators have.
func confirmingCurve() piecewise.Function {
	return piecewise.Function{{0, unit}, {0.78 * unit, 1.1 * unit}, {0.8 * unit, 10 * unit}, {0.81 * unit, 50 * unit},
		{unit, 60 * unit}}
}

// newsCurve says what it is worth to tell of events of a validator, by their number.
func newsCurve() piecewise.Function {
	return piecewise.Function{{0, 0}, {unit, 0.66 * unit}, {2 * unit, 0.8 * unit}, {8 * unit, 0.99 * unit},
		{100 * unit, 0.999 * unit}, {10000 * unit, 0.9999 * unit}}
}

// worthCurve sharpens the worth of an event: it pays to wait for 0.3.
func worthCurve() piecewise.Function {
	return piecewise.Function{{0, 0.005 * unit}, {0.01 * unit, 0.03 * unit}, {0.2 * unit, 0.05 * unit},
		{0.3 * unit, 0.22 * unit}, {0.4 * unit, 0.45 * unit}, {unit, unit}}
}

// crowdCurve says how much less an event is worth on a network that is always busy, by the
// number of validators.
func crowdCurve() piecewise.Function {
	return piecewise.Function{{0, 0}, {70, 0.05 * unit}, {100, 0.1 * unit}, {120, 0.3 * unit}, {150, 0.5 * unit},
		{200, 0.8 * unit}, {220, 0.95 * unit}, {100000, unit}}
}
