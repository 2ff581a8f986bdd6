package p2p

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"tarn/internal/lowpriority"
	"tarn/opera/chain"
	"tarn/opera/eventcheck"
	"tarn/opera/inter"
)

// intake takes events from peers to the ledger: bounded, verified on all processors,
// connected in their order.
type intake struct {
	ledger Ledger
	limits *Limits
	budget *budget
	// Told, beside who connects, of an event that the ledger has taken.
	accepted func(a *arrival)
	// Told of what else happens, on the goroutine that connects.
	dropped func(from *peer, id inter.EventID, err error) // it is not connected, and never will be
	wanted  func(from *peer, parents []inter.EventID)     // some that came lack these
	entered func(inter.Epoch)                             // the ledger did
	ahead   func()                                        // an event came that is far ahead, on any goroutine
	failed  func(error)                                   // the ledger, for good

	epoch   atomic.Uint32
	highest atomic.Uint32 // lamport time of the epoch's events

	work  chan *item    // to be checked
	items chan *item    // in the order in which they came
	moved chan struct{} // the ledger may be in another epoch, without an event of a peer

	unfollowed *known // events that were left out, see novel

	mu       sync.Mutex // of what follows
	order    *order
	checking map[inter.EventID][]byte // as they came
	run      []*arrival
	running  map[inter.EventID]struct{} // those of run
}

// item is an event that is being checked.
type item struct {
	raw   []byte
	from  *peer
	event *inter.Payload // nil if it could not be decoded
	err   error
	ready chan struct{}
	noted bool // in checking
}

// newIntake returns an intake whose callbacks are still to be set.
func newIntake(l Ledger, limits *Limits) *intake {
	return &intake{
		ledger: l, limits: limits, budget: newBudget(limits.IntakeEvents, limits.IntakeBytes),
		order: newOrder(limits.OrderEvents, limits.OrderBytes), checking: map[inter.EventID][]byte{},
		unfollowed: newKnown(limits.Known),
		running:    map[inter.EventID]struct{}{},
		work:       make(chan *item), items: make(chan *item, limits.IntakeEvents), moved: make(chan struct{}, 1),
	}
}

// serve works until the context ends.
func (in *intake) serve(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() { lowpriority.Run(func() { in.checks(ctx) }) })
	}
	for {
		select {
		case it := <-in.items:
			if err := in.take(ctx, it); err != nil {
				if ctx.Err() == nil {
					in.failed(err)
				}
				return
			}
		case <-in.moved:
			at, err := in.ledger.Present()
			if err != nil {
				in.failed(err)
				return
			}
			if uint32(at.Epoch) != in.epoch.Load() {
				in.enter(at.Epoch, 0)
			}
		case <-ctx.Done():
			return
		}
	}
}

// checks checks what comes until the context ends.
func (in *intake) checks(ctx context.Context) {
	for {
		select {
		case it := <-in.work:
			in.check(it)
			close(it.ready)
		case <-ctx.Done():
			return
		}
	}
}

// own takes notice of an event that was connected and came from no peer.
func (in *intake) own(id inter.EventID) {
	in.mu.Lock()
	in.raise(id)
	in.mu.Unlock()
	token(in.moved)
}

// raise notes that an event was connected. The lock is held.
func (in *intake) raise(id inter.EventID) {
	if high := uint32(id.Lamport()); uint32(id.Epoch()) == in.epoch.Load() && high > in.highest.Load() {
		in.highest.Store(high)
	}
}

// submit takes events as they came, in their order. It waits for room, so only who reads
// from that peer may call it.
func (in *intake) submit(ctx context.Context, from *peer, raws [][]byte) error {
	for _, raw := range raws {
		if err := in.budget.acquire(ctx, in.limits.weight(raw)); err != nil {
			return err
		}
		// A clone, so that an event that waits keeps nothing but itself of its message.
		it := &item{raw: bytes.Clone(raw), from: from, ready: make(chan struct{})}
		in.items <- it // it has as much room as the budget
		select {
		case in.work <- it:
		case <-ctx.Done():
			it.err = eventcheck.ErrSpilled
			close(it.ready)
			return ctx.Err()
		}
	}
	return nil
}

// weight is what an event counts for.
func (l *Limits) weight(raw []byte) int { return 2*len(raw) + l.EventBytes }

// check makes the checks of an event that need nobody else, the cheap ones first.
func (in *intake) check(it *item) {
	it.event, it.err = inter.DecodePayload(it.raw)
	if it.err == nil {
		it.from.events.add(short(it.event.ID())) // who sent it need not get it
		it.err = in.novel(it)
	}
	if it.err == nil {
		it.err = eventcheck.Basic(it.event)
	}
	if it.err == nil {
		it.err = in.ledger.Verify(it.event)
	}
}

