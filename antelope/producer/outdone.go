package producer

import (
	"time"

	"tarn/antelope/consensus"
	"tarn/antelope/types"
)

// outdoneTime is for how long a producer waits for the next of blocks that outdo its head. What does not come must not
// keep it from its turn.
const outdoneTime = 2 * blockInterval

// outdone is what is waited for: blocks up to one with a newer certificate than the head's.
type outdone struct {
	claim types.BlockTimestamp // time of the certificate
	since time.Time            // it was first heard of then, or a block was applied
}

// newest is the time of the newest certificate that a header claims. Its signatures were verified with the header.
func (h *headers) newest() (claim types.BlockTimestamp) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.known {
		if s.IsProper() {
			claim = max(claim, s.Finality.Core.ClaimTime())
		}
	}
	return claim
}

// outdoes tells whether a block is on its way whose branch is better than the head's whatever is made after that: it
// claims a certificate newer than what this node knows of. Blocks that this node makes all the same are lost. In Spring
// the only producer of a network that has lost its last blocks makes such until it pauses for want of votes, as none of
// others is applied meanwhile (producer_plugin.cpp, start_block and on_incoming_block). By the rules from before
// Savanna the longer branch may be the own one.
func (o *outdone) outdoes(head *consensus.HeaderState, h *headers, now time.Time, log *loggers) bool {
	if !head.IsProper() {
		return false
	}
	claim := h.newest()
	if claim <= head.Finality.Core.ClaimTime() {
		return false
	}
	if o.claim != claim {
		*o = outdone{claim, now}
		log.plugin.Info("Not producing block because others with a newer certificate are on their way")
	}
	return now.Sub(o.since) < outdoneTime
}
