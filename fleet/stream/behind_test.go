package stream

import (
	"context"
	"errors"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"tarn/fleet"
)

// copyBehind is a stream of which a server answers whose copy lacks the last messages.
type copyBehind struct {
	jetstream.Stream
	last uint64
}

func (s *copyBehind) GetMsg(ctx context.Context, at uint64, o ...jetstream.GetMsgOpt) (*jetstream.RawStreamMsg, error) {
	if at > s.last {
		return nil, jetstream.ErrMsgNotFound
	}
	return s.Stream.GetMsg(ctx, at, o...)
}

// movesOf makes a stream of moves of a block each.
func movesOf(t *testing.T, f *Follower, n int) (s script, moves jetstream.Stream) {
	t.Helper()
	moves, err := f.js.CreateStream(t.Context(), jetstream.StreamConfig{
		Name: f.movesStream(), Subjects: []string{f.movesSubject()}, AllowDirect: true})
	if err != nil {
		t.Fatal(err)
	}
	s = newScript(seeded(t), n, 0)
	w := fleet.NewWriter(fleet.Header{Line: 1}, f.Limits)
	for _, b := range s {
		list, err := w.Write(&fleet.Move{Blocks: []fleet.Block{b}})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range list {
			if _, err := f.js.Publish(t.Context(), f.movesSubject(), m); err != nil {
				t.Fatal(err)
			}
		}
	}
	return s, moves
}

// Where the stream ends is not asked of a server that has not got the end: a move would come twice, with other blocks.
func TestACopyThatIsBehindEndsNoStream(t *testing.T) {
	t.Parallel()
	o, s := fleetOf(t, t.TempDir())
	t.Cleanup(s.Stop)
	f := openFollower(t, o)
	script, moves := movesOf(t, f, 9)
	r := rooms{moves: &copyBehind{moves, 7}}
	if end, err := r.readTail(t.Context()); err == nil {
		t.Errorf("the stream ends with move %d of 9", end.Number)
	}
	n := &node{line: fleet.NewLine(script[5].Point, nil, 1<<20)} // it knows a block that the copy has
	x := &turn{Publisher: NewPublisher(PublisherOptions{Options: o, Source: n}), rooms: r}
	end := tail{Header: fleet.Header{Line: 1, Number: 9, To: script[8].Point}, sequence: 9}
	if _, err := x.searchBack(t.Context(), end); err == nil || errors.Is(err, fleet.ErrGap) {
		t.Errorf("the stream begins again: %v", err)
	}
	// What somebody has deleted does not come.
	r.moves = moves
	if err := moves.DeleteMsg(t.Context(), 9); err != nil {
		t.Fatal(err)
	}
	if end, err := r.readTail(t.Context()); err != nil || end.Number != 8 || end.sequence != 9 {
		t.Errorf("the stream ends with move %d, message %d: %v", end.Number, end.sequence, err)
	}
}
