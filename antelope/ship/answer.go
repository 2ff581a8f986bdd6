package ship

import (
	"context"
	"errors"
	"fmt"

	"tarn/antelope/ship/shiplog"
	"tarn/antelope/ship/wire"
	"tarn/antelope/types"
)

// What a node answers replicas, whose clients want blocks from before the replica. Its answers are of irreversible
// blocks, so that no two of them are of two branches.

// ErrOlderRequest says that a replica asks for what no replica asks for.
var ErrOlderRequest = errors.New("it is no request of a replica for its clients")

// ErrOlderMissing says that a node does not have what is asked for, which another one of its fleet may have.
var ErrOlderMissing = errors.New("the node of the fleet does not have it")

// ErrOlderLong says that there is more of a block than is passed on to replicas.
var ErrOlderLong = fmt.Errorf("there are more than %d MiB of the block, which are not passed on: ask a node", olderBlock>>20)

// AnswerOlder answers a request of a replica for its clients: [wire.OlderRequest], [wire.Older]. An error wraps
// ErrOlderRequest, ErrOlderMissing or ErrOlderLong, is the context's once that ends, or says what could not be read.
// Any goroutine may call it.
func (h *History) AnswerOlder(ctx context.Context, request []byte) ([]byte, error) {
	q, err := wire.DecodeOlderRequest(request)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOlderRequest, err)
	}
	if len(q.IDs) > olderIDs || q.Most > olderPiece {
		return nil, fmt.Errorf("%w: %d ids, %d bytes", ErrOlderRequest, len(q.IDs), q.Most)
	}
	root, _ := h.source.Irreversible()
	a := answer{History: h, ctx: ctx, q: q, left: int64(max(q.Most, 1)), last: max(root, h.at().irreversible.Num)}
	if err = a.make(); err != nil && ctx.Err() != nil {
		return nil, ctx.Err() // nobody waits for it any more
	}
	h.o.Damaged(err)
	if err != nil {
		return nil, err
	}
	return a.Append(nil), nil
}

// make answers the request.
func (a *answer) make() error {
	q := &a.q
	a.First, a.Begins[wire.KindBlock] = a.source.Earliest(), a.source.FirstStored()
	for kind, l := range a.logOf() {
		if l == nil {
			continue
		}
		if begin, end := l.Range(); begin < end {
			a.First, a.Begins[kind] = min(a.First, begin), begin
		}
	}
	if err := a.ids(); err != nil {
		return err
	}
	for num := q.Start; num < q.End && a.left > 0 && len(a.Blocks) < olderBlocks; num++ {
		err := a.block(num)
		if err != nil && num > q.Start { // who asks for it next is told
			break
		}
		if err != nil {
			return fmt.Errorf("block %d for a replica's client: %w", num, err)
		}
	}
	return nil
}

// logOf are the logs that are kept, by kind.
func (h *History) logOf() [wire.Kinds]*shiplog.Log {
	return [...]*shiplog.Log{wire.KindTraces: h.traces, wire.KindDeltas: h.state, wire.KindFinality: h.finality}
}

// answer is one that is being made.
type answer struct {
	*History
	wire.Older
	ctx  context.Context // of the request
	q    wire.OlderRequest
	last uint32 // irreversible block
	left int64  // bytes of data that it may still take
}

func (a *answer) ids() error {
	for _, num := range a.q.IDs {
		if err := a.ctx.Err(); err != nil {
			return err
		}
		id, ok, err := a.sureID(num)
		if err == nil && (!ok || num > a.last) {
			err = ErrOlderMissing
		}
		if err != nil {
			return fmt.Errorf("the id of block %d: %w", num, err)
		}
		a.IDs = append(a.IDs, wire.Position{Num: num, ID: id})
	}
	return nil
}

// block adds a block with as much of its data as there is room for; none but the first is added in part.
func (a *answer) block(num uint32) error {
	if !a.keeps(num) {
		return ErrOlderMissing
	}
	x, err := a.nameBlock(num, a.recent.get(num))
	if err != nil {
		return err
	}
	if x == nil {
		return ErrOlderMissing
	}
	if x.prev, err = a.prev(num); err != nil {
		return err
	}
	b := wire.OlderBlock{Position: x.Position, Prev: x.prev, Lengths: [wire.Kinds]int64{-1, -1, -1, -1}}
	p := portion{History: a.History, ctx: a.ctx, x: x, room: a.left}
	if num == a.q.Start {
		p.skip = int64(min(a.q.Offset, olderBlock))
	}
	for kind, want := range a.q.Want {
		if !want {
			continue
		}
		if b.Lengths[kind], err = p.add(kind); err == nil && b.Lengths[kind] < 0 && !a.lacks(kind, num) {
			err = ErrOlderMissing // it was let go a moment ago
		}
		if err != nil {
			return err
		}
	}
	b.Data = p.data
	switch whole := b.Length(); {
	case whole > olderBlock:
		return ErrOlderLong
	case len(a.Blocks) > 0 && int64(len(b.Data)) < whole:
		a.left = 0
		return nil
	}
	a.left -= int64(len(b.Data)) + olderHead
	a.Blocks = append(a.Blocks, b)
	return nil
}

