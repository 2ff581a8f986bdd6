package stream

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"
)

// heard is a log that remembers.
type heard struct {
	testLog
	mu   sync.Mutex
	text strings.Builder
}

func (h *heard) Write(b []byte) (int, error) {
	h.mu.Lock()
	h.text.Write(b)
	h.mu.Unlock()
	return h.testLog.Write(b)
}

func (h *heard) count(text string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Count(h.text.String(), text)
}

// A replica finds out that its rows are the node's, and begins again when they are not.
func TestReplicasCompareThemselves(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	o, s := fleetOf(t, t.TempDir())
	t.Cleanup(s.Stop)
	log := &heard{testLog: testLog{t}}
	o.Verify, o.Log = true, slog.New(slog.NewTextHandler(log, nil))
	script := newScript(r, 8000, 0)
	n := newNode(t, 1<<30)
	g := newGroup(t)
	defer g.stop() // before the stores are closed
	g.run(NewPublisher(PublisherOptions{Options: o, Source: n, SnapshotEvery: 2 * time.Second}).Run)
	x := &replica{t: t}
	g.run(func(ctx context.Context) error { return x.live(ctx, o) })
	next := 0
	until := func(what string, come func() bool) {
		t.Helper()
		next = n.feed(t, script, next, what, come)
	}
	const same = "The replica's state is the node's"
	until("the replica compares itself", func() bool { return log.count(same) == 1 })
	x.mu.Lock()
	x.spoil = true
	x.mu.Unlock()
	until("the replica begins again", func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		return x.images == 2
	})
	sound := log.count(same)
	until("another engine's rows are compared", func() bool { return log.count(same) > sound })
	last := next - 1
	eventually(t, "the replica at the head", func() bool { return x.at(script[last].Point) })
	if err := x.same(script, last); err != nil {
		t.Fatal(err)
	}
}
