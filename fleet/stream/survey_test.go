package stream

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"tarn/fleet/natsserver"
	"tarn/internal/freeport"
)

// A survey names who publishes, who stands by and who follows, and what is kept.
func TestSurvey(t *testing.T) {
	t.Parallel()
	so := natsserver.Options{Dir: t.TempDir(), Listen: freeport.Address(t)}
	s, err := natsserver.Start(so)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	o := Options{Name: "test", Servers: []string{"nats://" + so.Listen}}
	if _, err := Look(t.Context(), o, 0); !errors.Is(err, ErrNoFleet) {
		t.Fatalf("before anybody has published: %v", err)
	}
	script := newScript(seeded(t), 8000, 0)
	g := newGroup(t)
	defer g.stop() // before the stores are closed
	nodes := []*node{newNode(t, 1<<30), newNode(t, 1<<30)}
	for _, n := range nodes {
		g.run(NewPublisher(PublisherOptions{Options: o, Source: n, SnapshotEvery: 100 * time.Millisecond}).Run)
	}
	x := &replica{t: t}
	g.run(func(ctx context.Context) error { return x.live(ctx, o) })
	next := 0 // a line begins when the block of its snapshot cannot be taken back any more
	nodes[0].feed(t, script, 0, "the replica begins", func() bool {
		if _, begun := x.standing(); begun {
			return true
		}
		if err := nodes[1].apply(script[next]); err != nil {
			t.Fatal(err)
		}
		next++
		return false
	})
	var got *Survey
	head := script[next-1].Point
	eventually(t, "a replica at the head, whom all know", func() bool {
		got, err = Look(t.Context(), o, 300*time.Millisecond)
		return err == nil && got.Publisher != nil && got.Publisher.Head == head && len(got.Members) == 3 &&
			got.Members[2].Head == head
	})
	var leads int
	for _, m := range got.Members {
		if m.Publishing {
			leads++
			if m.Node != got.Publisher.Node || m.Role != RoleNode {
				t.Errorf("%+v says that it publishes; the place is that of %+v", m, got.Publisher)
			}
		}
		if m.Host == "" || m.Process == 0 || m.Since.IsZero() {
			t.Errorf("a member says too little: %+v", m)
		}
	}
	if leads != 1 || got.Members[2].Role != RoleReplica {
		t.Errorf("members: %+v", got.Members)
	}
	if got.Newest == nil || got.Newest.Parts == 0 || got.Snapshots.Messages == 0 || got.Snapshots.Copies != 1 {
		t.Errorf("snapshots: %+v, %+v", got.Newest, got.Snapshots)
	}
}

// A server that is not there is named.
func TestSurveyOfNoServer(t *testing.T) {
	t.Parallel()
	o := Options{Name: "test", Servers: []string{"nats://" + freeport.Address(t)}}
	if _, err := Look(t.Context(), o, 0); err == nil ||
		!strings.Contains(err.Error(), o.Servers[0]+": no server answers") {
		t.Errorf("%v", err)
	}
}
