package stream

import (
	"context"
	"errors"
	"testing"

	"tarn/fleet"
)

// bystander is a replica that keeps only how much came at once.
type bystander struct {
	head fleet.Point
	most int64
}

func (r *bystander) Head() (head, final fleet.Point) { return r.head, r.head }

func (r *bystander) Apply(_ context.Context, _ fleet.Point, blocks []fleet.Block, _ fleet.Point) error {
	m := fleet.Move{Blocks: blocks}
	r.head, r.most = m.To(), max(r.most, m.Size())
	return nil
}

// What waits joined is bounded by what it takes, however well its messages are compressed.
func TestJoinedMovesAreBounded(t *testing.T) {
	r := &bystander{}
	f := &Follower{}
	f.lag.Store(new(Lag))
	f.verify.f = f
	w := &walk{Follower: f, replica: r, met: true, reader: fleet.NewReader(fleet.Limits{})}
	to := fleet.NewWriter(fleet.Header{Line: 1}, fleet.Limits{})
	const moves, rows = 100, 1 << 20
	at := fleet.Point{}
	for i := range uint64(moves) {
		next := fleet.Point{Revision: i + 1, ID: fleet.ID{byte(i), 1}}
		messages, err := to.Write(&fleet.Move{Blocks: []fleet.Block{{Parent: at, Point: next, Rows: make([]byte, rows)}}})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range messages {
			if err := w.read(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		}
		at = next
	}
	if err := errors.Join(w.applyJoined(t.Context()), w.settle()); err != nil {
		t.Fatal(err)
	}
	if r.head != at || r.most > joinedBytes || r.most <= rows+joinedBytes/2 {
		t.Errorf("the replica is at block %d of %d, and %d bytes came at once at most", r.head.Revision, moves, r.most)
	}
}
