package txpool

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

var (
	modelSeed  = flag.Uint64("txpool.seed", 1, "seed of the model test; 0 is a new one")
	modelSteps = flag.Int("txpool.steps", 3000, "steps of the model test")
)

// model is the rules put simply: what is queued and what is pending, by sender and nonce.
// It has room for all.
type model struct {
	w       *world
	pending map[int]map[uint64]offer
	queued  map[int]map[uint64]offer
	heard   map[int]state // of the last block that it was told of
	price   int64
	tip     int64
	local   map[int]bool
	queue   int
}

func (m *model) state(from int) state {
	if s, ok := m.heard[from]; ok {
		return s
	}
	return state{balance: m.w.rich}
}

func cost(o offer) uint64 { return uint64(o.fee)*o.gas + uint64(o.value) }

func (o offer) tipCap() int64 {
	if o.tip == 0 {
		return o.fee
	}
	return o.tip
}

func (m *model) add(o offer, local bool) error {
	for _, of := range []map[int]map[uint64]offer{m.pending, m.queued} {
		if old, ok := of[o.from][o.nonce]; ok && old == o {
			return ErrAlreadyKnown
		}
	}
	switch s := m.state(o.from); {
	case o.gas > m.w.maxGas:
		return ErrGasLimit
	case o.fee < o.tipCap():
		return ErrTipAboveFeeCap
	case o.tipCap() < m.tip, o.fee < m.tip+m.price:
		return ErrUnderpriced
	case o.nonce < s.nonce:
		return ErrNonceTooLow
	case cost(o) > s.balance:
		return ErrInsufficientFunds
	case o.gas < 21000:
		return ErrIntrinsicGas
	}
	for _, of := range []map[int]map[uint64]offer{m.pending, m.queued} {
		old, ok := of[o.from][o.nonce]
		if !ok {
			continue
		}
		if o.fee <= old.fee || o.tipCap() <= old.tipCap() || o.fee < old.fee*110/100 ||
			o.tipCap() < old.tipCap()*110/100 {
			return ErrReplaceUnderpriced
		}
		of[o.from][o.nonce] = o
		m.local[o.from] = m.local[o.from] || local
		return nil
	}
	m.put(m.queued, o)
	m.local[o.from] = m.local[o.from] || local
	m.promote(o.from)
	return nil
}

func (m *model) put(of map[int]map[uint64]offer, o offer) {
	if of[o.from] == nil {
		of[o.from] = map[uint64]offer{}
	}
	of[o.from][o.nonce] = o
}

// promote moves what follows, and forgets the highest nonces beyond the queue's length.
func (m *model) promote(from int) {
	next := m.state(from).nonce
	for ; ; next++ {
		if _, ok := m.pending[from][next]; ok {
			continue
		}
		o, ok := m.queued[from][next]
		if !ok {
			break
		}
		m.put(m.pending, o)
		delete(m.queued[from], next)
	}
	if nonces := m.nonces(m.queued[from]); !m.local[from] && len(nonces) > m.queue {
		for _, n := range nonces[m.queue:] {
			delete(m.queued[from], n)
		}
	}
}

func (m *model) nonces(of map[uint64]offer) (list []uint64) {
	for n := range of {
		list = append(list, n)
	}
	slices.Sort(list)
	return list
}

// block looks at the chain anew.
func (m *model) block() {
	m.heard = map[int]state{}
	for a, s := range m.w.accounts {
		m.heard[int(a.Big().Int64())] = s
	}
	m.price, m.tip = m.w.minPrice, m.w.minTip
	for from := range 20 {
		s := m.state(from)
		bad := func(o offer) bool { return o.nonce < s.nonce || cost(o) > s.balance || o.gas > m.w.maxGas }
		for n, o := range m.queued[from] {
			if bad(o) {
				delete(m.queued[from], n)
			}
		}
		for n := range m.pending[from] {
			if n < s.nonce {
				delete(m.pending[from], n)
			}
		}
		if len(m.queued[from]) > 0 {
			m.promote(from)
		}
		broken := false
		for _, n := range m.nonces(m.pending[from]) {
			o := m.pending[from][n]
			if bad(o) {
				broken = true
			} else if broken {
				m.put(m.queued, o)
			}
			if broken {
				delete(m.pending[from], n)
			}
		}
	}
}

// same compares the pool with the model.
func (m *model) same(p *Pool) error {
	pending, queued := p.Content()
	for from := range 20 {
		for i, want := range []map[uint64]offer{m.pending[from], m.queued[from]} {
			got := pending[who(from)]
			if i == 1 {
				got = queued[who(from)]
			}
			nonces := m.nonces(want)
			if len(got) != len(nonces) {
				return fmt.Errorf("sender %d, kind %d: %d transactions, %d in the model",
					from, i, len(got), len(nonces))
			}
			for j, n := range nonces {
				if got[j].Hash() != want[n].tx().Hash() {
					return fmt.Errorf("sender %d, kind %d: another transaction with nonce %d", from, i, n)
				}
			}
		}
		if got, want := p.Nonce(who(from)), m.state(from).nonce+uint64(len(m.pending[from])); got != want {
			return fmt.Errorf("sender %d: the next nonce is %d, %d in the model", from, got, want)
		}
	}
	return nil
}

// someOffer is a transaction that is often right.
func someOffer(r *rand.Rand, w *world) offer {
	from := 1 + r.IntN(19)
	o := offer{from: from, nonce: w.accounts[who(from)].nonce + uint64(r.IntN(12)), fee: 5 + r.Int64N(40), gas: 21000,
		value: r.Int64N(5)}
	if r.IntN(3) == 0 {
		o.tip = 1 + r.Int64N(o.fee+1)
	}
	switch r.IntN(40) {
	case 0:
		o.gas = 20999
	case 1:
		o.gas = w.maxGas + 1
	case 2:
		o.gas = 5_000_000
	case 3, 4:
		o.nonce = uint64(r.IntN(60))
	}
	return o
}

