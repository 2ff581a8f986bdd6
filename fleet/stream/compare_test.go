package stream

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"tarn/fleet"
	"tarn/store/engine"
)

// Whoever asks hears of each replica whether its rows are the node's, of two that stand still and while blocks come.
// One that differs is named with the table, and begins again.
func TestCompare(t *testing.T) {
	t.Parallel()
	o, s := fleetOf(t, t.TempDir())
	t.Cleanup(s.Stop)
	const wait = 5 * time.Second
	if _, err := Compare(t.Context(), o, time.Second/10); !errors.Is(err, ErrNobody) {
		t.Fatalf("before anybody publishes: %v", err)
	}
	script := newScript(seeded(t), 8000, 0)
	n := newNode(t, 1<<30)
	g := newGroup(t)
	defer g.stop() // before the stores are closed
	g.run(NewPublisher(PublisherOptions{Options: o, Source: n}).Run)
	replicas := []*replica{{t: t}, {t: t, images: 1}} // on two engines
	for _, x := range replicas {
		g.run(func(ctx context.Context) error { return x.live(ctx, o) })
	}
	next := n.feed(t, script, 0, "both replicas begin", func() bool {
		return !slices.ContainsFunc(replicas, func(x *replica) bool { _, begun := x.standing(); return !begun })
	})
	compare := func() (c *Comparison) {
		t.Helper()
		ctx, done := context.WithTimeout(t.Context(), time.Minute)
		defer done()
		c, err := Compare(ctx, o, wait/10)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	equal := func(c *Comparison) {
		t.Helper()
		if !c.Equal() || len(c.Replicas) != 2 || c.Node.Rows == 0 ||
			len(c.Node.Tables) != len(n.ledger.store.Tables()) {
			t.Fatalf("%+v", c)
		}
	}
	last := script[next-1].Point
	eventually(t, "both replicas at the head", func() bool { return replicas[0].at(last) && replicas[1].at(last) })
	if c := compare(); c.Node.Block != last {
		t.Errorf("%+v", c.Node)
	} else {
		equal(c)
	}

	var c *Comparison
	during := func() {
		t.Helper()
		got := make(chan *Comparison, 1)
		go func() { got <- compare() }()
		next = n.feed(t, script, next, "a comparison ends", func() bool {
			select {
			case c = <-got:
				return true
			default:
				return false
			}
		})
	}
	during()
	equal(c)

	replicas[1].mu.Lock()
	replicas[1].spoil = true
	replicas[1].mu.Unlock()
	during()
	if i := slices.IndexFunc(c.Replicas, func(v Verdict) bool { return !v.Same(&c.Node.RowsSum) }); i < 0 ||
		c.Equal() ||
		!slices.Equal(c.Replicas[i].Difference(&c.Node.RowsSum), tableNames[:1]) {
		t.Fatalf("the table %s differs; %+v", tableNames[0], c)
	}
	n.feed(t, script, next, "the replica that differed begins again", func() bool {
		replicas[1].mu.Lock()
		defer replicas[1].mu.Unlock()
		return replicas[1].images == 3
	})
}

// Nobody answers where nobody waits for an answer: who may only ask cannot have a node write into its stream.
func TestNothingIsAnsweredOutsideInboxes(t *testing.T) {
	t.Parallel()
	o, s := fleetOf(t, t.TempDir())
	t.Cleanup(s.Stop)
	script := newScript(seeded(t), 8000, 0)
	n := newNode(t, 1<<30)
	g := newGroup(t)
	defer g.stop() // before the stores are closed
	g.run(NewPublisher(PublisherOptions{Options: o, Source: n,
		Answers: Answers{Ask: func(context.Context, string, []byte) (int, []byte) { return 200, nil }}}).Run)
	x := &replica{t: t}
	g.run(func(ctx context.Context) error { return x.live(ctx, o) })
	next := n.feed(t, script, 0, "the replica begins", func() bool { _, begun := x.standing(); return begun })
	last := script[next-1].Point
	eventually(t, "the replica at the head", func() bool { return x.at(last) })
	o = o.withDefaults()
	conn, js, err := o.connect("stranger")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	moves, err := js.Stream(t.Context(), o.movesStream())
	if err != nil {
		t.Fatal(err)
	}
	before := moves.CachedInfo().State.LastSeq
	for _, subject := range []string{o.whoSubject(), o.compareSubject(), o.askSubject()} {
		m := &nats.Msg{Subject: subject, Reply: o.movesSubject(), Header: nats.Header{headerDeadline: {"1000"}}}
		if err := conn.PublishMsg(m); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(dueTime + time.Second) // a comparison would have been made
	if info, err := moves.Info(t.Context()); err != nil || info.State.LastSeq != before {
		t.Errorf("the stream has %d messages, and had %d: %v", info.State.LastSeq, before, err)
	}
}

// A replica that does not come to the node's block says so when it is beyond it and no fork can lead there any more,
// when it ends, and when another block is compared.
func TestAReplicaThatWasNotAtTheBlockSaysSo(t *testing.T) {
	x := &replica{t: t}
	x.ledger = openLedger(t, engine.Page)
	if err := x.begin(); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		v := verification{f: &Follower{Options: (&Options{}).withDefaults()}}
		end := v.begin(t.Context(), x, func(err error) { t.Errorf("differs: %v", err) })
		var mu sync.Mutex // of told
		var told []error
		at := func(revision uint64) *nodesRows {
			return &nodesRows{at: fleet.Point{Revision: revision}, told: func(_ *fleet.RowsSum, err error) {
				mu.Lock()
				told = append(told, err)
				mu.Unlock()
			}}
		}
		v.applied(fleet.Point{Revision: 5})
		for i, step := range []struct {
			do   func()
			wait time.Duration
			want []error
		}{
			{func() { v.compareAnnounced(at(4)) }, forkTime / 2, nil},
			{func() {}, forkTime, []error{errNotThere}},
			{func() { v.compareAnnounced(at(7)) }, 10 * forkTime, nil}, // it may come
			{func() { v.applied(fleet.Point{Revision: 8}) }, forkTime, []error{errNotThere}},
			{func() { v.compareAnnounced(at(9)); v.compareAnnounced(at(10)) }, 0, []error{errNotThere}},
			{end, 0, []error{errNotThere}},
			{func() { v.compareAnnounced(at(11)) }, 0, []error{errNotFollowing}},
		} {
			step.do()
			time.Sleep(step.wait)
			synctest.Wait()
			mu.Lock()
			if !slices.Equal(told, step.want) {
				t.Errorf("step %d: %v was told, not %v", i, told, step.want)
			}
			told = nil
			mu.Unlock()
		}
	})
}

