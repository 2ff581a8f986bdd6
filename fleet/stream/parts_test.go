package stream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/iotest"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"tarn/fleet/natsserver"
	"tarn/internal/freeport"
)

// object puts bytes into the object store of a fleet, whose server listens.
func object(t *testing.T, n int, so natsserver.Options) (*rooms, *natsserver.Server, []byte) {
	t.Helper()
	s, err := natsserver.Start(so)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	f, err := NewFollower(Options{Name: "test", Servers: []string{"nats://" + so.Listen}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	place, err := f.place(t.Context(), f.js)
	if err != nil {
		t.Fatal(err)
	}
	r, err := f.create(t.Context(), f.js, place)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{}).Read(b) //nolint:errcheck // it never fails
	w := &partWriter{ctx: t.Context(), store: r.parts, object: "one"}
	if _, err := io.Copy(w, iotest.HalfReader(bytes.NewReader(b))); err != nil {
		t.Fatal(err)
	}
	if err := w.flush(); err != nil || w.bytes != uint64(n) || w.parts != (n+partBytes-1)/partBytes {
		t.Fatalf("%d parts of %d bytes: %v", w.parts, w.bytes, err)
	}
	return &r, s, b
}

// A snapshot may take longer to load than a request may to be answered.
func TestPartsWaitForTheirReader(t *testing.T) {
	t.Parallel()
	r, _, want := object(t, 3*partBytes+1, natsserver.Options{Dir: t.TempDir(), Listen: freeport.Address(t)})
	d := readParts(t.Context(), r.parts, "one", 4, 3*partBytes+1)
	defer d.close()
	got, err := io.ReadAll(iotest.OneByteReader(io.LimitReader(d, 1000)))
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(requestTime + time.Second)
	rest, err := io.ReadAll(d)
	if got = append(got, rest...); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%d of %d bytes came: %v", len(got), len(want), err)
	}
}

// A server that is started again goes on.
func TestPartsGoOnAfterARestart(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; not with -short")
	}
	t.Parallel()
	o := natsserver.Options{Dir: t.TempDir(), Listen: freeport.Address(t)}
	r, s, want := object(t, 5*partBytes, o)
	d := readParts(t.Context(), r.parts, "one", 5, 5*partBytes)
	defer d.close()
	got := make([]byte, partBytes/2)
	if _, err := io.ReadFull(d, got); err != nil {
		t.Fatal(err)
	}
	s.Stop()
	again := make(chan error, 1)
	time.AfterFunc(2*time.Second, func() {
		s, err := natsserver.Start(o)
		if err == nil {
			t.Cleanup(s.Stop)
		}
		again <- err
	})
	rest, err := io.ReadAll(d)
	if got = append(got, rest...); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d of %d bytes came: %v", len(got), len(want), err)
	}
	if err := <-again; err != nil {
		t.Fatal(err)
	}
}

