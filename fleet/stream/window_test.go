package stream

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"tarn/fleet"
)

// openFollower is a connection to a fleet whose server is there.
func openFollower(t *testing.T, o Options) *Follower {
	t.Helper()
	f, err := NewFollower(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	if err := f.await(t.Context(), f.conn); err != nil {
		t.Fatal(err)
	}
	return f
}

// A server that is there and keeps nothing, as one whose disk was full, is tried for hours: what it did not answer is
// let go with the turn.
func TestWhatIsNotAnsweredIsLetGo(t *testing.T) {
	t.Parallel()
	o, s := fleetOf(t, t.TempDir())
	t.Cleanup(s.Stop)
	f := openFollower(t, o)
	if _, err := f.conn.Subscribe(o.movesSubject(), func(*nats.Msg) {}); err != nil {
		t.Fatal(err)
	}
	p := NewPublisher(PublisherOptions{Options: o})
	x := &turn{Publisher: p, js: f.js, window: window{js: f.js, subject: o.movesSubject()}}
	for range inFlight {
		if err := x.window.send(t.Context(), fleet.Header{}, 0, []byte("a move")); err != nil {
			t.Fatal(err)
		}
	}
	if n := f.js.PublishAsyncPending(); n != inFlight {
		t.Fatalf("%d messages are held", n)
	}
	x.drain(t.Context())
	if n := f.js.PublishAsyncPending(); n != 0 {
		t.Errorf("%d messages are held after the turn", n)
	}
}

// In a cluster a message of an earlier turn may be kept after this turn has looked where the stream ends. The leader
// takes what this turn sends for the same message, whatever it has: the line would go on from what is not there.
func TestALateMessageIsNotTakenForAnother(t *testing.T) {
	t.Parallel()
	o, s := fleetOf(t, t.TempDir())
	t.Cleanup(s.Stop)
	f := openFollower(t, o)
	for _, answer := range []string{`{"stream":"x","seq":8}`, `{"stream":"x","seq":8,"duplicate":true}`} {
		leader, err := f.conn.Subscribe(o.movesSubject(), func(m *nats.Msg) { m.Respond([]byte(answer)) }) //nolint:errcheck
		if err != nil {
			t.Fatal(err)
		}
		w := window{js: f.js, subject: o.movesSubject(), last: 7}
		if err := w.send(t.Context(), fleet.Header{}, 0, []byte("a move with more blocks")); err != nil {
			t.Fatal(err)
		}
		err = w.wait(t.Context())
		if isLate := strings.Contains(answer, "duplicate"); isLate != (err != nil) {
			t.Errorf("the answer %s: %v", answer, err)
		}
		if err := leader.Unsubscribe(); err != nil {
			t.Fatal(err)
		}
	}
}
