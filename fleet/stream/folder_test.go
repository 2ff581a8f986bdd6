package stream

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Replicas begin with snapshots in a folder that they see, or that a web server shows; one that looks elsewhere says
// so. What is not a snapshot stays there, and the servers keep none any more.
func TestSnapshotsInAFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o, s := fleetOf(t, filepath.Join(dir, "nats"))
	t.Cleanup(s.Stop)
	script := newScript(seeded(t), 8000, 0)
	n := newNode(t, 1<<30)
	next := 0
	var newest Snapshot
	until := func(what string, come func() bool) {
		t.Helper()
		next = n.feed(t, script, next, what, come)
	}
	look := func(is func(*Survey) bool) func() bool {
		return func() bool {
			got, err := Look(t.Context(), o, 0)
			if err != nil || got.Newest == nil || got.Newest.Object == newest.Object || !is(got) {
				return false
			}
			newest = *got.Newest
			return true
		}
	}
	before := newGroup(t)
	defer before.stop() // before the stores are closed
	before.run(NewPublisher(PublisherOptions{Options: o, Source: n}).Run)
	until("a snapshot on the servers", look(func(got *Survey) bool {
		return got.Newest.Kept == "" && got.Snapshots.Messages > 0
	}))
	before.stop()

	folder := filepath.Join(dir, "snapshots")
	other := filepath.Join(folder, "other", "file")
	if err := os.MkdirAll(filepath.Dir(other), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	in := o
	in.Folder = folder
	g := newGroup(t)
	defer g.stop() // before the stores are closed
	g.run(NewPublisher(PublisherOptions{Options: in, Source: n, SnapshotEvery: time.Second}).Run)
	until("a snapshot in the folder", look(func(got *Survey) bool { return got.Newest.Kept == keptInFolder }))
	web := httptest.NewServer(http.FileServer(http.Dir(folder)))
	t.Cleanup(web.Close)
	over := o
	over.Folder = web.URL
	replicas := []*replica{{t: t}, {t: t}}
	for i, at := range []Options{in, over} {
		g.run(func(ctx context.Context) error { return replicas[i].live(ctx, at) })
	}
	log := &heard{testLog: testLog{t}}
	lost := o
	lost.Log = slog.New(slog.NewTextHandler(log, nil))
	g.run(func(ctx context.Context) error { return (&replica{t: t}).live(ctx, lost) })
	until("both replicas begin, and the third does not", func() bool {
		_, one := replicas[0].standing()
		_, two := replicas[1].standing()
		return one && two && log.count("the object store of the NATS servers") > 0
	})
	until("another snapshot, and none on the servers",
		look(func(got *Survey) bool { return got.Snapshots.Messages == 0 }))
	last := next - 1
	for _, x := range replicas {
		eventually(t, "the replica at the head", func() bool { return x.at(script[last].Point) })
		if err := x.same(script, last); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(other); err != nil {
		t.Errorf("a file that is no snapshot's: %v", err)
	}
}

// A snapshot folder drops what is not named any more. A part that is not there, or cannot be one, is told from a
// failure.
func TestSnapshotFolder(t *testing.T) {
	t.Parallel()
	f := snapshotFolder{t.TempDir()}
	names := []string{"00000000000000aa-1-00000000000000bb", "00000000000000aa-2-00000000000000bb"}
	for _, name := range names {
		if err := f.put(t.Context(), partName(name, 0), []byte(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.drop(t.Context(), func(object string) bool { return object != names[1] }); err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(http.FileServer(http.Dir(f.path)))
	t.Cleanup(web.Close)
	at, err := url.Parse(web.URL + "/")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(f.path, names[1], "1"), make([]byte, partBytes+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, x := range []snapshotStore{f, webFolder{at}} {
		if b, err := x.get(t.Context(), partName(names[1], 0)); err != nil || string(b) != names[1] {
			t.Errorf("%T: %q, %v", x, b, err)
		}
		for part, want := range map[string]string{partName(names[0], 0): errPartGone.Error(),
			partName(names[1], 1): "damaged"} {
			if _, err := x.get(t.Context(), part); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%T: part %s: %v; wanted %q", x, part, err, want)
			}
		}
	}
}

func TestFoldersOfSnapshotsAreValidated(t *testing.T) {
	for folder, good := range map[string]bool{
		"": true, "/srv/snapshots": true, "https://host/path": true, "snapshots": false, "file:///srv": false,
		"http:///x":  false,
		"ftp://host": false, "http://ho st": false, "http://host/?a=b": false,
	} {
		o := Options{Servers: []string{"nats://127.0.0.1:4222"}, Name: "x", Folder: folder}
		if err := o.Validate(); (err == nil) != good {
			t.Errorf("%q: %v", folder, err)
		}
	}
}
