package stream

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"tarn/fleet"
	"tarn/fleet/natsserver"
	"tarn/internal/freeport"
)

// cluster is three servers on this machine that keep a stream together.
type cluster struct {
	t       *testing.T
	servers []*natsserver.Server
	options []natsserver.Options
}

// newCluster starts a cluster whose servers keep what they have in these folders.
func newCluster(t *testing.T, dirs ...string) *cluster {
	t.Helper()
	c := &cluster{t: t}
	var routes []string
	for i, dir := range dirs {
		o := natsserver.Options{Dir: dir, Name: fmt.Sprint("server", i), Listen: freeport.Address(t),
			Cluster: freeport.Address(t)}
		c.options, c.servers, routes = append(c.options, o), append(c.servers, nil), append(routes, "nats://"+o.Cluster)
	}
	for i := range c.options {
		c.options[i].Routes = routes
		c.start(i)
	}
	t.Cleanup(func() {
		for i := range c.servers {
			c.stop(i)
		}
	})
	return c
}

// start starts a server.
func (c *cluster) start(i int) {
	c.t.Helper()
	s, err := natsserver.Start(c.options[i])
	if err != nil {
		c.t.Fatal(err)
	}
	c.servers[i] = s
}

func (c *cluster) stop(i int) {
	if s := c.servers[i]; s != nil {
		s.Stop()
		c.servers[i] = nil
	}
}

func (c *cluster) fleet() Options {
	o := Options{Name: "cluster", Copies: 3, Log: slog.New(slog.NewTextHandler(testLog{c.t}, nil))}
	for i := range c.options {
		o.Servers = append(o.Servers, "nats://"+c.options[i].Listen)
	}
	return o
}

// Each server of a cluster in turn ends and comes back, while blocks are published and replicas join.
func TestAClusterLosesOneServerAfterAnother(t *testing.T) {
	if testing.Short() {
		t.Skip("servers that elect leaders take half a minute")
	}
	r := seeded(t)
	c := newCluster(t, t.TempDir(), t.TempDir(), t.TempDir())
	o := c.fleet()
	script := newScript(r, 240, 6)
	n := newNode(t, 1<<30)
	g := newGroup(t)
	defer g.stop() // before the stores are closed
	g.run(NewPublisher(PublisherOptions{Options: o, Source: n, SnapshotEvery: 2 * time.Second}).Run)
	var replicas []*replica
	join := func() {
		x := &replica{t: t, images: len(replicas)}
		replicas = append(replicas, x)
		g.run(func(ctx context.Context) error { return x.live(ctx, o) })
		eventually(t, "a replica that has begun", func() bool { _, ok := x.standing(); return ok })
	}
	n.line.Show(fleet.Point{}, time.Now()) // a snapshot of the state without a block
	join()
	for i, b := range script {
		if err := n.apply(b); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Millisecond)
		switch {
		case i%80 == 20:
			c.stop(i / 80)
		case i%80 == 40: // with a server less
			join()
		case i%80 == 60:
			c.start(i / 80)
		}
	}
	last := len(script) - 1
	for i, x := range replicas {
		eventually(t, "a replica at the head", func() bool { return x.at(script[last].Point) })
		if err := x.same(script, last); err != nil {
			t.Fatalf("replica %d: %v", i, err)
		}
		if x.images != i+1 {
			t.Errorf("replica %d has loaded %d snapshots", i, x.images-i)
		}
	}
}
