package inter

import (
	"crypto/sha256"
	"encoding/binary"

	"tarn/opera/inter/cser"
)

// EpochVote is a validator's word for the record of an epoch, the one whose number is
// Epoch; 0 if there is none.
type EpochVote struct {
	Epoch Epoch
	Vote  [32]byte
}

// BlockVotes are a validator's words for the records of consecutive blocks, which its
// history has in Epoch.
type BlockVotes struct {
	Start BlockNumber // 0 if there are none
	Epoch Epoch
	Votes [][32]byte
}

// Last returns the block of the last vote, of which there must be one.
func (v *BlockVotes) Last() BlockNumber { return v.Start + BlockNumber(len(v.Votes)) - 1 }

// Covers tells whether there is a vote for the block.
func (v *BlockVotes) Covers(block BlockNumber) bool {
	return block >= v.Start && uint64(block-v.Start) < uint64(len(v.Votes))
}

// Vote returns the vote for a block that is covered.
func (v *BlockVotes) Vote(block BlockNumber) [32]byte { return v.Votes[block-v.Start] }

// Hash returns the SHA-256 of the vote.
func (v *EpochVote) Hash() [32]byte {
	return sha256.Sum256(append(binary.BigEndian.AppendUint32(nil, uint32(v.Epoch)), v.Vote[:]...))
}

// Hash returns the SHA-256 of the votes.
func (v *BlockVotes) Hash() [32]byte {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, 16+32*len(v.Votes)), uint64(v.Start))
	b = binary.BigEndian.AppendUint32(b, uint32(v.Epoch))
	b = binary.BigEndian.AppendUint32(b, uint32(len(v.Votes)))
	for i := range v.Votes {
		b = append(b, v.Votes[i][:]...)
	}
	return sha256.Sum256(b)
}

func (v *EpochVote) write(w *cser.Writer) {
	w.U32(uint32(v.Epoch))
	w.Fixed(v.Vote[:])
}

func (v *EpochVote) read(r *cser.Reader) error {
	v.Epoch = Epoch(r.U32())
	if r.Fixed(v.Vote[:]); v.Epoch == 0 && r.Err() == nil {
		return cser.ErrNotCanonical
	}
	return r.Err()
}

func (v *BlockVotes) write(w *cser.Writer) {
	w.U64(uint64(v.Start))
	w.U32(uint32(v.Epoch))
	w.U32(uint32(len(v.Votes)))
	for i := range v.Votes {
		w.Fixed(v.Votes[i][:])
	}
}

func (v *BlockVotes) read(r *cser.Reader) error {
	v.Start, v.Epoch = BlockNumber(r.U64()), Epoch(r.U32())
	v.Votes = make([][32]byte, r.Count(MaxEventSize/32, 32))
	for i := range v.Votes {
		r.Fixed(v.Votes[i][:])
	}
	if r.Err() == nil && (len(v.Votes) == 0 || v.Start == 0 || v.Epoch == 0) {
		return cser.ErrNotCanonical
	}
	return r.Err()
}

// SignedBlockVotes are block votes with what proves that a validator signed them,
// without the event that carried them.
type SignedBlockVotes struct {
	Signed        SignedLocator
	TxsAndProofs  [32]byte // hash
	EpochVoteHash [32]byte
	Val           BlockVotes
}

// SignedEpochVote is an epoch vote with what proves that a validator signed it.
type SignedEpochVote struct {
	Signed         SignedLocator
	TxsAndProofs   [32]byte // hash
	BlockVotesHash [32]byte
	Val            EpochVote
}

// SignedBlockVotes returns the event's block votes with their proof.
func (p *Payload) SignedBlockVotes() SignedBlockVotes {
	return SignedBlockVotes{p.Locator(), p.txsAndProofs(), p.EpochVote.Hash(), p.BlockVotes}
}

// SignedEpochVote returns the event's epoch vote with its proof.
func (p *Payload) SignedEpochVote() SignedEpochVote {
	return SignedEpochVote{p.Locator(), p.txsAndProofs(), p.BlockVotes.Hash(), p.EpochVote}
}

// HashPayload returns what the payload hash of the signed locator must be.
func (s *SignedBlockVotes) HashPayload() [32]byte {
	return hashPair(s.TxsAndProofs, hashPair(s.EpochVoteHash, s.Val.Hash()))
}

// HashPayload returns what the payload hash of the signed locator must be.
func (s *SignedEpochVote) HashPayload() [32]byte {
	return hashPair(s.TxsAndProofs, hashPair(s.Val.Hash(), s.BlockVotesHash))
}

// EpochPack is an epoch's record with votes for it, as peers send them.
type EpochPack struct {
	Votes  []SignedEpochVote
	Record EpochRecord
}
