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
)

// What a replica does not have because it began later, a node of its fleet is asked for: blocks, entries and ids from
// before the logs here begin. All of it is irreversible. Who asks is a client's session, which waits for it alone.

// ErrOlderBusy says that the nodes have too much to do for a moment.
var ErrOlderBusy = errors.New("the nodes of the fleet are busy")

// older asks a node. Any goroutine may use it.
//
// Several nodes may answer in turn, one of which has less than another. So it counts what any of them has had of late,
// and who has less says so.
type older struct {
	h     *History
	ask   func(ctx context.Context, request []byte) (answer []byte, err error)
	turns chan struct{} // has one element for each that is asked at the moment

	mu    sync.Mutex
	known [2]wire.Older // what there was, without blocks: since, and in the time of that length before
	since time.Time
	heard time.Time // when a node answered last; zero for never
}

func newOlder(h *History, ask func(context.Context, []byte) ([]byte, error)) *older {
	if ask == nil {
		return nil
	}
	return &older{h: h, ask: ask, turns: make(chan struct{}, olderTurns)}
}

// do asks until a node has a moment for it, and has it.
func (o *older) do(ctx context.Context, q *wire.OlderRequest) (a wire.Older, err error) {
	request := q.Append(nil)
	for wait := olderWait; ; wait *= 2 {
		a, err = o.once(ctx, request)
		again := errors.Is(err, ErrOlderBusy) && wait <= olderWaits ||
			errors.Is(err, ErrOlderMissing) && wait <= olderMissing
		if !again {
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
	select {
	case o.turns <- struct{}{}:
	case <-ctx.Done():
		return a, context.Cause(ctx)
	}
	b, err := o.ask(ctx, request)
	<-o.turns
	if err != nil {
		return a, fmt.Errorf("ask a node for older history: %w", err)
	}
	if a, err = wire.DecodeOlder(b); err != nil {
		return a, fmt.Errorf("read a node's older history: %w", err)
	}
	o.note(&a)
	return a, nil
}

// note keeps what a node has.
func (o *older) note(a *wire.Older) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.heard = time.Now()
	if age := o.heard.Sub(o.since); age >= olderForget {
		o.known[0], o.known[1] = wire.Older{}, o.known[0]
		if age >= 2*olderForget {
			o.known[1] = wire.Older{}
		}
		o.since = o.heard
	}
	o.known[0] = either(o.known[0], *a)
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

// has is what nodes have, or had a moment ago. It is an error only if none has ever answered.
func (o *older) has(ctx context.Context) (wire.Older, error) {
	o.mu.Lock()
	fresh, ever := time.Since(o.heard) < olderAge, !o.heard.IsZero()
	o.mu.Unlock()
	if !fresh {
		if _, err := o.do(ctx, &wire.OlderRequest{}); err != nil && !ever {
			return wire.Older{}, err
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return either(o.known[0], o.known[1]), nil
}

// complete is a block from which on nothing is missing here. Finality data may begin later than the rest: it is only
// looked at if it is asked for.
func (o *older) complete(q *wire.BlocksRequest) uint32 {
	from := o.h.source.FirstStored()
	for _, l := range o.h.logs() {
		switch begin, end := l.Range(); {
		case l == o.h.finality && (begin == end || !q.V1 || !q.Finality):
		case begin < end:
			from = max(from, begin)
		default:
			from = max(from, o.h.at().head.Num)
		}
	}
	return from
}

// status adds what nodes have from before the logs here.
func (o *older) status(ctx context.Context, s wire.Status) (wire.Status, error) {
	there, err := o.has(ctx)
	if err != nil {
		return s, fmt.Errorf("the status of the history: %w", err)
	}
	for kind, at := range [...]struct{ begin, end *uint32 }{
		wire.KindTraces: {&s.TraceBegin, &s.TraceEnd}, wire.KindDeltas: {&s.StateBegin, &s.StateEnd},
		wire.KindFinality: {&s.FinalityBegin, &s.FinalityEnd},
	} {
		if o.h.logOf()[kind] == nil || there.Begins[kind] == 0 {
			continue
		}
		if *at.begin == *at.end {
			*at.begin, *at.end = there.Begins[kind], s.Head.Num+1
		}
		*at.begin = min(*at.begin, there.Begins[kind])
	}
	return s, nil
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

// lacking are the kinds of what a client asks for of a block that only a node has; needs tells whether a node is to be
// asked, if for the names of the block alone.
func (o *older) lacking(ctx context.Context, q *wire.BlocksRequest, num uint32) (
	want [wire.Kinds]bool, needs bool, err error,
) {
	if num > o.complete(q) {
		return want, false, nil
	}
	there, err := o.has(ctx)
	if err != nil || num < there.First {
		return want, false, err
	}
	want[wire.KindBlock] = q.Block && num < o.h.source.FirstStored() && there.Begins[wire.KindBlock] > 0 &&
		num >= there.Begins[wire.KindBlock]
	asked := [...]bool{wire.KindTraces: q.Traces, wire.KindDeltas: q.Deltas, wire.KindFinality: q.V1 && q.Finality}
	for kind, l := range o.h.logOf() {
		if l == nil || !asked[kind] || there.Begins[kind] == 0 || num < there.Begins[kind] {
			continue
		}
		begin, end := l.Range()
		// A log of changes begins with the whole state, where the node has what the block changed.
		whole := kind == wire.KindDeltas && num == begin && there.Begins[kind] < begin
		want[kind] = begin == end || num < begin || whole
	}
	_, this := o.h.id(num)
	_, prev := o.h.id(num - 1)
	return want, want != [wire.Kinds]bool{} || !this || !prev && num > there.First, nil
}

// window is what a session has of a node: blocks that follow each other, for the next messages.
type window struct {
	want   [wire.Kinds]bool
	blocks []wire.OlderBlock
	held   int64 // of the shelf
}

// drop lets all go.
func (w *window) drop(s *shelf) {
	if w.held > 0 {
		s.unreserve(w.held)
	}
	*w = window{}
}

// elder is a block of a node that is being sent.
type elder struct {
	*wire.OlderBlock
	o    *older
	want [wire.Kinds]bool
	at   int64 // of what there is, what comes next
}

// elder gets what only a node has of a block; nil if nothing.
func (o *older) elder(ctx context.Context, w *window, d due) (*elder, error) {
	want, needs, err := o.lacking(ctx, d.request, d.num)
	if err != nil || !needs {
		return nil, err
	}
	if len(w.blocks) == 0 || w.want != want || w.blocks[0].Num != d.num {
		if err := o.fill(ctx, w, want, d); err != nil {
			return nil, err
		}
	}
	x := &elder{OlderBlock: &w.blocks[0], o: o, want: want}
	w.blocks = w.blocks[1:]
	if id, ok := o.h.id(d.num); ok && id != x.ID {
		return nil, fmt.Errorf("a node of the fleet has block %d as %s, and it is %s here", d.num, x.ID, id)
	}
	return x, nil
}

// fill gets the blocks from the one that is due on, as many as there is room for.
func (o *older) fill(ctx context.Context, w *window, want [wire.Kinds]bool, d due) error {
	w.drop(o.h.shelf)
	there, err := o.has(ctx)
	if err != nil {
		return err
	}
	q := wire.OlderRequest{Start: d.num, End: d.num + 1, Want: want, Most: olderLittle, First: there.First,
		Begins: there.Begins}
	if o.h.shelf.reserve(olderPiece) {
		w.held = olderPiece
		q.Most, q.End = olderPiece, min(d.request.End, max(o.complete(d.request), d.num)+1)
	}
	a, err := o.do(ctx, &q)
	if err != nil {
		return fmt.Errorf("block %d: %w", d.num, err)
	}
	for i, x := range a.Blocks {
		if x.Num != d.num+uint32(i) || i > 0 && int64(len(x.Data)) != x.Length() {
			return fmt.Errorf("a node of the fleet answers for block %d with block %d", d.num+uint32(i), x.Num)
		}
	}
	if len(a.Blocks) == 0 {
		return fmt.Errorf("a node of the fleet answers for block %d with none", d.num)
	}
	w.want, w.blocks = want, a.Blocks
	return nil
}

// name is the block with nothing but its names.
func (x *elder) name() *recorded {
	return &recorded{Position: x.Position, prev: x.Prev}
}

// send sends all of a kind. Kinds come in their order.
func (x *elder) send(ctx context.Context, m *message, kind int) error {
	left := x.Lengths[kind]
	if left < 0 {
		return m.nothing()
	}
	if _, err := m.Write(wire.AppendLength(nil, uint64(left))); err != nil {
		return err
	}
	for left > 0 {
		if len(x.Data) == 0 {
			if err := x.more(ctx); err != nil {
				return err
			}
		}
		n := min(left, int64(len(x.Data)), int64(m.o.limits.SentAtOnce))
		if _, err := m.Write(x.Data[:n]); err != nil {
			return err
		}
		x.Data, x.at, left = x.Data[n:], x.at+n, left-n
	}
	return nil
}

// more gets the next bytes of a block that is longer than what is asked for at once.
func (x *elder) more(ctx context.Context) error {
	a, err := x.o.do(ctx, &wire.OlderRequest{Start: x.Num, End: x.Num + 1, Want: x.want, Offset: uint64(x.at),
		Most: olderLittle})
	if err != nil {
		return fmt.Errorf("block %d from byte %d on: %w", x.Num, x.at, err)
	}
	if len(a.Blocks) != 1 || a.Blocks[0].Position != x.Position || a.Blocks[0].Lengths != x.Lengths ||
		len(a.Blocks[0].Data) == 0 {
		return fmt.Errorf("block %d has changed on a node of the fleet while it was sent", x.Num)
	}
	x.Data = a.Blocks[0].Data
	return nil
}