// prev is the id of the block before one; zero if it is not known, as where the chain begins, and no other node may
// know it.
func (a *answer) prev(num uint32) (types.Checksum256, error) {
	if num == 0 {
		return types.Checksum256{}, nil
	}
	id, ok, err := a.sureID(num - 1)
	if err == nil && !ok && num > a.q.First && a.q.First > 0 {
		err = ErrOlderMissing
	}
	return id, err
}

// lacks tells whether the node never had a block that it would have by its number: one that a genesis file made.
func (a *answer) lacks(kind int, num uint32) bool {
	return kind == wire.KindBlock && num >= a.source.FirstStored()
}

// keeps tells whether a block is irreversible, and each log has it that is asked for it.
func (a *answer) keeps(num uint32) bool {
	if num > a.last || a.q.Want[wire.KindBlock] && num < a.Begins[wire.KindBlock] {
		return false
	}
	for kind, l := range a.logOf() {
		if !a.q.Want[kind] || kind == wire.KindBlock {
			continue
		}
		if l == nil {
			return false
		}
		begin, end := l.Range()
		// The first entry of changes is the whole state, where a node that began earlier has what changed.
		whole := kind == wire.KindDeltas && num == begin && a.q.Begins[kind] > 0 && a.q.Begins[kind] < begin
		if num < begin || num >= end || whole {
			return false
		}
	}
	return true
}

// portion gathers a part of what there is of a block: room bytes at most, after skip bytes.
type portion struct {
	*History
	ctx        context.Context // of who waits for it
	x          *recorded
	data       []byte
	skip, room int64
}

// add adds what there is of a kind, and returns how long all of that is; -1 if there is nothing.
func (p *portion) add(kind int) (int64, error) {
	if kind == wire.KindBlock {
		if err := p.takeTurn(); err != nil {
			return 0, err
		}
		defer func() { <-p.shelf.work }()
		b, err := p.source.Block(p.x.Num, p.x.ID)
		if b == nil || err != nil {
			return -1, err
		}
		return p.take(b), nil
	}
	l := p.logOf()[kind]
	if l == nil {
		return -1, nil
	}
	if y := p.shelf.get(l, p.x.Num); y != nil {
		defer p.shelf.release(y)
		if y.id == p.x.ID {
			return p.take(y.b), nil
		}
	}
	return p.read(l)
}

// takeTurn waits for a turn among those who read and unpack. Whoever got one gives it back.
func (p *portion) takeTurn() error {
	select {
	case p.shelf.work <- struct{}{}:
		return nil
	case <-p.ctx.Done():
		return p.ctx.Err()
	}
}

// take adds what the portion may have of bytes, and returns how many they are.
func (p *portion) take(b []byte) int64 {
	whole := int64(len(b))
	b = b[min(p.skip, whole):]
	p.skip -= min(p.skip, whole)
	b = b[:min(int64(len(b)), p.room-int64(len(p.data)))]
	p.data = append(p.data, b...)
	return whole
}

// read is take for an entry that memory does not have.
func (p *portion) read(l *shiplog.Log) (length int64, err error) {
	e, err := l.Read(p.x.Num)
	if errors.Is(err, shiplog.ErrNotFound) {
		return -1, nil
	}
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	if e.ID != p.x.ID {
		if err := p.otherwise(l, e, p.x); errors.Is(err, shiplog.ErrNotFound) {
			return -1, nil
		} else if err != nil {
			return 0, err
		}
	}
	if length = e.Length; length < 0 {
		if length, err = p.measure(l, p.x); err != nil {
			return 0, err
		}
	}
	if length > olderBlock {
		return length, nil
	}
	skip := min(p.skip, length)
	p.skip -= skip
	n, at := min(length-skip, p.room-int64(len(p.data))), len(p.data)
	if n == 0 {
		return length, nil
	}
	p.data = append(p.data, make([]byte, n)...)
	if err := p.takeTurn(); err != nil {
		return 0, err
	}
	defer func() { <-p.shelf.work }()
	return length, e.FillPart(p.data[at:], skip, length)
}
