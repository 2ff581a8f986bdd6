package ship

import (
	"context"
	"errors"
	"fmt"

	"tarn/antelope/ship/wire"
)

// plan is where what a client asks for of a block comes from.
type plan struct {
	want  [wire.Kinds]bool // kinds that only nodes have
	here  [wire.Kinds]bool // that are here
	needs bool             // a node is to be asked, if for the names of the block alone
}

// plan plans a block.
func (o *older) plan(ctx context.Context, q *wire.BlocksRequest, num uint32) (p plan, err error) {
	asked := [...]bool{wire.KindBlock: q.Block, wire.KindTraces: q.Traces, wire.KindDeltas: q.Deltas,
		wire.KindFinality: q.V1 && q.Finality}
	if num > o.complete(q) {
		p.here = asked
		if l := o.h.finality; l != nil { // which a chain need not have
			begin, end := l.Range()
			p.here[wire.KindFinality] = asked[wire.KindFinality] && begin < end && num >= begin
		}
		return p, nil
	}
	there, err := o.has(ctx)
	if err != nil {
		return p, err
	}
	for kind, l := range o.h.logOf() {
		if !asked[kind] || l == nil && kind != wire.KindBlock {
			continue
		}
		nodes := there.Begins[kind] > 0 && num >= there.Begins[kind]
		begin, end := o.h.source.FirstStored(), uint32(0)
		if l != nil {
			begin, end = l.Range()
		}
		// A log of changes begins with the whole state, where the node has what the block changed.
		whole := kind == wire.KindDeltas && num == begin && nodes && there.Begins[kind] < begin
		p.here[kind] = num >= begin && (l == nil || begin < end) && !whole
		p.want[kind] = !p.here[kind] && nodes
	}
	if num < there.First {
		return p, nil
	}
	_, this := o.h.id(num)
	_, prev := o.h.id(num - 1)
	p.needs = p.want != [wire.Kinds]bool{} || !this || !prev && num > there.First
	return p, nil
}

// window is what a session has of a node: blocks that follow each other, for the next messages.
type window struct {
	request *wire.BlocksRequest // that they are for
	plan    plan
	there   wire.Older // what nodes were known to have
	blocks  []wire.OlderBlock
	o       *older
	held    int64 // of the shelf
}

// drop lets all go.
func (w *window) drop() {
	if w.held > 0 {
		w.o.unreserve(w.held)
	}
	*w = window{}
}

// elder is a block of a node that is being sent.
type elder struct {
	*wire.OlderBlock
	o     *older
	want  [wire.Kinds]bool
	there wire.Older // what nodes were known to have
	at    int64      // of what there is, what comes next
	most  uint32     // bytes that are asked for at once
}

// elder gets what only a node has of a block; nil if nothing. The plan says what else is here.
func (o *older) elder(ctx context.Context, w *window, d due) (*elder, plan, error) {
	if len(w.blocks) == 0 || w.request != d.request || w.blocks[0].Num != d.num {
		p, err := o.plan(ctx, d.request, d.num)
		if err != nil || !p.needs {
			w.drop()
			return nil, p, err
		}
		if p, err = o.fillOrRenew(ctx, w, p, d); err != nil || !p.needs {
			w.drop()
			return nil, p, err
		}
	}
	x := &elder{OlderBlock: &w.blocks[0], o: o, want: w.plan.want, there: w.there, most: olderLittle}
	if w.held > 0 {
		x.most = olderPiece
	}
	w.blocks = w.blocks[1:]
	if id, ok := o.h.id(d.num); ok && id != x.ID {
		return nil, w.plan, fmt.Errorf("a node of the fleet has block %d as %s, and it is %s here", d.num, x.ID, id)
	}
	return x, w.plan, nil
}

// fillOrRenew fills a window. If no node has what was planned, nodes are asked what they have now: they let go of blocks.
func (o *older) fillOrRenew(ctx context.Context, w *window, p plan, d due) (plan, error) {
	err := o.fill(ctx, w, p, d)
	if !errors.Is(err, ErrOlderMissing) {
		return p, err
	}
	if e := o.renew(ctx); e != nil {
		return p, e
	}
	again, e := o.plan(ctx, d.request, d.num)
	if e != nil || again == p {
		return p, errors.Join(err, e)
	}
	if !again.needs {
		return again, nil
	}
	return again, o.fill(ctx, w, again, d)
}

// fill gets the blocks from the one that is due on that are planned as it is, as many as there is room for.
func (o *older) fill(ctx context.Context, w *window, p plan, d due) error {
	w.drop()
	there, err := o.has(ctx)
	if err != nil {
		return err
	}
	q := wire.OlderRequest{Start: d.num, End: d.num + 1, Want: p.want, Most: olderLittle, First: there.First,
		Begins: there.Begins}
	w.o = o
	if o.reserve(olderPiece) {
		w.held, q.Most, q.End = olderPiece, olderPiece, min(d.request.End, o.same(d.request, d.num))
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
	w.request, w.plan, w.there, w.blocks = d.request, p, there, a.Blocks
	return nil
}

// same is the first block after one that may be planned otherwise: where something begins, here or on nodes.
func (o *older) same(q *wire.BlocksRequest, num uint32) uint32 {
	next := o.complete(q) + 1
	limit := func(begin uint32) {
		if begin > num {
			next = min(next, begin)
		}
	}
	o.mu.Lock()
	there := either(o.known[0], o.known[1])
	o.mu.Unlock()
	limit(o.h.source.FirstStored())
	for kind, l := range o.h.logOf() {
		limit(there.Begins[kind])
		if l != nil {
			begin, _ := l.Range()
			limit(begin)
			limit(begin + 1) // the first has the whole state
		}
	}
	return max(next, num+1)
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
		Most: x.most, First: x.there.First, Begins: x.there.Begins})
	if err != nil {
		return fmt.Errorf("block %d from byte %d on: %w", x.Num, x.at, err)
	}
	if len(a.Blocks) != 1 || a.Blocks[0].Position != x.Position || a.Blocks[0].Prev != x.Prev || a.Blocks[0].Lengths != x.Lengths ||
		len(a.Blocks[0].Data) == 0 {
		return fmt.Errorf("block %d has changed on a node of the fleet while it was sent", x.Num)
	}
	x.Data = a.Blocks[0].Data
	return nil
}