// Views are held while a comparison is due, and the named one afterwards; in the end all are given back.
func TestViewsAreHeldForComparisons(t *testing.T) {
	x := &replica{t: t}
	x.ledger = openLedger(t, engine.Page)
	if err := x.begin(); err != nil {
		t.Fatal(err)
	}
	v := verification{f: &Follower{Options: (&Options{}).withDefaults()}}
	end := v.begin(t.Context(), x, func(error) {})
	point := func(n int) fleet.Point { return fleet.Point{Revision: uint64(n)} }
	for i := range 2 * mostHeld {
		v.applied(point(i)) // nothing is due
	}
	views := func(held, named int) {
		t.Helper()
		if len(v.held) != held || len(v.named) != named {
			t.Errorf("%d are held and %d named, not %d and %d", len(v.held), len(v.named), held, named)
		}
	}
	views(0, 0)
	v.due.Store(true)
	for i := range 2 * mostHeld {
		v.applied(point(1000 + i))
	}
	views(mostHeld, 0)
	v.nodeNames(point(1000 + 2*mostHeld - 3))
	views(mostHeld-1, 1) // another comparison may be due
	v.due.Store(false)
	v.applied(point(1998))
	views(mostHeld-1, 1)
	v.held[len(v.held)-1].since = time.Now().Add(-2 * heldTime)
	v.applied(point(1999))
	views(0, 1)
	v.nodeNames(point(2000))
	v.applied(point(2000))
	views(0, 2)
	v.nodeNames(point(2001))
	v.applied(point(2001))
	views(0, mostNamed)
	got := make(chan error, 1)
	v.compareAnnounced(&nodesRows{at: point(2000), told: func(_ *fleet.RowsSum, err error) { got <- err }})
	if err := <-got; err != nil {
		t.Error(err)
	}
	views(0, 1)
	end()
	views(0, 0)
}
