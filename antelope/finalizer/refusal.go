package finalizer

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"tarn/antelope/finality"
	"tarn/antelope/types"
)

// sayEvery is how often at most a refusal that goes on is said of one finalizer.
const sayEvery = time.Minute

// refusal is that a finalizer may not vote, as far as the log has it.
type refusal struct {
	said  bool // and the finalizer has not voted since
	at    time.Time
	level slog.Level
	voted bool // the finalizer has voted in this life
}

// refuse says that a finalizer may not vote for a block, and why. A block that it has voted for
// already, and the genesis block, are no refusals.
func (k *key) refuse(log *slog.Logger, safety *finality.Safety, s *finality.State) {
	rule := safety.Forbids(s)
	if rule == finality.NotProper || rule == finality.OncePerSlot && s.ID == safety.Last.ID {
		return
	}
	r, now, level := &k.refusal, time.Now(), slog.LevelWarn
	usual := rule == finality.OncePerSlot && r.voted // after a switch of forks
	if usual {
		level = slog.LevelInfo
	}
	if level <= r.level && now.Sub(r.at) < sayEvery {
		return
	}
	r.said, r.at, r.level = true, now, level
	why := reason(rule, safety, s)
	if !usual && rule == finality.OncePerSlot {
		why += ". The safety file is of a later block than the state; nothing has to be done"
	}
	log.Log(context.Background(), level, fmt.Sprintf("Finalizer %s may not vote for block #%d (%s) of %s: %s",
		k.public, s.Num(), short(s.ID), s.Time(), why))
}

// noteVote notes that a finalizer has voted for a block.
func (k *key) noteVote(log *slog.Logger, s *finality.State) {
	if k.refusal.said {
		log.Info(fmt.Sprintf("Finalizer %s votes again, from block #%d on", k.public, s.Num()))
	}
	k.refusal.said, k.refusal.voted = false, true
}

// reason says which rule forbids a vote, and what to do.
func reason(rule finality.Rule, safety *finality.Safety, s *finality.State) string {
	switch rule {
	case finality.OncePerSlot:
		return fmt.Sprintf("it has voted for block #%d (%s) of %s already, and votes only for later times (Spring: "+
			"monotony check). It votes again when the chain has passed that time",
			types.BlockNum(safety.Last.ID), short(safety.Last.ID), safety.Last.Time)
	case finality.Locked:
		return fmt.Sprintf(
			"it is locked on block #%d (%s) of %s. The block does not follow that one (safety check), and its newest "+
				"certificate is for a block of %s, which is not later than the lock (liveness check). It votes again when a "+
				"block follows the lock, or has a certificate for a later block than the lock. If this goes on, compare the "+
				"ids of blocks with those of other nodes: this node may follow another branch than the one that it "+
				"voted for. Never remove the safety file", types.BlockNum(safety.Lock.ID), short(safety.Lock.ID),
			safety.Lock.Time,
			s.Core.ClaimTime())
	default:
		return "it remembers no block, and does not know where to begin (Spring: fsi.lock is empty). Start the node " +
			"again. If this goes on, start from a newer snapshot"
	}
}

// short is the part of an id that Spring's lines show.
func short(id types.Checksum256) string { return id.String()[8:24] }
