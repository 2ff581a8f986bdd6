package stream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"tarn/fleet"
	"tarn/fleet/natsserver"
	"tarn/internal/loopdisk"
)

// apartVariable says that a process of tests has mounts of its own.
const apartVariable = "TARN_STREAM_APART"

// isApart runs a test in a process with mounts of its own, which end with it, and returns true there.
func isApart(t *testing.T) bool {
	t.Helper()
	if os.Getenv(apartVariable) != "" {
		return true
	}
	if missing := loopdisk.Missing(); missing != "" {
		t.Skip(missing)
	}
	if testing.Short() {
		t.Skip("fills disks; not with -short")
	}
	runtime.LockOSThread() // with whose end the process is killed
	defer runtime.UnlockOSThread()
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=8m",
		fmt.Sprint("-stream.seed=", *streamSeed))
	cmd.Env = append(os.Environ(), apartVariable+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatal(err)
	}
	return false
}

func newDisk(t *testing.T, size int64) *loopdisk.Disk {
	t.Helper()
	d, err := loopdisk.New(t.TempDir(), size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// The disk of the only server becomes full, and has room again. The chain goes on meanwhile, also where the node's
// memory cannot hold what it does. Replicas stand still, and then have the node's rows.
func TestAFullDiskOfTheOnlyServer(t *testing.T) {
	t.Parallel()
	if !isApart(t) {
		return
	}
	r := seeded(t)
	t.Run("blocks are remembered", func(t *testing.T) { fillTheOnlyServer(t, r, 1<<30) })
	t.Run("blocks are forgotten", func(t *testing.T) { fillTheOnlyServer(t, r, 100_000) })
}

// atHead waits for a second until a replica is where the node is: a line that begins needs more blocks for that.
func atHead(n *node, x *replica) func() bool {
	return func() bool {
		head, _ := n.line.Head()
		for range 100 {
			if x.at(head) {
				return true
			}
			time.Sleep(10 * time.Millisecond)
		}
		return false
	}
}

// fillTheOnlyServer fills the disk of a fleet's server three times; the node has so much memory for the fleet.
func fillTheOnlyServer(t *testing.T, r *rand.Rand, memory int64) {
	t.Helper()
	d := newDisk(t, 512<<20)
	log := &heard{testLog: testLog{t}}
	logger := slog.New(slog.NewTextHandler(log, nil))
	s, err := natsserver.Start(natsserver.Options{Dir: d.Dir, Room: 16 << 20, Log: logger})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	o := Options{Name: "test", InProcess: s, KeepBytes: 256 << 20, Log: logger}
	script := newScript(r, 30000, 6)
	n := newNode(t, memory)
	g := newGroup(t)
	defer g.stop() // before the stores are closed
	g.run(NewPublisher(PublisherOptions{Options: o, Source: n, SnapshotEvery: time.Hour}).Run)
	x := &replica{t: t}
	g.run(func(ctx context.Context) error { return x.live(ctx, o) })
	next := n.feed(t, script, 0, "the replica begins", func() bool { _, begun := x.standing(); return begun })
	for i := 1; i <= 3; i++ {
		if err := d.Fill(int64(r.IntN(256 << 10))); err != nil {
			t.Fatal(err)
		}
		next = n.feed(t, script, next, "the reason why nothing comes", func() bool {
			return log.count("Make room on the disk") == i
		})
		left := 50 + r.IntN(50)
		next = n.feed(t, script, next, "more blocks", func() bool { left--; return left < 0 })
		if err := d.Empty(); err != nil {
			t.Fatal(err)
		}
		next = n.feed(t, script, next, "the server goes on", func() bool {
			return log.count("NATS server goes on") == i
		})
		there := script[next-1].Point
		next = n.feed(t, script, next, "the replica goes on", func() bool {
			at, begun := x.standing()
			return begun && at.Revision > there.Revision
		})
		next = n.feed(t, script, next, "the replica at the head", atHead(n, x))
		if err := x.same(script, next-1); err != nil {
			t.Fatal(err)
		}
	}
	if memory == 1<<30 && x.images != 1 {
		t.Errorf("the replica has loaded %d snapshots", x.images)
	}
}

// The disk of the server of a cluster that leads is full: the others go on. With room, and started again, it has what
// they have, so that another one may end.
func TestAFullDiskInACluster(t *testing.T) {
	if !isApart(t) {
		return
	}
	r := seeded(t)
	var disks []*loopdisk.Disk
	for range 3 {
		disks = append(disks, newDisk(t, 1<<30)) // the servers write what comes to logs first, which take as much again
	}
	c := newCluster(t, disks[0].Dir, disks[1].Dir, disks[2].Dir)
	o := c.fleet()
	o.KeepBytes = 384 << 20
	script := newScript(r, 30000, 6)
	n := newNode(t, 1<<30)
	g := newGroup(t)
	defer g.stop() // before the stores are closed
	g.run(NewPublisher(PublisherOptions{Options: o, Source: n, SnapshotEvery: time.Hour}).Run)
	x := &replica{t: t}
	g.run(func(ctx context.Context) error { return x.live(ctx, o) })
	next := n.feed(t, script, 0, "the replica begins", func() bool { _, begun := x.standing(); return begun })
	goesOn := func(what string) {
		t.Helper()
		there := script[next-1].Point.Revision + 50
		next = n.feed(t, script, next, what, func() bool {
			at, begun := x.standing()
			return begun && at.Revision > there
		})
	}
	leader := -1
	eventually(t, "who leads", func() bool {
		s, err := Look(t.Context(), o, 0)
		if err == nil {
			_, err = fmt.Sscanf(s.Moves.Leader, "server%d", &leader)
		}
		return err == nil
	})
	if err := disks[leader].Fill(int64(r.IntN(64 << 10))); err != nil {
		t.Fatal(err)
	}
	goesOn("the others go on")
	if err := disks[leader].Empty(); err != nil {
		t.Fatal(err)
	}
	c.stop(leader)
	c.start(leader)
	var missing string
	next = n.feed(t, script, next, "all servers have all", func() bool {
		s, err := Look(t.Context(), o, 0)
		if err != nil {
			missing = err.Error()
			return false
		}
		if text := fmt.Sprint(s.Moves.Leader, s.Missing); text != missing {
			missing = text
			t.Log(leader, text)
		}
		return len(s.Missing) == 0
	})
	c.stop((leader + 1 + r.IntN(2)) % 3)
	goesOn("without another one")
	next = n.feed(t, script, next, "the replica at the head", atHead(n, x))
	if err := x.same(script, next-1); err != nil {
		t.Fatal(err)
	}
	// The leader may have given the replica a message that it could not keep and the others never had: another one
	// came in its place, and the replica began again.
	if x.images > 2 {
		t.Errorf("the replica has loaded %d snapshots", x.images)
	}
}

// Where snapshots have no room, the stream goes on, the log says what to do, and there are snapshots again when there
// is room.
func TestSnapshotsHaveNoRoom(t *testing.T) {
	t.Parallel()
	if !isApart(t) {
		return
	}
	t.Run("in a folder", func(t *testing.T) {
		d := newDisk(t, 64<<20)
		o, s := fleetOf(t, t.TempDir())
		t.Cleanup(s.Stop)
		o.Folder = d.Dir
		haveNoRoom(t, o, func() error { return d.Fill(0) }, d.Empty)
	})
	t.Run("on the servers", func(t *testing.T) {
		o, s := fleetOf(t, t.TempDir())
		t.Cleanup(s.Stop)
		f, err := NewFollower(o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(f.Close)
		limit := func(more int64) error {
			st, err := o.findObjects(t.Context(), f.js)
			if err != nil {
				return err
			}
			about := st.CachedInfo().Config
			if about.MaxBytes = -1; more > 0 {
				about.MaxBytes = int64(st.CachedInfo().State.Bytes) + more
			}
			_, err = f.js.UpdateStream(t.Context(), about)
			return err
		}
		haveNoRoom(t, o, func() error { return limit(100) }, func() error { return limit(-1) })
	})
}

// haveNoRoom publishes to a fleet whose snapshots have no room for a while.
func haveNoRoom(t *testing.T, o Options, fill, empty func() error) {
	t.Helper()
	log := &heard{testLog: testLog{t}}
	o.Log = slog.New(slog.NewTextHandler(log, nil))
	r := seeded(t)
	script := newScript(r, 30000, 0)
	n := newNode(t, 1<<30)
	g := newGroup(t)
	defer g.stop() // before the stores are closed
	g.run(NewPublisher(PublisherOptions{Options: o, Source: n, SnapshotEvery: 300 * time.Millisecond}).Run)
	x := &replica{t: t}
	g.run(func(ctx context.Context) error { return x.live(ctx, o) })
	next := n.feed(t, script, 0, "a second snapshot", func() bool {
		return log.count("Replicas begin with a newer snapshot") > 0
	})
	if err := fill(); err != nil {
		t.Fatal(err)
	}
	next = n.feed(t, script, next, "what to do", func() bool {
		return log.count("make room where snapshots are kept") > 1
	})
	if err := empty(); err != nil {
		t.Fatal(err)
	}
	made := log.count("Replicas begin with a newer snapshot")
	next = n.feed(t, script, next, "newer snapshots", func() bool {
		return log.count("Replicas begin with a newer snapshot") > made
	})
	late := &replica{t: t, images: 1}
	g.run(func(ctx context.Context) error { return late.live(ctx, o) })
	next = n.feed(t, script, next, "a replica that begins later", func() bool {
		_, begun := late.standing()
		return begun
	})
	for i, x := range []*replica{x, late} {
		eventually(t, "the replica at the head", func() bool { return x.at(script[next-1].Point) })
		if err := x.same(script, next-1); err != nil {
			t.Fatalf("replica %d: %v", i, err)
		}
		if x.images != i+1 {
			t.Errorf("replica %d has loaded %d snapshots", i, x.images-i)
		}
	}
}

// fullFolder takes a part, and has no room for what follows.
type fullFolder struct{ snapshotFolder }

func (f fullFolder) put(ctx context.Context, name string, part []byte) error {
	if err := f.snapshotFolder.put(ctx, name, part); err != nil {
		return err
	}
	return &os.PathError{Op: "write", Path: name, Err: syscall.ENOSPC}
}

// Of a snapshot that has no room nothing is left.
func TestWhatHadNoRoomIsDropped(t *testing.T) {
	t.Parallel()
	o, s := fleetOf(t, t.TempDir())
	t.Cleanup(s.Stop)
	f, err := NewFollower(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	place, err := f.place(t.Context(), f.js)
	if err != nil {
		t.Fatal(err)
	}
	x := &turn{Publisher: NewPublisher(PublisherOptions{Options: o, Source: newNode(t, 1<<20)}), js: f.js}
	if x.rooms, err = f.create(t.Context(), f.js, place); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	x.parts = fullFolder{snapshotFolder{dir}}
	if _, err := x.snapshot(t.Context(), 1); !errors.Is(err, errNoRoom) {
		t.Errorf("a snapshot without room: %v", err)
	}
	if list, err := os.ReadDir(dir); len(list) > 0 || err != nil {
		t.Errorf("there are %v, %v", list, err)
	}
}

// What says that there is no room is told from what may be tried again.
func TestNoRoomIsToldFromOtherFailures(t *testing.T) {
	for _, x := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{errors.New("anything"), false},
		{context.DeadlineExceeded, false},
		{fmt.Errorf("put: %w", &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}), true},
		{fmt.Errorf("put: %w", &jetstream.APIError{ErrorCode: 10023, Description: "insufficient resources"}), true},
		{&jetstream.APIError{ErrorCode: 10077, Description: "maximum bytes exceeded"}, true},
		{&jetstream.APIError{ErrorCode: 10077, Description: "write x: no space left on device"}, true},
		{&jetstream.APIError{ErrorCode: 10059, Description: "stream not found"}, false},
	} {
		if got := hasNoRoom(x.err); got != x.want {
			t.Errorf("%v: %v", x.err, got)
		}
	}
}

// A replica that cannot write says so to its process, keeps its state, and goes on from there when it can.
func TestAReplicaHasNoRoom(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	o, s := fleetOf(t, t.TempDir())
	t.Cleanup(s.Stop)
	script := newScript(r, 12000, 6)
	n := newNode(t, 1<<30)
	g := newGroup(t)
	defer g.stop() // before the stores are closed
	g.run(NewPublisher(PublisherOptions{Options: o, Source: n, SnapshotEvery: time.Hour}).Run)
	x := &replica{t: t}
	ended := make(chan error, 1)
	g.run(func(ctx context.Context) error { ended <- x.live(ctx, o); return nil })
	full := fmt.Errorf("apply a block: %w", syscall.ENOSPC)
	var at fleet.Point
	next := n.feed(t, script, 0, "the replica has no room", func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		switch {
		case x.applied > 10 && at == (fleet.Point{}):
			x.refuse, at = full, x.head()
		case at != (fleet.Point{}) && x.refuse == nil:
			return true
		}
		return false
	})
	if err := <-ended; !errors.Is(err, syscall.ENOSPC) || errors.Is(err, ErrBeginAgain) || !x.at(at) {
		t.Fatalf("the replica, which was at block %d, has ended with %v", at.Revision, err)
	}
	g.run(func(ctx context.Context) error { return x.live(ctx, o) })
	eventually(t, "the replica at the head", func() bool { return x.at(script[next-1].Point) })
	if err := x.same(script, next-1); err != nil {
		t.Fatal(err)
	}
	if x.images != 1 {
		t.Errorf("the replica has loaded %d snapshots", x.images)
	}
}
