package stream

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tarn/fleet"
)

// Replica is a state that follows a fleet. Its methods are called by one goroutine.
type Replica interface {
	// Head is where the state stands, and the newest block that it cannot take back.
	Head() (head, final fleet.Point)
	// Prepare does what needs no state of the work on blocks. It may be called while blocks before them are applied.
	Prepare(blocks []fleet.Block, final fleet.Point) (Apply, error)
}

// Apply applies blocks that were prepared, the first of which follows base: the head, or a block before it, to which
// the state goes back first. It is called once, or never. An error that wraps [fleet.ErrDiffers] says that this state
// cannot follow, and that it must begin again from a snapshot.
type Apply func(ctx context.Context, base fleet.Point) error

// ErrBeginAgain says that a replica's state cannot follow the stream any more: it is to be replaced by the newest
// snapshot.
var ErrBeginAgain = errors.New("the state must begin again from a snapshot")

// Follower brings the moves of a fleet to a replica.
type Follower struct {
	Options
	conn *nats.Conn
	js   jetstream.JetStream

	about   Member
	refused uint64 // the message that was refused last; of the goroutine that runs
	lag     atomic.Pointer[Lag]
	verify  verification
}

// Lag is how far a replica is behind its fleet.
type Lag struct {
	Publisher Publishing // what the publisher said last; zero if it has said nothing
	Heard     time.Time  // when that was
	Applied   fleet.Point
}

// NewFollower makes a follower, which connects by and by. The options are valid.
func NewFollower(o Options) (*Follower, error) {
	o = o.withDefaults()
	f := &Follower{Options: o}
	f.verify.f = f
	var err error
	if f.conn, f.js, err = o.connect("replica"); err != nil {
		return nil, err
	}
	f.lag.Store(new(Lag))
	f.about = newMember(RoleReplica, newName())
	err = f.introduce(f.conn, func() Member {
		x := f.about
		x.Head = f.Lag().Applied
		return x
	})
	if err == nil {
		err = f.compareOnDemand()
	}
	if err != nil {
		f.conn.Close()
		return nil, err
	}
	return f, nil
}

// Close ends the connection.
func (f *Follower) Close() { f.conn.Close() }

// Lag says how far the replica is behind. Any goroutine may ask.
func (f *Follower) Lag() Lag { return *f.lag.Load() }

// Fetch waits until there is a snapshot to begin with, and gives it to load, once. It returns when that has ended, or
// ctx has.
func (f *Follower) Fetch(ctx context.Context, load func(*fleet.ImageReader, Snapshot) error) error {
	return f.retry(ctx, "There is no snapshot to begin with yet", func() error { return f.fetch(ctx, load) },
		func(err error) bool { return err == nil || errors.Is(err, errLoad) })
}

// errLoad says that what was downloaded could not be made a state.
var errLoad = errors.New("load a snapshot of the fleet")

func (f *Follower) fetch(ctx context.Context, load func(*fleet.ImageReader, Snapshot) error) error {
	r, err := f.find(ctx, f.js)
	if err != nil {
		return err
	}
	s, err := r.newest(ctx)
	if err != nil {
		return err
	}
	if s.Kept != r.parts.kept() || !snapshotName.MatchString(s.Object) {
		return fmt.Errorf("the newest snapshot %.100q is kept in %s, and this replica looks in %s: it needs the same "+
			"option as the node",
			s.Object, place(s.Kept), place(r.parts.kept()))
	}
	if first, _, err := r.span(ctx); err != nil {
		return err
	} else if first > s.Sequence { // what is loaded now could not follow; the publisher makes another one
		return fmt.Errorf("the stream does not have what follows the newest snapshot any more: message %d, where it "+
			"begins with %d", s.Sequence, first)
	}
	parts := readParts(ctx, announcedParts{r.parts, &r, s.Object}, s.Object, s.Parts, s.Bytes)
	defer parts.close()
	im, err := fleet.ReadImage(parts)
	if err != nil {
		return err
	}
	defer im.Close()
	if im.Point != s.Point {
		return fmt.Errorf("%w: the snapshot that is announced as that of block %d is of block %d",
			fleet.ErrDamaged, s.Point.Revision, im.Revision)
	}
	if err := load(im, s); err != nil {
		return fmt.Errorf("%w: %w", errLoad, err)
	}
	return nil
}

