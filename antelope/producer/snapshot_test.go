package producer

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"tarn/antelope/admintypes"
	"tarn/antelope/chain"
	"tarn/antelope/chain/chaintest"
	"tarn/antelope/consensus"
	"tarn/antelope/exception"
	"tarn/antelope/snapshot"
	"tarn/antelope/types"
	"tarn/store/vfs"
	"tarn/store/vfs/errorfs"
	"tarn/writerloop"
)

func files(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// headerOf reads the block that a snapshot is of.
func headerOf(t *testing.T, path string) *consensus.HeaderState {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := snapshot.FromFile(f)
	if err != nil {
		t.Fatal(err)
	}
	h, err := snapshot.Header(r)
	if err != nil {
		t.Fatal(err)
	}
	return h.HeaderState
}

func TestASnapshotGetsItsNameWhenItsBlockIsIrreversible(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		n := newNode(t, chain.Options{}, produces("eosio"))
		n.run()
		time.Sleep(5*time.Second + 10*time.Millisecond)
		head := n.Head()
		type answer struct {
			admintypes.Snapshot
			error
		}
		answers := make(chan answer, 2)
		for range 2 { // both wait for the same one
			go func() {
				s, err := n.CreateSnapshot(context.Background())
				answers <- answer{s, err}
			}()
		}
		synctest.Wait()
		if got := files(t, n.opt.SnapshotsDir); !slices.Equal(got,
			[]string{".pending-snapshot-" + head.ID.String() + ".bin"}) {
			t.Errorf("before the block is irreversible: %q", got)
		}
		for range 2 {
			a := <-answers
			if a.error != nil {
				t.Fatal(a.error)
			}
			if a.HeadID != head.ID || a.HeadNum != head.Num || a.Version != 6 || filepath.Base(a.Name) != "snapshot-"+
				head.ID.String()+".bin" {
				t.Errorf("%+v", a.Snapshot)
			}
		}
		if n.Head().IrreversibleNum < head.Num {
			t.Error("the answer came before the block was irreversible")
		}
		if got := files(t, n.opt.SnapshotsDir); !slices.Equal(got, []string{"snapshot-" + head.ID.String() + ".bin"}) {
			t.Errorf("files %q", got)
		}
		if h := headerOf(t, filepath.Join(n.opt.SnapshotsDir, "snapshot-"+head.ID.String()+".bin")); h.ID != head.ID {
			t.Errorf("it is of block %s", h.ID)
		}
	})
}

func TestASnapshotOfABlockThatLosesIsRemoved(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		var links []*link
		nodes := threeProducers(t, ctx, &links)
		for _, i := range []int{0, 1, 2, 4} {
			links[i].set(true)
		}
		var made *consensus.BlockState
		for made == nil { // until node 0 produces, alone
			before := len(nodes[0].makings())
			time.Sleep(time.Second)
			if list := nodes[0].makings(); len(list) > before+1 {
				made = list[len(list)-1].block
			}
		}
		failed := make(chan error, 1)
		go func() {
			_, err := nodes[0].CreateSnapshot(ctx)
			failed <- err
		}()
		time.Sleep(30 * time.Second)
		for _, l := range links {
			l.set(false)
		}
		if err := <-failed; !exception.Is(err, exception.SnapshotFinalization) {
			t.Errorf("the answer is %v", err)
		}
		if got := files(t, nodes[0].opt.SnapshotsDir); len(got) > 0 {
			t.Errorf("files are left: %q", got)
		}
	})
}

func TestSnapshotsAreMadeAsScheduled(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		ctx := context.Background()
		n := newNode(t, chain.Options{}, produces("eosio"))
		n.run()
		time.Sleep(2 * time.Second)
		once, err := n.ScheduleSnapshot(ctx, 0, new(uint32(20)), nil, "once")
		if err != nil || once.ID != 0 || once.End != math.MaxUint32 {
			t.Fatalf("%+v, %v", once, err)
		}
		if _, err := n.ScheduleSnapshot(ctx, 10, new(uint32(25)), new(uint32(46)), "three times"); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			spacing, start, end uint32
			want                *exception.Kind
		}{
			{10, 25, 46, exception.DuplicateSnapshotRequest},
			{0, 30, 29, exception.InvalidSnapshotRequest},
			{10, 30, 39, exception.InvalidSnapshotRequest},
		} {
			if _, err := n.ScheduleSnapshot(ctx, c.spacing, &c.start, &c.end, ""); !exception.Is(err, c.want) {
				t.Errorf("%+v: %v", c, err)
			}
		}
		if list, err := n.SnapshotRequests(ctx); err != nil || len(list) != 2 || list[1].Description != "three times" {
			t.Errorf("%+v, %v", list, err)
		}
		time.Sleep(time.Minute)
		var nums []uint32
		for _, f := range files(t, n.opt.SnapshotsDir) {
			if strings.HasPrefix(f, "snapshot-0") {
				nums = append(nums, headerOf(t, filepath.Join(n.opt.SnapshotsDir, f)).BlockNum)
			} else if f != scheduleName {
				t.Errorf("file %s", f)
			}
		}
		if !slices.Equal(nums, []uint32{20, 25, 35, 45}) {
			t.Errorf("snapshots of blocks %d", nums)
		}
		if list, err := n.SnapshotRequests(ctx); err != nil || len(list) != 0 {
			t.Errorf("left of the schedule: %+v, %v", list, err)
		}
		if _, err := n.UnscheduleSnapshot(ctx, 1); !exception.Is(err, exception.SnapshotRequestNotFound) {
			t.Errorf("unscheduling what is gone: %v", err)
		}
	})
}

