package txpool

import (
	"errors"
	"flag"
	"os"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

var flood = flag.Int("txpool.flood", 50_000, "transactions of as many accounts")

// heldSize is how many transactions and bytes wait.
func heldSize(p *Pool) (n int, bytes uint64) {
	for _, e := range p.all {
		n++
		bytes += e.tx.Size()
	}
	return n, bytes
}

func hurl(p *Pool, offers func(yield func(offer) bool)) {
	var batch []*types.Transaction
	for o := range offers {
		if batch = append(batch, o.tx()); len(batch) == 256 {
			p.AddRemotes(batch)
			batch = batch[:0]
		}
	}
	p.AddRemotes(batch)
}

// Whatever peers send, no more waits than slots are allowed, and of what waits nothing is
// unsound.
func TestFloodsOfPeersStayWithinTheLimits(t *testing.T) {
	const slots = 1280 + 256
	for _, c := range []struct {
		name   string
		offers func(yield func(offer) bool)
	}{
		{"one of each account, each dearer", func(yield func(offer) bool) {
			for i := range *flood {
				if !yield(offer{from: 1 + i, fee: 20 + int64(i)}) {
					return
				}
			}
		}},
		{"one of each account, each cheaper", func(yield func(offer) bool) {
			for i := range *flood {
				if !yield(offer{from: 1 + i, fee: 20 + int64(*flood-i)}) {
					return
				}
			}
		}},
		{"gaps", func(yield func(offer) bool) {
			for i := range *flood / 10 {
				if !yield(offer{from: 1 + i%100, nonce: 2 * uint64(1+i/100), fee: 20}) {
					return
				}
			}
		}},
		{"one account", func(yield func(offer) bool) {
			for i := range *flood / 10 {
				if !yield(offer{from: 1, nonce: uint64(i), fee: 20}) {
					return
				}
			}
		}},
		{"the largest, each dearer", func(yield func(offer) bool) {
			for i := range 800 {
				if !yield(offer{from: 1 + i, fee: 20 + int64(i), data: most - 200, gas: 9_000_000}) {
					return
				}
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newWorld().pool(t, Options{})
			begin := time.Now()
			hurl(p, c.offers)
			n, bytes := heldSize(p)
			t.Logf("%d transactions of %d bytes wait after %v", n, bytes, time.Since(begin))
			pending, queued := p.Stats()
			if err := sound(p); err != nil || n == 0 || n > slots || bytes > slots*slotBytes ||
				queued > 256 && pending > 1280 {
				t.Errorf("%d pending, %d queued, %d bytes; %v", pending, queued, bytes, err)
			}
			if p.advance(); sound(p) != nil {
				t.Error(sound(p))
			}
		})
	}
}

// Clients come to an end, and take peers no room.
func TestAFloodOfClientsEnds(t *testing.T) {
	p := newWorld().pool(t, Options{Limits: Limits{Locals: 2000}})
	hurl(p, func(yield func(offer) bool) {
		for i := range 1536 {
			if !yield(offer{from: 1 + i, fee: 1000}) {
				return
			}
		}
	})
	refused := 0
	for i := range 2100 {
		err := p.Add(offer{from: 10_000 + i, fee: 20}.tx())
		if err != nil && !errors.Is(err, ErrOverflow) {
			t.Fatal(err)
		}
		if err != nil {
			refused++
		}
	}
	if n, _ := heldSize(p); n != 1536+2000 || refused != 100 {
		t.Errorf("%d wait, %d were refused", n, refused)
	}
	if err := p.AddRemotes([]*types.Transaction{offer{from: 20_000, fee: 5000}.tx()})[0]; err != nil {
		t.Errorf("a peer's transaction beside a pool of clients': %v", err)
	}
}

// Accounts that can pay for one transaction fill the room of clients, behind a nonce that is
// missing or with more than they have. Others' transactions that can be executed take the place of
// theirs, the attackers' own places are even, and peers have all of their room.
func TestWhatCostsNothingYieldsToWhatCanBeExecuted(t *testing.T) {
	for name, first := range map[string]uint64{"a gap": 1, "no money": 0} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			const locals, poor = 1000, 3
			for i := range poor {
				w.accounts[who(1+i)] = state{balance: 21000 * 20}
			}
			journal := journalIn(t)
			o := Options{Limits: Limits{Locals: locals}, Journal: journal}
			p := w.pool(t, o)
			fill := func(from int) (taken int) {
				for i := range uint64(2 * locals) {
					err := p.Add(offer{from: from, nonce: first + i, fee: 20}.tx())
					if err == nil {
						taken++
					} else if !errors.Is(err, ErrOverflow) {
						t.Fatal(err)
					}
				}
				return taken
			}
			if n := fill(1); n != locals {
				t.Errorf("while there is room %d are taken", n)
			}
			fill(2)
			fill(3)
			for i := range poor {
				if a := p.accounts[who(1+i)]; a == nil || len(a.txs) < locals/poor-1 {
					t.Errorf("account %d of the attackers has no even part", i)
				}
			}
			honest := func(p *Pool) {
				t.Helper()
				for i := range locals / 2 {
					if err := p.Add(offer{from: 100 + i, fee: 20}.tx()); err != nil &&
						!errors.Is(err, ErrAlreadyKnown) {
						t.Fatalf("honest client %d: %v", i, err)
					}
				}
				errs := p.AddRemotes([]*types.Transaction{offer{from: 5000, fee: 20}.tx(),
					offer{from: 5000, nonce: 1, fee: 20}.tx()})
				if err := errors.Join(errs...); err != nil && !errors.Is(err, ErrAlreadyKnown) {
					t.Errorf("a peer's transactions: %v", err)
				}
				if n, _ := heldSize(p); n > locals+2 {
					t.Errorf("%d wait", n)
				}
				if err := sound(p); err != nil {
					t.Error(err)
				}
			}
			honest(p)
			o.Journal = journal + ".again"
			if err := os.Rename(journal, o.Journal); err != nil {
				t.Fatal(err)
			}
			later := newWorld()
			later.accounts = w.accounts
			honest(later.pool(t, o))
		})
	}
}

