package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"tarn/fleet"
	"tarn/store"
)

// Snapshot is a state that a replica can begin with.
type Snapshot struct {
	Line     uint64      `json:"line"`
	Chain    fleet.ID    `json:"chain"`
	Point    fleet.Point `json:"point"`
	Sequence uint64      `json:"sequence"`       // of the first message that may tell what came after
	Kept     string      `json:"kept,omitempty"` // in a "folder"; "" for the servers' object store
	Object   string      `json:"object"`         // its name there; a part's has the number behind it
	Parts    int         `json:"parts"`
	Bytes    uint64      `json:"bytes"`
	fleet.RowsSum
	Made  time.Time `json:"made"`
	Older []Older   `json:"older,omitempty"`
}

// Older is a snapshot from which newer ones have taken its place, and which replicas may still be loading.
type Older struct {
	Object string `json:"object"`
	// Left is how long it stays at least, in milliseconds since it was announced so; 0 for as long as any. No clock but
	// that of the node that publishes measures it, from when the node has seen it first: a time of day would be one
	// thing for one node, and another for the next, or after its clock was set.
	Left int64 `json:"left,omitempty"`
}

// stays measures for a publisher how long older snapshots stay. One goroutine at a time calls its methods.
type stays struct {
	most time.Duration
	now  func() time.Time // time.Now, whose readings are not changed by who sets the clock
	seen map[string]seenOlder
}

type seenOlder struct {
	at   time.Time
	left time.Duration
}

// keep is which of the older ones stay, with how much longer.
func (s *stays) keep(list []Older) (kept []Older) {
	now, listed := s.now(), map[string]seenOlder{}
	for _, o := range list {
		x, known := s.seen[o.Object]
		if !known {
			x = seenOlder{now, s.most}
			if o.Left > 0 && o.Left < s.most.Milliseconds() {
				x.left = time.Duration(o.Left) * time.Millisecond
			}
		}
		listed[o.Object] = x
		if left := x.left - now.Sub(x.at); left > 0 {
			kept = append(kept, Older{Object: o.Object, Left: max(1, left.Milliseconds())})
		}
	}
	s.seen = listed // and nothing of those that are gone
	return kept
}

// end lets none of the older ones stay any longer: who loads one cannot go on from it.
func (s *stays) end() {
	for object, x := range s.seen {
		x.left = 0
		s.seen[object] = x
	}
}

// snapshotKey is where the newest snapshot is announced.
const snapshotKey = "newest"

// Image is a state that is to become a snapshot. Who gets it closes the view.
type Image struct {
	fleet.ImageHeader
	View store.View
}

// upload writes an image to where the fleet's snapshots are kept.
func (r *rooms) upload(ctx context.Context, line uint64, im Image) (s Snapshot, err error) {
	// A name is used once: two nodes' images of a block need not be the same bytes.
	s = Snapshot{Line: line, Chain: im.Chain, Point: im.Point, Kept: r.parts.kept(),
		Object: fmt.Sprintf("%016x-%d-%s", line, im.Revision, newName()), Made: time.Now().UTC()}
	w := &partWriter{ctx: ctx, store: r.parts, object: s.Object}
	sum, err := fleet.WriteImage(w, im.ImageHeader, im.View, func(int64) error { return context.Cause(ctx) })
	if err == nil {
		err = w.flush()
	}
	if err != nil {
		return s, fmt.Errorf("upload a snapshot of block %d: %w", im.Revision, err)
	}
	s.Parts, s.Bytes, s.RowsSum = w.parts, w.bytes, sum
	return s, nil
}

// announce makes a snapshot the one that replicas begin with. The one before it stays for a while.
func (r *rooms) announce(ctx context.Context, s Snapshot, stays *stays) error {
	before, err := r.newest(ctx)
	switch {
	case err == nil:
		s.Older = stays.keep(append(before.Older, Older{Object: before.Object}))
	case !errors.Is(err, errNoSnapshot) && !errors.Is(err, fleet.ErrDamaged):
		return err
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if _, err := r.snapshots.Put(ctx, snapshotKey, text); err != nil {
		return fmt.Errorf("announce the snapshot of block %d: %w", s.Point.Revision, err)
	}
	return nil
}

// dropSnapshots deletes what no replica loads any more, or ever could.
func (r *rooms) dropSnapshots(ctx context.Context, stays *stays) error {
	newest, err := r.newest(ctx)
	if err != nil && !errors.Is(err, errNoSnapshot) && !errors.Is(err, fleet.ErrDamaged) {
		return err
	}
	keep := map[string]bool{newest.Object: true}
	for _, o := range stays.keep(newest.Older) {
		keep[o.Object] = true
	}
	return r.parts.drop(ctx, func(object string) bool { return !keep[object] })
}

// announces tells whether replicas may be loading a snapshot.
func (r *rooms) announces(ctx context.Context, object string) bool {
	s, err := r.newest(ctx)
	return err == nil && (s.Object == object ||
		slices.ContainsFunc(s.Older, func(o Older) bool { return o.Object == object }))
}

// errNoSnapshot says that nothing is there yet for a replica to begin with.
var errNoSnapshot = errors.New("the publisher has made no snapshot yet")

// newest is the snapshot that replicas begin with.
func (r *rooms) newest(ctx context.Context) (s Snapshot, err error) {
	e, err := r.snapshots.Get(ctx, snapshotKey)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return s, errNoSnapshot
	}
	if err != nil {
		return s, fmt.Errorf("find the newest snapshot: %w", err)
	}
	if err := json.Unmarshal(e.Value(), &s); err != nil {
		return s, fmt.Errorf("the announcement of the newest snapshot: %w: %w", fleet.ErrDamaged, err)
	}
	return s, nil
}
