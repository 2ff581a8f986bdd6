package execute

import (
	"fmt"

	"tarn/antelope/consensus"
	"tarn/antelope/exception"
	"tarn/antelope/finality"
	"tarn/antelope/types"
)

// Hasher computes the roots of a block's actions on a goroutine of its own, while the
// writer goes on. It is used in batches only, where they are compared later, and
// only if nobody reads the receipts' digests.
type Hasher struct {
	kinds  leafKinds
	header *types.BlockHeader
	chunks chan []receiptJob
	next   []receiptJob
	used   chan []receiptJob // chunks that were hashed, to be filled again
	roots  chan actionRoots
	ended  bool
}

// actionRoots are those of the trees of a block's actions, by both rules.
type actionRoots struct{ older, savanna types.Checksum256 }

// receiptJob is an action receipt without its action's digest, and the action.
type receiptJob struct {
	receipt types.ActionReceipt
	action  types.Action
	value   []byte // returned
	returns bool   // values count (ACTION_RETURN_VALUE)
	again   bool   // the action is that of the job before
}

// chunk is how many receipts are handed over at a time, chunksAhead how many chunks
// may wait. Handing over wakes a thread, which costs the writer some ten microseconds.
const (
	chunk       = 512
	chunksAhead = 4
)

// newHasher starts to hash. used is shared by the hashers of a chain.
func newHasher(kinds leafKinds, header *types.BlockHeader, used chan []receiptJob) *Hasher {
	h := &Hasher{kinds: kinds, header: header, used: used, chunks: make(chan []receiptJob, chunksAhead),
		roots: make(chan actionRoots, 1)}
	go h.run()
	return h
}

// run ends when the writer calls End.
func (h *Hasher) run() {
	var all leaves
	var shared types.Checksum256
	known := false // shared is the digest of the action without a value
	for jobs := range h.chunks {
		for i := range jobs {
			j := &jobs[i]
			known = known && j.again
			switch {
			case j.returns && len(j.value) > 0:
				j.receipt.ActDigest = j.action.DigestWithReturn(j.value)
			case known:
				j.receipt.ActDigest = shared
			case j.returns:
				shared, known = j.action.DigestWithReturn(nil), true
				j.receipt.ActDigest = shared
			default:
				shared, known = j.action.Digest(), true
				j.receipt.ActDigest = shared
			}
			all.add(h.kinds, &j.receipt, &j.action)
		}
		clear(jobs) // or the chunk would keep the actions' data
		select {
		case h.used <- jobs[:0]:
		default:
		}
	}
	h.roots <- actionRoots{consensus.MerkleRoot(all.older), finality.Root(all.savanna)}
}

// add takes the receipts of a transaction that succeeded.
func (h *Hasher) add(jobs []receiptJob) {
	if h.next == nil {
		select {
		case h.next = <-h.used:
		default:
			h.next = make([]receiptJob, 0, chunk+len(jobs))
		}
	}
	h.next = append(h.next, jobs...)
	if len(h.next) >= chunk {
		h.chunks <- h.next
		h.next = nil
	}
}

// End says that all receipts are there. More calls do nothing.
func (h *Hasher) End() {
	if h.ended {
		return
	}
	h.ended = true
	if len(h.next) > 0 {
		h.chunks <- h.next
	}
	close(h.chunks)
}

// Check waits for the roots, after End, and compares the one that the block's header has, if it is
// no proper one. It returns the other one, by Savanna's rules.
func (h *Hasher) Check() (savanna types.Checksum256, err error) {
	roots := <-h.roots
	if !h.kinds.older || roots.older == h.header.ActionMRoot {
		return roots.savanna, nil
	}
	return roots.savanna, fmt.Errorf("replay block %d: %w", h.header.BlockNum(), exception.New(exception.BlockValidate,
		"Block ID does not match: action_mroot ${producer} != ${validator}",
		"producer", h.header.ActionMRoot, "validator", roots.older))
}