// Snapshots that are due while one is being written would hold one state after the other,
// and a disk that is slower than the schedule would never be done.
func TestScheduledSnapshotsDoNotPileUp(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		n := newNode(t, chain.Options{}, produces("eosio"))
		slow := &pendingSnapshot{request: new(admintypes.SnapshotSchedule)}
		n.snapshot.pending[types.Checksum256{1}] = slow // that of a block, which is not written yet
		n.run()
		if _, err := n.ScheduleSnapshot(context.Background(), 1, nil, nil, "each block"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		for _, f := range files(t, n.opt.SnapshotsDir) {
			if f != scheduleName {
				t.Errorf("beside one that is being written there is %s", f)
			}
		}
		if !strings.Contains(n.lines(), "is left out") {
			t.Error("the log does not tell what was left out")
		}
	})
}

func TestTheScheduleOfSnapshotsOutlivesTheNode(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		ctx := context.Background()
		n := newNode(t, chain.Options{}, nil)
		n.run()
		var want []admintypes.SnapshotRequest
		for i := range uint32(3) {
			r, err := n.ScheduleSnapshot(ctx, 100*i, new(1000+i), nil, "a \"description\"")
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, r)
		}
		if _, err := n.UnscheduleSnapshot(ctx, 0); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(n.opt.SnapshotsDir, scheduleName))
		if err != nil || !strings.Contains(string(text), `"block_spacing": "100"`) {
			t.Errorf("%s, %v", text, err)
		}
		again := newNode(t, chain.Options{}, func(o *Options) { o.SnapshotsDir = n.opt.SnapshotsDir })
		again.run()
		var got []admintypes.SnapshotRequest
		list, err := again.SnapshotRequests(ctx)
		for _, r := range list {
			got = append(got, r.SnapshotRequest)
		}
		if err != nil || !slices.Equal(got, want[1:]) {
			t.Errorf("%+v, %v", got, err)
		}
		if r, err := again.ScheduleSnapshot(ctx, 7, nil, nil, ""); err != nil || r.ID != 3 {
			t.Errorf("the next request is %+v, %v", r, err)
		}
		for _, id := range []uint32{1, 2, 3} {
			if _, err := again.UnscheduleSnapshot(ctx, id); err != nil {
				t.Error(err)
			}
		}
		third := newNode(t, chain.Options{}, func(o *Options) { o.SnapshotsDir = n.opt.SnapshotsDir })
		if strings.Contains(third.lines(), "unable to restore") || len(third.snapshot.requests) != 0 {
			t.Errorf("an empty schedule: %s", third.lines())
		}
	})
}

// A snapshot that was made has a name that a power cut leaves: what its folder cannot
// promise is no success.
func TestASnapshotWhoseNameIsNotDurableWasNotMade(t *testing.T) {
	for _, op := range []errorfs.Op{errorfs.Rename, errorfs.SyncDir} {
		inBubble(t, func(t *testing.T) {
			bad := errorfs.New(vfs.OS)
			n := newNode(t, chain.Options{}, func(o *Options) {
				o.Files = bad
				produces("eosio")(o)
			})
			n.run()
			time.Sleep(2 * time.Second)
			// Of the names only the final one's folder is synced; of two renames it is the last.
			nth := map[errorfs.Op]int{errorfs.Rename: 2, errorfs.SyncDir: 1}[op]
			fired := bad.Inject(errorfs.Fault{Ops: op, Nth: nth, Err: syscall.EIO})
			if _, err := n.CreateSnapshot(context.Background()); !exception.Is(err, exception.SnapshotFinalization) ||
				fired() != 1 {
				t.Errorf("%v failed %d times: %v", op, fired(), err)
			}
			time.Sleep(time.Second)
			if s, err := n.CreateSnapshot(context.Background()); err != nil ||
				!slices.Contains(files(t, n.opt.SnapshotsDir), filepath.Base(s.Name)) {
				t.Errorf("the next one: %v, %v", s, err)
			}
		})
	}
}