// novel tells whether an event may be of use now. Who sends the very bytes that are being
// checked already is not waited for.
//
// Each fork of a validator has the gas power of the event that it forks from, so that who forks
// makes events for nothing. Once a fork is connected, of such a validator only that is taken which
// somebody's event follows: consensus needs no more to see the fork.
func (in *intake) novel(it *item) error {
	id := it.event.ID()
	if uint32(id.Epoch()) != in.epoch.Load() {
		return eventcheck.ErrNotRelevant
	}
	if uint32(id.Lamport()) > in.highest.Load()+uint32(in.limits.highLamport()) {
		in.ahead()
		return eventcheck.ErrSpilled
	}
	in.mu.Lock()
	raw, checking := in.checking[id]
	waits, followed := in.waits(id), in.order.lacks(id)
	if !checking && !waits {
		in.checking[id], it.noted = it.raw, true
	}
	in.mu.Unlock()
	if waits || checking && bytes.Equal(raw, it.raw) {
		return eventcheck.ErrDuplicate
	}
	has, err := in.ledger.HasEvent(id)
	if err == nil && has {
		err = eventcheck.ErrAlreadyConnected
	}
	if err == nil && !followed && in.ledger.Forked(it.event.Creator) {
		in.unfollowed.add(short(id))
		err = eventcheck.ErrSpilled
	}
	return err
}

// settled tells whether an event that came is connected, or was left out.
func (in *intake) settled(id inter.EventID) bool {
	if in.unfollowed.contains(short(id)) {
		return true
	}
	has, err := in.ledger.HasEvent(id)
	return err == nil && has
}

// isChecking tells whether an event came, and is checked or waits for the writer before it has a place.
func (in *intake) isChecking(id inter.EventID) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	_, checking := in.checking[id]
	return checking
}

// waits tells whether an event is in the order or about to be connected.
func (in *intake) waits(id inter.EventID) bool {
	_, running := in.running[id]
	return running || in.order.has(id)
}

// missing returns those of the ids that nobody has here, of events of the present epoch.
func (in *intake) missing(ids []inter.EventID) []inter.EventID {
	epoch := inter.Epoch(in.epoch.Load())
	var list []inter.EventID
	for _, id := range ids {
		in.mu.Lock()
		waits, followed := in.waits(id), in.order.lacks(id)
		in.mu.Unlock()
		if id.Epoch() != epoch || waits || !followed && in.unfollowed.contains(short(id)) {
			continue
		}
		if has, err := in.ledger.HasEvent(id); err == nil && !has {
			list = append(list, id)
		}
	}
	return list
}

// take puts events that are checked in order, as long as there are some, and connects those
// that can be.
func (in *intake) take(ctx context.Context, it *item) error {
	var lacking []inter.EventID // parents of what from sent
	from := it.from
	for it != nil {
		select {
		case <-it.ready:
		case <-ctx.Done():
			return ctx.Err()
		}
		if it.from != from {
			in.want(from, lacking)
			from, lacking = it.from, nil
		}
		parents, err := in.place(it)
		if err != nil {
			return err
		}
		lacking = append(lacking, parents...)
		if len(in.run) >= in.limits.Run {
			if err := in.connect(ctx); err != nil {
				return err
			}
		}
		select {
		case it = <-in.items:
		default:
			it = nil
		}
	}
	in.want(from, lacking)
	return in.connect(ctx)
}

func (in *intake) want(from *peer, parents []inter.EventID) {
	if len(parents) > 0 {
		in.wanted(from, parents)
	}
}

// place puts an event into the run or into the order, and returns the parents that are to
// be asked for.
func (in *intake) place(it *item) (lacking []inter.EventID, err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if it.noted {
		delete(in.checking, it.event.ID())
	}
	if it.err == nil && in.waits(it.event.ID()) {
		it.err = eventcheck.ErrDuplicate
	}
	if it.err != nil {
		in.budget.release(in.limits.weight(it.raw))
		var id inter.EventID
		if it.event != nil {
			id = it.event.ID()
		}
		in.dropped(it.from, id, it.err)
		return nil, nil
	}
	a := &arrival{event: it.event, from: it.from, size: in.limits.weight(it.raw)}
	var missing []inter.EventID
	for _, p := range a.event.Parents {
		if _, running := in.running[p]; running {
			continue
		}
		has, err := in.ledger.HasEvent(p)
		if err != nil {
			return nil, fmt.Errorf("look for parents of event %v: %w", a.event.ID(), err)
		}
		if !has {
			missing = append(missing, p)
		}
	}
	if len(missing) == 0 {
		in.run = append(in.run, a)
		in.running[a.event.ID()] = struct{}{}
		return nil, nil
	}
	for _, old := range in.order.add(a, missing) {
		in.drop(old, eventcheck.ErrSpilled)
	}
	if uint32(a.event.Lamport) <= in.highest.Load()+uint32(in.limits.OrderEvents/10) {
		return missing, nil
	}
	return nil, nil
}

