package stream

import (
	"context"
	"slices"
	"testing"
	"time"

	"tarn/fleet"
)

// otherFrom is a script whose blocks are others from one on.
func (s script) otherFrom(i int) script {
	other := slices.Clone(s)
	for j := i; j < len(s); j++ {
		other[j].ID[30] = 9
		if j > i {
			other[j].Parent = other[j-1].Point
		}
	}
	return other
}

// A node that nobody else has the blocks of loses the last ones in a power cut, and makes others in their place. The
// newest snapshot is of a block that is gone: replicas need not wait until the next one is due.
func TestASnapshotOfALostBlockIsReplaced(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	o, s := fleetOf(t, t.TempDir())
	t.Cleanup(s.Stop)
	script := newScript(r, 6000, 0)
	n := newNode(t, 1<<30)
	n.line.Show(fleet.Point{}, time.Now())
	g := newGroup(t)
	defer g.stop() // before the stores are closed
	turn := newGroup(t)
	defer turn.stop() // before the stores are closed
	p := NewPublisher(PublisherOptions{Options: o, Source: n, SnapshotEvery: 200 * time.Millisecond})
	turn.run(p.Run)
	f := openFollower(t, o)
	var rooms rooms
	eventually(t, "the fleet", func() (ok bool) {
		var err error
		rooms, err = f.find(t.Context(), f.js)
		return err == nil
	})
	next := n.feed(t, script, 0, "a snapshot of a late block", func() bool {
		newest, err := rooms.newest(t.Context())
		return err == nil && newest.Point.Revision > 3*deepest
	})
	turn.stop()
	newest, err := rooms.newest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	x := &replica{t: t}
	g.run(func(ctx context.Context) error { return x.live(ctx, o) })
	eventually(t, "the replica at the head", func() bool { return x.at(script[next-1].Point) })

	others := script.otherFrom(int(newest.Point.Revision) - deepest)
	again := newNode(t, 1<<30)
	if err := again.apply(others[:next+1]...); err != nil {
		t.Fatal(err)
	}
	g.run(NewPublisher(PublisherOptions{Options: o, Source: again, SnapshotEvery: time.Hour}).Run)
	end := time.Now().Add(20 * time.Second)
	last := again.feed(t, others, next+1, "the replica on the other branch", func() bool {
		head, _ := again.line.Head()
		return x.at(head) || time.Now().After(end)
	}) - 1
	if time.Now().After(end) {
		t.Fatal("the replica does not come to what the node has now")
	}
	eventually(t, "the replica at the head", func() bool { return x.at(others[last].Point) })
	if err := x.same(others, last); err != nil {
		t.Fatal(err)
	}
}
