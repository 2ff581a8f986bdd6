package execute

import (
	"fmt"

	"tarn/antelope/consensus"
	"tarn/antelope/exception"
	"tarn/antelope/types"
)

// Hasher computes the action root of a block on a goroutine of its own, while the
// writer goes on. It is used in batches only, where the root is compared later, and
// only if nobody reads the receipts' digests.
type Hasher struct {
	block  uint32
	want   types.Checksum256
	chunks chan []receiptJob
	next   []receiptJob
	used   chan []receiptJob // chunks that were hashed, to be filled again
	root   chan types.Checksum256
	ended  bool
}

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
func newHasher(block uint32, want types.Checksum256, used chan []receiptJob) *Hasher {
	h := &Hasher{block: block, want: want, used: used, chunks: make(chan []receiptJob, chunksAhead), root: make(chan types.Checksum256, 1)}
	go h.run()
	return h
}

// run ends when the writer calls End.
func (h *Hasher) run() {
	var leaves []types.Checksum256
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
			leaves = append(leaves, j.receipt.Digest())
		}
		clear(jobs) // or the chunk would keep the actions' data
		select {
		case h.used <- jobs[:0]:
		default:
		}
	}
	h.root <- consensus.MerkleRoot(leaves)
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

// Check waits for the root, after End, and compares it with the block's.
func (h *Hasher) Check() error {
	root := <-h.root
	if root == h.want {
		return nil
	}
	return fmt.Errorf("replay block %d: %w", h.block, exception.New(exception.BlockValidate,
		"Block ID does not match: action_mroot ${producer} != ${validator}", "producer", h.want, "validator", root))
}
