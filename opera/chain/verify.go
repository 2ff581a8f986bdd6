package chain

import (
	"fmt"
	"sync"

	"github.com/ethereum/go-ethereum/core/types"

	"tarn/opera/eventcheck"
	"tarn/opera/inter"
	"tarn/opera/senderrecovery"
)

// Verifier makes the checks that need no writer: decoding, signatures, hashes. Any
// goroutine may use it, beside the writer.
type Verifier struct {
	chain   *Chain
	signer  types.Signer
	senders *senderrecovery.Finder
	keys    *eventcheck.Keys

	mu         sync.RWMutex
	signatures *eventcheck.Signatures // of the present epoch
	present    eventcheck.Beginning
	past       map[inter.Epoch]eventcheck.Beginning // that were asked for
}

// remembered is how many epochs' beginnings stay in memory. Votes are of the last few epochs; an
// older one is read from the store.
const remembered = 64

// Verifier returns the verifier of the chain, which lives as long as the chain.
func (c *Chain) Verifier() *Verifier { return c.verifier }

// newVerifier returns one that knows no epoch.
func newVerifier(c *Chain) *Verifier {
	return &Verifier{chain: c, signer: c.Signer(), senders: senderrecovery.New(c.network.ID),
		keys: eventcheck.NewKeys()}
}

// enter makes an epoch the present one. Its record may not be in the store yet.
func (v *Verifier) enter(e *inter.EpochState, last inter.BlockNumber) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.signatures = &eventcheck.Signatures{Epoch: e.Epoch, Profiles: e.Profiles, Signer: v.signer, Senders: v.senders,
		Keys: v.keys, Past: v.beginning}
	v.present = eventcheck.Beginning{LastBlock: last, Profiles: e.Profiles}
}

// beginning returns how an epoch began: the present one, or one that a view has. What cannot be read
// counts as unknown: the vote is refused, and the writer meets the damage at its next block.
func (v *Verifier) beginning(e inter.Epoch) (eventcheck.Beginning, bool) {
	v.mu.RLock()
	b, ok := v.past[e]
	if e == v.signatures.Epoch {
		b, ok = v.present, true
	}
	v.mu.RUnlock()
	if ok {
		return b, true
	}
	view, err := v.chain.store.View()
	if err != nil {
		return eventcheck.Beginning{}, false
	}
	defer view.Close()
	record, err := v.chain.rows.getRecord(view, e)
	if err != nil || record == nil {
		return eventcheck.Beginning{}, false
	}
	b = eventcheck.Beginning{LastBlock: record.State.BlockState.LastBlock.Number,
		Profiles: record.State.EpochState.Profiles}
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.past) >= remembered || v.past == nil {
		v.past = map[inter.Epoch]eventcheck.Beginning{}
	}
	v.past[e] = b
	return b, true
}

// Decode decodes an event and finds the senders of its transactions, which costs most and
// needs no epoch. The event refers to raw, which must not be changed afterwards.
func (v *Verifier) Decode(raw []byte) (*inter.Payload, error) {
	p, err := inter.DecodePayload(raw)
	if err != nil {
		return nil, err
	}
	v.senders.Find(p.Txs)
	if err := v.find(p); err != nil {
		return nil, err
	}
	return p, nil
}

// find checks that all senders are found.
func (v *Verifier) find(p *inter.Payload) error {
	for i, tx := range p.Txs {
		if _, err := types.Sender(v.signer, tx); err != nil {
			return fmt.Errorf("transaction %d of event %v: %w", i, p.ID(), eventcheck.ErrMalformedTxSig)
		}
	}
	return nil
}

// Senders returns what finds many senders at a time, for the signer of the chain.
func (v *Verifier) Senders() *senderrecovery.Finder { return v.senders }

// Verify checks the signatures of an event of the present epoch.
func (v *Verifier) Verify(p *inter.Payload) error {
	return v.now().Event(p, eventcheck.Ahead{})
}

// now returns who checks the signatures of the present epoch.
func (v *Verifier) now() *eventcheck.Signatures {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.signatures
}

// BlockVotes checks votes for blocks that came without their event.
func (v *Verifier) BlockVotes(votes *inter.SignedBlockVotes) error {
	if err := eventcheck.BlockVotes(votes); err != nil {
		return err
	}
	return v.now().BlockVotes(votes)
}

// EpochVote checks a vote for an epoch that came without its event.
func (v *Verifier) EpochVote(vote *inter.SignedEpochVote) error {
	if err := eventcheck.EpochVote(vote); err != nil {
		return err
	}
	return v.now().EpochVote(vote)
}
