package stream

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"tarn/fleet"
	"tarn/store"
)

// slowNode is a node whose images take long to read: meanwhile its line forgets what followed them.
type slowNode struct {
	*node
	first  bool
	passed atomic.Pointer[fleet.Point] // the block of such an image
}

func (n *slowNode) Image(ctx context.Context) (Image, error) {
	im, err := n.node.Image(ctx)
	if n.first { // no line begins with it
		im.View = slowView{im.View, func() {
			for n.line.Has(im.Point) && ctx.Err() == nil {
				time.Sleep(time.Millisecond)
			}
			n.passed.CompareAndSwap(nil, &im.Point)
		}}
	}
	n.first = true
	return im, err
}

// slowView is a view that takes long to read.
type slowView struct {
	store.View
	wait func()
}

func (v slowView) Tables() []store.TableInfo {
	v.wait()
	return v.View.Tables()
}

// Replicas get a newer snapshot though the line's memory has passed its block when it is kept at last: what followed was
// published long ago.
func TestASnapshotIsOfferedThatTookLong(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	o, s := fleetOf(t, t.TempDir())
	t.Cleanup(s.Stop)
	script := newScript(r, 12000, 0)
	n := &slowNode{node: newNode(t, 100_000)}
	n.line.Show(fleet.Point{}, time.Now())
	g := newGroup(t)
	defer g.stop() // before the stores are closed
	p := NewPublisher(PublisherOptions{Options: o, Source: n, SnapshotEvery: time.Second})
	g.run(p.Run)
	eventually(t, "a snapshot of the state without a block", func() bool { return p.Leads() && p.Kept(fleet.Point{}) })
	next := n.feed(t, script, 0, "an image that takes long", func() bool { return n.passed.Load() != nil })
	f, err := NewFollower(o)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rooms, err := f.find(t.Context(), f.js)
	if err != nil {
		t.Fatal(err)
	}
	most := next + 400
	n.feed(t, script, next, "its snapshot is offered", func() bool {
		next++
		newest, err := rooms.newest(t.Context())
		return err == nil && newest.Point.Revision >= n.passed.Load().Revision || next > most
	})
	if next > most {
		t.Fatal("the snapshot is not offered")
	}
}
