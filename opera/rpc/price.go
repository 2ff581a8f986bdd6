package rpc

import (
	"context"
	"math"
	"math/big"
	"slices"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"tarn/opera/chain"
	"tarn/opera/eventcheck"
	"tarn/opera/inter"
)

// The price of gas is estimated as go-opera does (gossip/gasprice): the greater of what the
// pool's dearest transactions pay, and of what validators will ask for when they have
// little gas power left.

// unit is one, in the fixed point numbers of the estimate.
const unit = 1_000_000

// byDefault asks for the certainty that the node's operator chose.
const byDefault = math.MaxUint64

// PriceOptions bound the estimate of the price of gas, in wei. Zero is the default.
type PriceOptions struct {
	Max    *big.Int // 10 million gwei by default
	Min    *big.Int
	MinTip *big.Int
	// Certainty is how sure to be included a transaction wants to be, up to a million;
	// half a million by default.
	Certainty uint64
}

// prices estimates. Any goroutine may use it.
type prices struct {
	s       *Service
	options PriceOptions

	mu      sync.Mutex
	tips    map[uint64]*big.Int // by a twentieth of certainty, of the time at
	at      time.Time
	head    inter.BlockNumber
	lowest  *big.Int // of head
	pool    poolPrices
	sampled time.Time
}

func newPrices(s *Service) *prices {
	o := s.options.Price
	if o.Max == nil {
		o.Max = new(big.Int).Mul(big.NewInt(10_000_000), big.NewInt(1e9))
	}
	if o.Min == nil {
		o.Min = new(big.Int)
	}
	if o.MinTip == nil {
		o.MinTip = new(big.Int)
	}
	if o.Certainty == 0 || o.Certainty > unit {
		o.Certainty = unit / 2
	}
	return &prices{s: s, options: o}
}

// sampling is how often the pool is looked at, and how long an estimate serves.
const sampling = time.Second

// tip returns how much above the least price to offer. It is the caller's.
func (p *prices) tip(v *view, certainty uint64) *big.Int {
	if certainty == byDefault {
		certainty = p.options.Certainty
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.s.options.Now()
	if now.Sub(p.at) >= sampling || p.tips == nil {
		p.tips, p.at = map[uint64]*big.Int{}, now
	}
	bucket := certainty / (unit / 20)
	tip := p.tips[bucket]
	if tip == nil {
		tip = p.estimate(v, certainty, now)
		p.tips[bucket] = tip
	}
	return new(big.Int).Set(tip)
}

func (p *prices) estimate(v *view, certainty uint64, now time.Time) *big.Int {
	least := v.minPrice()
	next := least
	if dirty := v.Present().DirtyRules; dirty != nil && dirty.Economy.MinGasPrice.Cmp(least) > 0 {
		next = dirty.Economy.MinGasPrice
	}
	if now.Sub(p.sampled) >= sampling*time.Duration(len(p.pool.samples)) {
		p.pool = poolPrices{average: poolPrices{}.mean()}
	}
	if now.Sub(p.sampled) >= sampling {
		p.pool.add(samplePool(p.s.options.Pool.Pending(), least))
		p.sampled = now
	}
	price := p.constructive(v, p.pool.average.gas, unit/200+certainty/25, next)
	if offered := p.pool.average.price(line(certaintyDots, certainty)); offered.Cmp(price) > 0 {
		price = offered
	}
	if price.Cmp(p.options.Min) < 0 {
		price = p.options.Min
	}
	if price.Cmp(p.options.Max) > 0 {
		price = p.options.Max
	}
	tip := new(big.Int).Sub(price, least)
	if tip.Cmp(p.options.MinTip) < 0 {
		tip = p.options.MinTip
	}
	return tip
}

// effective returns the price below which validators will not take a transaction soon.
func (p *prices) effective(v *view) *big.Int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if head := v.Head().Number; p.lowest == nil || head > p.head {
		p.lowest, p.head = p.constructive(v, 0, 0, v.minPrice()), head
	}
	return new(big.Int).Set(p.lowest)
}

type dot struct{ x, y uint64 }

var (
	// powerDots say by how much the price grows as gas power gets less.
	powerDots = []dot{{0, 25 * unit}, {unit * 3 / 10, 9 * unit}, {unit / 2, unit * 375 / 100}, {unit * 8 / 10, unit * 15 / 10}, {unit * 95 / 100, unit * 105 / 100}, {unit, unit}}
	// certaintyDots say how much gas may wait above a transaction of a certainty.
	certaintyDots = []dot{{0, 50_000_000}, {unit * 2 / 10, 20_000_000}, {unit / 2, 8_000_000}, {unit, 0}}
)

// line is the function whose graph connects dots, cut to whole numbers at each step as in
// lachesis-base's piecefunc.
func line(dots []dot, x uint64) uint64 {
	if x > dots[len(dots)-1].x {
		return dots[len(dots)-1].y
	}
	i := 1
	for i < len(dots)-1 && dots[i].x <= x {
		i++
	}
	from, to := dots[i-1], dots[i]
	ratio := (x - from.x) * unit / (to.x - from.x)
	return from.y*(unit-ratio)/unit + to.y*ratio/unit
}

// constructive is the price by the gas power that validators have left.
func (p *prices) constructive(v *view, gas, ratio uint64, least *big.Int) *big.Int {
	long := v.Epoch().Rules.Economy.LongGasPower
	most := new(big.Int).Mul(new(big.Int).SetUint64(long.AllocPerSec), new(big.Int).SetUint64(uint64(long.MaxAllocPeriod)))
	most.Div(most, big.NewInt(int64(time.Second)))
	left := p.powerLeft(v)
	left -= min(left, gas)
	free := uint64(0)
	if most.Sign() > 0 {
		f := new(big.Int).Mul(new(big.Int).SetUint64(left), big.NewInt(unit))
		free = f.Div(f, most).Uint64()
	}
	free -= min(free, ratio)
	price := new(big.Int).SetUint64(line(powerDots, min(free, unit)))
	price.Mul(price, least)
	return price.Div(price, big.NewInt(unit))
}

// patience is how long the estimate waits for the writer to tell the newest events.
const patience = 100 * time.Millisecond

// powerLeft is how much gas power all validators have together by their newest events, or
// by their newest confirmed ones if the writer is too busy to tell.
func (p *prices) powerLeft(v *view) uint64 {
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
func (p *prices) newest(epoch inter.Epoch) map[inter.ValidatorID]inter.EventID {
	if p.s.options.Writer == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	told := make(chan map[inter.ValidatorID]inter.EventID, 1)
	if err := p.s.options.Writer.Do(ctx, func(c *chain.Chain) error {
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

func (p *prices) eventPower(id inter.EventID) (uint64, bool) {
	raw, err := p.s.options.Chain.Event(id)
	if err != nil || raw == nil {
		return 0, false
	}
	e, err := inter.DecodePayload(raw)
	if err != nil {
		return 0, false
	}
	return e.GasPowerLeft.Gas[inter.Long], true
}

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
