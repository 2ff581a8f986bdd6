package ship

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"tarn/antelope/ship/shiplog"
	"tarn/antelope/ship/wire"
	"tarn/antelope/types"
)

// What sessions read. Nothing here waits for the writer, or holds it.

// earliest is the first block of which anything can be had.
func (h *History) earliest() uint32 {
	first := h.firstBlock()
	h.o.Log.Info(fmt.Sprintf("First available block for SHiP %d", first))
	return first
}

// firstBlock is earliest, without a word in the log.
func (h *History) firstBlock() uint32 {
	first := h.source.Earliest()
	for _, l := range h.logs() {
		if begin, _ := l.Range(); begin > 0 {
			first = min(first, begin)
		}
	}
	return first
}

// id is the id of a block, by number; false if it is not known.
func (h *History) id(num uint32) (types.Checksum256, bool) {
	if x := h.recent.get(num); x != nil {
		return x.ID, true
	}
	id, ok, err := h.idOf(num)
	if err != nil {
		h.o.Damaged(err) // whoever is sent the block finds out too
	}
	return id, ok
}

// idOf is the id of a block that is not in memory any more. What the logs of the history say
// counts if all of them say the same. Else the block log is asked: of an irreversible block it knows better,
// and of one that may be replaced it tells whether an id is damaged.
func (h *History) idOf(num uint32) (id types.Checksum256, ok bool, err error) {
	var errs []error
	said := 0
	var differ []string // paths of logs that say otherwise
	for _, l := range h.logs() {
		one, there, err := l.ID(num)
		if err != nil {
			errs = append(errs, err)
		}
		if there {
			differ = append(differ, l.Path())
		}
		if there && (!ok || one == id) {
			id, ok, said = one, true, said+1
		} else if there {
			said = 0
			break
		}
	}
	if said >= 2 {
		return id, true, nil
	}
	sure, known, err := h.source.BlockID(num)
	switch {
	case err != nil:
		return id, said == 1, errors.Join(append(errs, err)...)
	case known && (!ok || num <= h.at().irreversible.Num || shiplog.Near(sure, id)):
		return sure, true, errors.Join(errs...)
	case ok && said == 0 && num <= h.at().irreversible.Num:
		return id, false, fmt.Errorf("%s have two ids of block %d, and nothing tells which is right: %w",
			strings.Join(differ, " and "), num, shiplog.ErrCorrupt)
	}
	return id, ok, errors.Join(errs...)
}

// tip is where the history stood when the block of a number became the head, if memory has it.
func (h *History) tip(num uint32) (tip, bool) {
	x := h.recent.get(num)
	if x == nil {
		return tip{}, false
	}
	return tip{head: x.Position, irreversible: x.irreversible}, true
}

// status answers what there is, as a version of nodeos does: of a log without blocks that is spread
// over several files Leap says 1, Spring 0.
func (h *History) status(d due) wire.Status {
	s := wire.Status{V1: d.v1, Head: d.at.head, Irreversible: d.at.irreversible, ChainID: h.source.ChainID()}
	for _, x := range []struct {
		log        *shiplog.Log
		begin, end *uint32
	}{{h.traces, &s.TraceBegin, &s.TraceEnd}, {h.state, &s.StateBegin, &s.StateEnd},
		{h.finality, &s.FinalityBegin, &s.FinalityEnd}} {
		if x.log == nil {
			continue
		}
		if first, end := x.log.Range(); first < end || d.version == wire.Leap {
			*x.begin, *x.end = first, end
		}
	}
	return s
}

// sending is a block that is being sent. What is sent of it is all of one block, even while forks are
// switched: what cannot be had of that one is not sent.
type sending struct {
	*History
	d    due
	m    *message
	x    *recorded // nil if the block is not known
	from *elder    // what a node has of it; nil for nothing
	plan plan      // of a history that has nodes to ask
}

// send sends a block.
func (h *History) send(ctx context.Context, out *sender, d due) (err error) {
	kept := h.recent.get(d.num)
	s := sending{History: h, d: d, x: kept}
	if kept == nil && h.older != nil {
		if s.from, s.plan, err = h.older.elder(ctx, &out.window, d); err != nil {
			return err
		}
	}
	if s.m, err = out.begin(); err != nil {
		return err
	}
	switch {
	case s.from != nil:
		s.x = s.from.name()
	case kept != nil && h.shelf.hold(kept):
		defer h.shelf.letGo(kept)
	default:
		if s.x, err = h.nameBlock(d.num, kept); err != nil {
			return err
		}
	}
	if err := s.head(kept == nil || h.older != nil); err != nil {
		return err
	}
	s.prefetch()
	for kind := range wire.Kinds {
		switch {
		case kind == wire.KindFinality && !d.request.V1:
			continue
		case s.from != nil && s.from.want[kind]:
			err = s.from.send(ctx, s.m, kind)
		default:
			err = s.kind(kind)
		}
		if err != nil {
			return err
		}
	}
	if len(out.window.blocks) == 0 {
		out.window.drop()
	}
	return s.m.end()
}