// drop gives up an event.
func (in *intake) drop(a *arrival, err error) {
	in.budget.release(a.size)
	in.dropped(a.from, a.event.ID(), err)
}

// connect connects the run, and then those that waited for it.
func (in *intake) connect(ctx context.Context) error {
	for len(in.run) > 0 {
		run := in.run[:min(in.limits.Run, len(in.run))]
		events := make([]*inter.Payload, len(run))
		for i, a := range run {
			events[i] = a.event
		}
		results := make([]error, len(run))
		// Others get an event while its blocks are made.
		accepted := make(chan *arrival, len(run))
		var telling sync.WaitGroup
		telling.Go(func() {
			for a := range accepted {
				in.accepted(a)
			}
		})
		epoch, err := in.ledger.Connect(ctx, events,
			func(i int) { accepted <- run[i] }, func(i int, err error) { results[i] = err })
		close(accepted)
		telling.Wait()
		if err != nil {
			return err
		}
		in.settle(run, results)
		if epoch != inter.Epoch(in.epoch.Load()) {
			in.enter(epoch, 0)
		}
	}
	return nil
}

// settle notes what came of a run, and puts those that waited for it after the rest.
func (in *intake) settle(run []*arrival, results []error) {
	in.mu.Lock()
	rest := append([]*arrival(nil), in.run[len(run):]...)
	for i, a := range run {
		id := a.event.ID()
		delete(in.running, id)
		if results[i] != nil {
			continue
		}
		in.raise(id)
		for _, child := range in.order.noteConnected(id) {
			rest = append(rest, child)
			in.running[child.event.ID()] = struct{}{}
		}
	}
	in.run = rest
	in.mu.Unlock()
	for i, a := range run {
		if results[i] != nil {
			in.drop(a, harmless(results[i]))
			continue
		}
		in.budget.release(a.size)
	}
}

// harmless keeps a peer from being blamed for an event whose parent, sent by another one,
// turned out to be wrong.
func harmless(err error) error {
	if errors.Is(err, chain.ErrParents) {
		return eventcheck.ErrSpilled
	}
	return err
}

// enter begins with an epoch, in which the highest event has that lamport time: what waits
// in the order is of no use any more. The goroutine that connects calls it, or whoever
// begins before there is one.
func (in *intake) enter(epoch inter.Epoch, highest inter.Lamport) {
	in.mu.Lock()
	in.epoch.Store(uint32(epoch))
	in.highest.Store(uint32(highest))
	old := in.order.clear()
	in.mu.Unlock()
	for _, a := range old {
		in.drop(a, eventcheck.ErrNotRelevant)
	}
	in.entered(epoch)
}

// busy tells whether so much is under way that no more should be asked for.
func (in *intake) busy() bool { return in.budget.usedPercent() > 75 }

// budget is how much of what peers sent may be in memory. Who waits gets room in the order
// of coming. Any goroutine may use it.
type budget struct {
	items, bytes int // its bounds
	mu           sync.Mutex
	n, size      int
	turn         chan struct{} // held by the one who waits for room
	room         chan struct{}
}

func newBudget(items, bytes int) *budget {
	return &budget{items: items, bytes: bytes, turn: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// acquire waits until an item of a size has room. One that is larger than all there is
// has it when there is nothing else.
func (b *budget) acquire(ctx context.Context, size int) error {
	select {
	case b.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-b.turn }()
	for !b.try(size) {
		select {
		case <-b.room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (b *budget) try(size int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.n > 0 && (b.n >= b.items || b.size+size > b.bytes) {
		return false
	}
	b.n, b.size = b.n+1, b.size+size
	return true
}

func (b *budget) release(size int) {
	b.mu.Lock()
	b.n, b.size = b.n-1, b.size-size
	b.mu.Unlock()
	token(b.room)
}

// usedPercent is the share in use, in percent.
func (b *budget) usedPercent() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(b.n*100/b.items, b.size*100/b.bytes)
}
