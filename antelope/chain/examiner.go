package chain

import (
	"slices"

	"tarn/antelope/consensus"
	"tarn/antelope/exception"
	"tarn/antelope/execute"
	"tarn/antelope/finality"
	"tarn/antelope/types"
)

// examiner finds out about blocks what needs no state, before the writer gets them. Any goroutine
// may call its methods: what it is made of is there from the start.
type examiner struct {
	opt  *Options
	keys *execute.Keys
	fork *consensus.ForkDatabase
}

// Prepare checks a block's header and unpacks its transactions, with their keys, so
// that the writer has less to do. Any goroutine may call it; the block before must
// be in the fork database. id is the block's, which the caller computed (Leap:
// controller_impl::create_block_state_i).
func (e *examiner) Prepare(b *types.SignedBlock, id types.Checksum256) (*Prepared, error) {
	if e.fork.Block(id) != nil {
		return nil, exception.New(exception.ForkDatabase, "we already know about this block: ${id}", "id", id)
	}
	prev := e.fork.HeaderState(b.Previous)
	if prev == nil {
		return nil, exception.New(exception.UnlinkableBlock, "unlinkable block ${id}", "id", id, "previous", b.Previous)
	}
	bs, err := e.CheckHeader(prev, b, id)
	if err != nil {
		return nil, err
	}
	candidates, err := e.UnpackBlock(b, nil)
	if err != nil {
		return nil, err
	}
	return &Prepared{bs, candidates}, nil
}

// CheckHeader checks the header and the signatures of a block that follows prev,
// and that it holds the transactions that it says. Any goroutine may call it. id is
// the block's, which the caller computed.
func (e *examiner) CheckHeader(
	prev *consensus.HeaderState, b *types.SignedBlock, id types.Checksum256,
) (*consensus.BlockState, error) {
	digests := make([]types.Checksum256, len(b.Transactions))
	for i := range b.Transactions {
		digests[i] = b.Transactions[i].Digest()
	}
	if root := transactionRoot(prev, digests); root != b.TransactionMRoot {
		return nil, exception.New(exception.BlockValidate, "invalid block transaction merkle root ${b} != ${c}",
			"b", b.TransactionMRoot, "c", root)
	}
	bs, err := consensus.NewBlockState(prev, b, e.opt.Features, e.opt.blockKey(prev))
	if err != nil {
		return nil, err
	}
	if bs.ID != id {
		return nil, exception.New(exception.BlockValidate, "provided id ${id} does not match block id ${bid}",
			"id", id, "bid", bs.ID)
	}
	return bs, e.checkCommitment(prev, bs)
}

// checkCommitment refuses a proper block that brings a certificate and whose header does not say what the blocks
// up to the certified one did, if this node has executed the block before. Peers get a block before it is
// executed, and a nodeos among them ends the connection to whoever passes such a block on (Spring:
// verify_basic_proper_block_invariants).
func (e *examiner) checkCommitment(prev *consensus.HeaderState, b *consensus.BlockState) error {
	if b.Certificate == nil {
		return nil
	}
	v := e.fork.Validation(prev.ID)
	if v == nil {
		return nil
	}
	if root, ok := v.RootFor(prev.Finality, b.Finality.Core.Claim()); !ok || root != b.Header.ActionMRoot {
		return exception.New(exception.BlockValidate,
			"computed finality mroot (${computed}) does not match supplied finality mroot ${supplied} by header "+
				"extension. Block number: ${b}, block id: ${id}",
			"computed", root, "supplied", b.Header.ActionMRoot, "b", b.BlockNum, "id", b.ID)
	}
	return nil
}

// transactionRoot is the root of the transactions' digests in a block that follows prev. It uses the
// slice as scratch space.
func transactionRoot(prev *consensus.HeaderState, digests []types.Checksum256) types.Checksum256 {
	if prev.PrecedesProper() {
		return finality.Root(digests)
	}
	return consensus.MerkleRoot(digests)
}

// UnpackBlock unpacks the transactions of a block, and finds their keys unless its
// producer is trusted, on several goroutines if there are many. known returns what
// is known of a transaction, nil for nothing: keys that were found for the same
// signatures are not found again; it may be nil. Any goroutine may call it, before
// or after the header is checked.
func (e *examiner) UnpackBlock(
	b *types.SignedBlock, known func(id types.Checksum256) *execute.Candidate,
) (list []*execute.Candidate, err error) {
	if e.trusts(b.Producer) {
		list, err = execute.Unpack(b)
	} else {
		list, err = e.keys.Unpack(b, known, max(1, e.opt.Threads))
	}
	return list, undecoded(err)
}

// undecoded is an error of unpacking a transaction of a block, as one of the block: it is not the node's fault.
func undecoded(err error) error {
	if err != nil && exception.Of(err) == nil {
		return exception.Wrap(exception.BlockValidate, err, "unpack a transaction of the block")
	}
	return err
}

// checkpoint refuses a block that is not the one of its number that the operator
// knows.
func (e *examiner) checkpoint(num uint32, id types.Checksum256) error {
	if known, ok := e.opt.Checkpoints[num]; ok && known != id {
		return exception.New(exception.Checkpoint,
			"Checkpoint does not match for block number ${num}: expected: ${expected} actual: ${actual}",
			"num", num, "expected", known, "actual", id)
	}
	return nil
}

// trusts tells whether a producer's blocks are validated lightly.
func (e *examiner) trusts(producer types.Name) bool {
	return e.opt.LightValidation || slices.Contains(e.opt.TrustedProducers, producer)
}
