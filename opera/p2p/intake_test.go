package p2p

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tarn/opera/chain"
	"tarn/opera/eventcheck"
	"tarn/opera/inter"
)

// graph is a ledger of one epoch that knows nothing but parents. Events whose signature
// begins with 1 are wrong, those with 2 turn out to be so when they are connected.
type graph struct {
	mu   sync.Mutex
	list []*inter.Payload
	here map[inter.EventID]bool
	slow time.Duration // what verifying takes

	decide func() // makes the blocks of an event that was accepted; nil: it decides none

	forked atomic.Bool // its validators have
}

func (g *graph) Network() chain.Network {
	return chain.Network{ID: inter.FakeNetwork}
}
func (g *graph) Present() (Present, error)                                    { return Present{Epoch: 300}, nil }
func (g *graph) Event(inter.EventID) ([]byte, error)                          { return nil, nil }
func (g *graph) Events(inter.EventID, func(inter.EventID, []byte) bool) error { return nil }

func (g *graph) HasEvent(id inter.EventID) (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.here[id], nil
}

// connected are the events that are here.
func (g *graph) connected() []*inter.Payload {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.list)
}

func (g *graph) Forked(inter.ValidatorID) bool { return g.forked.Load() }

func (g *graph) Verify(p *inter.Payload) error {
	time.Sleep(g.slow)
	if p.Signature[0] == 1 {
		return eventcheck.ErrWrongEventSig
	}
	return nil
}

func (g *graph) Connect(
	_ context.Context, events []*inter.Payload, accepted func(int), done func(int, error),
) (inter.Epoch, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, p := range events {
		var err error
		for _, parent := range p.Parents {
			if !g.here[parent] {
				err = fmt.Errorf("%w: of %v", chain.ErrParents, p.ID())
			}
		}
		if p.Signature[0] == 2 {
			err = eventcheck.ErrWrongGasUsed
		}
		if g.here[p.ID()] {
			return 0, fmt.Errorf("event %v is connected twice", p.ID())
		}
		if err == nil {
			g.here[p.ID()] = true
			g.list = append(g.list, p)
			accepted(i)
			if g.decide != nil {
				g.mu.Unlock()
				g.decide()
				g.mu.Lock()
			}
		}
		done(i, err)
	}
	return 300, nil
}

// watched is an intake of a graph, and what it tells.
type watched struct {
	*intake
	graph  *graph
	mu     sync.Mutex
	bans   map[*peer]int
	wanted map[inter.EventID]bool
	failed error
	aheads atomic.Int64
}

func newWatched(t testing.TB, limits *Limits) *watched {
	t.Helper()
	w := &watched{graph: &graph{here: map[inter.EventID]bool{}}, bans: map[*peer]int{},
		wanted: map[inter.EventID]bool{}}
	w.intake = newIntake(w.graph, limits)
	w.intake.accepted = func(*arrival) {}
	w.intake.ahead = func() { w.aheads.Add(1) }
	w.intake.dropped = func(from *peer, _ inter.EventID, err error) {
		if eventcheck.Bans(err) {
			w.mu.Lock()
			w.bans[from]++
			w.mu.Unlock()
		}
	}
	w.intake.wanted = func(_ *peer, ids []inter.EventID) {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, id := range ids {
			w.wanted[id] = true
		}
	}
	w.intake.entered = func(inter.Epoch) {}
	w.intake.failed = func(err error) { w.failed = err }
	w.enter(300, 0)
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { w.serve(ctx) })
	t.Cleanup(func() {
		cancel()
		all.Wait()
		if w.failed != nil {
			t.Error(w.failed)
		}
	})
	return w
}

// isRunning tells whether an event is being connected.
func (w *watched) isRunning(id inter.EventID) bool {
	w.intake.mu.Lock()
	defer w.intake.mu.Unlock()
	_, running := w.running[id]
	return running
}

