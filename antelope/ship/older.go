package ship

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"tarn/antelope/ship/wire"
	"tarn/antelope/types"
	"tarn/httpserver"
)

// What a replica does not have because it began later, a node of its fleet is asked for: blocks, entries and ids from
// before the logs here begin. All of it is irreversible. Who asks is a client's session, which waits for it alone.

// ErrOlderBusy says that the nodes have too much to do for a moment.
var ErrOlderBusy = errors.New("the nodes of the fleet are busy")

// older asks nodes. Any goroutine may use it.
//
// Several nodes may answer in turn, one of which has less than another. So it counts what any of them has had of late,
// and one that has less refuses.
type older struct {
	h     *History
	ask   func(ctx context.Context, request []byte) (answer []byte, err error)
	turns *httpserver.Turns // of sessions, by their clients

	ctx context.Context // ends with the history
	end context.CancelFunc

	mu      sync.Mutex
	known   [2]wire.Older // what there is, without blocks: by the last round of questions and since, and by the one before
	since   time.Time     // when that round ended; zero for none
	heard   time.Time     // when a node answered last
	failed  time.Time     // when none did
	failure error         // then
	asking  chan struct{} // is closed when what nodes have has been asked for; nil while it is not
	held    int64         // bytes of the shelf, by windows
}

func newOlder(h *History, ask func(context.Context, []byte) ([]byte, error)) *older {
	if ask == nil {
		return nil
	}
	o := &older{h: h, ask: ask, turns: httpserver.NewTurns(olderTurns, olderEach, olderWaiting)}
	o.ctx, o.end = context.WithCancel(context.Background())
	return o
}

// do asks until a node has a moment for it, and has it.
func (o *older) do(ctx context.Context, q *wire.OlderRequest) (a wire.Older, err error) {
	request := q.Append(nil)
	for busy, missing := olderWait, 0; ; {
		a, err = o.once(ctx, request)
		var wait time.Duration
		switch {
		case errors.Is(err, ErrOlderBusy) && busy <= olderWaits:
			wait, busy = busy, 2*busy
		case errors.Is(err, ErrOlderMissing) && missing < olderTries:
			wait, missing = olderTryAfter, missing+1
		default:
			return a, err
		}
		select {
		case <-ctx.Done():
			return a, context.Cause(ctx)
		case <-time.After(wait):
		}
	}
}

func (o *older) once(ctx context.Context, request []byte) (a wire.Older, err error) {
	end, err := o.turns.Take(ctx, httpserver.ClientOf(ctx))
	if err != nil {
		return a, fmt.Errorf("wait to ask a node for older history: %w", err)
	}
	defer end()
	b, err := o.ask(ctx, request)
	if err != nil {
		return a, fmt.Errorf("ask a node for older history: %w", err)
	}
	if a, err = wire.DecodeOlder(b); err != nil {
		return a, fmt.Errorf("read a node's older history: %w", err)
	}
	o.note(&a)
	return a, nil
}

// note keeps what a node has. It is not all that nodes have before there was a round.
func (o *older) note(a *wire.Older) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.heard = time.Now()
	if !o.since.IsZero() {
		o.known[0] = either(o.known[0], *a)
	}
}

// either is what one of two nodes has.
func either(a, b wire.Older) (all wire.Older) {
	least := func(x, y uint32) uint32 {
		if x == 0 || y == 0 {
			return max(x, y)
		}
		return min(x, y)
	}
	all.First = least(a.First, b.First)
	for k := range all.Begins {
		all.Begins[k] = least(a.Begins[k], b.Begins[k])
	}
	return all
}

// has is what nodes have, or had when they were asked last. It waits only if they never were, and is an error if none
// answers.
func (o *older) has(ctx context.Context) (wire.Older, error) {
	for {
		o.mu.Lock()
		ever := !o.since.IsZero()
		known, failure := either(o.known[0], o.known[1]), o.failure
		fresh := time.Since(o.heard) < olderAge && time.Since(o.since) < olderForget
		failing := time.Since(o.failed) < olderAge
		if !fresh && !failing && o.asking == nil {
			o.asking = make(chan struct{})
			go o.refresh(o.asking, false)
		}
		asking := o.asking
		o.mu.Unlock()
		switch {
		case ever:
			return known, nil
		case failing:
			return known, failure
		}
		select {
		case <-asking:
		case <-ctx.Done():
			return known, context.Cause(ctx)
		}
	}
}

