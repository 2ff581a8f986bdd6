package stream

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"tarn/fleet"
)

// No move can tell of a block that is larger than moves may be: a new line begins after it, and replicas with it.
func TestABlockThatIsTooLargeBeginsALine(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	o, s := fleetOf(t, t.TempDir())
	t.Cleanup(s.Stop)
	o.Limits = fleet.Limits{Move: 16 << 20}
	script := newScript(r, 6000, 0)
	n := newNode(t, 1<<30)
	n.line.Show(fleet.Point{}, time.Now())
	g := newGroup(t)
	defer g.stop() // before the stores are closed
	g.run(NewPublisher(PublisherOptions{Options: o, Source: n, SnapshotEvery: time.Hour}).Run)
	x := &replica{t: t}
	g.run(func(ctx context.Context) error { return x.live(ctx, o) })
	next := n.feed(t, script, 0, "the replica begins", func() bool { _, begun := x.standing(); return begun })
	next = n.feed(t, script, next, "the replica at the head", atHead(n, x))
	large := make([]byte, o.Limits.Move)
	rand.Read(large) //nolint:errcheck // it never fails
	script[next].Records = []fleet.Record{{Data: large}}
	end := time.Now().Add(20 * time.Second)
	last := n.feed(t, script, next, "the replica after that block", func() bool {
		at, begun := x.standing()
		return begun && at.Revision > script[next].Revision || time.Now().After(end)
	}) - 1
	if time.Now().After(end) {
		t.Fatal("the replica waits for ever")
	}
	eventually(t, "the replica at the head", func() bool { return x.at(script[last].Point) })
	if err := x.same(script, last); err != nil {
		t.Fatal(err)
	}
}
