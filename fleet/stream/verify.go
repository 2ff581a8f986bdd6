package stream

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"

	"tarn/fleet"
	"tarn/store"
)

// Compared is a replica whose rows are the node's, without one more, so that they can be compared.
type Compared interface {
	Replica
	// View shows the head. It is called by the goroutine that calls Apply.
	View() (store.View, error)
}

// verification compares a replica's rows with those of the node's snapshots. While one is due, views of what was applied
// are held; the one of the snapshot's block is read when the snapshot is announced. A replica that was not at that block by
// itself, as it was behind, is not compared.
type verification struct {
	f       *Follower
	replica Compared // nil for one that is not compared
	differs func(error)
	due     atomic.Bool

	mu    sync.Mutex
	held  []heldView // oldest first
	ended bool
	busy  sync.WaitGroup
}

type heldView struct {
	at   fleet.Point
	view store.View
}

// mostHeld is how many views are held at most: a view keeps what is replaced after it.
const mostHeld = 16

// begin begins to compare, if that was asked for and can be. What is returned ends it. differs is told that the replica is not
// what the node is.
func (v *verification) begin(f *Follower, replica Replica, differs func(error)) (end func()) {
	v.f, v.differs, v.ended = f, differs, false
	if v.replica = nil; f.Verify {
		v.replica, _ = replica.(Compared)
	}
	return func() {
		v.mu.Lock()
		v.ended = true
		v.drop(len(v.held))
		v.mu.Unlock()
		v.busy.Wait()
	}
}

// applied holds a view of what was applied.
func (v *verification) applied(at fleet.Point) {
	if v.replica == nil || !v.due.Load() {
		return
	}
	view, err := v.replica.View()
	if err != nil {
		v.f.Log.Warn("The replica's state is not compared with the node's", "fleet", v.f.Name, "error", err)
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.held = append(v.held, heldView{at, view})
	if len(v.held) > mostHeld || v.ended {
		v.drop(1)
	}
}

// drop closes the oldest views. The caller holds mu.
func (v *verification) drop(n int) {
	for i := range v.held[:n] {
		v.close(v.held[i].view)
	}
	v.held = append([]heldView(nil), v.held[n:]...)
}

func (v *verification) close(view store.View) {
	if err := view.Close(); err != nil {
		v.f.Log.Warn("A view of the replica's state could not be given back", "fleet", v.f.Name, "error", err)
	}
}

// watchSnapshots hears of snapshots.
func (f *Follower) watchSnapshots(ctx context.Context) error {
	return f.watchKey(ctx, f.snapshotBucket(), snapshotKey, func(text []byte) {
		var s Snapshot
		if json.Unmarshal(text, &s) == nil {
			f.verify.announced(ctx, &s)
		}
	})
}

// announced compares the view of a snapshot's block, if there is one, and gives the others back.
func (v *verification) announced(ctx context.Context, s *Snapshot) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := range v.held {
		if v.held[i].at != s.Point {
			continue
		}
		view := v.held[i].view
		v.held = append(v.held[:i:i], v.held[i+1:]...)
		v.busy.Go(func() {
			defer v.close(view)
			v.compare(ctx, view, s)
		})
		break
	}
	v.drop(len(v.held))
}

func (v *verification) compare(ctx context.Context, view store.View, s *Snapshot) {
	sum, err := fleet.Sum(view, func(int64) error { return context.Cause(ctx) })
	switch {
	case ctx.Err() != nil:
	case err != nil:
		v.f.Log.Warn("The replica's state is not compared with the node's", "fleet", v.f.Name, "error", err)
	case sum.Hash != s.Hash || sum.Rows != s.Rows:
		v.differs(fmt.Errorf("%w: at block %d (%s) its %d rows have the hash %s, the node's %d rows have %s", ErrBeginAgain,
			s.Point.Revision, s.Point.ID, sum.Rows, sum.Hash, s.Rows, s.Hash))
	default:
		v.f.Log.Info("The replica's state is the node's", "fleet", v.f.Name, "block", s.Point.Revision, "rows", sum.Rows, "hash", sum.Hash)
	}
}