// renew has nodes asked what they have, and counts on nothing from before: one has refused what it was to have. It does
// so again after a while only.
func (o *older) renew(ctx context.Context) error {
	o.mu.Lock()
	if time.Since(o.since) < olderAgain {
		o.mu.Unlock()
		return nil
	}
	if o.asking == nil {
		o.asking = make(chan struct{})
		go o.refresh(o.asking, true)
	}
	asking := o.asking
	o.mu.Unlock()
	select {
	case <-asking:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// renewed is what nodes have when they are asked anew.
func (o *older) renewed(ctx context.Context) (wire.Older, error) {
	if err := o.renew(ctx); err != nil {
		return wire.Older{}, err
	}
	return o.has(ctx)
}

// refresh asks what nodes have: one of them, or so often that each of a few has answered, if that is long ago or what was
// known counts no more.
func (o *older) refresh(asked chan struct{}, anew bool) {
	o.mu.Lock()
	age := time.Since(o.since)
	o.mu.Unlock()
	var round wire.Older
	var err error
	if age < olderForget && !anew {
		_, err = o.do(o.ctx, new(wire.OlderRequest))
	} else {
		round, err = o.round()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case err != nil:
		o.failed, o.failure = time.Now(), err
	case anew || age >= 2*olderForget:
		o.known, o.since = [2]wire.Older{round}, time.Now()
	case age >= olderForget:
		o.known, o.since = [2]wire.Older{round, o.known[0]}, time.Now()
	}
	o.asking = nil
	close(asked)
}

// round is what nodes have that are asked one after the other, a few at a time.
func (o *older) round() (all wire.Older, failed error) {
	var mu sync.Mutex
	var askers sync.WaitGroup
	for range olderTurns {
		askers.Go(func() {
			for range olderTries / olderTurns {
				a, err := o.do(o.ctx, new(wire.OlderRequest))
				mu.Lock()
				all, failed = either(all, a), errors.Join(failed, err)
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	askers.Wait()
	return all, failed
}

// reserve counts bytes of the shelf for a window, until unreserve: windows have half of it at most.
func (o *older) reserve(n int64) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.held+n > o.h.shelf.most/2 || !o.h.shelf.reserve(n) {
		return false
	}
	o.held += n
	return true
}

func (o *older) unreserve(n int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.held -= n
	o.h.shelf.unreserve(n)
}

// savanna tells whether the head has finality data.
func (o *older) savanna() bool {
	o.h.mu.Lock()
	defer o.h.mu.Unlock()
	return o.h.savanna
}

// complete is a block from which on nothing is missing here. Finality data may begin later than the rest: it is only
// looked at if it is asked for.
func (o *older) complete(q *wire.BlocksRequest) uint32 {
	from := o.h.source.FirstStored()
	for _, l := range o.h.logs() {
		switch begin, end := l.Range(); {
		case l == o.h.finality && (!q.V1 || !q.Finality || begin == end && !o.savanna()):
		case begin < end:
			from = max(from, begin)
		default:
			from = max(from, o.h.at().head.Num)
		}
	}
	return from
}

// status adds what nodes have from before the logs here. Where none answers it tells what is here: who only follows the
// head goes on.
func (o *older) status(ctx context.Context, s wire.Status) wire.Status {
	there, err := o.has(ctx)
	if err != nil {
		o.h.o.Log.Debug("The status of the history is without what nodes have", "error", err)
		return s
	}
	for kind, at := range [...]struct{ begin, end *uint32 }{
		wire.KindTraces: {&s.TraceBegin, &s.TraceEnd}, wire.KindDeltas: {&s.StateBegin, &s.StateEnd},
		wire.KindFinality: {&s.FinalityBegin, &s.FinalityEnd},
	} {
		if o.h.logOf()[kind] == nil || there.Begins[kind] == 0 || there.Begins[kind] > s.Head.Num {
			continue
		}
		if *at.begin == *at.end {
			*at.begin, *at.end = there.Begins[kind], s.Head.Num+1
		}
		*at.begin = min(*at.begin, there.Begins[kind])
	}
	return s
}

// reach is what a request for blocks is held against: what is here, and what nodes have.
func (o *older) reach(ctx context.Context, v wire.Version, q *wire.BlocksRequest, here reach) (reach, error) {
	complete := o.complete(q)
	named := o.named(v, q, complete)
	if q.Start > complete && len(named) == 0 {
		return here, nil
	}
	there, err := o.has(ctx)
	if err != nil {
		return here, err
	}
	r := reach{first: min(here.first, there.First), ids: make(map[uint32]types.Checksum256)}
	r.has = func(p wire.Position) bool {
		id, ok := r.ids[p.Num]
		return ok && id == p.ID || !ok && here.has(p)
	}
	var ask []uint32
	for num := range named {
		if num >= there.First {
			ask = append(ask, num)
		}
	}
	if len(ask) > olderIDs {
		return here, fmt.Errorf("%w: %d blocks from before this replica are named, at most %d may be", ErrOlderRequest,
			len(ask), olderIDs)
	}
	if len(ask) == 0 {
		return r, nil
	}
	slices.Sort(ask)
	a, err := o.do(ctx, &wire.OlderRequest{IDs: ask})
	if errors.Is(err, ErrOlderMissing) { // nodes let go of blocks
		if there, err = o.renewed(ctx); err != nil {
			return here, err
		}
		r.first = min(here.first, there.First)
		ask = slices.DeleteFunc(ask, func(num uint32) bool { return num < there.First })
		a, err = o.do(ctx, &wire.OlderRequest{IDs: ask})
	}
	for _, p := range a.IDs {
		r.ids[p.Num] = p.ID
	}
	return r, err
}

// named are the blocks that a client says it has, and that are not known here. Spring looks at none from the start on.
func (o *older) named(v wire.Version, q *wire.BlocksRequest, complete uint32) map[uint32]struct{} {
	list := make(map[uint32]struct{})
	for _, p := range q.Have {
		if p.Num > complete || v != wire.Leap && p.Num >= q.Start {
			continue
		}
		if _, ok := list[p.Num]; ok {
			continue
		}
		if _, ok := o.h.id(p.Num); !ok {
			list[p.Num] = struct{}{}
		}
	}
	return list
}
