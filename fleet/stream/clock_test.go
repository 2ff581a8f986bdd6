package stream

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tarn/fleet"
	"tarn/fleet/natsserver"
	"tarn/internal/freeport"
)

// setBack makes the publisher's place of a fleet as it is on a server whose clock was set back by an hour: what is
// written there ends an hour late.
func setBack(t *testing.T, o Options) *Follower {
	t.Helper()
	f, err := NewFollower(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	if err := f.await(t.Context(), f.conn); err != nil {
		t.Fatal(err)
	}
	late := jetstream.KeyValueConfig{Bucket: o.leaseBucket(), TTL: time.Hour, Storage: jetstream.MemoryStorage}
	if _, err = f.js.CreateKeyValue(t.Context(), late); err != nil {
		t.Fatal(err)
	}
	return f
}

// A node takes the place of one that is gone, also where the server, whose clock was set back, keeps the place for it.
// When the first one is back, it stands by.
func TestAServersClockIsSetBack(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	so := natsserver.Options{Dir: t.TempDir(), Listen: freeport.Address(t)}
	s, err := natsserver.Start(so)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	w := newWire(t, so.Listen)
	o, behind := Options{Name: "test", Servers: []string{s.URL()}}, Options{Name: "test", Servers: []string{w.url()}}
	setBack(t, o)
	script := newScript(r, 16000, 6)
	nodes := []*node{newNode(t, 1<<30), newNode(t, 1<<30)}
	g := newGroup(t)
	defer g.stop() // before the stores are closed
	first := NewPublisher(PublisherOptions{Options: behind, Source: nodes[0], SnapshotEvery: time.Hour})
	second := NewPublisher(PublisherOptions{Options: o, Source: nodes[1], SnapshotEvery: time.Hour})
	g.run(first.Run)
	eventually(t, "the first node publishes", first.Leads)
	g.run(second.Run)
	x := &replica{t: t}
	g.run(func(ctx context.Context) error { return x.live(ctx, o) })
	next := feed(t, nodes, script, 0, "the replica begins", func() bool { _, begun := x.standing(); return begun })
	w.set(true)
	next = feed(t, nodes, script, next, "the second node publishes", func() bool {
		return second.Leads() && !first.Leads()
	})
	at := script[next-1].Point
	next = feed(t, nodes, script, next, "what the second node publishes", func() bool {
		head, begun := x.standing()
		return begun && head.Revision > at.Revision
	})
	w.set(false)
	left := 100
	next = feed(t, nodes, script, next, "more blocks", func() bool { left--; return left < 0 })
	eventually(t, "the replica at the head", func() bool { return x.at(script[next-1].Point) })
	if err := x.same(script, next-1); err != nil {
		t.Fatal(err)
	}
	if x.images != 1 || first.Leads() {
		t.Errorf("the replica has loaded %d snapshots; the node that was away publishes: %v", x.images, first.Leads())
	}
}

// A server whose clock is set forward ends the publisher's place, and all messages that are too old then. The fleet
// goes on, and replicas can begin again long before the next snapshot is due.
func TestAServersClockIsSetForward(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; not with -short")
	}
	t.Parallel()
	r := seeded(t)
	o, s := fleetOf(t, t.TempDir())
	t.Cleanup(s.Stop)
	script := newScript(r, 16000, 6)
	nodes := []*node{newNode(t, 1<<30), newNode(t, 1<<30)}
	g := newGroup(t)
	defer g.stop() // before the stores are closed
	for _, n := range nodes {
		g.run(NewPublisher(PublisherOptions{Options: o, Source: n, SnapshotEvery: time.Hour}).Run)
	}
	x := &replica{t: t}
	g.run(func(ctx context.Context) error { return x.live(ctx, o) })
	next := feed(t, nodes, script, 0, "the replica begins", func() bool { _, begun := x.standing(); return begun })
	f, err := NewFollower(o)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	purge := func(name string) {
		t.Helper()
		st, err := f.js.Stream(t.Context(), name)
		if err == nil {
			err = st.Purge(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		purge("KV_" + o.leaseBucket())
		left := r.IntN(60)
		next = feed(t, nodes, script, next, "more blocks", func() bool { left--; return left < 0 })
		eventually(t, "the replica at the head", func() bool { return x.at(script[next-1].Point) })
	}
	if x.images != 1 {
		t.Errorf("the replica has loaded %d snapshots", x.images)
	}
	purge(o.movesStream())
	late := &replica{t: t}
	g.run(func(ctx context.Context) error { return late.live(ctx, o) })
	next = feed(t, nodes, script, next, "a second replica follows", func() bool {
		head, begun := late.standing()
		there, _ := x.standing()
		return begun && head == there
	})
	if late.images != 1 {
		t.Errorf("the second replica has loaded %d snapshots, though the first could lead it nowhere", late.images)
	}
	for i, x := range []*replica{x, late} {
		eventually(t, "the replica at the head", func() bool { return x.at(script[next-1].Point) })
		if err := x.same(script, next-1); err != nil {
			t.Fatalf("replica %d: %v", i, err)
		}
	}
}

// What a publisher that is gone has said, and a server still has, makes no replica ready.
func TestAnOldWordSaysNotThatSomebodyPublishes(t *testing.T) {
	t.Parallel()
	o, s := fleetOf(t, t.TempDir())
	t.Cleanup(s.Stop)
	f := setBack(t, o)
	place, err := f.place(t.Context(), f.js)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := take(t.Context(), place, func() Publishing { return Publishing{Node: "gone"} }); err != nil {
		t.Fatal(err)
	}
	g := newGroup(t)
	g.run(func(ctx context.Context) error { f.listen(ctx, f.watch); return nil })
	eventually(t, "the old word", func() bool { return f.Lag().Publisher.Node == "gone" })
	if at := f.Lag().Heard; !at.IsZero() {
		t.Errorf("it was heard at %v", at)
	}
	eventually(t, "a new word", func() bool { // as soon as all that was there has come
		if _, err := place.Put(t.Context(), leaseKey, []byte(`{"node":"new"}`)); err != nil {
			t.Fatal(err)
		}
		return !f.Lag().Heard.IsZero()
	})
}

// Older snapshots stay for as long as replicas may take to load them, and not for ever, whatever the clocks of the
// nodes are that publish one after another.
func TestOlderSnapshotsStayWhateverTheClocksSay(t *testing.T) {
	r := seeded(t)
	for round := range 50 {
		var passed time.Duration // since the first snapshot, by no node's clock
		const most = time.Hour
		nodes := make([]*stays, 3)
		for i := range nodes {
			zero := time.Unix(r.Int64N(1<<31), 0)
			nodes[i] = &stays{most: most, now: func() time.Time { return zero.Add(passed) }}
		}
		at, replaced := r.IntN(len(nodes)), map[string]time.Duration{}
		newest := Snapshot{Object: "0"}
		held := time.Duration(0) // the time for which this node publishes without a break
		for i := range 60 {
			step := time.Duration(r.Int64N(int64(most / 2)))
			if passed, held = passed+step, held+step; r.IntN(3) == 0 {
				at, held = r.IntN(len(nodes)), 0
			}
			replaced[newest.Object] = passed
			older := nodes[at].keep(append(newest.Older, Older{Object: newest.Object}))
			checkOlder(t, fmt.Sprint("round ", round, ", snapshot ", i), older, replaced, passed, most, held)
			text, err := json.Marshal(Snapshot{Object: fmt.Sprint(i + 1), Older: older})
			if newest = (Snapshot{}); err == nil {
				err = json.Unmarshal(text, &newest)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	p := NewPublisher(PublisherOptions{Options: Options{Name: "test"}})
	if text := p.stays.now().String(); !strings.Contains(text, " m=") {
		t.Errorf("a publisher measures by the time of day: %s", text)
	}
}

// checkOlder fails if a snapshot is missing that may be loaded, or one is left after it could be for twice as long.
func checkOlder(t *testing.T, where string, older []Older, replaced map[string]time.Duration,
	now, most, held time.Duration) {
	t.Helper()
	there := map[string]bool{}
	for _, o := range older {
		there[o.Object] = true
		if held > most && now-replaced[o.Object] >= held {
			t.Fatalf("%s: snapshot %s is there %v after another has taken its place",
				where, o.Object, now-replaced[o.Object])
		}
	}
	for object, at := range replaced {
		if now-at < most && !there[object] {
			t.Fatalf("%s: snapshot %s is gone %v after another has taken its place", where, object, now-at)
		}
	}
}

// A publisher notices that the servers keep nothing any more, though it has little to say.
func TestAnAnswerThatDoesNotComeIsMissed(t *testing.T) {
	t.Parallel()
	o, s := fleetOf(t, t.TempDir())
	t.Cleanup(s.Stop)
	f, err := NewFollower(o)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.await(t.Context(), f.conn); err != nil {
		t.Fatal(err)
	}
	if _, err := f.conn.Subscribe(o.movesSubject(), func(*nats.Msg) {}); err != nil {
		t.Fatal(err)
	}
	w := window{js: f.js, subject: o.movesSubject()}
	if err := w.overdue(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := w.send(t.Context(), fleet.Header{}, 0, []byte("a move")); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.overdue(); err != nil && time.Since(w.since) < requestTime {
		t.Fatal(err)
	}
	w.since = w.since.Add(-requestTime)
	if err := w.overdue(); err == nil || !strings.Contains(err.Error(), "message 1:") {
		t.Errorf("%v", err)
	}
}
