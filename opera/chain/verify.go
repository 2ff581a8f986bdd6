package chain

import (
	"fmt"
	"sync"

	"github.com/ethereum/go-ethereum/core/types"

	"tarn/opera/eventcheck"
	"tarn/opera/inter"
)

// Verifier makes the checks that need no writer: decoding, signatures, hashes. Any
// goroutine may use it, beside the writer.
type Verifier struct {
	chain  *Chain
	signer types.Signer

	mu         sync.RWMutex
	signatures *eventcheck.Signatures // of the present epoch
	present    eventcheck.Beginning
	past       map[inter.Epoch]eventcheck.Beginning // that were asked for
}

// remembered is how many beginnings of epochs are kept: a validator's votes are of the last
// few, whoever asks for others waits for the store.
const remembered = 64

// Verifier returns the chain's.
func (c *Chain) Verifier() *Verifier { return c.verifier }

// newVerifier returns one that knows no epoch.
func newVerifier(c *Chain) *Verifier { return &Verifier{chain: c, signer: c.Signer()} }

// enter makes an epoch the present one. Its record may not be in the store yet.
func (v *Verifier) enter(e *inter.EpochState, last inter.BlockNumber) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.signatures = &eventcheck.Signatures{Epoch: e.Epoch, Profiles: e.Profiles, Signer: v.signer, Past: v.beginning}
	v.present = eventcheck.Beginning{LastBlock: last, Profiles: e.Profiles}
}

// beginning returns how an epoch began: the present one, or one that a view has.
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
	record := new(inter.EpochRecord)
	if ok, err := get(view, v.chain.rows.epochs, epochKey(e), record); err != nil || !ok {
		return eventcheck.Beginning{}, false
	}
	b = eventcheck.Beginning{LastBlock: record.State.BlockState.LastBlock.Number, Profiles: record.State.EpochState.Profiles}
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.past) >= remembered || v.past == nil {
		v.past = map[inter.Epoch]eventcheck.Beginning{}
	}
	v.past[e] = b
	return b, true
}

// Decode decodes an event and finds the senders of its transactions, which costs most and
// needs no epoch. It keeps raw.
func (v *Verifier) Decode(raw []byte) (*inter.Payload, error) {
	p, err := inter.DecodePayload(raw)
	if err != nil {
		return nil, err
	}
	for i, tx := range p.Txs {
		if _, err := types.Sender(v.signer, tx); err != nil {
			return nil, fmt.Errorf("transaction %d of event %v: %w", i, p.ID(), eventcheck.ErrMalformedTxSig)
		}
	}
	return p, nil
}

// Verify checks the signatures of an event of the present epoch.
func (v *Verifier) Verify(p *inter.Payload) error {
	v.mu.RLock()
	s := v.signatures
	v.mu.RUnlock()
	return s.Event(p)
}
