package stream

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"tarn/fleet"
)

// turn is the time for which a publisher holds its place.
type turn struct {
	*Publisher
	rooms
	js     jetstream.JetStream
	line   atomic.Uint64
	window window
	writer *fleet.Writer
	at     fleet.Point // the block of this node's line that was published last
	rested time.Time   // since when nothing is published; zero while there may be more at once

	uploaded chan uploaded // a snapshot whose upload has ended; nil if none is under way
	waiting  *Snapshot     // one whose block is not irreversible yet

	needed uint64    // the first message for replicas that begin with the newest snapshot
	look   time.Time // when to look next whether the stream has it
}

type uploaded struct {
	Snapshot
	err error
}

// moveBytes is about how large a move becomes where many blocks wait.
const moveBytes = 1 << 20

// run publishes from where the stream ends.
func (t *turn) run(ctx context.Context) error {
	end, err := t.readTail(ctx)
	if err != nil {
		return err
	}
	t.window = window{js: t.js, subject: t.movesSubject(), last: end.sequence}
	defer t.drain(ctx)
	switch at, err := t.start(ctx, end); {
	case errors.Is(err, fleet.ErrGap):
		if err := t.begin(ctx, end, err); err != nil {
			return err
		}
	case err != nil:
		return err
	default:
		t.at = at
		t.writer = fleet.NewWriter(end.Header, t.Limits)
		t.line.Store(end.Line)
		if newest, err := t.newest(ctx); err == nil {
			t.needed = newest.Sequence
			isLost := at.Revision < newest.Point.Revision && !t.Source.Line().Has(newest.Point)
			if isLost || newest.Kept != t.parts.kept() { // it is of no use to replicas, or they look elsewhere
				t.next = time.Now()
			}
		}
		t.log.Info("Publishing to the fleet", "fleet", t.Name, "from", t.at.Revision, "move", end.Number+1)
	}
	return t.publish(ctx)
}

// drain waits for what is on its way, so that who reads the stream next finds where it ends. What is not answered is let
// go: the library would hold it until the connection breaks, and a server that keeps nothing is tried for hours.
func (t *turn) drain(ctx context.Context) {
	defer t.js.CleanupPublisher()
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), leaseTime)
	defer done()
	for len(t.window.futures) > 0 && t.window.wait(ctx) == nil {
	}
}

// lookBack is how many messages are looked through for a block that this node knows, after a fork during
// which another node published.
const lookBack = 2000

// start finds the block from which this node's line can tell what follows: the head of the stream, or a block
// before it, if the stream's head is on a branch that this node has left or never had. An error wraps
// [fleet.ErrGap] if there is none.
func (t *turn) start(ctx context.Context, end tail) (fleet.Point, error) {
	if end.Number == 0 {
		return fleet.Point{}, errors.Join(fmt.Errorf("%w: the stream does not say where it ends", fleet.ErrGap), end.strange)
	}
	line := t.Source.Line()
	for {
		if line.Knows(end.To) {
			return end.To, nil
		}
		head, _ := line.Head()
		if head.Revision > end.To.Revision {
			return t.searchBack(ctx, end)
		}
		// The node before was ahead of this one.
		select {
		case <-ctx.Done():
			return fleet.Point{}, context.Cause(ctx)
		case <-line.Shown():
		case <-time.After(time.Second):
		}
	}
}

func (t *turn) searchBack(ctx context.Context, end tail) (fleet.Point, error) {
	line := t.Source.Line()
	for at := end.sequence; at > 0 && at+lookBack > end.sequence; at-- {
		m, err := t.message(ctx, at)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			break
		}
		if err != nil {
			return fleet.Point{}, err
		}
		h, _, err := fleet.ReadHeader(m.Data)
		if err != nil || h.Line != end.Line {
			break
		}
		if line.Knows(h.Base) {
			return h.Base, nil
		}
	}
	return fleet.Point{}, fmt.Errorf("%w: none of the blocks that were published last is in this node's memory",
		fleet.ErrGap)
}

// begin begins a new line, with a snapshot.
func (t *turn) begin(ctx context.Context, end tail, why error) error {
	if end.Number > 0 || end.strange != nil {
		t.log.Warn("The fleet's stream begins again with a snapshot; replicas load it", "fleet", t.Name, "reason", why)
	}
	line := newLine()
	for {
		begun := time.Now()
		s, err := t.snapshot(ctx, line)
		if err == nil {
			err = t.awaitFinal(ctx, s.Point)
		}
		if errors.Is(err, fleet.ErrGap) {
			t.log.Warn("The snapshot is made again", "fleet", t.Name, "reason", err)
			pause(ctx, time.Since(begun)) // half of the time is the others'
			continue
		}
		if errors.Is(err, errNoRoom) {
			pause(ctx, max(noRoomTime, time.Since(begun)))
		}
		if err != nil {
			return err
		}
		s.Sequence = t.window.last + 1
		t.writer = fleet.NewWriter(fleet.Header{Line: line, To: s.Point}, t.Limits)
		if err := t.offer(ctx, s); err != nil {
			return err
		}
		t.at = s.Point
		t.line.Store(line)
		t.next = time.Now().Add(t.SnapshotEvery)
		t.log.Info("The fleet's stream starts again, with a new snapshot", "fleet", t.Name, "block", s.Point.Revision,
			"snapshot", s.Bytes)
		return nil
	}
}

