package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tarn/fleet"
	"tarn/store"
)

// Compared is a replica whose rows are the node's, without one more, so that they can be compared.
type Compared interface {
	Replica
	// View shows the head. It is called by the goroutine that calls Apply.
	View() (store.View, error)
}

// verification compares a replica's rows with the node's. While a comparison is due, views of what was applied are
// held. The node names its block, of which the view is kept then, and when it has read its rows, the replica reads that
// view. A replica that was not at that block by itself is not compared.
type verification struct {
	f   *Follower
	due atomic.Bool

	mu      sync.Mutex
	ctx     context.Context // while the replica follows; nil otherwise
	replica Compared        // nil for one that cannot be compared
	differs func(error)
	at      fleet.Point   // what was applied last
	held    []heldView    // of blocks of which one may be named, oldest first
	named   []heldView    // of blocks that were named, oldest first
	coming  []fleet.Point // that were named, and that the replica has not reached
	awaited *nodesRows    // of a block that the replica has not reached; nil for none
	busy    sync.WaitGroup
}

type heldView struct {
	at    fleet.Point
	view  store.View
	since time.Time
}

// nodesRows are the node's rows at a block, which a replica compares with its own.
type nodesRows struct {
	at  fleet.Point
	sum fleet.RowsSum
	// told is called once, by any goroutine, with the replica's own rows, or with why they were not read; nil for
	// nobody.
	told func(own *fleet.RowsSum, err error)
}

func (n *nodesRows) tell(own *fleet.RowsSum, err error) {
	if n.told != nil {
		n.told(own, err)
	}
}

// How many views there are at most, and for how long if nobody asks for them: a view keeps what is replaced after it.
const (
	mostHeld  = 64
	mostNamed = 2
	heldTime  = 10 * time.Second // after none was due any more
	namedTime = time.Hour
)

// forkTime is how long a replica that is at or beyond the node's block may still come there, over a switch of forks.
const forkTime = 5 * time.Second

// Why a replica is not compared.
var (
	errNotThere = errors.New(
		"the replica has passed the node's block without stopping there, or follows another branch")
	errNotFollowing = errors.New("the replica does not follow at the moment; it may be loading a snapshot")
	errNotAlike     = errors.New("the replica does not keep the node's rows as they are")
)

// begin begins to compare, if the replica can be compared. What is returned ends it. differs is told that the replica
// is not what the node is.
func (v *verification) begin(ctx context.Context, replica Replica, differs func(error)) (end func()) {
	head, _ := replica.Head()
	ctx, cancel := context.WithCancel(ctx)
	v.mu.Lock()
	v.ctx, v.differs, v.at = ctx, differs, head
	v.replica, _ = replica.(Compared)
	v.mu.Unlock()
	return func() {
		v.mu.Lock()
		v.ctx, v.coming = nil, nil
		v.held, v.named = v.keep(v.held, 0), v.keep(v.named, 0)
		v.await(nil)
		v.mu.Unlock()
		cancel()
		v.busy.Wait()
	}
}

// await lets what is awaited be another. The caller holds mu.
func (v *verification) await(next *nodesRows) {
	if v.awaited != nil {
		v.awaited.tell(nil, errNotThere)
	}
	v.awaited = next
}

// isWanted tells whether somebody wants to compare the state after a block, or may.
func (v *verification) isWanted(at fleet.Point) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.due.Load() || v.awaited != nil && v.awaited.at == at || slices.Contains(v.coming, at)
}

// applied says where the replica stands now, and keeps a view of that if somebody may ask for it.
func (v *verification) applied(at fleet.Point) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.at = at; v.ctx == nil || v.replica == nil {
		return
	}
	v.forget()
	n := v.awaited
	named := slices.Contains(v.coming, at)
	v.coming = slices.DeleteFunc(v.coming, func(p fleet.Point) bool { return p == at })
	if n != nil && n.at == at {
		if view := v.view(); view != nil {
			v.awaited = nil
			v.compareView(view, n)
		}
	}
	switch {
	case has(v.held, at) || has(v.named, at):
	case named:
		v.named = v.keep(v.look(v.named, at), mostNamed)
	case v.due.Load():
		v.held = v.keep(v.look(v.held, at), mostHeld)
	}
}

// forget gives back what nobody has asked for in a long time. The caller holds mu.
func (v *verification) forget() {
	if n := len(v.held); n > 0 && !v.due.Load() && time.Since(v.held[n-1].since) > heldTime {
		v.held = v.keep(v.held, 0)
	}
	if n := len(v.named); n > 0 && time.Since(v.named[0].since) > namedTime {
		v.named = v.keep(v.named, n-1)
	}
}

func has(list []heldView, at fleet.Point) bool {
	return slices.ContainsFunc(list, func(h heldView) bool { return h.at == at })
}

// look appends a view of the head, if there is one to be had. The caller holds mu.
func (v *verification) look(list []heldView, at fleet.Point) []heldView {
	if view := v.view(); view != nil {
		list = append(list, heldView{at, view, time.Now()})
	}
	return list
}

