package p2p

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// fetcher remembers who announced what this node lacks, and asks one of them after the
// other for it. Any goroutine may use it.
type fetcher[H hash32] struct {
	limits  *Limits
	arrive  time.Duration // before another one is asked
	missing func([]H) []H // what of these is still wanted
	waits   func(H) bool  // it came, and is looked at; nil where that takes no time; the lock is held
	ask     func(*peer, []H)

	mu    sync.Mutex
	wants map[H]*want
	load  map[*peer]int // how many wants name a peer
}

// want is an id that was announced and has not come.
type want struct {
	announcers []*peer
	last       *peer // the one that was asked last
	since      time.Time
	asked      time.Time
}

func newFetcher[H hash32](
	limits *Limits, arrive time.Duration, missing func([]H) []H, ask func(*peer, []H),
) *fetcher[H] {
	return &fetcher[H]{limits: limits, arrive: arrive, missing: missing, ask: ask, wants: map[H]*want{},
		load: map[*peer]int{}}
}

// announce notes what a peer has, and asks it for what nobody was asked for yet. What
// exceeds the peer's share is forgotten.
func (f *fetcher[H]) announce(p *peer, ids []H, now time.Time) {
	ids = f.missing(ids)
	var first []H
	f.mu.Lock()
	for _, id := range ids {
		w := f.wants[id]
		if w == nil {
			w = &want{since: now}
		}
		if !f.name(w, p, now) {
			continue
		}
		f.wants[id] = w
		if w.last != nil || !w.asked.IsZero() {
			continue
		}
		w.asked = now
		if f.waits == nil || !f.waits(id) { // else it may turn out to be none of its name
			w.last = p
			first = append(first, id)
		}
	}
	f.mu.Unlock()
	f.send(p, first)
}

// name adds a peer to those who announced an id, in the place of one that was asked in vain
// if there are enough.
func (f *fetcher[H]) name(w *want, p *peer, now time.Time) bool {
	if slices.Contains(w.announcers, p) || f.load[p] >= f.limits.Announced {
		return false
	}
	if len(w.announcers) >= f.limits.Announcers {
		i := slices.Index(w.announcers, w.last)
		if i < 0 || now.Sub(w.asked) < f.arrive {
			return false
		}
		f.unload(w.announcers[i])
		w.announcers = slices.Delete(w.announcers, i, i+1)
	}
	w.announcers = append(w.announcers, p)
	f.load[p]++
	return true
}

func (f *fetcher[H]) unload(p *peer) {
	if f.load[p]--; f.load[p] == 0 {
		delete(f.load, p)
	}
}

func (f *fetcher[H]) send(p *peer, ids []H) {
	for part := range slices.Chunk(ids, softItems) {
		f.ask(p, part)
	}
}

// noteReceived notes that an id came, or is of no use any more.
func (f *fetcher[H]) noteReceived(ids ...H) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range ids {
		f.forget(id)
	}
}

func (f *fetcher[H]) forget(id H) {
	if w := f.wants[id]; w != nil {
		for _, p := range w.announcers {
			f.unload(p)
		}
		delete(f.wants, id)
	}
}

// tick asks others for what did not come in time, and forgets what nobody wants or has. It
// is called every now and then.
func (f *fetcher[H]) tick(now time.Time) {
	for p, ids := range f.late(now) {
		f.send(p, ids)
	}
}

// late finds what is to be asked for again, and of whom.
func (f *fetcher[H]) late(now time.Time) map[*peer][]H {
	f.mu.Lock()
	var due []H
	for id, w := range f.wants {
		if now.Sub(w.asked) >= f.arrive {
			due = append(due, id)
		}
	}
	f.mu.Unlock()
	wanted := map[H]bool{}
	for _, id := range f.missing(due) {
		wanted[id] = true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	again := map[*peer][]H{}
	for _, id := range due {
		w := f.wants[id]
		if w == nil {
			continue
		}
		if !wanted[id] || now.Sub(w.since) > f.limits.Forget {
			f.forget(id)
			continue
		}
		if f.waits != nil && f.waits(id) {
			w.asked = now
			continue
		}
		w.last, w.asked = w.announcers[rand.IntN(len(w.announcers))], now
		again[w.last] = append(again[w.last], id)
	}
	return again
}

// forgetPeer forgets a peer.
func (f *fetcher[H]) forgetPeer(p *peer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.load[p] == 0 {
		return
	}
	for id, w := range f.wants {
		if i := slices.Index(w.announcers, p); i >= 0 {
			w.announcers = slices.Delete(w.announcers, i, i+1)
			f.unload(p)
		}
		if len(w.announcers) == 0 {
			delete(f.wants, id)
		}
	}
}

// busy tells whether so much of what a peer announced is under way that it should not be
// asked for more. What others announced is their own affair.
func (f *fetcher[H]) busy(p *peer) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.load[p] > f.limits.Announced*3/4
}