// noRoomTime is how long a line that begins waits at least where its snapshot had no room: each try writes until the
// disk is full.
const noRoomTime = 5 * time.Second

// leastStay is how long a replica may take at least to load a snapshot. Where the next ones come later, it may take the
// time between two.
const leastStay = 10 * time.Minute

// snapshot uploads the head's state, and deletes what nobody needs any more.
func (t *turn) snapshot(ctx context.Context, line uint64) (s Snapshot, err error) {
	if err := t.dropSnapshots(ctx, t.stays); err != nil {
		return s, err
	}
	im, err := t.Source.Image(ctx)
	if err == nil {
		t.stopAt(im.Revision)
		t.Source.Line().Watch(im.Point)
	}
	t.due.Store(false)
	if err != nil {
		return s, fmt.Errorf("take a snapshot: %w", err)
	}
	send(t.js.Conn(), t.rowsSubject(), &comparedRows{Block: im.Point, Snapshot: true})
	if err := t.sameChain(ctx, im.Chain); err != nil {
		return s, errors.Join(err, im.View.Close())
	}
	s, err = t.upload(ctx, line, im)
	if err != nil && ctx.Err() == nil { // what has come of it would keep its room until the next one begins
		err = errors.Join(err, t.parts.drop(ctx, func(object string) bool { return object == s.Object }))
	}
	return s, errors.Join(err, im.View.Close())
}

// offer announces a snapshot. With the first one in a folder those on the servers go.
func (t *turn) offer(ctx context.Context, s Snapshot) error {
	if err := t.announce(ctx, s, t.stays); err != nil {
		return err
	}
	t.needed, t.look = s.Sequence, time.Now().Add(min(t.SnapshotEvery, snapshotAgain))
	if s.Kept != keptInFolder {
		return nil
	}
	err := t.js.DeleteObjectStore(ctx, t.snapshotBucket())
	if errors.Is(err, jetstream.ErrBucketNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete the snapshots on the servers: %w", err)
	}
	return nil
}

// errOtherChain says that another chain has the fleet's name.
var errOtherChain = errors.New("the fleet of this name has another chain: choose another fleet name, or delete " +
	"the fleet's streams on the NATS servers")

// sameChain tells whether the fleet's snapshots are of this chain.
func (t *turn) sameChain(ctx context.Context, chain fleet.ID) error {
	newest, err := t.newest(ctx)
	switch {
	case errors.Is(err, errNoSnapshot) || errors.Is(err, fleet.ErrDamaged):
		return nil
	case err == nil && newest.Chain != chain:
		err = fmt.Errorf("%w: it is %s, this node's is %s", errOtherChain, newest.Chain, chain)
	}
	return err
}

// awaitFinal waits until a block is irreversible. An error wraps [fleet.ErrGap] if another one became it, or if the
// line does not have what followed it any more.
func (t *turn) awaitFinal(ctx context.Context, p fleet.Point) error {
	line := t.Source.Line()
	for {
		isFinal, err := decided(line, p)
		if isFinal || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-line.Shown():
		case <-time.After(time.Second):
		}
	}
}

// decided tells whether a block is irreversible.
func decided(line *fleet.Line, p fleet.Point) (bool, error) {
	_, final := line.Head()
	if !line.Has(p) {
		return false, fmt.Errorf("%w: block %d (%s) is not on the node's branch any more, or too long ago",
			fleet.ErrGap, p.Revision, p.ID)
	}
	return final.Revision >= p.Revision, nil
}

// publish publishes what comes, until something fails.
func (t *turn) publish(ctx context.Context) error {
	line := t.Source.Line()
	for {
		m, err := t.nextMove()
		if errors.Is(err, fleet.ErrGap) {
			return err // the next turn begins a new line
		}
		if err != nil {
			return err
		}
		if m != nil {
			if err := t.send(ctx, m); errors.Is(err, fleet.ErrTooLarge) {
				line.Forget(m.To()) // nobody can be told of it: the next turn begins a new line behind it
				return err
			} else if err != nil {
				return err
			}
			t.at = m.To()
			continue
		}
		if len(t.window.futures) == 0 {
			t.kept.Store(&fleet.Point{Revision: t.at.Revision, ID: t.at.ID})
		}
		if err := t.tendSnapshots(ctx); err != nil {
			return err
		}
		if err := t.window.overdue(); err != nil {
			return err
		}
		more := time.Second
		if d := t.gathering(); d > 0 {
			more = d
		}
		ok, failed := t.window.oldest()
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-line.Shown():
		case ack := <-ok:
			if err := t.window.take(ack); err != nil {
				return err
			}
		case err := <-failed:
			return fmt.Errorf("publish: %w", err)
		case u := <-t.uploaded:
			t.uploaded = nil
			if u.err != nil {
				t.next = time.Now().Add(min(t.SnapshotEvery, snapshotAgain))
				t.look = t.next
				t.log.Warn("A snapshot for replicas failed", "fleet", t.Name, "again", t.next, "error", u.err)
				continue
			}
			t.waiting = &u.Snapshot
		case <-time.After(more):
		}
	}
}

