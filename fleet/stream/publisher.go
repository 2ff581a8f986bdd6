package stream

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tarn/fleet"
)

// Source is the chain whose moves are published.
type Source interface {
	// Line has what the chain's writer adds.
	Line() *fleet.Line
	// Image shows the head's state, and nothing of a block that is being made. It may wait for the writer.
	Image(ctx context.Context) (Image, error)
}

// PublisherOptions are what a publisher needs besides the servers.
type PublisherOptions struct {
	Options
	Source        Source
	SnapshotEvery time.Duration // time between two snapshots; 0 is an hour
	Answers       Answers       // for replicas
	// Ready says why the node should not be asked, nil if it may. Replicas say the same of themselves while it
	// publishes. It is nil for a node that always may, and called by any goroutine.
	Ready func() error
}

// Publisher publishes a chain, or stands by while another node of the fleet does.
type Publisher struct {
	PublisherOptions
	node  string // a name of this run
	log   *slog.Logger
	leads atomic.Bool // it holds the publisher's place
	due   atomic.Bool // a snapshot is about to be taken
	next  time.Time   // when the next snapshot is due, also in a later turn; zero before the first turn

	compare   chan string // where to answer who asks for a comparison
	comparing atomic.Bool // the head's rows are about to be read for one

	compared atomic.Uint64 // the block that is compared, or was last; replicas stop there

	stays   *stays // of older snapshots; of who publishes
	answers bool   // replicas' questions; of the goroutine that runs

	kept       atomic.Pointer[fleet.Point] // the newest block that the servers have
	responding sync.WaitGroup
	telling    atomic.Int64 // bytes of answers that are being sent
}

// NewPublisher makes a publisher. The options are valid.
func NewPublisher(o PublisherOptions) *Publisher {
	o.Options = o.Options.withDefaults()
	if o.SnapshotEvery == 0 {
		o.SnapshotEvery = time.Hour
	}
	return &Publisher{PublisherOptions: o, node: newName(), log: o.Log, compare: make(chan string),
		stays: &stays{most: max(o.SnapshotEvery, leastStay), now: time.Now}}
}

// newName draws a name for a run.
func newName() string {
	var name [8]byte
	rand.Read(name[:]) //nolint:errcheck // it never fails
	return hex.EncodeToString(name[:])
}

// Run publishes until ctx ends. Whatever the servers do, it goes on trying, and says so in the log.
func (p *Publisher) Run(ctx context.Context) error {
	conn, js, err := p.connect("publisher")
	if err != nil {
		return err
	}
	defer p.responding.Wait()
	defer conn.Close()
	about := newMember(RoleNode, p.node)
	err = p.introduce(conn, func() Member {
		x := about
		x.Head, _ = p.Source.Line().Head()
		x.Publishing = p.leads.Load()
		return x
	})
	if err == nil {
		err = p.hearComparisons(conn)
	}
	if err != nil {
		return err
	}
	// ends with ctx alone
	_ = p.retry(ctx, "Publishing to the fleet is interrupted", func() error { return p.lead(ctx, conn, js, about) },
		func(error) bool { return false })
	return nil
}

// Leads tells whether this node has the publisher's place. Any goroutine may ask.
func (p *Publisher) Leads() bool { return p.leads.Load() }

// Kept tells whether the servers have all blocks up to one, as far as this node publishes. Any goroutine may ask.
func (p *Publisher) Kept(at fleet.Point) bool {
	kept := p.kept.Load()
	return !p.leads.Load() || kept != nil && *kept == at
}

// lead waits for the publisher's place, and publishes until something fails. Nothing of what the servers keep is made
// or changed by a node that stands by.
func (p *Publisher) lead(ctx context.Context, conn *nats.Conn, js jetstream.JetStream, about Member) error {
	place, err := p.place(ctx, js)
	if err != nil {
		return err
	}
	var held *lease
	for held == nil {
		if err := p.awaitHead(ctx, js); err != nil {
			return err
		}
		if !p.answers { // not before this node knows what others ask about
			if err := p.answer(ctx, conn); err != nil {
				return err
			}
			p.answers = true
		}
		if held, err = take(ctx, place, func() Publishing { return p.about(0) }); err != nil {
			return err
		}
		if behind, err := p.missingTip(ctx, js); behind != nil || err != nil { // it stood by for long
			held.giveUp()
			held = nil
			if err != nil {
				return err
			}
		}
	}
	defer held.giveUp()
	p.leads.Store(true)
	defer p.leads.Store(false)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	t := &turn{Publisher: p, js: js}
	var beside sync.WaitGroup
	beside.Go(func() { cancel(p.hold(ctx, held, t)) })
	beside.Go(func() { p.compareRows(ctx, conn, about) })
	defer func() {
		cancel(nil)
		beside.Wait()
		if t.uploaded != nil { // it reads the chain's state
			<-t.uploaded
		}
	}()
	if t.rooms, err = p.create(ctx, js, place); err == nil {
		err = t.run(ctx)
	}
	if ctx.Err() == nil {
		return err
	}
	return context.Cause(ctx)
}

// awaitHead waits until this node is where the stream ends: while one that is behind publishes, replicas stand still.
func (p *Publisher) awaitHead(ctx context.Context, js jetstream.JetStream) error {
	for said := false; ; pause(ctx, retryAfter) {
		behind, err := p.missingTip(ctx, js)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil || behind == nil:
			return err
		case !said:
			p.log.Info("This node does not publish yet: it first needs the block at which the stream ends",
				"fleet", p.Name,
				"block", behind.Revision)
			said = true
		}
	}
}