// Run brings moves to a replica until ctx ends, or until its state cannot follow: then the error wraps
// [ErrBeginAgain].
func (f *Follower) Run(ctx context.Context, replica Replica) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer f.verify.begin(ctx, replica, cancel)()
	go f.listen(ctx, f.watch)
	if f.Verify {
		go f.listen(ctx, f.watchSnapshots)
	}
	err := f.retry(ctx, "Following the fleet is interrupted", func() error { return f.follow(ctx, replica) },
		func(err error) bool {
			return errors.Is(err, ErrBeginAgain) || errors.Is(err, errApply) || errors.Is(err, fleet.ErrDiffers)
		})
	switch {
	case errors.Is(context.Cause(ctx), ErrBeginAgain):
		return context.Cause(ctx)
	case ctx.Err() != nil:
		return nil
	case errors.Is(err, fleet.ErrDiffers) && !errors.Is(err, ErrBeginAgain) && !errors.Is(err, errApply):
		return fmt.Errorf("%w: %w", ErrBeginAgain, err)
	}
	return err
}

// listen hears what is said, again and again until ctx ends.
func (f *Follower) listen(ctx context.Context, watch func(context.Context) error) {
	for ctx.Err() == nil {
		watch(ctx) //nolint:errcheck // it is tried again
		pause(ctx, retryAfter)
	}
}

// watch hears what the publisher says of itself.
func (f *Follower) watch(ctx context.Context) error {
	return f.watchKey(ctx, f.leaseBucket(), leaseKey, f.noteStatus)
}

// watchKey hears of a key's values; live is of one that was written after the watch had begun.
func (f *Follower) watchKey(ctx context.Context, of, key string, heard func(text []byte, live bool)) error {
	bucket, err := f.js.KeyValue(ctx, of)
	if err != nil {
		return err
	}
	w, err := bucket.Watch(ctx, key, jetstream.IgnoreDeletes())
	if err != nil {
		return err
	}
	defer w.Stop() //nolint:errcheck // it ends with the connection
	// The library hears only after ten seconds that a server has forgotten the watch.
	again := f.conn.StatusChanged(nats.CONNECTED)
	defer f.conn.RemoveStatusListener(again)
	for live := false; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-again:
			return errors.New("the connection was broken")
		case e, ok := <-w.Updates():
			if !ok {
				return errors.New("the watch has ended")
			}
			if e == nil {
				live = true // all that was there has come
				continue
			}
			heard(e.Value(), live)
		}
	}
}

// errApply says that a replica failed, not the stream.
var errApply = errors.New("apply the fleet's moves")

// follow finds where the state stands in the stream, and goes on from there.
func (f *Follower) follow(ctx context.Context, replica Replica) error {
	r, err := f.find(ctx, f.js)
	if err != nil {
		return err
	}
	head, final := replica.Head()
	f.applied(head)
	from, last, err := r.search(ctx, final.Revision)
	if err != nil {
		return err
	}
	walk := &walk{Follower: f, replica: replica, rooms: r}
	if err = walk.run(ctx, from, last); errors.Is(err, errNotMet) {
		// The head is of a branch that no message tells of. A block before it may be there.
		walk.back = true
		err = walk.run(ctx, from, last)
	}
	return walk.pass(ctx, err)
}

