package stream

import (
	"context"
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"tarn/fleet"
)

var (
	streamSeed   = flag.Uint64("stream.seed", 1, "seed of random work; 0 is of the clock")
	streamBlocks = flag.Int("stream.blocks", 300, "blocks of random work")
)

func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	seed := *streamSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("repeat with -stream.seed=%d", seed)
	return rand.New(rand.NewPCG(seed, 1))
}

// Replicas of all engines have the node's rows, whatever forks there are, and from whichever block they begin.
func TestReplicasFollow(t *testing.T) {
	r := seeded(t)
	o, s := fleetOf(t, t.TempDir())
	t.Cleanup(s.Stop)
	script := newScript(r, *streamBlocks+8000, 6)
	n := newNode(t, 1<<30)
	g := newGroup(t)
	defer g.stop() // before the stores are closed
	p := NewPublisher(PublisherOptions{Options: o, Source: n, SnapshotEvery: 300 * time.Millisecond})
	g.run(p.Run)
	var replicas []*replica
	join := func() {
		x := &replica{t: t, images: len(replicas)}
		replicas = append(replicas, x)
		g.run(func(ctx context.Context) error { return x.live(ctx, o) })
	}
	join()
	// A line begins only where its snapshot's block becomes irreversible, for which the chain has to go on.
	from := n.feed(t, script, 0, "the first replica begins", func() bool {
		_, begun := replicas[0].standing()
		return begun
	})
	script = script[:from+*streamBlocks]
	for i := from; i < len(script); {
		k := min(len(script), i+1+r.IntN(4))
		if err := n.apply(script[i:k]...); err != nil {
			t.Fatal(err)
		}
		i = k
		time.Sleep(time.Duration(r.IntN(10)) * time.Millisecond)
		if len(replicas) < 4 && i-from > *streamBlocks/5*len(replicas) {
			join()
		}
	}
	last := len(script) - 1
	for i, x := range replicas {
		eventually(t, "a replica at the head", func() bool { return x.at(script[last].Point) })
		if err := x.same(script, last); err != nil {
			t.Fatalf("replica %d: %v", i, err)
		}
	}
	for i, x := range replicas {
		if x.images != i+1 {
			t.Errorf("replica %d has loaded %d snapshots", i, x.images-i)
		}
	}
}

// A publisher that ends at any moment, and begins again with no memory of what it has published, goes on where it
// was; a second one takes its place.
func TestPublishersTakeEachOthersPlace(t *testing.T) {
	r := seeded(t)
	o, s := fleetOf(t, t.TempDir())
	t.Cleanup(s.Stop)
	script := newScript(r, *streamBlocks, 6)
	nodes := []*node{newNode(t, 1<<30), newNode(t, 1<<30)}
	g := newGroup(t)
	defer g.stop() // before the stores are closed
	x := &replica{t: t}
	g.run(func(ctx context.Context) error { return x.live(ctx, o) })
	var turns [2]*group
	begin := func(i int) {
		turns[i] = newGroup(t)
		p := NewPublisher(PublisherOptions{Options: o, Source: nodes[i], SnapshotEvery: time.Hour})
		turns[i].run(p.Run)
	}
	begin(0)
	begin(1)
	done := [2]int{}
	for done[0] < len(script) || done[1] < len(script) {
		i := r.IntN(2)
		k := min(len(script), done[i]+1+r.IntN(5), done[1-i]+20)
		if k <= done[i] {
			continue
		}
		if err := nodes[i].apply(script[done[i]:k]...); err != nil {
			t.Fatal(err)
		}
		done[i] = k
		time.Sleep(time.Duration(r.IntN(10)) * time.Millisecond)
		if r.IntN(len(script)/6) == 0 {
			j := r.IntN(2)
			turns[j].stop()
			begin(j)
		}
	}
	last := len(script) - 1
	eventually(t, "the replica at the head", func() bool { return x.at(script[last].Point) })
	if err := x.same(script, last); err != nil {
		t.Fatal(err)
	}
	if x.images != 1 {
		t.Errorf("the replica began again %d times", x.images-1)
	}
}

// While a node catches up, many of its blocks are published together; those that are new are published at once.
func TestOldBlocksArePublishedTogether(t *testing.T) {
	r := seeded(t)
	o, s := fleetOf(t, t.TempDir())
	t.Cleanup(s.Stop)
	const old, fresh = 100, 20
	script := newScript(r, old+fresh, 0)
	n := newNode(t, 1<<30)
	n.line.Show(fleet.Point{}, time.Time{})
	g := newGroup(t)
	defer g.stop() // before the stores are closed
	p := NewPublisher(PublisherOptions{Options: o, Source: n, SnapshotEvery: time.Hour})
	g.run(p.Run)
	f, err := NewFollower(o)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	published := func() uint64 {
		at := n.ledger.head()
		eventually(t, "the head is published", func() bool { return p.Leads() && p.Kept(at) })
		rooms, err := f.find(t.Context(), f.js)
		if err != nil {
			t.Fatal(err)
		}
		end, err := rooms.readTail(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return end.Number
	}
	none := published()
	n.age = 2 * oldAfter
	for _, b := range script[:old] {
		if err := n.apply(b); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond)
	}
	if moves := published() - none; moves > old/2 { // some of the script's blocks are as large as what is gathered
		t.Errorf("%d old blocks came as %d moves", old, moves)
	}
	n.age = 0
	begun := time.Now()
	for _, b := range script[old:] {
		if err := n.apply(b); err != nil {
			t.Fatal(err)
		}
		published()
	}
	if took := time.Since(begun); took > fresh*gatherTime/2 {
		t.Errorf("%d new blocks were published one after the other in %v", fresh, took)
	}
}