// Whatever call fails, the schedule's file is that of before or the new one.
func TestAScheduleThatCannotBeSavedLeavesTheOneOfBefore(t *testing.T) {
	for nth := 1; ; nth++ {
		done := false
		inBubble(t, func(t *testing.T) {
			bad := errorfs.New(vfs.OS)
			n := newNode(t, chain.Options{}, func(o *Options) { o.Files = bad })
			n.run()
			if _, err := n.ScheduleSnapshot(context.Background(), 100, nil, nil, "first"); err != nil {
				t.Fatal(err)
			}
			fired := bad.Inject(errorfs.Fault{Ops: errorfs.All, Nth: nth, Err: syscall.EIO, Part: true})
			if _, err := n.ScheduleSnapshot(context.Background(), 200, nil, nil, "second"); err != nil {
				t.Fatal(err)
			}
			done = fired() == 0
			if !done && !strings.Contains(n.lines(), "unable to store snapshots schedule") {
				t.Errorf("call %d failed, and the log says %s", nth, n.lines())
			}
			s := &snapshots{dir: n.opt.SnapshotsDir, files: vfs.OS}
			if err := s.load(); err != nil || len(s.requests) < 1 || s.requests[0].Description != "first" {
				t.Errorf("call %d failed, and the schedule has %d requests: %v", nth, len(s.requests), err)
			}
		})
		if done {
			return
		}
	}
}

// Leap 4 wrote numbers for what has no end as 0.
func FuzzSnapshotSchedule(f *testing.F) {
	f.Add(
		[]byte(
			`{"snapshot_requests":[{"snapshot_request_id":"3","snapshot_description":"d","block_spacing":"5",` +
				`"start_block_num":"1","end_block_num":"0"}]}`))
	f.Add([]byte(`{"snapshot_requests":""}`))
	f.Add([]byte(`{"snapshot_requests":[{"snapshot_request_id":3,"block_spacing":99999999999}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, scheduleName), text, 0o644); err != nil {
			t.Fatal(err)
		}
		s := &snapshots{dir: dir, files: vfs.OS}
		if s.load() != nil {
			return
		}
		for _, r := range s.requests {
			if r.End == 0 || r.ID >= s.nextID && s.nextID != 0 {
				t.Errorf("%+v, next %d", r.SnapshotRequest, s.nextID)
			}
		}
		s.save()
		again := &snapshots{dir: dir}
		if err := again.load(); err != nil || len(again.requests) != len(s.requests) {
			t.Errorf("saved and loaded: %d of %d, %v", len(again.requests), len(s.requests), err)
		}
	})
}

// While a snapshot is written blocks go on: the writer waits for nobody.
func TestASnapshotThatIsNotFinishedDoesNotOutliveTheNode(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		n := newNode(t, chain.Options{}, produces("eosio"))
		n.run()
		time.Sleep(5*time.Second + 10*time.Millisecond)
		n.Pause()
		failed := make(chan error, 1)
		time.Sleep(time.Second)
		go func() {
			_, err := n.CreateSnapshot(context.Background())
			failed <- err
		}()
		time.Sleep(time.Second)
		if text := n.lines(); strings.Count(text, "waits until that block is irreversible") != 1 {
			t.Errorf("the log does not say why the request waits: %.2000s", text)
		}
		n.stop(t)
		if err := <-failed; err != writerloop.ErrStopped {
			t.Errorf("the answer is %v", err)
		}
		for _, f := range files(t, n.opt.SnapshotsDir) {
			if strings.HasPrefix(f, ".incomplete") || strings.HasPrefix(f, "snapshot-") {
				t.Errorf("file %s", f)
			}
		}
	})
}

func TestTheIntegrityHashIsThatOfTheHead(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		n := newNode(t, chain.Options{}, produces("eosio"))
		n.run()
		time.Sleep(5*time.Second + 10*time.Millisecond)
		id, got, err := n.IntegrityHash(context.Background())
		if err != nil || id != n.Head().ID {
			t.Fatalf("%s, %v", id, err)
		}
		var want types.Checksum256
		err = n.Do(context.Background(), func(c *chain.Chain) error {
			want, err = chaintest.Hash(c)
			return err
		})
		if err != nil || got != want {
			t.Errorf("%s, want %s, %v", got, want, err)
		}
	})
}
