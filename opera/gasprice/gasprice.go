// Package gasprice estimates what gas costs, as go-opera v1.1.3-rc.5 does (gossip/gasprice):
// the greater of what the pool's dearest transactions pay, and of what validators ask for
// when they have little gas power left.
//
// It owns the estimate and its samples of the pool. It reads the chain through views,
// never waits for its writer, and decides nothing that the chain depends on.
package gasprice

import (
	"math"
	"math/big"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"tarn/opera/chain"
	"tarn/opera/inter"
	"tarn/opera/piecewise"
)

// Unit is one, in the fixed point numbers of the estimate.
const Unit = piecewise.Unit

// ByDefault asks for the certainty that the node's operator chose.
const ByDefault = math.MaxUint64

// Chain is what is read. *chain.Chain is one. Any goroutine calls its methods.
type Chain interface {
	// View returns the chain after its newest block.
	View() (*chain.View, error)
	// Event returns an event as it travels, nil if there is none.
	Event(id inter.EventID) ([]byte, error)
	// LastEvents returns each validator's newest event of the present epoch.
	LastEvents() map[inter.ValidatorID]inter.EventID
}

// Bounds of the estimate, in wei. Zero is the default.
type Bounds struct {
	Max    *big.Int // 10 million gwei by default
	Min    *big.Int
	MinTip *big.Int
	// Certainty is how sure to be included a transaction wants to be, up to Unit; half of
	// it by default.
	Certainty uint64
}

// fill sets what is zero, and cuts what is too high.
func (b *Bounds) fill() {
	if b.Max == nil {
		b.Max = new(big.Int).Mul(big.NewInt(10_000_000), big.NewInt(1e9))
	}
	atMost := func(n, most *big.Int) *big.Int {
		switch {
		case n == nil:
			return new(big.Int)
		case n.Cmp(most) > 0:
			return most
		}
		return n
	}
	b.Min = atMost(b.Min, b.Max)
	b.MinTip = atMost(b.MinTip, new(big.Int).Sub(b.Max, b.Min))
	if b.Certainty == 0 {
		b.Certainty = Unit / 2
	}
	b.Certainty = min(b.Certainty, Unit)
}

// Options of an oracle.
type Options struct {
	Chain  Chain
	Bounds Bounds
	Now    func() time.Time // time.Now by default
}

// Oracle estimates. Any goroutine may use it.
type Oracle struct {
	o Options

	mu     sync.Mutex
	tips   map[uint64]*big.Int // by a twentieth of certainty, of the time at
	at     time.Time
	head   inter.BlockNumber
	lowest *big.Int // of head
	pool   poolPrices
	asked  bool // whether anybody has asked for a tip

	quit     chan struct{}
	watching sync.WaitGroup
}

// New returns an oracle. Close ends it.
func New(o Options) *Oracle {
	o.Bounds.fill()
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Oracle{o: o, quit: make(chan struct{})}
}

// Close ends looking at a pool.
func (p *Oracle) Close() {
	close(p.quit)
	p.watching.Wait()
}

// sampling is how often the pool is looked at, and how long an estimate serves. Until
// somebody has asked, the pool is looked at every idle times only.
const (
	sampling = time.Second
	idle     = 5
)

// Watch begins to look at a pool, whose pending transactions are returned by sender and
// nonce.
func (p *Oracle) Watch(pending func() map[common.Address]types.Transactions) {
	p.watching.Go(func() {
		tick := time.NewTicker(sampling)
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-tick.C:
				p.look(n, pending)
			case <-p.quit:
				return
			}
		}
	})
}

// look takes a sample of the pool. Without a view there is none.
func (p *Oracle) look(n int, pending func() map[common.Address]types.Transactions) {
	p.mu.Lock()
	asked := p.asked
	p.mu.Unlock()
	if !asked && n%idle != 0 {
		return
	}
	v, err := p.o.Chain.View()
	if err != nil {
		return
	}
	least := v.Epoch().Rules.Economy.MinGasPrice
	_ = v.Close() // nothing more is read of it
	s := samplePool(pending(), least)
	p.mu.Lock()
	p.pool.add(s)
	p.mu.Unlock()
}

// Tip returns how much above the least price to offer, in wei. It is the caller's.
func (p *Oracle) Tip(v *chain.View, certainty uint64) *big.Int {
	if certainty == ByDefault {
		certainty = p.o.Bounds.Certainty
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = true
	now := p.o.Now()
	if now.Sub(p.at) >= sampling || p.tips == nil {
		p.tips, p.at = map[uint64]*big.Int{}, now
	}
	bucket := certainty / (Unit / 20)
	tip := p.tips[bucket]
	if tip == nil {
		tip = p.estimate(v, certainty)
		p.tips[bucket] = tip
	}
	return new(big.Int).Set(tip)
}

func (p *Oracle) estimate(v *chain.View, certainty uint64) *big.Int {
	least := v.Epoch().Rules.Economy.MinGasPrice
	next := least
	if dirty := v.Present().DirtyRules; dirty != nil && dirty.Economy.MinGasPrice.Cmp(least) > 0 {
		next = dirty.Economy.MinGasPrice
	}
	price := p.constructive(v, p.pool.average.gas, Unit/200+certainty/25, next)
	if offered := p.pool.average.price(certaintyCurve.At(certainty)); offered.Cmp(price) > 0 {
		price = offered
	}
	b := &p.o.Bounds
	if price.Cmp(b.Min) < 0 {
		price = b.Min
	}
	if price.Cmp(b.Max) > 0 {
		price = b.Max
	}
	tip := new(big.Int).Sub(price, least)
	if tip.Cmp(b.MinTip) < 0 {
		tip = b.MinTip
	}
	return tip
}

// Effective returns the price below which validators will not take a transaction soon, in
// wei. It is the caller's.
func (p *Oracle) Effective(v *chain.View) *big.Int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if head := v.Head().Number; p.lowest == nil || head > p.head {
		p.lowest, p.head = p.constructive(v, 0, 0, v.Epoch().Rules.Economy.MinGasPrice), head
	}
	return new(big.Int).Set(p.lowest)
}
