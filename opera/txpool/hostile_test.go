package txpool

import (
	"errors"
	"flag"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/core/types"
)

var flood = flag.Int("txpool.flood", 50_000, "transactions of as many accounts")

// held is how many transactions and bytes wait.
func held(p *Pool) (n int, bytes uint64) {
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
			n, bytes := held(p)
			t.Logf("%d transactions of %d bytes wait after %v", n, bytes, time.Since(begin))
			pending, queued := p.Stats()
			if err := sound(p); err != nil || n == 0 || n > slots || bytes > slots*slotBytes || queued > 256 && pending > 1280 {
				t.Errorf("%d pending, %d queued, %d bytes; %v", pending, queued, bytes, err)
			}
			if p.advance(); sound(p) != nil {
				t.Error(sound(p))
			}
		})
	}
}

// Clients push the transactions of peers out, and come to an end themselves.
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
	if n, _ := held(p); n != 2000 || refused != 100 {
		t.Errorf("%d wait, %d were refused", n, refused)
	}
	if err := p.AddRemotes([]*types.Transaction{offer{from: 1, fee: 5000}.tx()})[0]; !errors.Is(err, ErrOverflow) {
		t.Errorf("a peer's transaction in a pool of clients': %v", err)
	}
	if err := sound(p); err != nil {
		t.Error(err)
	}
}

// What is queued for too long goes, unless it is local.
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
