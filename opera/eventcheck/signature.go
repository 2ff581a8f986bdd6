package eventcheck

import (
	"github.com/ethereum/go-ethereum/core/types"

	"tarn/opera/inter"
	"tarn/opera/senderrecovery"
)

// votable is how many blocks from an epoch's beginning on its validators may vote for:
// more than an epoch has while none of them alone decides.
const votable = liable - 128

// Beginning is how an epoch began.
type Beginning struct {
	LastBlock inter.BlockNumber // of the epoch before
	Profiles  inter.Profiles    // of the validators; never changed
}

// Signatures checks what is signed: what costs most, and needs no more than the
// beginnings of epochs.
type Signatures struct {
	Epoch    inter.Epoch            // the present one
	Profiles inter.Profiles         // of its validators
	Signer   types.Signer           // of transactions
	Senders  *senderrecovery.Finder // for the signer; nil finds each by itself
	Keys     *Keys                  // of validators; nil prepares none
	// Past returns the beginning of an epoch, false if it is not known. Any goroutine may
	// call it at any time.
	Past func(inter.Epoch) (Beginning, bool)
}

// Ahead is what was found out of an event before its epoch was the present one. The zero value is nothing.
type Ahead struct {
	signed bool // its signature is right with the key
	key    inter.PublicKey
	hash   bool // the payload's is right
}

// Ahead checks of an event of a later epoch what is most of the work: its hash, and its signature with the key
// that its creator has in the present epoch, which it mostly keeps.
func (s *Signatures) Ahead(p *inter.Payload) (a Ahead) {
	if profile, ok := s.Profiles[p.Creator]; ok && s.Keys.verify(p.SigningHash(), &p.Signature, profile.PublicKey) {
		a.signed, a.key = true, profile.PublicKey
	}
	a.hash = p.PayloadHash == p.HashPayload()
	return a
}

// Event checks signatures and hashes of an event, and of its transactions, proofs and
// votes. Who signed a transaction is remembered in it, for the same signer. What was found right
// ahead is not checked again.
func (s *Signatures) Event(p *inter.Payload, ahead Ahead) error {
	if p.Epoch != s.Epoch {
		return ErrNotRelevant
	}
	profile, ok := s.Profiles[p.Creator]
	if !ok {
		return ErrAuth
	}
	signed := ahead.signed && ahead.key.Equal(profile.PublicKey)
	if !signed && !s.Keys.verify(p.SigningHash(), &p.Signature, profile.PublicKey) {
		return ErrWrongEventSig
	}
	for i := range p.Proofs {
		if err := s.proof(&p.Proofs[i]); err != nil {
			return err
		}
	}
	s.Senders.Find(p.Txs)
	for _, tx := range p.Txs {
		if _, err := types.Sender(s.Signer, tx); err != nil {
			return ErrMalformedTxSig
		}
	}
	if !ahead.hash && p.PayloadHash != p.HashPayload() {
		return ErrWrongPayloadHash
	}
	return s.votes(p, profile.PublicKey)
}

// votes checks that the creator of an event may vote for what it votes for: it had the
// same key then.
func (s *Signatures) votes(p *inter.Payload, key inter.PublicKey) error {
	if p.EpochVote.Epoch != 0 {
		if err := s.sameKey(p.Creator, p.EpochVote.Epoch-1, key, ErrUnknownEpochEV); err != nil {
			return err
		}
	}
	if p.BlockVotes.Epoch == 0 {
		return nil
	}
	if err := s.blocks(&p.BlockVotes); err != nil || p.BlockVotes.Epoch == p.Epoch {
		return err
	}
	return s.sameKey(p.Creator, p.BlockVotes.Epoch, key, ErrUnknownEpochBVs)
}

// key returns the key that a validator had in an epoch.
func (s *Signatures) key(creator inter.ValidatorID, epoch inter.Epoch, unknown error) (inter.PublicKey, error) {
	begin, ok := s.Past(epoch)
	if !ok || len(begin.Profiles) == 0 {
		return inter.PublicKey{}, unknown
	}
	profile, ok := begin.Profiles[creator]
	if !ok {
		return inter.PublicKey{}, ErrAuth
	}
	return profile.PublicKey, nil
}

func (s *Signatures) sameKey(creator inter.ValidatorID, epoch inter.Epoch, now inter.PublicKey, unknown error) error {
	then, err := s.key(creator, epoch, unknown)
	if err == nil && !then.Equal(now) {
		err = ErrPubkeyChanged
	}
	return err
}

// blocks checks that blocks which are voted for can be of their epoch.
func (s *Signatures) blocks(v *inter.BlockVotes) error {
	begin, ok := s.Past(v.Epoch)
	if !ok || begin.LastBlock == 0 {
		return ErrUnknownEpochBVs
	}
	if v.Start < begin.LastBlock || v.Last() >= begin.LastBlock+votable {
		return ErrImpossibleBVsEpoch
	}
	return nil
}

// locator checks who signed something in an epoch. rightHash is whether the hash of the
// payload is that of what came with it; it counts only when the signer is known.
func (s *Signatures) locator(l *inter.SignedLocator, epoch inter.Epoch, unknown error, rightHash func() bool) error {
	key, err := s.key(l.Locator.Creator, epoch, unknown)
	switch {
	case err != nil:
		return err
	case !rightHash():
		return ErrWrongPayloadHash
	case !s.Keys.verify(l.Locator.Hash(), &l.Signature, key):
		return ErrWrongEventSig
	}
	return nil
}

// BlockVotes checks votes that came without their event, after the function of that name.
func (s *Signatures) BlockVotes(v *inter.SignedBlockVotes) error {
	if err := s.blocks(&v.Val); err != nil {
		return err
	}
	return s.locator(&v.Signed, v.Val.Epoch, ErrUnknownEpochBVs, func() bool {
		return v.HashPayload() == v.Signed.Locator.PayloadHash
	})
}

// EpochVote checks a vote that came without its event, after the function of that name.
func (s *Signatures) EpochVote(v *inter.SignedEpochVote) error {
	return s.locator(&v.Signed, v.Val.Epoch-1, ErrUnknownEpochEV, func() bool {
		return v.HashPayload() == v.Signed.Locator.PayloadHash
	})
}

// proof checks the signatures of what a proof holds.
func (s *Signatures) proof(p *inter.MisbehaviourProof) error {
	var blocks []inter.SignedBlockVotes
	var epochs []inter.SignedEpochVote
	if p.EventsDoublesign != nil {
		for i := range p.EventsDoublesign.Pair {
			one := &p.EventsDoublesign.Pair[i]
			if err := s.locator(one, one.Locator.Epoch, ErrUnknownEpochLocator,
				func() bool { return true }); err != nil {
				return err
			}
		}
	}
	if p.BlockVoteDoublesign != nil {
		blocks = append(blocks, p.BlockVoteDoublesign.Pair[:]...)
	}
	if p.WrongBlockVote != nil {
		blocks = append(blocks, p.WrongBlockVote.Pals[:]...)
	}
	for i := range blocks {
		if err := s.BlockVotes(&blocks[i]); err != nil {
			return err
		}
	}
	if p.EpochVoteDoublesign != nil {
		epochs = append(epochs, p.EpochVoteDoublesign.Pair[:]...)
	}
	if p.WrongEpochVote != nil {
		epochs = append(epochs, p.WrongEpochVote.Pals[:]...)
	}
	for i := range epochs {
		if err := s.EpochVote(&epochs[i]); err != nil {
			return err
		}
	}
	return nil
}
