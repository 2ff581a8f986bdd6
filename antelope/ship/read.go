package ship

import (
	"errors"
	"fmt"
	"io"

	"tarn/antelope/ship/shiplog"
	"tarn/antelope/ship/wire"
	"tarn/antelope/types"
)

// What sessions read. Nothing here waits for the writer, or holds it.

// earliest is the first block of which anything can be had.
func (h *History) earliest() uint32 {
	first := h.source.Earliest()
	for _, l := range []*shiplog.Log{h.traces, h.state} {
		if l == nil {
			continue
		}
		if begin, _ := l.Range(); begin > 0 {
			first = min(first, begin)
		}
	}
	h.o.Log.Info(fmt.Sprintf("First available block for SHiP %d", first))
	return first
}

// id is the id of a block, by number.
func (h *History) id(num uint32) (types.Checksum256, bool) {
	if x := h.recent.get(num); x != nil {
		return x.ID, true
	}
	for _, l := range []*shiplog.Log{h.traces, h.state} {
		if l == nil {
			continue
		}
		if id, ok, err := l.ID(num); ok && err == nil {
			return id, true
		}
	}
	id, ok, err := h.source.BlockID(num)
	return id, ok && err == nil
}

func (h *History) position(num uint32) (wire.Position, bool) {
	id, ok := h.id(num)
	return wire.Position{Num: num, ID: id}, ok
}

// has tells whether a block is the one that we have of its number.
func (h *History) has(p wire.Position) bool {
	id, ok := h.id(p.Num)
	return ok && id == p.ID
}

func (h *History) status(t tip) wire.Status {
	s := wire.Status{Head: t.head, Irreversible: t.irreversible, ChainID: h.source.ChainID()}
	if h.traces != nil {
		s.TraceBegin, s.TraceEnd = h.traces.Range()
	}
	if h.state != nil {
		s.StateBegin, s.StateEnd = h.state.Range()
	}
	return s
}

// send sends a block. What is sent of it is all of one block, even while forks are
// switched: what cannot be had of that one is not sent.
func (h *History) send(out *sender, d due) error {
	m, err := out.begin()
	if err != nil {
		return err
	}
	head := wire.BlockHead{Head: d.at.head, Irreversible: d.at.irreversible}
	x := h.recent.get(d.num)
	if x == nil {
		if id, ok := h.id(d.num); ok {
			x = &recorded{Position: wire.Position{Num: d.num, ID: id}}
			if before, ok := h.id(d.num - 1); ok && d.num > 0 {
				x.prev = before
			}
		}
	} else if _, ok := h.id(d.num - 1); !ok { // as nodeos: only what it can look up
		x = &recorded{Position: x.Position, block: x.block, traces: x.traces, deltas: x.deltas}
	}
	if x != nil {
		head.This = &x.Position
		if !x.prev.IsZero() {
			head.Prev = &wire.Position{Num: d.num - 1, ID: x.prev}
		}
	}
	if _, err := m.Write(head.Append(nil)); err != nil {
		return err
	}
	h.ahead(d)
	if err := h.sendBlock(m, x, d.request.Block); err != nil {
		return err
	}
	if err := sendEntry(m, x, h.shelf, h.traces, d.request.Traces, func() []byte { return x.traces }); err != nil {
		return err
	}
	if err := sendEntry(m, x, h.shelf, h.state, d.request.Deltas, func() []byte { return x.deltas }); err != nil {
		return err
	}
	return m.end()
}

// ahead unpacks the block after the one that is being sent, if it has to be read.
func (h *History) ahead(d due) {
	if num := d.num + 1; h.recent.get(num) == nil && num < d.request.End {
		if h.traces != nil && d.request.Traces {
			h.shelf.ahead(h.traces, num)
		}
		if h.state != nil && d.request.Deltas {
			h.shelf.ahead(h.state, num)
		}
	}
}

func (h *History) sendBlock(m *message, x *recorded, asked bool) error {
	if x == nil || !asked {
		_, err := m.Write(wire.AppendNothing(nil))
		return err
	}
	b := x.block
	if b == nil {
		var err error
		if b, err = h.source.Block(x.Num, x.ID); err != nil {
			return err
		}
	}
	if b == nil {
		_, err := m.Write(wire.AppendNothing(nil))
		return err
	}
	_, err := m.Write(append(wire.AppendLength(nil, uint64(len(b))), b...))
	return err
}

// sendEntry sends what a log has of a block, from memory if it is there.
func sendEntry(m *message, x *recorded, s *shelf, l *shiplog.Log, asked bool, kept func() []byte) error {
	if x == nil || l == nil || !asked {
		_, err := m.Write(wire.AppendNothing(nil))
		return err
	}
	if b := kept(); b != nil {
		if _, err := m.Write(wire.AppendLength(nil, uint64(len(b)))); err != nil {
			return err
		}
		_, err := m.Write(b)
		return err
	}
	if id, b, err := s.get(l, x.Num); err == nil && b != nil && id == x.ID {
		if _, err := m.Write(wire.AppendLength(nil, uint64(len(b)))); err != nil {
			return err
		}
		_, err := m.Write(b)
		return err
	}
	e, err := l.Read(x.Num)
	if errors.Is(err, shiplog.ErrNotFound) || err == nil && e.ID != x.ID {
		if e != nil {
			err = e.Close()
		} else {
			err = nil
		}
		_, e := m.Write(wire.AppendNothing(nil))
		return errors.Join(err, e)
	}
	if err != nil {
		return err
	}
	return errors.Join(stream(m, e), e.Close())
}

// stream sends an entry piece by piece. One of an old log does not say how long it is,
// and is unpacked first.
func stream(m *message, e *shiplog.Entry) error {
	length := e.Length
	var in io.Reader = e
	if length < 0 {
		b, err := io.ReadAll(e)
		if err != nil {
			return err
		}
		if _, err := m.Write(wire.AppendLength(nil, uint64(len(b)))); err != nil {
			return err
		}
		_, err = m.Write(b)
		return err
	}
	if _, err := m.Write(wire.AppendLength(nil, uint64(length))); err != nil {
		return err
	}
	buf := make([]byte, min(max(length, 1), piece))
	n, err := io.CopyBuffer(struct{ io.Writer }{m}, struct{ io.Reader }{in}, buf)
	if err == nil && n != length {
		err = fmt.Errorf("%d bytes of history where %d are said: %w", n, length, shiplog.ErrCorrupt)
	}
	return err
}