// view shows the head; nil if that fails, which the log says. The caller holds mu.
func (v *verification) view() store.View {
	view, err := v.replica.View()
	if err != nil {
		v.f.Log.Warn("The replica's state is not compared with the node's", "fleet", v.f.Name, "error", err)
		return nil
	}
	return view
}

// nodeNames keeps the view of a block that the node has named, or will when the replica comes there. Others are given
// back.
func (v *verification) nodeNames(at fleet.Point) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.ctx == nil || v.replica == nil || has(v.named, at) {
		return
	}
	if i := slices.IndexFunc(v.held, func(h heldView) bool { return h.at == at }); i >= 0 {
		v.named = v.keep(append(v.named, v.held[i]), mostNamed)
		v.held = slices.Delete(v.held, i, i+1)
	} else {
		v.coming = append(v.coming, at)
		v.coming = v.coming[max(0, len(v.coming)-mostNamed):]
	}
	v.giveBack()
}

// giveBack gives back what is held, unless another comparison is due. The caller holds mu.
func (v *verification) giveBack() {
	if !v.due.Load() {
		v.held = v.keep(v.held, 0)
	}
}

// idle is called where nothing has come for a while: the head may be what the node compares.
func (v *verification) idle() {
	v.mu.Lock()
	at := v.at
	v.mu.Unlock()
	v.applied(at)
}

// keep closes all views but the newest ones. The caller holds mu.
func (v *verification) keep(list []heldView, most int) []heldView {
	n := max(0, len(list)-most)
	for _, h := range list[:n] {
		v.close(h.view)
	}
	return slices.Clone(list[n:])
}

func (v *verification) close(view store.View) {
	if err := view.Close(); err != nil {
		v.f.Log.Warn("A view of the replica's state could not be given back", "fleet", v.f.Name, "error", err)
	}
}

// watchSnapshots hears of snapshots.
func (f *Follower) watchSnapshots(ctx context.Context) error {
	return f.watchKey(ctx, f.snapshotBucket(), snapshotKey, func(text []byte, _ bool) {
		var s Snapshot
		if json.Unmarshal(text, &s) == nil && len(s.Tables) > 0 {
			f.verify.compareAnnounced(&nodesRows{at: s.Point, sum: s.RowsSum})
		}
	})
}

// compareAnnounced compares the view of the node's block, if there is one, and gives others back. If the replica has not
// come that far, it will.
func (v *verification) compareAnnounced(n *nodesRows) {
	v.mu.Lock()
	defer v.mu.Unlock()
	view := v.take(n.at)
	switch {
	case v.ctx == nil:
		n.tell(nil, errNotFollowing)
	case v.replica == nil:
		n.tell(nil, errNotAlike)
	case view != nil:
		v.compareView(view, n)
	case v.awaited != nil && v.awaited.at == n.at && n.told == nil: // a snapshot that is announced again
	default:
		v.await(n)
		time.AfterFunc(forkTime, func() { v.doubt(n) })
	}
	v.giveBack()
}

// doubt awaits a block no longer that the replica has not come to, though it is as far.
func (v *verification) doubt(n *nodesRows) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case v.awaited != n:
	case v.at.Revision >= n.at.Revision:
		v.await(nil)
	default:
		time.AfterFunc(forkTime, func() { v.doubt(n) })
	}
}

// take takes the view of a block, nil for none. The caller holds mu.
func (v *verification) take(at fleet.Point) store.View {
	for _, list := range []*[]heldView{&v.named, &v.held} {
		if i := slices.IndexFunc(*list, func(h heldView) bool { return h.at == at }); i >= 0 {
			view := (*list)[i].view
			*list = slices.Delete(*list, i, i+1)
			return view
		}
	}
	return nil
}

// compareView compares a view, which is closed then. The caller holds mu.
func (v *verification) compareView(view store.View, n *nodesRows) {
	ctx, differs := v.ctx, v.differs
	v.busy.Go(func() { v.compare(ctx, view, n, differs) })
}

// compare reads all rows of a view, which it closes.
func (v *verification) compare(ctx context.Context, view store.View, n *nodesRows, differs func(error)) {
	defer v.close(view)
	own, err := fleet.Sum(view, func(int64) error { return context.Cause(ctx) })
	if err != nil {
		n.tell(nil, err)
		if ctx.Err() == nil {
			v.f.Log.Warn("The replica's state is not compared with the node's", "fleet", v.f.Name, "error", err)
		}
		return
	}
	n.tell(&own, nil)
	if own.Same(&n.sum) {
		v.f.Log.Info("The replica's state is the node's", "fleet", v.f.Name, "block", n.at.Revision, "rows", own.Rows,
			"hash", own.Hash)
		return
	}
	differs(fmt.Errorf(
		"%w: at block %d (%s) its %d rows have the hash %s, the node's %d rows have %s; tables that differ: %q",
		ErrBeginAgain, n.at.Revision, n.at.ID, own.Rows, own.Hash, n.sum.Rows, n.sum.Hash, own.Difference(&n.sum)))
}
