package stream

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"tarn/fleet"
)

// giveUpTime is how long the tests here wait for what comes within two seconds.
const giveUpTime = 20 * time.Second

// Somebody has written to the stream what is no move. The node begins a new line behind it, and replicas follow: one that
// was away, and one that looks for its place for the first time.
func TestWhatIsNoMoveStopsNobody(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	o, s := fleetOf(t, t.TempDir())
	t.Cleanup(s.Stop)
	script := newScript(r, 6000, 6)
	n := newNode(t, 1<<30)
	n.line.Show(fleet.Point{}, time.Now())
	g := newGroup(t)
	defer g.stop() // before the stores are closed
	g.run(NewPublisher(PublisherOptions{Options: o, Source: n, SnapshotEvery: time.Hour}).Run)
	old, late := &replica{t: t}, &replica{t: t}
	g.run(func(ctx context.Context) error { return old.live(ctx, o) })
	next := n.feed(t, script, 0, "the replica begins", func() bool { _, begun := old.standing(); return begun })
	next = n.feed(t, script, next, "the replica at the head", atHead(n, old))
	f := openFollower(t, o)
	for range 50 { // so many that a search meets them
		if _, err := f.js.Publish(t.Context(), o.movesSubject(), []byte("no move")); err != nil {
			t.Fatal(err)
		}
	}
	for _, x := range []*replica{old, late} {
		if x == late {
			g.run(func(ctx context.Context) error { return late.live(ctx, o) })
		}
		before, end := script[next-1].Revision, time.Now().Add(giveUpTime)
		next = n.feed(t, script, next, "the replica behind it", func() bool {
			at, begun := x.standing()
			return begun && at.Revision > before+10 || time.Now().After(end)
		})
		if time.Now().After(end) {
			t.Fatal("the replica waits for ever")
		}
		eventually(t, "the replica at the head", func() bool { return x.at(script[next-1].Point) })
		if err := x.same(script, next-1); err != nil {
			t.Fatal(err)
		}
	}
}

// A message is in the stream for good that does not follow the one before it. Replicas begin again with the next
// snapshot, and do not wait until the stream has dropped it.
func TestReplicasPassWhatDoesNotFollow(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	o, s := fleetOf(t, t.TempDir())
	t.Cleanup(s.Stop)
	script := newScript(r, 6000, 0)
	n := newNode(t, 1<<30)
	n.line.Show(fleet.Point{}, time.Now())
	g := newGroup(t)
	defer g.stop() // before the stores are closed
	g.run(NewPublisher(PublisherOptions{Options: o, Source: n, SnapshotEvery: 2 * time.Second}).Run)
	x := &replica{t: t}
	g.run(func(ctx context.Context) error { return x.live(ctx, o) })
	next := n.feed(t, script, 0, "the replica begins", func() bool { _, begun := x.standing(); return begun })
	next = n.feed(t, script, next, "the replica at the head", atHead(n, x))
	f := openFollower(t, o)
	rooms, err := f.find(t.Context(), f.js)
	if err != nil {
		t.Fatal(err)
	}
	tail, err := rooms.readTail(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h := tail.Header
	h.Number, h.Before, h.Base, h.Part, h.Parts = h.Number+1, fleet.Digest{1}, h.To, 0, 1
	if _, err := f.js.Publish(t.Context(), o.movesSubject(), h.Append(nil)); err != nil {
		t.Fatal(err)
	}
	before, end := script[next-1].Revision, time.Now().Add(giveUpTime)
	next = n.feed(t, script, next, "the replica goes on", func() bool {
		at, begun := x.standing()
		return begun && at.Revision > before+10 || time.Now().After(end)
	})
	if time.Now().After(end) {
		t.Fatal("the replica waits for ever")
	}
	eventually(t, "the replica at the head", func() bool { return x.at(script[next-1].Point) })
	if err := x.same(script, next-1); err != nil {
		t.Fatal(err)
	}
	if x.images != 2 {
		t.Errorf("the replica has loaded %d snapshots, not 2", x.images)
	}
}

// A stream that was emptied, by hand or by time while the chain stood still, begins again with a line that goes on where the
// one before it ended: replicas that are there need no snapshot.
func TestALineThatGoesOnNeedsNoSnapshot(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	o, s := fleetOf(t, t.TempDir())
	t.Cleanup(s.Stop)
	script := newScript(r, 6000, 0)
	n := newNode(t, 1<<30)
	n.line.Show(fleet.Point{}, time.Now())
	g := newGroup(t)
	defer g.stop() // before the stores are closed
	p := NewPublisher(PublisherOptions{Options: o, Source: n, SnapshotEvery: time.Hour})
	turn := newGroup(t)
	defer turn.stop() // before the stores are closed
	turn.run(p.Run)
	x := &replica{t: t}
	g.run(func(ctx context.Context) error { return x.live(ctx, o) })
	next := n.feed(t, script, 0, "the replica begins", func() bool { _, begun := x.standing(); return begun })
	next = n.feed(t, script, next, "the replica at the head", atHead(n, x))
	turn.stop()
	f := openFollower(t, o)
	rooms, err := f.find(t.Context(), f.js)
	if err != nil {
		t.Fatal(err)
	}
	if err := rooms.moves.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	log := &heard{testLog: testLog{t}}
	o.Log = slog.New(slog.NewTextHandler(log, nil))
	turn = newGroup(t)
	defer turn.stop() // before the stores are closed
	turn.run(NewPublisher(PublisherOptions{Options: o, Source: n, SnapshotEvery: time.Hour}).Run)
	time.Sleep(time.Second) // the snapshot is of the block at which the line before it ended
	next = n.feed(t, script, next, "a new line", func() bool { return log.count("The fleet's stream starts again") > 0 })
	eventually(t, "the replica at the head", func() bool { return x.at(script[next-1].Point) })
	if err := x.same(script, next-1); err != nil {
		t.Fatal(err)
	}
	if x.images != 1 {
		t.Errorf("the replica has loaded %d snapshots", x.images)
	}
}