// Peers fill the pool with what they cannot pay, at high prices. What can be executed has room.
func TestWhatPeersCannotPayYieldsToWhatCanBeExecuted(t *testing.T) {
	w := newWorld()
	const poor = 200
	for i := range poor {
		w.accounts[who(1+i)] = state{balance: 21000 * 5000}
	}
	p := w.pool(t, Options{})
	hurl(p, func(yield func(offer) bool) {
		for i := range poor * 16 {
			if !yield(offer{from: 1 + i/16, nonce: uint64(i % 16), fee: 5000}) {
				return
			}
		}
	})
	refused := 0
	for i := range 1000 {
		if p.AddRemotes([]*types.Transaction{offer{from: 1000 + i, fee: 20}.tx()})[0] != nil {
			refused++
		}
	}
	if refused != 0 {
		t.Errorf("%d of 1000 transactions that can be executed are refused", refused)
	}
	if err := sound(p); err != nil {
		t.Error(err)
	}
}

// What a client has queued and never made executable goes after a day, and not before.
func TestQueuedTransactionsOfClientsExpire(t *testing.T) {
	w := newWorld()
	p := w.pool(t, Options{Locals: []common.Address{who(9)}})
	for _, from := range []int{1, 9} {
		if err := p.Add(offer{from: from, nonce: 1, fee: 20}.tx()); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		passed time.Duration
		want   int
	}{{23 * time.Hour, 2}, {25 * time.Hour, 1}} {
		w.now = time.Unix(1e9, 0).Add(c.passed)
		p.evict()
		if _, queued := p.Stats(); queued != c.want {
			t.Errorf("%d are queued after %v", queued, c.passed)
		}
	}
	if _, queued := p.ContentFrom(who(9)); len(queued) != 1 {
		t.Error("what an account has that is local by the options is gone")
	}
}

