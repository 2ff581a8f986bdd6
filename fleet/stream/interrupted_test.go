package stream

import (
	"testing"
	"time"

	"tarn/fleet"
	"tarn/fleet/natsserver"
	"tarn/internal/freeport"
)

// A publisher that is interrupted more often than snapshots are due makes them all the same.
func TestInterruptionsPutOffNoSnapshot(t *testing.T) {
	t.Parallel() // it waits most of the time
	r := seeded(t)
	so := natsserver.Options{Dir: t.TempDir(), Listen: freeport.Address(t)}
	s, err := natsserver.Start(so)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	w := newWire(t, so.Listen)
	o := Options{Name: "test", Servers: []string{s.URL()}}
	script := newScript(r, 6000, 0)
	n := newNode(t, 1<<30)
	n.line.Show(fleet.Point{}, time.Now())
	g := newGroup(t)
	defer g.stop() // before the stores are closed
	p := NewPublisher(PublisherOptions{Options: Options{Name: "test", Servers: []string{w.url()}}, Source: n,
		SnapshotEvery: 4 * time.Second})
	g.run(p.Run)
	eventually(t, "a snapshot of the state without a block", func() bool { return p.Leads() && p.Kept(fleet.Point{}) })
	f := openFollower(t, o)
	rooms, err := f.find(t.Context(), f.js)
	if err != nil {
		t.Fatal(err)
	}
	led, end := time.Now(), time.Now().Add(30*time.Second)
	n.feed(t, script, 0, "a newer snapshot", func() bool {
		switch {
		case !p.Leads():
			led = time.Now()
		case time.Since(led) > 2500*time.Millisecond:
			w.set(true)
			w.set(false)
			led = time.Now()
		}
		newest, err := rooms.newest(t.Context())
		return err == nil && newest.Point.Revision > 0 || time.Now().After(end)
	})
	if time.Now().After(end) {
		t.Fatal("there is none after half a minute")
	}
}
