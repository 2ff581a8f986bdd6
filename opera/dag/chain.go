package dag

import "tarn/opera/inter"

// A chain is an event, its self-parent, and so on down to sequence number 1; forks of a
// validator are chains with a common end. Each event knows, beside its self-parent, one
// event further down, chosen so that any event of the chain is found in a number of
// steps that is logarithmic in its length (Myers, "An applicative random-access
// stack", 1983): the distances of the jumps are those of skew binary numbers.

// jumpFrom returns where an event jumps to whose self-parent is p.
func (e *Epoch) jumpFrom(p uint32) uint32 {
	parent := &e.nodes[p]
	first := &e.nodes[parent.jump]
	if parent.seq-first.seq == first.seq-e.nodes[first.jump].seq {
		return first.jump
	}
	return p
}

// isOnChain tells whether an event is the tip of a chain or an ancestor of it there.
func (e *Epoch) isOnChain(number, tip uint32) bool {
	for tip > number {
		if n := &e.nodes[tip]; n.jump >= number {
			tip = n.jump
		} else {
			tip = n.self
		}
	}
	return tip == number
}

// rootOf returns the chain's root of a frame: its first event whose frame is not below
// that one. It returns none if there is none, or if the chain has no events.
func (e *Epoch) rootOf(frame inter.Frame, tip uint32) uint32 {
	if e.nodes[tip].frame < frame {
		return none
	}
	for {
		n := &e.nodes[tip]
		switch {
		case e.nodes[n.jump].frame >= frame:
			tip = n.jump
		case e.nodes[n.self].frame >= frame:
			tip = n.self
		default:
			return tip
		}
	}
}