// search returns the sequence of the first message of a move that leads to a revision or beyond, as far as
// moves lead forward, and of the last message.
func (r *rooms) search(ctx context.Context, revision uint64) (from, last uint64, err error) {
	first, last, err := r.span(ctx)
	if err != nil {
		return 0, 0, err
	}
	low, high := max(1, first), last+1
	for low < high {
		middle := low + (high-low)/2
		m, err := r.message(ctx, middle)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			low = middle + 1 // it was dropped meanwhile
			continue
		}
		if err != nil {
			return 0, 0, err
		}
		at, h := middle, fleet.Header{}
		for h, _, err = fleet.ReadHeader(m.Data); err != nil; h, _, err = fleet.ReadHeader(m.Data) {
			if at++; at == high {
				break // from middle on there is nothing that could be read
			}
			if m, err = r.message(ctx, at); err != nil {
				return 0, 0, err
			}
		}
		if err != nil || h.To.Revision >= revision {
			high = middle
		} else {
			low = at + 1
		}
	}
	return low, last, nil
}

// message reads a message. An error wraps [jetstream.ErrMsgNotFound] only if the stream has dropped it, or somebody has
// deleted some: any server answers that has a copy, also one whose copy stands still.
func (r *rooms) message(ctx context.Context, at uint64) (*jetstream.RawStreamMsg, error) {
	m, err := r.moves.GetMsg(ctx, at)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		info, failed := r.moves.Info(ctx)
		switch {
		case failed != nil:
			err = failed
		case info.State.FirstSeq <= at && info.State.NumDeleted == 0:
			err = errors.New("a server of the stream has not got it")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read message %d: %w", at, err)
	}
	return m, nil
}

// span returns the sequences of the stream's first and last message, as the server knows them that takes what is new.
func (r *rooms) span(ctx context.Context) (first, last uint64, err error) {
	info, err := r.moves.Info(ctx)
	if err != nil {
		return 0, 0, fmt.Errorf("read the state of the stream: %w", err)
	}
	return info.State.FirstSeq, info.State.LastSeq, nil
}

// walk goes through the stream's messages.
type walk struct {
	*Follower
	rooms
	replica Replica
	reader  *fleet.Reader
	back    bool   // the head may be left for a block before it
	at      uint64 // the message that came last
	met     bool   // the head was met: all that follows is applied; from then on it does not change
	told    bool   // the message that came last ended a move

	strangers int // messages that are no moves

	joined fleet.Move // that came and is not applied yet, of moves that follow each other; no blocks for none
	size   int64      // of its blocks

	applying chan error // what comes of the move that is applied beside the reading; nil for none
}

// joinedBytes is how large a move becomes to which moves that wait are joined, unless one alone is larger: what
// is irreversible in it becomes one revision. As much may be applied meanwhile.
const joinedBytes = 16 << 20

// errNotMet says that no message tells what follows the head.
var errNotMet = errors.New("the stream does not tell what follows the head")

// run reads messages from a sequence on. In those up to last, or with the next one, the head must be met, unless the
// replica is ahead of them.
func (w *walk) run(ctx context.Context, from, last uint64) (err error) {
	w.reader = fleet.NewReader(w.Limits)
	defer func() { err = w.end(err) }()
	messages, err := w.messages(ctx, from)
	if err != nil {
		return err
	}
	defer messages.Stop()
	stop := context.AfterFunc(ctx, messages.Stop)
	defer stop()
	ended := make(chan struct{})
	defer close(ended)
	come := receive(messages, ended)
	idle := time.NewTicker(idleTime)
	defer idle.Stop()
	next, look := from, time.Now().Add(silentTime)
	for {
		var m jetstream.Msg
		select {
		case err := <-w.applying:
			if w.applying = nil; err == nil && len(come) == 0 {
				err = w.applyJoined(ctx)
			}
			if err != nil {
				return err
			}
			continue
		case now := <-idle.C:
			w.idle()
			if now.After(look) {
				if _, last, err := w.span(ctx); err == nil && last >= next {
					return fmt.Errorf("read the stream: message %d is there, and does not come", next)
				}
				look = time.Now().Add(silentTime)
			}
			continue
		case r := <-come:
			if r.err != nil {
				return errors.Join(w.applyJoined(ctx), fmt.Errorf("read the stream: %w", r.err))
			}
			m = r.message
		}
		about, err := m.Metadata()
		if err != nil {
			return fmt.Errorf("read the stream: %w", err)
		}
		at := about.Sequence.Stream
		w.at, next, look = at, at+1, time.Now().Add(silentTime)
		if err := w.read(ctx, m.Data()); err != nil {
			return fmt.Errorf("message %d: %w", at, err)
		}
		if len(come) == 0 && w.applying == nil {
			if err := w.applyJoined(ctx); err != nil {
				return fmt.Errorf("message %d: %w", at, err)
			}
		}
		if !w.met && w.told && at > last {
			if ahead, err := w.isAhead(ctx, m.Data()); err != nil {
				return err
			} else if !ahead { // what is new does not follow the head either
				return w.lost(errNotMet)
			}
		}
	}
}