// step changes the chain: accounts spend, receive, use nonces; the price of gas moves.
func (w *world) step(r *rand.Rand) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for range 1 + r.IntN(4) {
		a := who(1 + r.IntN(19))
		s, ok := w.accounts[a]
		if !ok {
			s.balance = w.rich
		}
		if s.nonce += uint64(r.IntN(4)); r.IntN(2) == 0 {
			s.balance = []uint64{0, 21000 * 20, 21000 * 30, 21000 * 1000, 1 << 40}[r.IntN(5)]
		}
		w.accounts[a] = s
	}
	if r.IntN(4) == 0 {
		w.minPrice, w.minTip = 5+r.Int64N(10), r.Int64N(3)
	}
	w.maxGas = 4_000_000 + uint64(r.IntN(2))*4_000_000
}

func seededRand(t *testing.T) *rand.Rand {
	seed := *modelSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("repeat with -txpool.seed=%d", seed)
	return rand.New(rand.NewPCG(seed, 1))
}

// A pool with room has what the model has, and refuses what it refuses, in its words.
func TestModel(t *testing.T) {
	r := seededRand(t)
	w := newWorld()
	p := w.pool(t, Options{Limits: Limits{AccountQueue: 5, GlobalQueue: 1 << 20, GlobalSlots: 1 << 20}})
	m := &model{w: w, pending: map[int]map[uint64]offer{}, queued: map[int]map[uint64]offer{}, local: map[int]bool{},
		queue: 5, price: w.minPrice}
	seen := map[error]int{}
	var last offer
	for i := range *modelSteps {
		if r.IntN(15) == 0 {
			w.step(r)
			p.advance()
			m.block()
		} else {
			o, local := someOffer(r, w), r.IntN(20) == 0
			if last.from != 0 && r.IntN(20) == 0 {
				o = last
			}
			last = o
			var got error
			if local {
				got = p.Add(o.tx())
			} else {
				got = p.AddRemotes([]*types.Transaction{o.tx()})[0]
			}
			want := m.add(o, local)
			if !errors.Is(got, want) {
				t.Fatalf("step %d: %+v: %v, in the model %v", i, o, got, want)
			}
			seen[want]++
		}
		if err := errors.Join(sound(p), m.same(p)); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
	}
	for _, want := range []error{nil, ErrAlreadyKnown, ErrGasLimit, ErrTipAboveFeeCap, ErrUnderpriced, ErrNonceTooLow,
		ErrInsufficientFunds, ErrIntrinsicGas, ErrReplaceUnderpriced} {
		if seen[want] == 0 && *modelSteps >= 3000 {
			t.Errorf("never answered: %v", want)
		}
	}
}

// A pool without room keeps its limits and its order whatever comes.
func TestAFullPoolStaysSound(t *testing.T) {
	r := seededRand(t)
	w := newWorld()
	limits := Limits{AccountSlots: 2, GlobalSlots: 20, AccountQueue: 4, GlobalQueue: 10, Locals: 12,
		LocalBytes: 100_000}
	p := w.pool(t, Options{Limits: limits, Locals: []common.Address{who(3)}})
	p.Subscribe(func(txs types.Transactions) {
		for _, tx := range txs {
			if tx == nil {
				t.Error("told of nothing")
			}
		}
	})
	seen := map[error]int{}
	for i := range *modelSteps {
		switch n := r.IntN(60); {
		case n < 3:
			w.step(r)
			p.advance()
		case n == 3:
			w.now = w.now.Add(time.Duration(r.IntN(5)) * time.Hour)
			p.evict()
		default:
			o := someOffer(r, w)
			if n < 10 {
				o.data, o.gas = r.IntN(120_000), 2_000_000
			}
			if n == 20 {
				seen[p.Add(o.tx())]++
			} else {
				seen[p.AddRemotes([]*types.Transaction{o.tx()})[0]]++
			}
		}
		if err := sound(p); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		// What a client's account had before stays.
		if n := p.local.count; n > limits.Locals+30 || p.local.bytes > limits.LocalBytes+30*slotBytes {
			t.Fatalf("step %d: %d local transactions of %d bytes", i, n, p.local.bytes)
		}
		if p.slots > 2*30+4*limits.Locals {
			t.Fatalf("step %d: %d slots", i, p.slots)
		}
	}
	for _, want := range []error{ErrUnderpriced, ErrOverflow} {
		if seen[want] == 0 && *modelSteps >= 3000 {
			t.Errorf("never answered: %v; %v", want, seen)
		}
	}
}

// A replaced pending transaction counts as its account's last activity, for those queued
// later too: the account that has become active last loses what it has queued.
func TestAReplacementIsActivity(t *testing.T) {
	w := newWorld()
	p := w.pool(t, Options{Limits: Limits{GlobalQueue: 2}})
	for _, o := range []offer{
		{from: 1, nonce: 0, fee: 20}, {from: 1, nonce: 0, fee: 40},
		{from: 2, nonce: 5, fee: 20}, {from: 3, nonce: 5, fee: 20}, {from: 1, nonce: 5, fee: 20},
	} {
		w.now = w.now.Add(time.Second)
		if err := p.AddRemotes([]*types.Transaction{o.tx()})[0]; err != nil {
			t.Fatal(err)
		}
	}
	_, queued := p.Content()
	for from, want := range map[int]int{1: 1, 2: 1, 3: 0} {
		if got := len(queued[who(from)]); got != want {
			t.Errorf("sender %d has %d queued, not %d", from, got, want)
		}
	}
}
