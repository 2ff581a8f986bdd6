package finality

import "tarn/antelope/types"

// Voted is a block as a finalizer remembers it; the zero value is none.
type Voted struct {
	ID       types.Checksum256
	Time     types.BlockTimestamp
	Finality types.Checksum256
}

// none tells whether there is no block.
func (v *Voted) none() bool { return v.ID.IsZero() }

// Remember is a reference as finalizers remember it.
func Remember(r Ref) Voted { return Voted{r.ID, r.Time, r.Finality} }

// Safety is what a finalizer must remember so that it never votes for two histories (Spring:
// finalizer.hpp). It must be durable before a vote leaves that it led to.
type Safety struct {
	Last Voted // what was voted for last
	Lock Voted // the newest block known to have a strong certificate on the branch that was voted for

	// OtherBranch is the time of the newest block that was voted for on another branch than that
	// of Last; 0 for none.
	OtherBranch types.BlockTimestamp
}

// Decision is how a finalizer votes.
type Decision uint8

// Decisions.
const (
	NoVote Decision = iota
	WeakVote
	StrongVote
)

// Rule is what forbids a vote.
type Rule uint8

// Rules.
const (
	Allowed     Rule = iota // nothing forbids the vote
	NotProper               // the block is the genesis block of Savanna's rules
	OncePerSlot             // a vote for a block of that time slot, or of a later one, was cast
	NoLock                  // the finalizer remembers no block, and was not told where to begin
	Locked                  // the block neither extends the lock (safety) nor claims a newer certificate (liveness)
)

// Forbids tells which rule forbids a vote for a block. A finalizer votes once a time slot, in ascending
// order. It votes only for a block that extends the one it is locked on, or that claims a newer
// certificate than the lock's.
func (f Safety) Forbids(s *State) Rule {
	switch {
	case s.Core.IsGenesis():
		return NotProper
	case !f.Last.none() && s.Time() <= f.Last.Time:
		return OncePerSlot
	case f.Lock.none():
		return NoLock
	case s.Core.ClaimTime() <= f.Lock.Time && !s.Core.Extends(f.Lock.ID):
		return Locked
	}
	return Allowed
}

// Decide says how to vote for a block, and what to remember then. A strong vote says that no vote
// since the claimed certificate was for another branch.
func (f Safety) Decide(s *State) (Decision, Safety) {
	if f.Forbids(s) != Allowed {
		return NoVote, f
	}
	claimed := s.Core.ClaimTime()
	d := StrongVote
	switch {
	case f.Last.Time <= claimed:
	case !s.Core.Extends(f.Last.ID):
		d, f.OtherBranch = WeakVote, f.Last.Time
	case f.OtherBranch > claimed:
		d = WeakVote
	}
	if d == StrongVote {
		f.OtherBranch = 0
		if claimed > f.Lock.Time {
			f.Lock = Remember(*s.Core.Ref(s.Core.Claim().Block))
		}
	}
	f.Last = Remember(s.Ref())
	return d, f
}

// Learn takes over that the finalizer has voted strongly for a block, as a certificate says, in an
// earlier life. It tells whether that was news.
func (f Safety) Learn(s *State) (Safety, bool) {
	r := s.Core.Ref(s.Core.Claim().Block)
	if r == nil || r.Time <= f.Lock.Time || s.Time() <= f.Last.Time {
		return f, false
	}
	return Safety{Last: Remember(s.Ref()), Lock: Remember(*r)}, true
}