// isAhead tells whether a message leads to a block before the head, and a snapshot of its line beyond. A snapshot may be
// newer than the end of the stream: a publisher that is interrupted loses the messages whose answers have not come, and
// publishes what follows again.
func (w *walk) isAhead(ctx context.Context, message []byte) (bool, error) {
	h, _, err := fleet.ReadHeader(message)
	head, _ := w.replica.Head()
	if err != nil || h.To.Revision >= head.Revision {
		return false, err
	}
	s, err := w.newest(ctx)
	return s.Line == h.Line && s.Point.Revision >= head.Revision, err
}

// How the messages are asked for: so many at once, of a megabyte each at most. (Asked for by bytes, a message
// larger than what is left of them is never sent.)
const (
	pullMessages  = 16
	pullExpiry    = 10 * time.Second
	pullHeartbeat = time.Second
)

// silentTime is after how much time without a message a replica asks whether there are some. A server whose copy of the
// stream stands still goes on to say that it is there.
const silentTime = 5 * time.Second

// messages begins to read the stream from a sequence on. Who calls it stops it.
func (r *rooms) messages(ctx context.Context, from uint64) (jetstream.MessagesContext, error) {
	c, err := r.moves.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: from,
		// The library tries again with the same name, which stays with a server that does not answer, and says nothing.
		MaxResetAttempts: 1,
	})
	var messages jetstream.MessagesContext
	if err == nil {
		messages, err = c.Messages(jetstream.PullMaxMessages(pullMessages), jetstream.PullExpiry(pullExpiry),
			jetstream.PullHeartbeat(pullHeartbeat))
	}
	if err != nil {
		return nil, fmt.Errorf("read the stream from message %d: %w", from, err)
	}
	return messages, nil
}

// idleTime is the time between two looks whether a comparison is due while nothing comes: less than [dueTime].
const idleTime = 300 * time.Millisecond

// received is a message of a stream, or why there is none.
type received struct {
	message jetstream.Msg
	err     error
}

