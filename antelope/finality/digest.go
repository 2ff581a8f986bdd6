package finality

import (
	"tarn/antelope/feature"
	"tarn/antelope/serial"
	"tarn/antelope/types"
)

// Versions of what is hashed (Spring: light_header_protocol_version, finality_digest_data).
const (
	majorVersion = 1
	minorVersion = 0
)

// Base is the digest of what the header and the policies say.
func (s *State) Base() types.Checksum256 {
	b := s.Core.appendHashed(s.Header.Append(nil))
	b = s.Proposers.Append(s.appendFinalizers(b))
	b = appendOptional(b, s.ProposedProposers, (*types.ProposerPolicy).Append)
	b = appendOptional(b, s.PendingProposers, (*types.ProposerPolicy).Append)
	return types.Hash(activeFeatures(s).Append(b))
}

// activeFeatures are the active features, never nil.
func activeFeatures(s *State) *feature.Active {
	if s.Activated == nil {
		return feature.NewActive()
	}
	return s.Activated
}

// FinalityRoot is the root of the validation tree that the header commits to: zero in blocks whose
// headers still commit to their actions.
func (s *State) FinalityRoot() types.Checksum256 {
	if s.IsProper() {
		return s.Header.ActionMRoot
	}
	return types.Checksum256{}
}

// Digest is the finality digest: what finalizers sign with a strong vote (Spring:
// compute_finality_digest).
func (s *State) Digest() types.Checksum256 {
	if s.digest.IsZero() {
		return s.computeDigest() // of a state that was put together
	}
	return s.digest
}

func (s *State) computeDigest() types.Checksum256 {
	var claimed Ref
	claim := s.Core.Claim()
	if !s.Core.IsGenesis() {
		claimed = *s.Core.Ref(claim.Block)
	}
	base := s.Base()
	b := s.Core.Reversible().Append(make([]byte, 0, 256))
	b = claimed.Finality.Append(serial.AppendUint32(b, claim.Block))
	b = base.Append(s.Time().Append(claimed.Time.Append(b)))
	third := types.Hash(b)
	second := types.Hash(third.Append(s.PendingSince.Append(s.PendingDigest.Append(b[:0]))))
	b = serial.AppendUint32(serial.AppendUint32(b[:0], majorVersion), minorVersion)
	b = serial.AppendUint32(serial.AppendUint32(b, s.Finalizers.Generation), s.lastPending().Generation)
	return types.Hash(second.Append(s.FinalityRoot().Append(b)))
}

// WeakMessage is what finalizers sign with a weak vote for a block of that finality digest.
func WeakMessage(digest types.Checksum256) []byte { return append(digest[:], "WEAK"...) }

// Validation is the tree over all blocks from the genesis block on, of what each did, and its
// roots after the blocks from the last final one on (Spring: block_state.hpp, valid_t). It is
// immutable.
type Validation struct {
	tree  Tree
	roots []types.Checksum256
	free  *spareCapacity // of roots
}

// leaf is a block in the tree: actions is the root of its actions, as Savanna has it, and parent
// the time of the block before.
func (s *State) leaf(digest, actions types.Checksum256, parent types.BlockTimestamp) types.Checksum256 {
	b := serial.AppendUint32(serial.AppendUint32(make([]byte, 0, 84), majorVersion), minorVersion)
	b = parent.Append(s.Time().Append(serial.AppendUint32(b, s.Num())))
	return types.Hash(actions.Append(digest.Append(b)))
}

// GenesisValidation is the tree after the genesis block.
func GenesisValidation(s *State, actions types.Checksum256) Validation {
	tree := Tree{}.With(s.leaf(s.Digest(), actions, 0))
	return Validation{tree: tree, roots: []types.Checksum256{tree.Root()}}
}

// With is the tree after a block that follows the one before.
func (v Validation) With(before, s *State, actions types.Checksum256) Validation {
	tree := v.tree.With(s.leaf(s.Digest(), actions, before.Time()))
	gone := int(s.Core.LastFinal() - before.Core.LastFinal())
	next := Validation{tree: tree}
	next.roots, next.free = extend(v.roots[min(gone, len(v.roots)):], tree.Root(), v.free)
	return next
}

// Tree is the tree after the newest block.
func (v Validation) Tree() Tree { return v.tree }

// Roots are those of the tree after each block from the last final one on. They must not be changed.
func (v Validation) Roots() []types.Checksum256 { return v.roots }

// Root is the root of the tree after the newest block.
func (v Validation) Root() types.Checksum256 { return v.tree.Root() }

// RootFor is what the header of a block commits to which follows the block s, whose tree this is,
// and claims that: the root after the claimed block, zero if that is the genesis block.
func (v Validation) RootFor(s *State, claim types.QCClaim) (root types.Checksum256, ok bool) {
	if s.Core.IsGenesisNum(claim.Block) {
		return root, true
	}
	i := int64(claim.Block) - int64(s.Core.LastFinal())
	if i < 0 || i >= int64(len(v.roots)) {
		return root, false
	}
	return v.roots[i], true
}

// Append appends the tree and its roots as files have them.
func (v Validation) Append(b []byte) []byte {
	return types.AppendChecksums(v.tree.Append(b), v.roots)
}

// Read decodes what Append encodes.
func (v *Validation) Read(r *serial.Reader) {
	v.tree.Read(r)
	v.roots = types.ReadChecksums(r)
}
