package stream

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// Who reads hinders nobody who sends: a node has places of their own for both. What a node cannot answer ends the
// request alone.
func TestReadsHaveTheirOwnPlaces(t *testing.T) {
	t.Parallel()
	o, s := fleetOf(t, t.TempDir())
	t.Cleanup(s.Stop)
	n := newNode(t, 1<<30)
	g := newGroup(t)
	defer g.stop() // before the stores are closed
	reading, release := make(chan struct{}, readsAtOnce), make(chan struct{})
	end := sync.OnceFunc(func() { close(release) })
	defer end()
	read := func(_ context.Context, path string, _ []byte) (int, []byte) {
		switch path {
		case "/panic":
			panic("a fault of the node")
		case "/long":
			return http.StatusOK, make([]byte, mostRead+1)
		case "/wait":
			reading <- struct{}{}
			<-release
		}
		return http.StatusOK, []byte("read")
	}
	ask := func(context.Context, string, []byte) (int, []byte) { return http.StatusAccepted, []byte("sent") }
	p := NewPublisher(PublisherOptions{Options: o, Source: n, SnapshotEvery: time.Hour, Answers: Answers{ask, read}})
	g.run(p.Run)
	f, err := NewFollower(o)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	eventually(t, "the node answers", func() bool {
		status, _, err := f.Read(t.Context(), "/one", nil)
		return err == nil && status == http.StatusOK
	})
	status, answer, err := f.Read(t.Context(), "/long", nil)
	if err != nil || status != http.StatusRequestEntityTooLarge || len(answer) != 0 {
		t.Errorf("a long answer: %d, %d bytes, %v", status, len(answer), err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, _, err := f.Read(ctx, "/panic", nil); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("what panics answers %v", err)
	}
	var all sync.WaitGroup
	defer all.Wait()
	defer end()
	for range readsAtOnce {
		all.Go(func() { f.Read(t.Context(), "/wait", nil) }) //nolint:errcheck // whoever waits gets no answer
		<-reading
	}
	if status, _, err := f.Read(t.Context(), "/one", nil); err != nil || status != http.StatusServiceUnavailable {
		t.Errorf("one read more: %d, %v", status, err)
	}
	status, answer, err = f.Ask(t.Context(), "/send", nil)
	if err != nil || status != http.StatusAccepted || !bytes.Equal(answer, []byte("sent")) {
		t.Errorf("who sends: %d %q, %v", status, answer, err)
	}
}

// Clients of a replica are told that no node answers, and not where the servers are or how to log in to them; nor does an
// operator's screen have passwords.
func TestNobodyIsToldHowToReachTheServers(t *testing.T) {
	t.Parallel()
	o := Options{Name: "test", Servers: []string{"nats://somebody:secret@127.0.0.1:1", "token@127.0.0.1:2"}}
	f, err := NewFollower(o)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second/10)
	defer cancel()
	_, _, err = f.Ask(ctx, "/send", nil)
	if want := "no node of the fleet answers: no node of the fleet can be reached: no NATS server is connected"; err == nil ||
		err.Error() != want {
		t.Errorf("a client is told %q", err)
	}
	_, err = Look(ctx, o, time.Second)
	if err == nil || !strings.Contains(err.Error(), "nats://127.0.0.1:1, 127.0.0.1:2: ") {
		t.Errorf("an operator is told %q", err)
	}
}

// What replicas are being told is bounded in bytes, over all of them: they may be slow to take it.
func TestAnswersTakeABoundedAmount(t *testing.T) {
	t.Parallel()
	o, s := fleetOf(t, t.TempDir())
	t.Cleanup(s.Stop)
	ask := func(context.Context, string, []byte) (int, []byte) { return http.StatusOK, make([]byte, mostAnswer) }
	p := NewPublisher(PublisherOptions{Options: o, Source: newNode(t, 1<<30), Answers: Answers{Ask: ask}})
	g := newGroup(t)
	defer g.stop() // before the stores are closed
	g.run(p.Run)
	f := openFollower(t, o)
	asked := func() (int, int) {
		status, answer, err := f.Ask(t.Context(), "/long", nil)
		if err != nil {
			return 0, 0
		}
		return status, len(answer)
	}
	eventually(t, "the node answers", func() bool { status, _ := asked(); return status == http.StatusOK })
	p.telling.Add(mostTelling - mostAnswer + 1) // others are slow
	if status, n := asked(); status != http.StatusServiceUnavailable || n != 0 {
		t.Errorf("one answer more: status %d, %d bytes", status, n)
	}
	p.telling.Add(-1)
	if status, n := asked(); status != http.StatusOK || n != mostAnswer {
		t.Errorf("when there is room: status %d, %d bytes", status, n)
	}
	eventually(t, "room is given back", func() bool { return p.telling.Load() == mostTelling-mostAnswer })
}