// A replica whose snapshot is newer than the end of the stream follows when the stream has come so far: messages whose
// answers had not come when the publisher was interrupted are lost, and what follows is published again.
func TestAReplicaWaitsForAStreamThatIsBehindIt(t *testing.T) {
	r := seeded(t)
	o, s := fleetOf(t, t.TempDir())
	t.Cleanup(s.Stop)
	script := newScript(r, 60, 0)
	const behind, ahead = 20, 40
	n, m := newNode(t, 1<<30), newNode(t, 1<<30)
	g := newGroup(t)
	defer g.stop() // before the stores are closed
	p := NewPublisher(PublisherOptions{Options: o, Source: n, SnapshotEvery: time.Hour})
	g.run(p.Run)
	publish := func(blocks ...fleet.Block) {
		if err := n.apply(blocks...); err != nil {
			t.Fatal(err)
		}
		at := n.ledger.head()
		eventually(t, "the head is published", func() bool { return p.Leads() && p.Kept(at) })
	}
	n.line.Show(fleet.Point{}, time.Now()) // a snapshot of the state without a block
	publish()
	publish(script[:behind]...)
	if err := m.apply(script[:ahead]...); err != nil {
		t.Fatal(err)
	}
	x := &replica{t: t}
	x.loadFrom(m)
	f, err := NewFollower(o)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	announce(t, f, script[ahead-1].Point)
	g.run(func(ctx context.Context) error { return f.Run(ctx, x) })
	eventually(t, "the replica has begun", func() bool { return f.Lag().Applied == script[ahead-1].Point })
	for _, b := range script[behind:] { // a move each
		publish(b)
	}
	eventually(t, "the replica at the head", func() bool { return x.at(script[len(script)-1].Point) })
	if err := x.same(script, len(script)-1); err != nil {
		t.Fatal(err)
	}
}

// announce makes the newest snapshot of a fleet one of a later block.
func announce(t *testing.T, f *Follower, at fleet.Point) {
	t.Helper()
	r, err := f.find(t.Context(), f.js)
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.newest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.Point = at
	if err := r.announce(t.Context(), s, &stays{now: time.Now}); err != nil {
		t.Fatal(err)
	}
}

// A replica that begins before there is a single block follows when they come.
func TestAReplicaWaitsForTheFirstBlock(t *testing.T) {
	r := seeded(t)
	o, s := fleetOf(t, t.TempDir())
	t.Cleanup(s.Stop)
	script := newScript(r, 20, 0)
	n := newNode(t, 1<<30)
	n.line.Show(fleet.Point{}, time.Now())
	g := newGroup(t)
	defer g.stop() // before the stores are closed
	g.run(NewPublisher(PublisherOptions{Options: o, Source: n}).Run)
	x := &replica{t: t}
	g.run(func(ctx context.Context) error { return x.live(ctx, o) })
	eventually(t, "the state without a block", func() bool { return x.at(fleet.Point{}) })
	time.Sleep(time.Second)
	for i, b := range script {
		if err := n.apply(b); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
		eventually(t, "the next block", func() bool { return x.at(script[i].Point) })
	}
}

// What the line's memory has lost cannot be told: a new line begins, and replicas with it.
func TestALineBeginsAnewWhereSomethingIsMissing(t *testing.T) {
	r := seeded(t)
	dir := t.TempDir()
	o, s := fleetOf(t, dir)
	script := newScript(r, 8000, 0)
	n := newNode(t, 1<<30)
	g := newGroup(t)
	defer g.stop() // before the stores are closed
	x := &replica{t: t}
	g.run(func(ctx context.Context) error { return x.live(ctx, o) })
	p := NewPublisher(PublisherOptions{Options: o, Source: n})
	turn := newGroup(t)
	defer turn.stop() // before the stores are closed
	turn.run(p.Run)
	next := n.feed(t, script, 0, "the replica begins", func() bool { _, begun := x.standing(); return begun })
	eventually(t, "the replica at the head", func() bool { return x.at(script[next-1].Point) })
	turn.stop()
	// Long enough without a publisher that the memory does not have all of it.
	if err := n.apply(script[next : next+40]...); err != nil {
		t.Fatal(err)
	}
	n.line = fleet.NewLine(n.ledger.head(), n.ledger.store.Tables, 1<<30)
	turn = newGroup(t)
	turn.run(p.Run)
	next = n.feed(t, script, next+40, "the replica begins again", func() bool {
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
	turn.stop()
	g.stop()
	s.Stop()
}
