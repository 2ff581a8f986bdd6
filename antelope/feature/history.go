package feature

import (
	"math"
	"sort"

	"tarn/antelope/exception"
	"tarn/antelope/types"
)

// Activation is a feature and the block that activated it.
type Activation struct {
	Feature *Feature
	Block   uint32
}

// History is what has been activated on the branch that the state follows, and
// when (Leap: protocol_feature_manager). It mirrors the list in the state; whoever
// applies blocks changes it, and nobody reads it meanwhile: it has no lock.
type History struct {
	set  *Set
	list []Activation
	at   [codenames]uint32 // block of activation
}

// notActive stands for the block of an activation that did not happen. Like nodeos,
// which compares with it, History would call every feature active in that block.
const notActive = math.MaxUint32

// NewHistory returns a history without activations of the features of s.
func NewHistory(s *Set) *History {
	h := &History{set: s}
	for i := range h.at {
		h.at[i] = notActive
	}
	return h
}

// Set returns the features that are recognised.
func (h *History) Set() *Set { return h.set }

// Activate adds an activation at a block that is not below the last one.
func (h *History) Activate(digest types.Checksum256, block uint32) error {
	f := h.set.Find(digest)
	if f == nil {
		return exception.New(exception.ProtocolFeature, "unrecognized protocol feature digest: ${digest}",
			"digest", digest)
	}
	if n := len(h.list); n > 0 && h.list[n-1].Block > block {
		last := h.list[n-1].Block
		return exception.New(exception.ProtocolFeature,
			"last protocol feature activation block num is ${last_activation_block_num} yet attempting to activate "+
				"protocol feature with a current block num of ${current_block_num}protocol features is "+
				"${last_activation_block_num}", "current_block_num", block, "last_activation_block_num", last)
	}
	if h.at[f.Codename] != notActive {
		return exception.New(exception.ProtocolFeature,
			"cannot activate already activated builtin feature with digest: ${digest}", "digest", digest)
	}
	h.list = append(h.list, Activation{f, block})
	h.at[f.Codename] = block
	return nil
}

// PopTo forgets what blocks above block activated.
func (h *History) PopTo(block uint32) {
	for n := len(h.list); n > 0 && h.list[n-1].Block > block; n-- {
		h.at[h.list[n-1].Feature.Codename] = notActive
		h.list = h.list[:n-1]
	}
}

// IsActive tells whether c was activated in block or before it.
func (h *History) IsActive(c Codename, block uint32) bool {
	return c < codenames && h.at[c] <= block
}

// All returns the activations in their order; the index is what nodeos calls the
// activation ordinal. The slice is good until the next change.
func (h *History) All() []Activation { return h.list }

// LowerBound returns the ordinal of the first activation in block or later.
func (h *History) LowerBound(block uint32) int {
	return sort.Search(len(h.list), func(i int) bool { return h.list[i].Block >= block })
}

// UpperBound returns the ordinal of the first activation after block.
func (h *History) UpperBound(block uint32) int {
	return sort.Search(len(h.list), func(i int) bool { return h.list[i].Block > block })
}