func rawOf(t testing.TB, p *inter.Payload, signature byte) []byte {
	t.Helper()
	q := *p
	q.Signature[0] = signature
	raw, err := q.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// Peers send a graph in any order, each event many times; what lacks is asked for.
func TestAGraphArrivesWhateverTheOrder(t *testing.T) {
	r := random(t)
	limits := defaults()
	limits.IntakeEvents, limits.OrderEvents = 200, 100
	w := newWatched(t, limits)
	var all []*inter.Payload
	for i := range 300 {
		var parents []inter.EventID
		for k := range min(i, 3) {
			parents = append(parents, all[i-1-k].ID())
		}
		all = append(all, vertex(t, i, parents...))
	}
	ctx := context.Background()
	var peers sync.WaitGroup
	for range 3 {
		from, order := strangerPeer(limits), r.Perm(len(all))
		slices.SortStableFunc(order, func(a, b int) int { return a/30 - b/30 })
		peers.Go(func() {
			for len(order) > 0 {
				n := min(1+len(order)%7, len(order))
				var raws [][]byte
				for _, i := range order[:n] {
					raws = append(raws, rawOf(t, all[i], 0))
				}
				order = order[n:]
				if err := w.submit(ctx, from, raws); err != nil {
					t.Error(err)
				}
			}
		})
	}
	peers.Wait()
	from := strangerPeer(limits)
	await(t, "all are connected", func() bool {
		w.mu.Lock()
		var raws [][]byte
		for _, e := range all {
			if w.wanted[e.ID()] || len(w.missing([]inter.EventID{e.ID()})) == 1 {
				raws = append(raws, rawOf(t, e, 0))
			}
		}
		clear(w.wanted)
		w.mu.Unlock()
		if err := w.submit(ctx, from, raws[:min(len(raws), 50)]); err != nil {
			t.Error(err)
		}
		w.graph.mu.Lock()
		defer w.graph.mu.Unlock()
		return len(w.graph.list) == len(all)
	})
	await(t, "nothing is left", func() bool { return w.budget.usedPercent() == 0 })
	if len(w.bans) != 0 {
		t.Errorf("%d peers are blamed", len(w.bans))
	}
}

// Who executes a block does not hold up the event that decided it.
func TestAnEventIsPassedOnWhileItsBlocksAreMade(t *testing.T) {
	w := newWatched(t, defaults())
	passedOn, made := make(chan inter.EventID, 1), make(chan struct{})
	w.intake.accepted = func(a *arrival) { passedOn <- a.event.ID() }
	w.graph.decide = func() { <-made }
	defer close(made)
	p := vertex(t, 0)
	if err := w.submit(context.Background(), strangerPeer(defaults()), [][]byte{rawOf(t, p, 0)}); err != nil {
		t.Fatal(err)
	}
	select {
	case id := <-passedOn:
		if id != p.ID() {
			t.Errorf("event %v is passed on instead of %v", id, p.ID())
		}
	case <-time.After(10 * time.Second):
		t.Error("the event waits for its blocks")
	}
}

// Whole events that are far ahead say, as their ids do, that a stream is needed.
func TestAnEventThatIsFarAheadAsksForAStream(t *testing.T) {
	w := newWatched(t, defaults())
	near, far := vertex(t, 100), vertex(t, 100_000)
	from := strangerPeer(defaults())
	if err := w.submit(context.Background(), from, [][]byte{rawOf(t, near, 0), rawOf(t, far, 0)}); err != nil {
		t.Fatal(err)
	}
	await(t, "one is far ahead", func() bool { return w.aheads.Load() == 1 })
	await(t, "the other is taken", func() bool { return len(w.graph.connected()) == 1 })
}

// What came is not asked for again while it waits for the blocks of others.
func TestWhatWaitsForBlocksIsNotAskedForAgain(t *testing.T) {
	limits := defaults()
	w := newWatched(t, limits)
	made := make(chan struct{})
	release := sync.OnceFunc(func() { close(made) })
	defer release()
	w.graph.decide = func() { <-made }
	first, second := vertex(t, 0), vertex(t, 1)
	var asked atomic.Int64
	f := newFetcher(limits, time.Second, w.missing, func(*peer, []inter.EventID) { asked.Add(1) })
	f.waits = w.isChecking
	from, ctx, now := strangerPeer(limits), context.Background(), time.Unix(1e9, 0)
	if err := w.submit(ctx, from, [][]byte{rawOf(t, first, 0)}); err != nil {
		t.Fatal(err)
	}
	await(t, "a block is made", func() bool { return w.isRunning(first.ID()) })
	f.announce(from, []inter.EventID{second.ID()}, now)
	if err := w.submit(ctx, from, [][]byte{rawOf(t, second, 0)}); err != nil {
		t.Fatal(err)
	}
	await(t, "the second has come", func() bool { return w.isChecking(second.ID()) })
	for i := range 5 {
		f.announce(strangerPeer(limits), []inter.EventID{second.ID()}, now)
		f.tick(now.Add(time.Duration(i+1) * time.Second))
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("it is asked for %d times", n)
	}
	third := vertex(t, 2)
	if err := w.submit(ctx, from, [][]byte{rawOf(t, third, 0)}); err != nil {
		t.Fatal(err)
	}
	await(t, "the third has come", func() bool { return w.isChecking(third.ID()) })
	if f.announce(from, []inter.EventID{third.ID()}, now); asked.Load() != 1 {
		t.Error("what has just come is asked for")
	}
	release()
	await(t, "all are connected", func() bool { return len(w.graph.connected()) == 3 })
	f.tick(now.Add(10 * time.Second))
	if n := asked.Load(); n != 1 || len(f.wants) != 0 {
		t.Errorf("it is asked for %d times, %d are wanted", n, len(f.wants))
	}
}

// Who sent an event does not get it back, also where another one was faster.
func TestWhoSentAnEventHasIt(t *testing.T) {
	w := newWatched(t, defaults())
	p := vertex(t, 0)
	for range 3 {
		from := strangerPeer(defaults())
		if err := w.submit(context.Background(), from, [][]byte{rawOf(t, p, 0)}); err != nil {
			t.Fatal(err)
		}
		await(t, "the event is known to be there", func() bool { return from.events.contains(short(p.ID())) })
	}
}

// Of a validator that has forked no further event is taken, verified or asked for, until somebody's
// event follows it.
func TestOfAValidatorThatForkedOnlyWhatIsFollowedIsTaken(t *testing.T) {
	limits := defaults()
	w := newWatched(t, limits)
	from := strangerPeer(limits)
	send := func(events ...*inter.Payload) {
		t.Helper()
		for _, e := range events {
			if err := w.submit(t.Context(), from, [][]byte{rawOf(t, e, 0)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	connected := func(e *inter.Payload) bool {
		has, _ := w.graph.HasEvent(e.ID())
		return has
	}
	w.graph.forked.Store(true)
	fork, child := vertex(t, 1), vertex(t, 2)
	grandchild := vertex(t, 3, fork.ID(), child.ID())
	send(fork, child)
	await(t, "they are left out", func() bool { return w.settled(fork.ID()) && w.settled(child.ID()) })
	if connected(fork) || len(w.missing([]inter.EventID{fork.ID(), child.ID()})) > 0 {
		t.Error("events that nobody follows are connected, or asked for")
	}
	w.graph.forked.Store(false) // of another validator
	send(grandchild)
	await(t, "what it follows is asked for", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.wanted[fork.ID()] && w.wanted[child.ID()]
	})
	w.graph.forked.Store(true)
	if n := len(w.missing([]inter.EventID{fork.ID(), child.ID()})); n != 2 {
		t.Errorf("%d of 2 events that are followed are asked for", n)
	}
	send(child, fork)
	await(t, "all are connected", func() bool { return connected(fork) && connected(child) && connected(grandchild) })
	await(t, "nothing is left", func() bool { return w.budget.usedPercent() == 0 })
	if len(w.bans) != 0 {
		t.Errorf("%d peers are blamed", len(w.bans))
	}
}

// An event's id says nothing of its signature.
func TestACopyWithAWrongSignatureDoesNotKeepOutTheRightOne(t *testing.T) {
	limits := defaults()
	w := newWatched(t, limits)
	w.graph.slow = 20 * time.Millisecond
	hostile, honest := strangerPeer(limits), strangerPeer(limits)
	for i := range 10 {
		e := vertex(t, i)
		var both sync.WaitGroup
		both.Go(func() { _ = w.submit(context.Background(), hostile, [][]byte{rawOf(t, e, 1), rawOf(t, e, 1)}) })
		time.Sleep(time.Millisecond)
		both.Go(func() { _ = w.submit(context.Background(), honest, [][]byte{rawOf(t, e, 0)}) })
		both.Wait()
		await(t, "the right one is connected", func() bool { has, _ := w.graph.HasEvent(e.ID()); return has })
	}
	await(t, "nothing is left", func() bool { return w.budget.usedPercent() == 0 && len(w.checking) == 0 })
	if w.bans[hostile] == 0 || w.bans[honest] != 0 {
		t.Errorf("the hostile peer is blamed %d times, the honest one %d", w.bans[hostile], w.bans[honest])
	}
}

// Whoever sends the child of an event that turns out to be wrong is not blamed.
func TestNobodyIsBlamedForAnothersEvent(t *testing.T) {
	limits := defaults()
	w := newWatched(t, limits)
	hostile, honest := strangerPeer(limits), strangerPeer(limits)
	wrong := vertex(t, 1)
	child := vertex(t, 2, wrong.ID())
	if err := w.submit(context.Background(), honest, [][]byte{rawOf(t, child, 0)}); err != nil {
		t.Fatal(err)
	}
	if err := w.submit(context.Background(), hostile, [][]byte{rawOf(t, wrong, 2), rawOf(t, child, 0)}); err != nil {
		t.Fatal(err)
	}
	await(t, "the hostile peer is blamed", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.bans[hostile] == 1
	})
	if w.bans[honest] != 0 || len(w.graph.list) != 0 {
		t.Errorf("the honest peer is blamed %d times, %d events are connected", w.bans[honest], len(w.graph.list))
	}
}

// One small event of a message of ten megabytes waits: the message does not.
func TestAnEventThatWaitsKeepsNothingOfItsMessage(t *testing.T) {
	limits := defaults()
	w := newWatched(t, limits)
	from := strangerPeer(limits)
	heap := func() int {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	before := heap()
	const messages = 10
	for i := range messages {
		whole := make([]byte, 5<<20)
		raw := rawOf(t, vertex(t, i, inter.NewEventID(300, 1, [32]byte{byte(i), 9})), 0)
		copy(whole, raw)
		if err := w.submit(context.Background(), from, [][]byte{whole[:len(raw)]}); err != nil {
			t.Fatal(err)
		}
	}
	await(t, "all wait", func() bool {
		w.intake.mu.Lock()
		defer w.intake.mu.Unlock()
		return len(w.order.waiting) == messages
	})
	if took := heap() - before; took > 10<<20 {
		t.Errorf("%d events that wait take %d bytes", messages, took)
	}
}

// Whatever a stranger's events weigh, no more of them is in memory than there is room.
func TestEventsOnTheirWayHaveABound(t *testing.T) {
	limits := defaults()
	limits.IntakeEvents, limits.OrderEvents = 20, 10
	w := newWatched(t, limits)
	w.graph.slow = time.Millisecond
	most := 0
	var peers sync.WaitGroup
	for k := range 5 {
		from := strangerPeer(limits)
		peers.Go(func() {
			for i := range 40 {
				_ = w.submit(context.Background(), from,
					[][]byte{rawOf(t, vertex(t, 1000*k+i, inter.NewEventID(300, 1, [32]byte{byte(i), byte(k)})), 0)})
				w.budget.mu.Lock()
				most = max(most, w.budget.n)
				w.budget.mu.Unlock()
			}
		})
	}
	peers.Wait()
	if most > 20 || most < 10 {
		t.Errorf("at most %d were in memory", most)
	}
}
