package stream

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"tarn/fleet"
	"tarn/fleet/natsserver"
	"tarn/internal/freeport"
)

// wire passes bytes on to a server, unless it is cut.
type wire struct {
	t  *testing.T
	to string
	l  net.Listener

	mu   sync.Mutex
	cut  bool
	ends map[net.Conn]bool
}

func newWire(t *testing.T, to string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{t: t, to: to, l: l, ends: map[net.Conn]bool{}}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { w.pass(c) })
		}
	})
	t.Cleanup(func() { l.Close(); w.set(true); all.Wait() })
	return w
}

func (w *wire) url() string { return "nats://" + w.l.Addr().String() }

// pass passes a connection on until either side ends it.
func (w *wire) pass(c net.Conn) {
	defer c.Close()
	s, err := net.Dial("tcp", w.to)
	if err != nil {
		return
	}
	defer s.Close()
	w.mu.Lock()
	cut := w.cut
	w.ends[c], w.ends[s] = true, true
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.ends, c)
		delete(w.ends, s)
	}()
	if cut {
		return
	}
	back := make(chan struct{})
	go func() {
		defer close(back)
		io.Copy(c, s) //nolint:errcheck // it ends as it may
		c.Close()
	}()
	io.Copy(s, c) //nolint:errcheck // the same
	s.Close()
	<-back
}

// set cuts the wire, or mends it.
func (w *wire) set(cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = cut
	if cut {
		for c := range w.ends {
			c.Close()
		}
	}
}

// The networks between the server and a publisher, a second one, and a replica are cut at any moment, for longer than a
// publisher keeps its place, and mended.
func TestCutNetworks(t *testing.T) {
	t.Parallel() // it waits most of the time
	r := seeded(t)
	so := natsserver.Options{Dir: t.TempDir(), Listen: freeport.Address(t)}
	s, err := natsserver.Start(so)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	script := newScript(r, 2000+*streamBlocks, 6)
	g := newGroup(t)
	defer g.stop() // before the stores are closed
	var wires []*wire
	member := func() Options {
		w := newWire(t, so.Listen)
		wires = append(wires, w)
		return Options{Name: "test", Servers: []string{w.url()}}
	}
	nodes := []*node{newNode(t, 1<<30), newNode(t, 1<<30)}
	for _, n := range nodes {
		g.run(NewPublisher(PublisherOptions{Options: member(), Source: n, SnapshotEvery: time.Hour}).Run)
	}
	x := &replica{t: t}
	o := member()
	g.run(func(ctx context.Context) error { return x.live(ctx, o) })
	mended := make([]time.Time, len(wires))
	i, end := 0, len(script)
	for i < end {
		if _, begun := x.standing(); begun && end == len(script) {
			end = i + *streamBlocks // the networks are cut from now on
		}
		k := min(end, i+1+r.IntN(4))
		for _, n := range nodes {
			if err := n.apply(script[i:k]...); err != nil {
				t.Fatal(err)
			}
		}
		i = k
		for j, w := range wires {
			switch {
			case end == len(script) || time.Now().Before(mended[j]):
			case r.IntN(20) == 0:
				w.set(true)
				mended[j] = time.Now().Add(time.Duration(r.Int64N(int64(2 * leaseTime))))
			default:
				w.set(false)
			}
		}
		time.Sleep(time.Duration(r.IntN(40)) * time.Millisecond)
	}
	for _, w := range wires {
		w.set(false)
	}
	last := end - 1
	eventually(t, "the replica at the head", func() bool { return x.at(script[last].Point) })
	if err := x.same(script, last); err != nil {
		t.Fatal(err)
	}
	if x.images != 1 {
		t.Errorf("the replica began again %d times", x.images-1)
	}
}

// A replica that was away while the server forgot what came after its head begins again.
func TestAStreamIsPurged(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	o, s := fleetOf(t, t.TempDir())
	t.Cleanup(s.Stop)
	script := newScript(r, 12000, 0)
	n := newNode(t, 1<<30)
	g := newGroup(t)
	defer g.stop() // before the stores are closed
	g.run(NewPublisher(PublisherOptions{Options: o, Source: n, SnapshotEvery: 100 * time.Millisecond}).Run)
	x := &replica{t: t}
	away := newGroup(t)
	defer away.stop() // before the stores are closed
	away.run(func(ctx context.Context) error { return x.live(ctx, o) })
	next := n.feed(t, script, 0, "the replica begins", func() bool { _, begun := x.standing(); return begun })
	left := script[next-1].Point
	eventually(t, "the replica at the head", func() bool { return x.at(left) })
	away.stop()
	f, err := NewFollower(o)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rooms, err := f.find(t.Context(), f.js)
	if err != nil {
		t.Fatal(err)
	}
	next = n.feed(t, script, next, "a snapshot after the replica's block", func() bool {
		newest, err := rooms.newest(t.Context())
		return err == nil && newest.Point.Revision > left.Revision+10 &&
			rooms.moves.Purge(t.Context(), jetstream.WithPurgeSequence(newest.Sequence)) == nil
	})
	g.run(func(ctx context.Context) error { return x.live(ctx, o) })
	next = n.feed(t, script, next, "the replica begins again", func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		return x.images == 2
	})
	eventually(t, "the replica at the head", func() bool { return x.at(script[next-1].Point) })
	if err := x.same(script, next-1); err != nil {
		t.Fatal(err)
	}
	if x.images != 2 {
		t.Errorf("the replica has loaded %d snapshots, not 2", x.images)
	}
}