// missingTip is the block at which the stream ends, nil if this node has it, or has come as far on another branch.
func (p *Publisher) missingTip(ctx context.Context, js jetstream.JetStream) (*fleet.Point, error) {
	moves, err := js.Stream(ctx, p.movesStream())
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open stream %s: %w", p.movesStream(), err)
	}
	end, err := (&rooms{moves: moves}).readTail(ctx)
	line := p.Source.Line()
	if head, _ := line.Head(); err != nil || end.Number == 0 || head.Revision >= end.To.Revision || line.Knows(end.To) {
		return nil, err
	}
	return &end.To, nil
}

func (p *Publisher) about(line uint64) Publishing {
	head, final := p.Source.Line().Head()
	x := Publishing{Node: p.node, Line: line, Head: head, Final: final, Due: p.due.Load(), Compare: p.comparing.Load()}
	if p.Ready != nil {
		if err := p.Ready(); err != nil {
			x.Unready = err.Error()
		}
	}
	return x
}

// hold renews the place until ctx ends or that fails.
func (p *Publisher) hold(ctx context.Context, held *lease, t *turn) error {
	tick := time.NewTicker(leaseRenew)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
			if err := held.renew(ctx, p.about(t.line.Load())); err != nil {
				return err
			}
		}
	}
}

// tail is where a stream ends.
type tail struct {
	fleet.Header        // of the last move that is whole; Number is 0 for none
	sequence     uint64 // of the last message
	strange      error  // why the last message means nothing; nil if it does
}

// readTail finds where the stream ends.
func (r *rooms) readTail(ctx context.Context) (t tail, err error) {
	info, err := r.moves.Info(ctx)
	if err != nil {
		return t, fmt.Errorf("read the state of stream %s: %w", r.moves.CachedInfo().Config.Name, err)
	}
	t.sequence = info.State.LastSeq
	for at := t.sequence; at >= info.State.FirstSeq && at > 0; at-- {
		m, err := r.message(ctx, at)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			return t, err
		}
		h, _, err := fleet.ReadHeader(m.Data)
		if err != nil {
			return tail{sequence: t.sequence, strange: fmt.Errorf("message %d: %w", at, err)}, nil
		}
		if h.IsLast() {
			t.Header = h
			return t, nil
		}
	}
	return t, nil
}

// newLine draws the number of a line.
func newLine() uint64 {
	var b [8]byte
	rand.Read(b[:]) //nolint:errcheck // it never fails
	return binary.LittleEndian.Uint64(b[:])
}

// inFlight is how many messages may wait for the servers' answers.
const inFlight = 64

// window are messages whose answers have not come yet, oldest first.
type window struct {
	js      jetstream.JetStream
	subject string
	futures []jetstream.PubAckFuture
	last    uint64    // sequence that the last message gets
	since   time.Time // since when the answer of the oldest is waited for
}

// errUnanswered says that the servers are there, and keep nothing.
var errUnanswered = fmt.Errorf("no answer within %v (a NATS server whose disk was full takes messages again only "+
	"after it was started again: look at its log)", requestTime)

// send sends a part of a move, after waiting for the answers of earlier ones if too many are missing.
func (w *window) send(ctx context.Context, move fleet.Header, part int, message []byte) error {
	for len(w.futures) >= inFlight {
		if err := w.wait(ctx); err != nil {
			return err
		}
	}
	m := nats.NewMsg(w.subject)
	m.Data = message
	f, err := w.js.PublishMsgAsync(m, jetstream.WithExpectLastSequence(w.last),
		jetstream.WithMsgID(fmt.Sprintf("%016x-%d-%d-%d", move.Line, move.Number, part, w.last)))
	if err != nil {
		return fmt.Errorf("publish move %d: %w", move.Number, err)
	}
	if len(w.futures) == 0 {
		w.since = time.Now()
	}
	w.futures = append(w.futures, f)
	w.last++
	return nil
}

// wait waits for the oldest answer.
func (w *window) wait(ctx context.Context) error {
	f := w.futures[0]
	want := w.last - uint64(len(w.futures)) + 1
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case err := <-f.Err():
		return fmt.Errorf("publish message %d: %w", want, err)
	case ack := <-f.Ok():
		return w.take(ack)
	case <-time.After(requestTime):
		return fmt.Errorf("publish message %d: %w", want, errUnanswered)
	}
}

// oldest is the answer that is waited for next; nil for none, which never comes.
func (w *window) oldest() (ok <-chan *jetstream.PubAck, failed <-chan error) {
	if len(w.futures) == 0 {
		return nil, nil
	}
	return w.futures[0].Ok(), w.futures[0].Err()
}

// overdue is an error if the oldest answer should have come. Where little is published, nobody else asks for it.
func (w *window) overdue() error {
	ok, failed := w.oldest()
	if len(w.futures) == 0 || len(ok) > 0 || len(failed) > 0 || time.Since(w.since) < requestTime {
		return nil
	}
	return fmt.Errorf("publish message %d: %w", w.last-uint64(len(w.futures))+1, errUnanswered)
}

// take takes the oldest answer off.
func (w *window) take(ack *jetstream.PubAck) error {
	want := w.last - uint64(len(w.futures)) + 1
	if ack.Sequence != want {
		return fmt.Errorf("publish message %d: the server counts it as %d", want, ack.Sequence)
	}
	if ack.Duplicate { // its blocks may be others, and what follows would not follow it
		return fmt.Errorf("publish message %d: one of an earlier turn is there already", want)
	}
	w.futures, w.since = w.futures[1:], time.Now()
	return nil
}