// A part that was replaced meanwhile, and one that nobody waits for any more, end at once.
func TestPartsEnd(t *testing.T) {
	t.Parallel()
	r, s, _ := object(t, 5*partBytes, natsserver.Options{Dir: t.TempDir(), Listen: freeport.Address(t)})
	if err := r.objects.Delete(t.Context(), partName("one", 3)); err != nil {
		t.Fatal(err)
	}
	d := readParts(t.Context(), r.parts, "one", 5, 5*partBytes)
	defer d.close()
	for range 2 {
		if n, err := io.Copy(io.Discard, d); !errors.Is(err, jetstream.ErrObjectNotFound) {
			t.Errorf("after %d bytes, without part 3: %v", n, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	other := readParts(ctx, r.parts, "one", 3, 3*partBytes)
	defer other.close()
	if _, err := io.ReadFull(other, make([]byte, partBytes)); err != nil {
		t.Fatal(err)
	}
	s.Stop()
	time.AfterFunc(100*time.Millisecond, cancel)
	begun := time.Now()
	if _, err := io.Copy(io.Discard, other); !errors.Is(err, context.Canceled) || time.Since(begun) > requestTime {
		t.Errorf("a download that was given up ended after %v with %v", time.Since(begun), err)
	}
}

// behindStore is an object store whose servers do not have a part yet, so many times.
type behindStore struct {
	snapshotStore
	times *int
}

func (b behindStore) get(ctx context.Context, name string) ([]byte, error) {
	if *b.times--; *b.times >= 0 {
		return nil, errPartGone
	}
	return b.snapshotStore.get(ctx, name)
}

// A part of a snapshot that is announced comes, also where a server answers first whose copy is behind.
func TestPartsThatAreAnnouncedAreWaitedFor(t *testing.T) {
	t.Parallel()
	r, _, want := object(t, 1000, natsserver.Options{Dir: t.TempDir(), Listen: freeport.Address(t)})
	read := func() ([]byte, error) {
		times := 2
		d := readParts(t.Context(), announcedParts{behindStore{r.parts, &times}, r, "one"}, "one", 1, 1000)
		defer d.close()
		return io.ReadAll(d)
	}
	if got, err := read(); !errors.Is(err, errPartGone) {
		t.Errorf("of what is not announced %d bytes come: %v", len(got), err)
	}
	for _, s := range []Snapshot{{Object: "one"}, {Object: "two"}} { // which lists the one before
		if err := r.announce(t.Context(), s, &stays{most: time.Hour, now: time.Now}); err != nil {
			t.Fatal(err)
		}
		if got, err := read(); err != nil || !bytes.Equal(got, want) {
			t.Errorf("with %s announced %d of %d bytes come: %v", s.Object, len(got), len(want), err)
		}
	}
}

// What newer snapshots have replaced stays for a while, what was never announced does not, and nothing is left of it.
func TestOldSnapshotsAreDropped(t *testing.T) {
	t.Parallel()
	r, _, _ := object(t, 2*partBytes, natsserver.Options{Dir: t.TempDir(), Listen: freeport.Address(t)})
	ctx := t.Context()
	put := func(name string) {
		t.Helper()
		w := &partWriter{ctx: ctx, store: r.parts, object: name}
		if _, err := w.Write(make([]byte, partBytes+1)); err != nil {
			t.Fatal(err)
		}
		if err := w.flush(); err != nil {
			t.Fatal(err)
		}
	}
	day := time.Now()
	own := &stays{most: time.Hour, now: func() time.Time { return day }}
	there := func(want ...string) {
		t.Helper()
		if err := r.dropSnapshots(ctx, own); err != nil {
			t.Fatal(err)
		}
		list, err := r.objects.List(ctx)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, o := range list {
			got = append(got, o.Name)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Fatalf("there are %q, not %q", got, want)
		}
	}
	announce := func(name string) {
		t.Helper()
		put(name)
		if err := r.announce(ctx, Snapshot{Object: name}, own); err != nil {
			t.Fatal(err)
		}
	}
	announce("b")
	announce("a") // b stays
	there("a/0", "a/1", "b/0", "b/1")
	day = day.Add(59 * time.Minute)
	there("a/0", "a/1", "b/0", "b/1")
	announce("c") // a stays, and b for another minute
	put("never")
	there("a/0", "a/1", "b/0", "b/1", "c/0", "c/1")
	day = day.Add(time.Minute)
	there("a/0", "a/1", "c/0", "c/1")
	announce("c") // of the same block again
	there("a/0", "a/1", "c/0", "c/1")
	info, err := r.objectStream.Info(ctx)
	if err != nil {
		t.Fatal(err)
	}
	const chunk = 128 << 10
	if want := uint64(2 * (partBytes/chunk + 1 + 2)); info.State.Msgs != want {
		t.Errorf("the object store has %d messages, not %d", info.State.Msgs, want)
	}
}
