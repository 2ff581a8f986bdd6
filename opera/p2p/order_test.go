package p2p

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tarn/opera/inter"
)

var seed = flag.Uint64("p2p.seed", 1, "seed of the random tests; 0 takes one from the clock")

func random(t testing.TB) *rand.Rand {
	t.Helper()
	s := *seed
	if s == 0 {
		s = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", s)
	return rand.New(rand.NewPCG(s, 0))
}

func strangerPeer(limits *Limits) *peer {
	return newPeer(context.Background(), [32]byte{}, "opera", newest, nil, limits)
}

func defaults() *Limits {
	l := DefaultLimits()
	return &l
}

// vertex is an event with those parents. Only its id and parents are right.
func vertex(t testing.TB, number int, parents ...inter.EventID) *inter.Payload {
	t.Helper()
	p := &inter.Payload{Event: inter.Event{
		Version: 1, Epoch: 300, Seq: 1, Frame: 1, Lamport: inter.Lamport(1 + number), Creator: 1,
		Extra: binary.BigEndian.AppendUint32(nil, uint32(number)), Parents: parents, CreationTime: 1e18,
		MedianTime: 1e18,
	}}
	if err := p.Seal(); err != nil {
		t.Fatal(err)
	}
	return p
}

// A graph comes in any order, now and then spilled and sent again, and is connected
// parents first, each event once.
func TestEventsWaitForTheirParents(t *testing.T) {
	r := random(t)
	limits := defaults()
	for range 50 {
		o := newOrder(40, 1<<20)
		peers := []*peer{strangerPeer(limits), strangerPeer(limits), strangerPeer(limits)}
		var graph []*inter.Payload
		for i := range 100 {
			var parents []inter.EventID
			for range r.IntN(4) {
				if i > 0 {
					id := graph[max(0, i-1-r.IntN(10))].ID()
					if !slices.Contains(parents, id) {
						parents = append(parents, id)
					}
				}
			}
			graph = append(graph, vertex(t, i, parents...))
		}
		connected := map[inter.EventID]bool{}
		var connect func(a *arrival)
		connect = func(a *arrival) {
			for _, p := range a.event.Parents {
				if !connected[p] {
					t.Fatal("an event is ready before a parent of it")
				}
			}
			if connected[a.event.ID()] {
				t.Fatal("an event is ready twice")
			}
			connected[a.event.ID()] = true
			for _, child := range o.noteConnected(a.event.ID()) {
				connect(child)
			}
		}
		for len(connected) < len(graph) {
			for _, i := range r.Perm(len(graph)) {
				e := graph[i]
				if connected[e.ID()] || o.has(e.ID()) {
					continue
				}
				a := &arrival{event: e, from: peers[r.IntN(3)], size: 100}
				missing := slices.DeleteFunc(slices.Clone(e.Parents), func(p inter.EventID) bool {
					return connected[p]
				})
				if len(missing) == 0 {
					connect(a)
				} else {
					o.add(a, missing)
				}
				check(t, o)
			}
		}
		if len(o.waiting)+len(o.children)+len(o.peers)+o.size != 0 {
			t.Fatalf("all is connected, and there are %d events, %d parents, %d peers, %d bytes left",
				len(o.waiting), len(o.children), len(o.peers), o.size)
		}
	}
}

// check checks the bounds, and that all parts say the same.
func check(t testing.TB, o *order) {
	t.Helper()
	n, size, missing := 0, 0, 0
	for _, s := range o.peers {
		n += s.list.Len()
		size += s.size
	}
	for _, c := range o.children {
		missing += len(c)
	}
	want := 0
	for _, a := range o.waiting {
		want += a.missing
	}
	if n != len(o.waiting) || size != o.size || n > o.events || size > o.bytes || missing != want {
		t.Fatalf("%d events of %d bytes wait, %d of %d by peers, %d parents of %d",
			len(o.waiting), o.size, n, size, missing, want)
	}
}

// A validator's flood of events without parents pushes out its own.
func TestAFloodPushesOutNobodyElsesEvents(t *testing.T) {
	limits := defaults()
	o := newOrder(100, 1<<20)
	honest, hostile := strangerPeer(limits), strangerPeer(limits)
	parent := vertex(t, 1)
	for i := range 40 {
		o.add(&arrival{event: vertex(t, 10+i, parent.ID()), from: honest, size: 500}, []inter.EventID{parent.ID()})
	}
	for i := range 1000 {
		none := inter.NewEventID(300, 1, [32]byte{byte(i), byte(i >> 8), 1})
		for _, old := range o.add(&arrival{event: vertex(t, 100+i, none), from: hostile, size: 500},
			[]inter.EventID{none}) {
			if old.from != hostile {
				t.Fatal("an honest peer's event is pushed out")
			}
		}
		check(t, o)
	}
	if ready := o.noteConnected(parent.ID()); len(ready) != 40 {
		t.Errorf("%d of 40 events of the honest peer are ready", len(ready))
	}
}

func TestAQueueHasABoundAndLosesNothingThatItTook(t *testing.T) {
	q := newQueue(4, 200)
	for i := range 4 {
		if err := q.put(message{code: uint64(i), raw: make([]byte, 20)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.put(message{}); !errors.Is(err, errFull) {
		t.Errorf("a fifth message: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := q.wait(ctx, message{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a wait beside a peer that does not read: %v", err)
	}
	done := make(chan error)
	go func() { done <- q.wait(context.Background(), message{code: 4, raw: make([]byte, 1000)}) }()
	for i := range 5 {
		m, err := q.take(context.Background())
		if err != nil || m.code != uint64(i) {
			t.Fatalf("message %d is %d: %v", i, m.code, err)
		}
	}
	if err := <-done; err != nil || q.news.size != 0 {
		t.Errorf("%v, %d bytes left", err, q.news.size)
	}
}

// A peer that has megabytes of a stream to read hears what is new, and the stream goes on beside any news.
func TestNewsPassStreams(t *testing.T) {
	q := newQueue(100, 1000)
	part := message{code: codeEventsChunk, raw: make([]byte, 200)}
	for q.put(part) == nil {
	}
	if n := len(q.parts.list); n != 3 {
		t.Fatalf("%d parts are queued", n)
	}
	var codes []uint64
	for i := range 40 {
		if err := q.put(message{code: codeEvents, raw: make([]byte, 10)}); err != nil {
			t.Fatalf("event %d beside a stream: %v", i, err)
		}
	}
	for range 43 {
		m, err := q.take(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		codes = append(codes, m.code)
	}
	for i, code := range codes {
		part := i == passing || i == 2*passing+1 || i == 42
		if part != (code == codeEventsChunk) {
			t.Fatalf("message %d of %v", i, codes)
		}
	}
}

func TestWhatAPeerIsKnownToHaveIsBounded(t *testing.T) {
	k := newKnown(1000)
	for i := range uint64(10000) {
		if !k.add(i) || k.add(i) || !k.contains(i) || len(k.has) > 1000 {
			t.Fatalf("thing %d: %d are known", i, len(k.has))
		}
	}
	if k.contains(8999) || !k.contains(9000) {
		t.Error("not the newest are known")
	}
}

func TestABudgetIsServedInTheOrderOfComing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(10, 1000)
		ctx := t.Context()
		if err := b.acquire(ctx, 950); err != nil {
			t.Fatal(err)
		}
		var got []int
		var mu sync.Mutex
		ask := func(who, size int) {
			if err := b.acquire(ctx, size); err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			got = append(got, who)
		}
		served := func(want ...int) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("%v have room, want %v", got, want)
			}
		}
		go ask(1, 900)
		served()
		go ask(2, 50) // would have room before the first one, which is not asked
		served()
		b.release(950)
		served(1, 2)
		if b.usedPercent() != 95 {
			t.Errorf("%d %% used", b.usedPercent())
		}
		expired, cancel := context.WithCancel(ctx)
		cancel()
		if err := b.acquire(expired, 100); !errors.Is(err, context.Canceled) {
			t.Errorf("who gives up: %v", err)
		}
	})
}

func TestAnItemThatIsLargerThanTheBudgetHasAllOfIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(10, 1000)
		if err := b.acquire(t.Context(), 5000); err != nil { // alone
			t.Fatal(err)
		}
		room := make(chan error, 1)
		go func() { room <- b.acquire(t.Context(), 1) }()
		if synctest.Wait(); len(room) > 0 {
			t.Error("there is room beside it")
		}
		b.release(5000)
		if err := <-room; err != nil {
			t.Error(err)
		}
	})
}
