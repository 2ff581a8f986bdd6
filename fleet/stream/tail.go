package stream

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tarn/fleet"
)

// RoleExport is the role of a member that keeps no state, and takes moves for files of its own.
const RoleExport = "export"

// Taker takes a fleet's moves one after another. It has no state that moves fit to or not: it looks itself whether one
// follows the other. Its methods are called by one goroutine.
type Taker interface {
	// From is asked for before the first move, and after each interruption. It is a revision: the moves that come then
	// begin with one that leads there or beyond, and may have come before. 0 is for the oldest move that is kept.
	From() uint64
	// Take takes the next move, which is valid until Take returns. newest says that the move came after all that
	// were there when the reading began, or was the last of them. An error ends the reading.
	Take(m *fleet.Move, newest bool) error
}

// Tail reads the moves of a fleet for a taker.
type Tail struct {
	Options
	conn *nats.Conn
	js   jetstream.JetStream
	at   atomic.Pointer[fleet.Point]
}

// NewTail makes a tail, which connects by and by, and is a member of the fleet that has a role. The options are valid.
func NewTail(o Options, role string) (*Tail, error) {
	o = o.withDefaults()
	t := &Tail{Options: o}
	var err error
	if t.conn, t.js, err = o.connect(role); err != nil {
		return nil, err
	}
	t.Stand(fleet.Point{})
	about := newMember(role, newName())
	err = t.introduce(t.conn, func() Member {
		x := about
		x.Head = *t.at.Load()
		return x
	})
	if err != nil {
		t.conn.Close()
		return nil, err
	}
	return t, nil
}

// Close ends the connection.
func (t *Tail) Close() { t.conn.Close() }

// Stand notes the block up to which the taker has what it wants, for who looks at the fleet. Any goroutine may call it.
func (t *Tail) Stand(at fleet.Point) { t.at.Store(&at) }

// errTake says that the taker failed, not the stream.
var errTake = errors.New("take the fleet's moves")

// mostReadings is how often the same damage is read before it is taken for what the stream has.
const mostReadings = 3

// Run reads until ctx ends, which is no error, or the taker fails. A connection that breaks is opened again. An error
// that wraps [fleet.ErrDamaged], [fleet.ErrGap] or [fleet.ErrTooLarge] says that the stream has been read several
// times, and has messages that are no moves, or of which one does not follow the other.
func (t *Tail) Run(ctx context.Context, taker Taker) error {
	var said string
	times := 0
	err := t.retry(ctx, "Reading the fleet's stream is interrupted", func() error {
		return t.read(ctx, taker)
	}, func(err error) bool {
		damaged := errors.Is(err, fleet.ErrDamaged) || errors.Is(err, fleet.ErrGap) || errors.Is(err, fleet.ErrTooLarge)
		if text := err.Error(); text != said || !damaged {
			said, times = text, 0
		}
		times++
		return errors.Is(err, errTake) || damaged && times == mostReadings
	})
	if ctx.Err() != nil && !errors.Is(err, errTake) {
		return nil
	}
	return err
}

// read reads from where the taker wants to begin.
func (t *Tail) read(ctx context.Context, taker Taker) error {
	moves, err := t.js.Stream(ctx, t.movesStream())
	if err != nil {
		return fmt.Errorf("open stream %s: %w", t.movesStream(), err)
	}
	r := rooms{moves: moves}
	from, last, err := r.search(ctx, taker.From())
	if err != nil {
		return err
	}
	reader := fleet.NewReader(t.Limits)
	return r.each(ctx, from, func(at uint64, message []byte) error {
		m, err := reader.Read(message)
		if errors.Is(err, fleet.ErrLine) { // the taker sees whether it goes on where the line before it ended
			reader.Forget()
			m, err = reader.Read(message)
		}
		if err != nil || m == nil {
			return err
		}
		if err := taker.Take(m, at >= last); err != nil {
			return fmt.Errorf("%w: %w", errTake, err)
		}
		return nil
	})
}

// each calls fn with the stream's messages from a sequence on, until ctx ends or an error.
func (r *rooms) each(ctx context.Context, from uint64, fn func(at uint64, message []byte) error) error {
	messages, err := r.messages(ctx, from)
	if err != nil {
		return err
	}
	defer messages.Stop()
	stop := context.AfterFunc(ctx, messages.Stop)
	defer stop()
	for {
		m, err := messages.Next()
		if err != nil {
			return fmt.Errorf("read the stream: %w", err)
		}
		about, err := m.Metadata()
		if err != nil {
			return fmt.Errorf("read the stream: %w", err)
		}
		if err := fn(about.Sequence.Stream, m.Data()); err != nil {
			return fmt.Errorf("message %d: %w", about.Sequence.Stream, err)
		}
	}
}
