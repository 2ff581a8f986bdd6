package ship

import (
	"context"

	"tarn/antelope/ship/wire"
	"tarn/antelope/types"
	"tarn/httpserver"
)

// looker looks ids of blocks up for one client. It may list very many: each that is not in memory has a turn of its
// own, so that few are read at once and clients take turns, and none is read for a client that is gone.
type looker struct {
	ctx    context.Context // of the client's session
	turns  *httpserver.Turns
	memory func(num uint32) (types.Checksum256, bool)
	files  func(num uint32) (types.Checksum256, bool)
	heads  func(num uint32) (tip, bool)
}

// lookerOf looks up for the session of a context.
func (s *Server) lookerOf(ctx context.Context) *looker {
	memory := func(num uint32) (id types.Checksum256, ok bool) {
		if x := s.h.recent.get(num); x != nil {
			return x.ID, true
		}
		return id, false
	}
	return &looker{ctx: ctx, turns: s.looks, memory: memory, files: s.h.id, heads: s.h.tip}
}

func (l *looker) id(num uint32) (id types.Checksum256, ok bool) {
	if id, ok = l.memory(num); ok {
		return id, true
	}
	if l.ctx.Err() != nil {
		return id, false
	}
	end, err := l.turns.Take(l.ctx, httpserver.ClientOf(l.ctx))
	if err != nil {
		return id, false
	}
	defer end()
	return l.files(num)
}

func (l *looker) position(num uint32) (wire.Position, bool) {
	id, ok := l.id(num)
	return wire.Position{Num: num, ID: id}, ok
}

func (l *looker) tip(num uint32) (tip, bool) { return l.heads(num) }

// has tells whether a block is the one that we have of its number.
func (l *looker) has(p wire.Position) bool {
	id, ok := l.id(p.Num)
	return ok && id == p.ID
}