// While a node catches up, which is while its blocks are older than oldAfter, they are gathered for so long, or until
// they have about so many bytes.
const (
	oldAfter    = 5 * time.Second
	gatherTime  = 500 * time.Millisecond
	gatherBytes = 4 * moveBytes
)

// nextMove is the move that follows what was published, nil if nothing is new or if more is to come with it.
func (t *turn) nextMove() (m *fleet.Move, err error) {
	if t.gathering() > 0 {
		return nil, nil
	}
	m, err = t.Source.Line().Next(t.at, t.moveSize())
	switch {
	case m != nil:
		t.rested = time.Time{}
	case t.rested.IsZero():
		t.rested = time.Now()
	}
	return m, err
}

// gathering is for how long more blocks are waited for: while the node catches up. A replica applies what comes
// together as one step, which costs it little more than a single block, and nobody waits for blocks that are old.
func (t *turn) gathering() time.Duration {
	waiting, made := t.Source.Line().Waiting(t.at)
	if waiting == 0 || waiting >= gatherBytes || time.Since(made) < oldAfter || t.moveSize() < moveBytes {
		return 0
	}
	return time.Until(t.rested.Add(gatherTime))
}

// moveSize is about how large the next move may be. Replicas stop only between two moves: none goes beyond a block that
// they are to compare, or that may become it.
func (t *turn) moveSize() int64 {
	if t.due.Load() || t.comparing.Load() || t.at.Revision < t.compared.Load() {
		return 1
	}
	return moveBytes
}

// snapshotAgain is how long after a failed snapshot the next one begins, at most.
const snapshotAgain = time.Minute

func (t *turn) send(ctx context.Context, m *fleet.Move) error {
	list, err := t.writer.Write(m)
	if err != nil {
		return err
	}
	for part, message := range list {
		if err := t.window.send(ctx, t.writer.Last(), part, message); err != nil {
			return err
		}
	}
	return nil
}

// tendSnapshots begins a snapshot when it is due, and announces one whose block has become irreversible.
func (t *turn) tendSnapshots(ctx context.Context) error {
	if t.waiting != nil {
		switch isFinal, isGone := t.Source.Line().Fate(); {
		case isGone: // another branch has won; the next one is due now
			t.waiting, t.next = nil, time.Now()
		case isFinal:
			s := *t.waiting
			t.waiting = nil
			if err := t.offer(ctx, s); err != nil {
				return err
			}
			t.log.Info("Replicas begin with a newer snapshot", "fleet", t.Name, "block", s.Point.Revision,
				"bytes", s.Bytes)
		}
	}
	if t.next.IsZero() {
		t.next = time.Now().Add(t.SnapshotEvery)
	}
	t.lookAtStream(ctx)
	if t.uploaded != nil || t.waiting != nil || time.Now().Before(t.next) {
		return nil
	}
	if !t.due.Swap(true) { // replicas hear of it first
		t.next = time.Now().Add(min(dueTime, t.SnapshotEvery/2))
		return nil
	}
	t.next = time.Now().Add(t.SnapshotEvery)
	// What follows the snapshot's block comes after what was published up to now, or before it, which is no harm: a
	// replica leaves out what it has.
	sequence, done := t.window.last+1, make(chan uploaded, 1)
	t.uploaded = done
	go func() {
		s, err := t.snapshot(ctx, t.line.Load())
		s.Sequence = sequence
		done <- uploaded{s, err}
	}()
	return nil
}

// lookEvery is the time between two looks whether the newest snapshot still leads into the stream.
const lookEvery = 5 * time.Second

// lookAtStream lets a snapshot be due at once if the stream has lost what follows the newest one: nobody can begin
// then. So it is where the stream keeps less than what comes between two snapshots, and where a server's clock is set
// forward by more than messages may become old.
func (t *turn) lookAtStream(ctx context.Context) {
	if now := time.Now(); t.uploaded != nil || t.waiting != nil || t.due.Load() || now.Before(t.look) || t.needed == 0 {
		return
	}
	t.look = time.Now().Add(lookEvery)
	info, err := t.moves.Info(ctx)
	if err != nil || info.State.FirstSeq <= t.needed {
		return // why it cannot be asked is seen where something is published
	}
	t.next = time.Now()
	t.stays.end()
	t.log.Warn("The stream does not have what follows the newest snapshot any more; another one is made. "+
		"If this comes again, let the stream keep more (fleet-keep-hours, fleet-keep-mb), or make snapshots more "+
		"often (fleet-snapshot-minutes)", "fleet", t.Name,
		"message", t.needed, "first", info.State.FirstSeq)
}

// dueTime is how long replicas are told that a snapshot is due before it is taken: three renewals of the place.
const dueTime = 3 * leaseRenew