// receive gets messages until an error, or until ended is closed. The library notices only within one call that waits
// for long that a consumer is gone: so nobody else waits beside that call.
func receive(messages jetstream.MessagesContext, ended <-chan struct{}) <-chan received {
	come := make(chan received, 1) // one that waits is seen
	go func() {
		for {
			m, err := messages.Next()
			select {
			case come <- received{m, err}:
			case <-ended:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return come
}

// lost says that the replica cannot go on from its head.
func (w *walk) lost(err error) error {
	if !w.back {
		return err
	}
	head, _ := w.replica.Head()
	return fmt.Errorf("%w: %w: block %d (%s)", ErrBeginAgain, err, head.Revision, head.ID)
}

func (w *walk) read(ctx context.Context, message []byte) error {
	w.told = false
	h, _, err := fleet.ReadHeader(message)
	if err != nil { // had it been a move, the next one would not follow
		w.strange(err)
		return nil
	}
	m, err := w.reader.Read(message)
	if errors.Is(err, fleet.ErrLine) {
		if w.met && (h.Number != 1 || h.Base != w.reader.Last().To) {
			return fmt.Errorf("%w: %w", ErrBeginAgain, err)
		}
		w.reader.Forget() // it goes on where the line before it ended, or the head may be on it
		m, err = w.reader.Read(message)
	}
	if err != nil {
		return err
	}
	w.told = m != nil
	if m == nil || len(m.Blocks) == 0 {
		return nil
	}
	return w.join(ctx, m)
}

// join joins a move to what came before it and is not applied yet. What it does not follow, or has no
// room with, is applied first. It is applied itself if enough is joined, or if somebody wants to see the state after it.
func (w *walk) join(ctx context.Context, m *fleet.Move) error {
	size := m.Size()
	if len(w.joined.Blocks) > 0 &&
		(w.joined.To() != m.Base() || w.size+size > joinedBytes || w.verify.isWanted(w.joined.To())) {
		if err := w.applyJoined(ctx); err != nil {
			return err
		}
	}
	if !w.met {
		return w.apply(ctx, m, nil)
	}
	w.reader.Keep()
	w.joined.Blocks, w.joined.Final = append(w.joined.Blocks, m.Blocks...), m.Final
	if w.size += size; w.size >= joinedBytes || w.verify.isWanted(m.To()) {
		return w.applyJoined(ctx)
	}
	return nil
}

// applyJoined applies what is joined, beside the reading of what comes next, after what was applied before.
func (w *walk) applyJoined(ctx context.Context) error {
	if len(w.joined.Blocks) == 0 {
		return nil
	}
	m := w.joined
	w.joined, w.size = fleet.Move{}, 0
	prepared, err := w.replica.Prepare(m.Blocks, m.Final)
	if err := w.settle(); err != nil {
		return err
	}
	if err != nil {
		return failure(ctx, err)
	}
	done := make(chan error, 1)
	w.applying = done
	go func() { done <- w.apply(ctx, &m, prepared) }()
	return nil
}

// end waits until what is applied has been, and returns why the walk has ended: a move that failed came before whatever
// else did.
func (w *walk) end(err error) error {
	if failed := w.settle(); failed != nil {
		return failed
	}
	return err
}

// idle looks whether a comparison is due. While a move is applied, nobody else looks at the replica.
func (w *walk) idle() {
	if w.applying == nil {
		w.verify.idle()
	}
}

// settle waits until what is applied has been.
func (w *walk) settle() error {
	if w.applying == nil {
		return nil
	}
	err := <-w.applying
	w.applying = nil
	return err
}

// apply applies what the replica does not have of a move. all is the whole move, prepared, or nil.
func (w *walk) apply(ctx context.Context, m *fleet.Move, all Apply) (err error) {
	head, final := w.replica.Head()
	base, blocks := m.Base(), m.Blocks
	for i := range blocks {
		if blocks[i].Point == head {
			base, blocks, all = head, blocks[i+1:], nil
			break
		}
	}
	// A block before the head will do if the replica knows it, which it says when it goes back.
	if !w.met && (base == head || w.back && base.Revision >= final.Revision) {
		w.met = true
	}
	if !w.met || len(blocks) == 0 {
		return nil
	}
	if all == nil {
		all, err = w.replica.Prepare(blocks, m.Final)
	}
	if err == nil {
		err = all(ctx, base)
	}
	if err != nil {
		return failure(ctx, err)
	}
	w.applied(blocks[len(blocks)-1].Point)
	w.verify.applied(blocks[len(blocks)-1].Point)
	return nil
}

// failure says what it means that a replica could not apply blocks.
func failure(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, fleet.ErrDiffers) || ctx.Err() != nil:
		return err
	case errors.Is(err, fleet.ErrDamaged): // the message is whole: its publisher has made it so
		return fmt.Errorf("%w: %w", fleet.ErrDiffers, err)
	}
	return fmt.Errorf("%w: %w", errApply, err)
}
