package gasprice

import (
	"math/big"
	"time"

	"tarn/opera/chain"
	"tarn/opera/piecewise"
)

var (
	// powerCurve say by how much the price grows as gas power gets less.
	powerCurve = piecewise.Function{{0, 25 * Unit}, {Unit * 3 / 10, 9 * Unit}, {Unit / 2, Unit * 375 / 100},
		{Unit * 8 / 10, Unit * 15 / 10}, {Unit * 95 / 100, Unit * 105 / 100}, {Unit, Unit}}
	// certaintyCurve say how much gas may wait above a transaction of a certainty.
	certaintyCurve = piecewise.Function{{0, 50_000_000}, {Unit * 2 / 10, 20_000_000}, {Unit / 2, 8_000_000}, {Unit, 0}}
)

// constructive is the price by the gas power that validators have left.
func (p *Oracle) constructive(v *chain.View, gas, ratio uint64, least *big.Int) *big.Int {
	long := v.Epoch().Rules.Economy.LongGasPower
	most := new(big.Int).Mul(new(big.Int).SetUint64(long.AllocPerSec),
		new(big.Int).SetUint64(uint64(long.MaxAllocPeriod)))
	most.Div(most, big.NewInt(int64(time.Second)))
	left := p.powerLeft(v)
	left -= min(left, gas)
	free := uint64(0)
	if most.Sign() > 0 {
		f := new(big.Int).Mul(new(big.Int).SetUint64(left), big.NewInt(Unit))
		free = f.Div(f, most).Uint64()
	}
	free -= min(free, ratio)
	price := new(big.Int).SetUint64(powerCurve.At(free))
	price.Mul(price, least)
	return price.Div(price, big.NewInt(Unit))
}
