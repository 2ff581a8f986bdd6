package emitter

import (
	"tarn/opera/chain"
	"tarn/opera/inter"
)

// roots is the other way to say how much an event brings consensus forward: by who is known
// to have seen the roots of a frame (lachesis-base, emitter/ancestor: FCIndexer). The
// network's contract chooses.
type roots struct{ me inter.ValidatorID }

// graph is what is asked of a chain's events. The writer calls it.
type graph interface {
	Epoch() *inter.EpochState
	LastEvents() map[inter.ValidatorID]inter.EventID
	Header(id inter.EventID) *inter.Event
	RootsSeen(frame inter.Frame, events ...inter.EventID) int
}

var _ graph = (*chain.Chain)(nil)

// sightings is how often validators are known to have seen roots of the highest frame, by who
// sees these events.
func (r *roots) sightings(c graph, events ...inter.EventID) uint64 {
	var top inter.Frame
	for _, id := range c.LastEvents() {
		top = max(top, c.Header(id).Frame)
	}
	return uint64(c.RootsSeen(top, events...))
}

// worth is the share of the stake that knows as much as this validator's last event, or
// more, in millionths; little of it before a quorum does.
func (r *roots) worth(c graph) uint64 {
	v, past := c.Epoch().Validators, r.past(c)
	worth := uint64(past) * unit / uint64(v.Total())
	if past < v.Quorum() {
		worth /= 15
	}
	return max(worth, 0.03*unit)
}

// past is the weight of those whose last event knows as much as this validator's, or more.
func (r *roots) past(c graph) (past inter.Weight) {
	lasts := c.LastEvents()
	var frame inter.Frame
	known := 0
	if own := c.Header(lasts[r.me]); own != nil {
		frame, known = own.Frame, c.RootsSeen(own.Frame, lasts[r.me])
	}
	v := c.Epoch().Validators
	for creator, id := range lasts {
		index, _ := v.Index(creator)
		at := c.Header(id).Frame
		if at > frame || at == frame && c.RootsSeen(frame, id) >= known {
			past += v.At(index).Weight
		}
	}
	return past
}
