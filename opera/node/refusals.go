package node

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"tarn/opera/p2p"
)

// refusals says in the log which peers handshakes failed with, in go-opera's words. go-opera says
// that only to who debugs. Anybody may connect and fail, so that a line comes at most every
// refusalsEvery for each reason; and of each peer that the operator named, as a warning.
type refusals struct {
	log *slog.Logger
	now func() time.Time

	mu sync.Mutex
	of map[string]*refusal // reasons, and peers that the operator named
}

// refusal is the last line, and what was not said after it.
type refusal struct {
	said   time.Time
	unsaid int
}

const refusalsEvery = time.Minute

// countRefusal is told of each handshake that failed.
func (r *refusals) countRefusal(x p2p.Refusal) {
	level, key := slog.LevelInfo, x.Reason.String()
	if x.Kept {
		level, key = slog.LevelWarn, x.Peer
	}
	args := []any{"reason", x.Reason.String(), "peer", x.Peer, "addr", x.Address, "name", x.Name, "err", x.Err}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of == nil {
		r.of = map[string]*refusal{}
	}
	last, now := r.of[key], r.now()
	if last == nil {
		last = &refusal{}
		r.of[key] = last
	}
	if now.Sub(last.said) < refusalsEvery {
		last.unsaid++
		return
	}
	if last.unsaid > 0 {
		args = append(args, "unsaid", last.unsaid)
	}
	r.log.Log(context.Background(), level, "Handshake failed", args...)
	last.said, last.unsaid = now, 0
}