// missing is that there is nothing of a kind: an error if it was here a moment ago, and a node has it.
func (s *sending) missing(kind int) error {
	if s.plan.here[kind] && s.d.num <= s.at().irreversible.Num {
		return fmt.Errorf("%w: block %d was let go while it was sent", ErrOlderMissing, s.d.num)
	}
	return s.m.nothing()
}

// head sends which block it is. prev tells that the one before it is known.
func (s *sending) head(prev bool) error {
	d, x := s.d, s.x
	head := wire.BlockHead{V1: d.request.V1, Head: d.at.head, Irreversible: d.at.irreversible}
	if x != nil {
		head.This = &x.Position
		if x.Num == d.at.head.Num { // which may have been replaced since
			head.Head = x.Position
		}
		if !prev { // as nodeos: only what it can look up
			_, prev = s.id(d.num - 1)
		}
		if prev && !x.prev.IsZero() {
			head.Prev = &wire.Position{Num: d.num - 1, ID: x.prev}
		}
	}
	_, err := s.m.Write(head.Append(nil))
	return err
}

// kind sends what is here of a kind.
func (s *sending) kind(kind int) error {
	x, q := s.x, s.d.request
	switch kind {
	case wire.KindBlock:
		return s.block(q.Block)
	case wire.KindTraces:
		return s.entry(kind, s.traces, q.Traces, func() []byte { return x.traces })
	case wire.KindDeltas:
		return s.entry(kind, s.state, q.Deltas, func() []byte { return x.deltas })
	}
	return s.entry(kind, s.finality, q.Finality, func() []byte { return x.finality })
}

// nameBlock is a block with nothing but its names; kept is the one that memory has, if it does.
// It is nil if the block is not known. That the names cannot be read is an error.
func (h *History) nameBlock(num uint32, kept *recorded) (*recorded, error) {
	if kept != nil {
		return &recorded{Position: kept.Position, prev: kept.prev}, nil
	}
	id, ok, err := h.sureID(num)
	if !ok || err != nil {
		return nil, err
	}
	x := &recorded{Position: wire.Position{Num: num, ID: id}}
	if num > 0 {
		x.prev, _, err = h.sureID(num - 1)
	}
	return x, err
}

// sureID is id, with an error if something is damaged that would tell it.
func (h *History) sureID(num uint32) (types.Checksum256, bool, error) {
	if x := h.recent.get(num); x != nil {
		return x.ID, true, nil
	}
	id, ok, err := h.idOf(num)
	if ok && err != nil { // whoever asks for what is damaged finds out
		h.o.Damaged(err)
		err = nil
	}
	return id, ok, err
}

// aheadBlocks is how many blocks are unpacked before they are asked for.
const aheadBlocks = 2

// prefetch unpacks the blocks after the one that is being sent, if they have to be read.
func (s *sending) prefetch() {
	q := s.d.request
	for num := s.d.num + 1; num <= s.d.num+aheadBlocks && num < q.End && s.recent.get(num) == nil; num++ {
		if s.traces != nil && q.Traces {
			s.shelf.prefetch(s.traces, num)
		}
		if s.state != nil && q.Deltas {
			s.shelf.prefetch(s.state, num)
		}
		if s.finality != nil && q.Finality {
			s.shelf.prefetch(s.finality, num)
		}
	}
}

// block sends the block itself.
func (s *sending) block(asked bool) error {
	x := s.x
	if x == nil || !asked {
		return s.m.nothing()
	}
	if x.block != nil {
		return s.m.bytes(x.block)
	}
	at := 0
	for first := true; ; first = false {
		b, whole, err := s.blockFrom(at)
		switch {
		case err != nil:
			return err
		case b == nil && first:
			return s.missing(wire.KindBlock)
		case b == nil:
			return fmt.Errorf("block %d was replaced while it was sent: %w", x.Num, shiplog.ErrNotFound)
		case b.held > 0:
			defer s.shelf.unreserve(b.held)
			return s.m.bytes(b.piece)
		case first:
			if _, err := s.m.Write(wire.AppendLength(nil, uint64(whole))); err != nil {
				return err
			}
		}
		if _, err := s.m.Write(b.piece); err != nil {
			return err
		}
		if at += len(b.piece); at >= whole {
			return nil
		}
	}
}