// A move that is whole, and means nothing to the ledger, ends no replica: it begins again.
func TestAMoveMeansNothing(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	o, s := fleetOf(t, t.TempDir())
	t.Cleanup(s.Stop)
	script := newScript(r, 12000, 0)
	n := newNode(t, 1<<30)
	g := newGroup(t)
	defer g.stop() // before the stores are closed
	g.run(NewPublisher(PublisherOptions{Options: o, Source: n, SnapshotEvery: 300 * time.Millisecond}).Run)
	x := &replica{t: t}
	g.run(func(ctx context.Context) error { return x.live(ctx, o) })
	refused := false
	last := n.feed(t, script, 0, "the replica begins again", func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.applied > 10 && !refused {
			x.refuse, refused = fmt.Errorf("no block: %w", fleet.ErrDamaged), true
		}
		return x.images == 2
	}) - 1
	eventually(t, "the replica at the head", func() bool { return x.at(script[last].Point) })
	if x.images != 2 {
		t.Errorf("the replica has loaded %d snapshots, not 2", x.images)
	}
}

// A node of another chain does not take the fleet.
func TestAnotherChainHasTheName(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	o, s := fleetOf(t, t.TempDir())
	t.Cleanup(s.Stop)
	log := &heard{testLog: testLog{t}}
	o.Log = slog.New(slog.NewTextHandler(log, nil))
	one, other := newNode(t, 1<<30), newNode(t, 1<<30)
	other.chain = fleet.ID{1}
	turn := newGroup(t)
	defer turn.stop() // before the stores are closed
	turn.run(NewPublisher(PublisherOptions{Options: o, Source: one}).Run)
	one.feed(t, newScript(r, 6000, 0), 0, "a line",
		func() bool { return log.count("The fleet's stream starts again, with a new snapshot") == 1 })
	turn.stop()
	g := newGroup(t)
	defer g.stop() // before the stores are closed
	g.run(NewPublisher(PublisherOptions{Options: o, Source: other}).Run)
	strange := newScript(r, 6000, 0)
	for i := range strange { // blocks that the first chain does not have
		strange[i].ID[30] = 9
		if strange[i].Parent.Revision > 0 {
			strange[i].Parent.ID[30] = 9
		}
	}
	other.feed(t, strange, 0, "the reason why it does not publish",
		func() bool { return log.count("the fleet of this name has another chain") > 0 })
}

// A server that says it is there, and gives nothing of what it has got or should have: the replica asks anew.
func TestAServerGivesNothing(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	o, s := fleetOf(t, t.TempDir())
	t.Cleanup(s.Stop)
	script := newScript(r, 30000, 6)
	n := newNode(t, 1<<30)
	g := newGroup(t)
	defer g.stop() // before the stores are closed
	g.run(NewPublisher(PublisherOptions{Options: o, Source: n, SnapshotEvery: time.Hour}).Run)
	x := &replica{t: t}
	g.run(func(ctx context.Context) error { return x.live(ctx, o) })
	next := n.feed(t, script, 0, "the replica begins", func() bool { _, begun := x.standing(); return begun })
	next = n.feed(t, script, next, "the replica at the head", atHead(n, x))

	f, err := NewFollower(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	rooms, err := f.find(t.Context(), f.js)
	if err != nil {
		t.Fatal(err)
	}
	paused := 0
	list := rooms.moves.ListConsumers(t.Context())
	for c := range list.Info() { // one that is paused goes on to say that it is there
		if _, err := rooms.moves.PauseConsumer(t.Context(), c.Name, time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		paused++
	}
	if list.Err() != nil || paused != 1 {
		t.Fatalf("%d consumers are paused: %v", paused, list.Err())
	}
	there, _ := x.standing()
	end, goesOn := time.Now().Add(6*silentTime), false
	next = n.feed(t, script, next, "the replica goes on", func() bool {
		at, begun := x.standing()
		goesOn = begun && at.Revision > there.Revision+10
		return goesOn || time.Now().After(end)
	})
	if !goesOn {
		t.Fatal("the replica waits for ever")
	}
	n.feed(t, script, next, "the replica at the head", atHead(n, x))
	if x.images != 1 {
		t.Errorf("the replica has loaded %d snapshots", x.images)
	}
}
