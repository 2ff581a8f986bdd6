package stream

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
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
	Sequence uint64      `json:"sequence"` // of the first message that may tell what came after
	Object   string      `json:"object"`   // its name in the object store; a part's has the number behind it
	Parts    int         `json:"parts"`
	Bytes    uint64      `json:"bytes"`
	Rows     int64       `json:"rows"`
	Hash     fleet.ID    `json:"hash"` // of all rows
	Made     time.Time   `json:"made"`
	Older    []Older     `json:"older,omitempty"`
}

// Older is a snapshot from which newer ones have taken its place, and which replicas may still be loading.
type Older struct {
	Object string    `json:"object"`
	Until  time.Time `json:"until"`
}

// snapshotKey is where the newest snapshot is announced.
const snapshotKey = "newest"

// Image is a state that is to become a snapshot. Who gets it closes the view.
type Image struct {
	fleet.ImageHeader
	View store.View
}

// upload writes an image to the object store.
func (r *rooms) upload(ctx context.Context, line uint64, im Image) (s Snapshot, err error) {
	// A name is used once: two nodes' images of a block need not be the same bytes.
	s = Snapshot{Line: line, Chain: im.Chain, Point: im.Point, Object: fmt.Sprintf("%016x-%d-%s", line, im.Revision, newName()), Made: time.Now().UTC()}
	w := &partWriter{ctx: ctx, objects: r.objects, object: s.Object}
	sum, err := fleet.WriteImage(w, im.ImageHeader, im.View, func(int64) error { return context.Cause(ctx) })
	if err == nil {
		err = w.flush()
	}
	if err != nil {
		return s, fmt.Errorf("upload a snapshot of block %d: %w", im.Revision, err)
	}
	s.Parts, s.Bytes, s.Rows, s.Hash = w.parts, w.bytes, sum.Rows, sum.Hash
	return s, nil
}

// announce makes a snapshot the one that replicas begin with. The one before it stays for a while.
func (r *rooms) announce(ctx context.Context, s Snapshot, stay time.Duration) error {
	before, err := r.newest(ctx)
	switch {
	case err == nil:
		now := time.Now().UTC()
		s.Older = slices.DeleteFunc(before.Older, func(o Older) bool { return now.After(o.Until) })
		s.Older = append(s.Older, Older{Object: before.Object, Until: now.Add(stay)})
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

// dropSnapshots deletes what no replica loads any more, or ever could. Of a deleted object nothing stays, as a marker
// would that the library leaves.
func (r *rooms) dropSnapshots(ctx context.Context) error {
	newest, err := r.newest(ctx)
	if err != nil && !errors.Is(err, errNoSnapshot) && !errors.Is(err, fleet.ErrDamaged) {
		return err
	}
	keep := map[string]bool{}
	for _, o := range newest.Older {
		keep[o.Object] = time.Now().Before(o.Until)
	}
	keep[newest.Object] = true
	list, err := r.objects.List(ctx)
	if errors.Is(err, jetstream.ErrNoObjectsFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list snapshots: %w", err)
	}
	for _, o := range list {
		if name, _, _ := strings.Cut(o.Name, "/"); keep[name] {
			continue
		}
		for _, subject := range []string{"C." + o.NUID, "M." + base64.URLEncoding.EncodeToString([]byte(o.Name))} {
			if err := r.objectStream.Purge(ctx, jetstream.WithPurgeSubject("$O."+o.Bucket+"."+subject)); err != nil {
				return fmt.Errorf("delete object %s: %w", o.Name, err)
			}
		}
	}
	return nil
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
