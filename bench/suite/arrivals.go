package suite

import (
	"context"
	"maps"
	"sync"
	"time"

	"tarn/internal/figuretable"
)

// Arrivals are items, such as blocks, on their way to many listeners: when anybody had each, and how
// much later each listener had it. Any number of goroutines may use it. The zero value is ready.
type Arrivals[K comparable] struct {
	mu    sync.Mutex
	items map[K]*arrival
	sight Sight
}

// arrival is when somebody had an item, and when the last listener that had it.
type arrival struct {
	first, last time.Time
	listeners   int
}

// Begin forgets what was seen until now. A listener that is lost stays lost.
func (a *Arrivals[K]) Begin() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.items, a.sight = nil, Sight{Failed: a.sight.Failed}
}

// See notes that somebody who is no listener has an item.
func (a *Arrivals[K]) See(item K) {
	now := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.of(item, now)
}

// Receive notes that a listener has an item.
func (a *Arrivals[K]) Receive(item K) {
	now := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	one := a.of(item, now)
	a.sight.Delays.Add(now.Sub(one.first))
	one.last = now
	one.listeners++
}

// of is the item, which is new if nobody had it. The lock is held.
func (a *Arrivals[K]) of(item K, now time.Time) *arrival {
	one := a.items[item]
	if one == nil {
		if a.items == nil {
			a.items = map[K]*arrival{}
		}
		one = &arrival{first: now}
		a.items[item] = one
		a.sight.Blocks++
	}
	return one
}

// Whole counts a chain that was fetched.
func (a *Arrivals[K]) Whole() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sight.Chains++
}

// Lose notes that a listener ended, and why.
func (a *Arrivals[K]) Lose(why error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sight.Failed == nil {
		a.sight.Failed = map[string]int{}
	}
	a.sight.Failed[why.Error()]++
}

// Seen is what was seen since Begin, but for bytes. Of listeners is how many there are: an item has got
// to the last one if as many have it.
func (a *Arrivals[K]) Seen(listeners int) Sight {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.sight
	s.Failed, s.Last = maps.Clone(a.sight.Failed), figuretable.Latencies{}
	for _, one := range a.items {
		if one.listeners == listeners {
			s.Last.Add(one.last.Sub(one.first))
		}
	}
	return s
}

// Listeners are connections that end when Cancel is called, and what came to them: a [Crowd]. Came says how
// many bytes did so far.
type Listeners[K comparable] struct {
	Arrivals Arrivals[K]
	Cancel   context.CancelFunc
	Tasks    sync.WaitGroup
	Count    int // of those whose items count
	Came     func() int64

	before int64 // that had come when it began
}

// Listen runs a listener. One that ends before ctx does is lost.
func (l *Listeners[K]) Listen(ctx context.Context, listener func() error) {
	l.Tasks.Go(func() {
		if err := listener(); ctx.Err() == nil {
			l.Arrivals.Lose(err)
		}
	})
}

// Begin forgets what was seen until now.
func (l *Listeners[K]) Begin() {
	l.Arrivals.Begin()
	l.before = l.Came()
}

// Seen is what was seen since then.
func (l *Listeners[K]) Seen() Sight {
	s := l.Arrivals.Seen(l.Count)
	s.Bytes = l.Came() - l.before
	return s
}

// Close ends all, and waits for them.
func (l *Listeners[K]) Close() {
	l.Cancel()
	l.Tasks.Wait()
}
