package stream

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"

	"tarn/fleet"
	"tarn/store"
)

// bystander is a replica that keeps only how much came at once.
type bystander struct {
	head fleet.Point
	most int64
}

func (r *bystander) Head() (head, final fleet.Point) { return r.head, r.head }

func (r *bystander) Prepare(blocks []fleet.Block, _ fleet.Point) (Apply, error) {
	m := fleet.Move{Blocks: blocks}
	return func(context.Context, fleet.Point) error {
		r.head, r.most = m.To(), max(r.most, m.Size())
		return nil
	}, nil
}

// watched is a replica that can be compared, and notes where it stopped and how often it was looked at.
type watched struct {
	bystander
	stops []uint64
	views int
}

func (r *watched) Prepare(blocks []fleet.Block, final fleet.Point) (Apply, error) {
	apply, err := r.bystander.Prepare(blocks, final)
	return func(ctx context.Context, base fleet.Point) error {
		r.stops = append(r.stops, blocks[len(blocks)-1].Revision)
		return apply(ctx, base)
	}, err
}

func (r *watched) View() (store.View, error) {
	r.views++
	return nil, errors.New("there is none")
}

// watching is a walk of a replica that has met its head.
func watching(t *testing.T, r Replica) *walk {
	t.Helper()
	f := &Follower{Options: Options{Log: slog.New(slog.DiscardHandler)}}
	f.lag.Store(new(Lag))
	f.verify.f = f
	t.Cleanup(f.verify.begin(t.Context(), r, func(error) {}))
	return &walk{Follower: f, replica: r, met: true, reader: fleet.NewReader(fleet.Limits{})}
}

// A replica stops at a block that was named after its move was joined.
func TestJoinedMovesStopAtABlockThatIsNamed(t *testing.T) {
	r := &watched{}
	w := watching(t, r)
	to := fleet.NewWriter(fleet.Header{Line: 1}, fleet.Limits{})
	at := fleet.Point{}
	for i := range uint64(3) {
		next := fleet.Point{Revision: i + 1, ID: fleet.ID{byte(i), 1}}
		messages, err := to.Write(&fleet.Move{Blocks: []fleet.Block{{Parent: at, Point: next}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.read(t.Context(), messages[0]); err != nil {
			t.Fatal(err)
		}
		if i == 1 {
			w.verify.nodeNames(next)
		}
		at = next
	}
	if err := errors.Join(w.applyJoined(t.Context()), w.settle()); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(r.stops, []uint64{2, 3}) || r.views != 1 {
		t.Errorf("it stopped at %d, and was looked at %d times", r.stops, r.views)
	}
}

// Nobody looks at a replica while a move is applied: it shows a block that it is not at yet.
func TestJoinedMovesAreAppliedUnseen(t *testing.T) {
	r := &watched{}
	w := watching(t, r)
	w.verify.nodeNames(fleet.Point{})
	w.applying = make(chan error, 1)
	w.idle()
	if r.views != 0 {
		t.Error("it was looked at while a move was applied")
	}
	w.applying = nil
	if w.idle(); r.views != 1 {
		t.Errorf("it was looked at %d times", r.views)
	}
}

// A replica that failed has failed, whatever was read meanwhile.
func TestJoinedMovesThatFailEndTheWalk(t *testing.T) {
	w := watching(t, &watched{})
	w.applying = make(chan error, 1)
	w.applying <- errApply
	if err := w.end(ErrBeginAgain); !errors.Is(err, errApply) || errors.Is(err, ErrBeginAgain) {
		t.Error(err)
	}
	if err := w.end(ErrBeginAgain); !errors.Is(err, ErrBeginAgain) {
		t.Error(err)
	}
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