// What is queued for too long goes; what is local has longer.
func TestQueuedTransactionsAgeAndLocalOnesDoNot(t *testing.T) {
	w := newWorld()
	p := w.pool(t, Options{})
	remote, local := offer{from: 1, nonce: 1, fee: 20}.tx(), offer{from: 2, nonce: 1, fee: 20}.tx()
	if err := errors.Join(p.AddRemotes([]*types.Transaction{remote})[0], p.Add(local)); err != nil {
		t.Fatal(err)
	}
	for hours, want := range []int{2, 2, 2, 2, 1} {
		if p.evict(); len(p.all) != want {
			t.Errorf("after %d hours %d wait", hours, len(p.all))
		}
		w.now = w.now.Add(time.Hour)
	}
	if p.Get(local.Hash()) == nil {
		t.Error("the local one is gone")
	}
}

// An account that cannot be read stays as it is, and its transactions are refused with the
// reason.
func TestDamageIsTold(t *testing.T) {
	w := newWorld()
	var warned error
	p := w.pool(t, Options{Warn: func(err error) { warned = err }})
	if err := p.Add(offer{from: 1, fee: 20}.tx()); err != nil {
		t.Fatal(err)
	}
	w.fails = errors.New("damaged")
	p.advance()
	if err := p.Add(offer{from: 2, fee: 20}.tx()); !errors.Is(err, w.fails) || !errors.Is(warned, w.fails) {
		t.Errorf("refused with %v, warned of %v", err, warned)
	}
	if pending, _ := p.Stats(); pending != 1 {
		t.Errorf("%d are pending", pending)
	}
}

// Peers send what accounts can pay one of, and a client replaces each: all of that is the client's
// then, and what cannot be executed of it makes room for what can.
func TestReplacementsOfClientsYieldToWhatCanBeExecuted(t *testing.T) {
	w := newWorld()
	const locals, poor, each = 160, 20, 10
	p := w.pool(t, Options{Limits: Limits{Locals: locals}})
	for i := range poor {
		w.accounts[who(1+i)] = state{balance: 21000 * 50}
	}
	p.advance()
	hurl(p, func(yield func(offer) bool) {
		for i := range poor * each {
			if !yield(offer{from: 1 + i/each, nonce: uint64(i % each), fee: 20}) {
				return
			}
		}
	})
	for i := range poor * each {
		err := p.Add(offer{from: 1 + i/each, nonce: uint64(i % each), fee: 40}.tx())
		if err != nil && !errors.Is(err, ErrOverflow) {
			t.Fatal(err)
		}
	}
	for i := range locals / 2 {
		if err := p.Add(offer{from: 100 + i, fee: 20}.tx()); err != nil {
			t.Fatalf("honest client %d: %v", i, err)
		}
	}
	if err := sound(p); err != nil {
		t.Error(err)
	}
}

// In a pool that is full of what clients can have executed, each of them can still offer more, also
// after an account has become a client's with all that it has.
func TestAClientReplacesInAFullPool(t *testing.T) {
	const locals, beside, bytes = 10, 3, 1000
	size := offer{data: bytes}.tx().Size()
	for name, limits := range map[string]Limits{
		"transactions": {Locals: locals}, "bytes": {LocalBytes: locals * (size + 10)},
	} {
		t.Run(name, func(t *testing.T) {
			p := newWorld().pool(t, Options{Limits: limits})
			first := func(from int, fee int64) error {
				return p.Add(offer{from: from, fee: fee, data: bytes}.tx())
			}
			for i := range beside {
				of := offer{from: locals, nonce: 1 + uint64(i), fee: 20, data: bytes}
				if err := p.AddRemotes([]*types.Transaction{of.tx()})[0]; err != nil {
					t.Fatal(err)
				}
			}
			for i := range locals {
				if err := first(1+i, 20); err != nil {
					t.Fatal(err)
				}
			}
			if err := first(100, 20); !errors.Is(err, ErrOverflow) {
				t.Fatalf("another client's: %v", err)
			}
			for i := range locals {
				if err := first(1+i, 40); err != nil {
					t.Errorf("the replacement of client %d: %v", i, err)
				}
			}
			if n, _ := heldSize(p); n != locals+beside {
				t.Errorf("%d wait", n)
			}
			if err := sound(p); err != nil {
				t.Error(err)
			}
		})
	}
}