// part is a part of a packed block: all of it if it is held in memory.
type part struct {
	piece []byte
	held  int64
}

// blockFrom reads a block, and copies a piece of it from a position on if there is no room
// for all of it: who takes it slowly holds no more. It is nil if there is no such block.
func (s *sending) blockFrom(at int) (*part, int, error) {
	s.shelf.work <- struct{}{}
	defer func() { <-s.shelf.work }()
	b, err := s.source.Block(s.x.Num, s.x.ID)
	if err != nil || b == nil {
		return nil, 0, err
	}
	if at == 0 && s.shelf.reserve(int64(len(b))) {
		return &part{b, int64(len(b))}, len(b), nil
	}
	if at > len(b) {
		return nil, 0, nil
	}
	return &part{piece: s.m.room()[:copy(s.m.room(), b[at:])]}, len(b), nil
}

// entry sends what a log has of the block, from memory if it is there.
func (s *sending) entry(kind int, l *shiplog.Log, asked bool, kept func() []byte) error {
	if s.x == nil || l == nil || !asked {
		return s.m.nothing()
	}
	if b := kept(); b != nil {
		return s.m.bytes(b)
	}
	if y := s.shelf.get(l, s.x.Num); y != nil {
		defer s.shelf.release(y)
		if y.id == s.x.ID {
			return s.m.bytes(y.b)
		}
	}
	return s.streamEntry(kind, l)
}

// streamEntry sends what a log has of the block as it is unpacked.
func (s *sending) streamEntry(kind int, l *shiplog.Log) error {
	e, err := l.Read(s.x.Num)
	if errors.Is(err, shiplog.ErrNotFound) {
		return s.missing(kind)
	}
	if err != nil {
		return err
	}
	if e.ID != s.x.ID {
		if err := s.otherwise(l, e, s.x); errors.Is(err, shiplog.ErrNotFound) {
			return errors.Join(e.Close(), s.missing(kind))
		} else if err != nil {
			return errors.Join(err, e.Close())
		}
	}
	return errors.Join(s.stream(l, e), e.Close())
}

// otherwise says why an entry has another id than its block: forks are being switched, which is
// ErrNotFound, or the entry is damaged. It is nil if the id was, and was written anew.
func (h *History) otherwise(l *shiplog.Log, e *shiplog.Entry, x *recorded) error {
	switch {
	case shiplog.Near(e.ID, x.ID):
		return l.CorrectID(x.Num, x.ID)
	case x.Num > h.at().irreversible.Num:
		return shiplog.ErrNotFound
	}
	return fmt.Errorf("%s: offset %d: the entry is of block %s, and the irreversible block of that number is %s: %w",
		e.Path, e.Offset, e.ID, x.ID, shiplog.ErrCorrupt)
}

// stream sends an entry piece by piece. One of an old log does not say how long it is, and
// is unpacked once more for that.
func (s *sending) stream(l *shiplog.Log, e *shiplog.Entry) (err error) {
	length := e.Length
	if length < 0 {
		if length, err = s.measure(l, s.x); err != nil {
			return err
		}
	}
	if _, err := s.m.Write(wire.AppendLength(nil, uint64(length))); err != nil {
		return err
	}
	var done int64
	for err == nil {
		s.shelf.work <- struct{}{}
		var n int
		n, err = io.ReadFull(e, s.m.room())
		<-s.shelf.work
		if done += int64(n); done > length {
			break
		}
		if n > 0 {
			if _, err := s.m.Write(s.m.room()[:n]); err != nil {
				return err
			}
		}
	}
	// The end as ReadFull says it; a stream that ends too early says so in an error around it.
	if err == io.EOF || err == io.ErrUnexpectedEOF && done == length {
		err = nil
	}
	if done != length {
		err = errors.Join(err, fmt.Errorf("%s: offset %d: %d bytes of history where %d are said: %w",
			e.Path, e.Offset, done, length, shiplog.ErrCorrupt))
	}
	return err
}

// measure is how long the entry of a block is.
func (h *History) measure(l *shiplog.Log, x *recorded) (int64, error) {
	e, err := l.Read(x.Num)
	if err != nil {
		return 0, err
	}
	h.shelf.work <- struct{}{}
	n, err := io.Copy(io.Discard, e)
	<-h.shelf.work
	if err == nil && e.ID != x.ID && !shiplog.Near(e.ID, x.ID) {
		err = shiplog.ErrNotFound
	}
	return n, errors.Join(err, e.Close())
}
