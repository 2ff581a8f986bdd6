package node

import (
	"fmt"
	"log/slog"
	"slices"
	"time"

	"tarn/antelope/finality"
	"tarn/antelope/types"
)

// roles are what the chain's policies make of this node's finalizers. The log is told how that is, and
// when it changes. It is the writer's.
type roles struct {
	log             *slog.Logger
	keys            []types.BLSPublicKey
	now             []role                 // of each key; nil until the first is told
	active, pending *types.FinalizerPolicy // that now is of
}

// role is what the policies make of a key.
type role uint8

const (
	outside role = iota // in no policy: its votes do not count
	pending
	active
)

// tell is given what the head says of finality; nil if that is nothing yet.
func (r *roles) tell(s *finality.State) {
	first := r.now == nil
	if first {
		r.now = make([]role, len(r.keys))
	}
	var inForce, next *types.FinalizerPolicy
	if s != nil {
		inForce = s.Finalizers
		if s.Pending != nil {
			next = s.Pending.Policy
		}
	}
	if !first && r.active == inForce && r.pending == next {
		return
	}
	r.active, r.pending = inForce, next
	for i, k := range r.keys {
		is := roleIn(k, inForce, next)
		if is != r.now[i] || first {
			r.log.Info(is.text(first), "key", k)
		}
		r.now[i] = is
	}
}

func roleIn(k types.BLSPublicKey, inForce, next *types.FinalizerPolicy) role {
	has := func(p *types.FinalizerPolicy) bool {
		return p != nil && slices.ContainsFunc(p.Finalizers, func(f types.Finalizer) bool { return f.Key == k })
	}
	switch {
	case has(inForce):
		return active
	case has(next):
		return pending
	}
	return outside
}

func (is role) text(first bool) string {
	switch {
	case is == active:
		return "This node votes as a finalizer: its key is in the active policy"
	case is == pending:
		return "This node votes as a finalizer: its key is in the pending policy, which becomes the active one"
	case first:
		return "This node has the key of a finalizer, and does not vote with it yet: the key is in no policy of the " +
			"chain. Register and activate it (regfinkey, actfinkey)"
	}
	return "This node no longer votes as a finalizer: its key has left the policies of the chain"
}

// sayLate is how often at most ballots that are dropped are said.
const sayLate = time.Minute

// late counts the ballots that were dropped because the ones before took too long. It is the writer's.
type late struct {
	log    *slog.Logger
	blocks int // since the last line
	said   time.Time
}

// note notes a ballot that is dropped. A certificate is none to speak of: the next one says more.
func (l *late) note(x ballot, now time.Time) {
	if x.certificate != nil {
		return
	}
	l.blocks++
	if now.Sub(l.said) < sayLate {
		return
	}
	l.log.Warn(fmt.Sprintf("This node's finalizers did not vote for %d blocks, up to #%d: votes are slower than blocks. Each vote "+
		"waits until it is on the disk of finalizers-dir: see whether that disk is slow", l.blocks,
		types.BlockNum(x.state.ID)))
	l.blocks, l.said = 0, now
}
