package gasprice

import (
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

// steps is how many prices are known of the pool, and deep the gas that they reach down to.
const (
	steps = 20
	deep  = 40_000_000
)

// poolPrice is what the pool offered at a time: how much gas, and for each step the price
// of the transaction that so much gas stands above.
type poolPrice struct {
	gas    uint64
	prices [steps]*big.Int // nil: none reaches so deep
}

// poolPrices are those of the last 15 samples.
type poolPrices struct {
	samples [15]poolPrice
	next    int
	average poolPrice
}

// samplePool looks at the dearest executable transaction of each sender.
func samplePool(pending map[common.Address]types.Transactions, least *big.Int) (s poolPrice) {
	type offer struct {
		tip *big.Int
		gas uint64
	}
	var offers []offer
	for _, txs := range pending {
		if len(txs) == 0 {
			continue
		}
		tip := new(big.Int).Sub(txs[0].GasFeeCap(), least)
		if most := txs[0].GasTipCap(); tip.Cmp(most) > 0 {
			tip = most
		}
		offers = append(offers, offer{tip, txs[0].Gas()})
	}
	slices.SortFunc(offers, func(a, b offer) int {
		if c := b.tip.Cmp(a.tip); c != 0 {
			return c
		}
		return int(min(max(int64(b.gas)-int64(a.gas), -1), 1))
	})
	const most = 400
	for i, o := range offers {
		s.gas += o.gas
		if s.gas > deep || i > most {
			offers = offers[:i+1]
			break
		}
	}
	above, step := uint64(0), uint64(0)
	for _, o := range offers {
		for ; step < steps && above >= step*deep/steps; step++ {
			s.prices[step] = least
			if o.tip.Sign() >= 0 {
				s.prices[step] = new(big.Int).Add(o.tip, least)
			}
		}
		above += o.gas
	}
	return s
}

// add puts a sample in the place of the oldest one.
func (p *poolPrices) add(s poolPrice) {
	p.samples[p.next] = s
	p.next = (p.next + 1) % len(p.samples)
	p.average = p.mean()
	if p.average.gas == 0 {
		return
	}
	recent := p.recent()
	for i, price := range p.average.prices {
		if recent[i].Cmp(price) < 0 {
			p.average.prices[i] = recent[i]
		}
	}
}

// mean is of the samples that are not empty.
func (p poolPrices) mean() (m poolPrice) {
	for i := range m.prices {
		m.prices[i] = new(big.Int)
	}
	n := uint64(0)
	for _, s := range p.samples {
		if s.gas == 0 {
			continue
		}
		n++
		m.gas += s.gas
		for i, price := range s.prices {
			if price != nil {
				m.prices[i].Add(m.prices[i], price)
			}
		}
	}
	if n == 0 {
		return m
	}
	m.gas /= n
	for i := range m.prices {
		m.prices[i].Div(m.prices[i], new(big.Int).SetUint64(n))
	}
	return m
}

// recent is the greatest of the last four samples, and a twentieth more.
func (p *poolPrices) recent() (most [steps]*big.Int) {
	for i := range most {
		most[i] = new(big.Int)
	}
	for back := 1; back <= 4; back++ {
		s := p.samples[(p.next-back+len(p.samples))%len(p.samples)]
		for i, price := range s.prices {
			if price != nil && price.Cmp(most[i]) > 0 {
				most[i].Set(price)
			}
		}
	}
	for i := range most {
		most[i].Mul(most[i], big.NewInt(21))
		most[i].Div(most[i], big.NewInt(20))
	}
	return most
}

// price is that of a transaction that so much gas may stand above.
func (s *poolPrice) price(above uint64) *big.Int {
	if s.gas == 0 {
		return new(big.Int)
	}
	last := s.prices[steps-1]
	if above > deep {
		p := new(big.Int).Mul(last, big.NewInt(deep))
		return p.Div(p, new(big.Int).SetUint64(above+1))
	}
	step := above * steps / deep
	if step >= steps-1 {
		return new(big.Int).Set(last)
	}
	from, to := step*deep/steps, (step+1)*deep/steps
	p := new(big.Int).Mul(s.prices[step], new(big.Int).SetUint64(to-above))
	p.Add(p, new(big.Int).Mul(s.prices[step+1], new(big.Int).SetUint64(above-from)))
	return p.Div(p, new(big.Int).SetUint64(to-from))
}
