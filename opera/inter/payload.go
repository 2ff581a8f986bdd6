package inter

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"

	"tarn/opera/inter/cser"
)

// Payload is a whole event: its header, its signature, and what it carries. Its id and
// its size are known once it was decoded or [Payload.Seal]ed; it must not change after
// that, and any goroutine may read it then.
type Payload struct {
	Event
	Signature  Signature
	Txs        types.Transactions
	Proofs     []MisbehaviourProof
	EpochVote  EpochVote
	BlockVotes BlockVotes

	base, locator [32]byte // hashes
	id            EventID
	size          int // in bytes, as it came
}

// ID returns the event's name.
func (p *Payload) ID() EventID { return p.id }

// Size returns how many bytes the encoding had.
func (p *Payload) Size() int { return p.size }

// SigningHash returns what the creator signs.
func (p *Payload) SigningHash() [32]byte { return p.locator }

// Locator returns what the creator signs, in parts, with the signature.
func (p *Payload) Locator() SignedLocator {
	return SignedLocator{p.Event.locator(p.base), p.Signature}
}

// Seal fills in what follows from the rest: which parts there are, the hash of the
// payload, and the id. The event may then be signed.
func (p *Payload) Seal() error {
	p.AnyTxs, p.AnyProofs = len(p.Txs) > 0, len(p.Proofs) > 0
	p.AnyEpochVote, p.AnyBlockVotes = p.EpochVote.Epoch != 0, len(p.BlockVotes.Votes) > 0
	p.PayloadHash = p.HashPayload()
	if err := p.identify(); err != nil {
		return err
	}
	raw, err := p.Encode()
	p.size = len(raw)
	return err
}

// identify computes the hashes and the id.
func (p *Payload) identify() (err error) {
	p.base, p.locator, err = p.Event.hashes()
	p.id = NewEventID(p.Epoch, p.Lamport, p.locator)
	return err
}

// HashPayload returns what PayloadHash must be.
func (p *Payload) HashPayload() [32]byte {
	if p.Version == 0 {
		return TxsRoot(p.Txs)
	}
	return hashPair(p.txsAndProofs(), hashPair(p.EpochVote.Hash(), p.BlockVotes.Hash()))
}

// txsAndProofs is the left half of the hash of a payload.
func (p *Payload) txsAndProofs() [32]byte { return hashPair(TxsRoot(p.Txs), hashRLP(p.Proofs)) }

func hashPair(a, b [32]byte) [32]byte { return sha256.Sum256(append(a[:], b[:]...)) }

// Encode returns the event as it travels and is stored.
func (p *Payload) Encode() ([]byte, error) {
	if p.AnyTxs != (len(p.Txs) > 0) || p.AnyProofs != (len(p.Proofs) > 0) ||
		p.AnyEpochVote != (p.EpochVote.Epoch != 0) || p.AnyBlockVotes != (len(p.BlockVotes.Votes) > 0) {
		return nil, ErrMalformedEvent
	}
	var w cser.Writer
	err := p.Event.write(&w)
	if err != nil {
		return nil, err
	}
	w.Fixed(p.Signature[:])
	if p.AnyTxs && p.Version == 0 {
		w.Length(len(p.Txs))
		for _, tx := range p.Txs {
			err = errors.Join(err, writeTx(&w, tx))
		}
	} else if p.AnyTxs {
		err = writeRLP(&w, p.Txs)
	}
	if p.AnyProofs {
		err = errors.Join(err, writeRLP(&w, p.Proofs))
	}
	if p.AnyEpochVote {
		p.EpochVote.write(&w)
	}
	if p.AnyBlockVotes {
		p.BlockVotes.write(&w)
	}
	return w.AppendTo(nil), err
}

func writeRLP(w *cser.Writer, v any) error {
	b, err := rlp.EncodeToBytes(v)
	w.Slice(b)
	return err
}

// DecodePayload decodes an event and computes its id, from an encoding of the header that
// is made anew. It keeps raw, which must stay as it is. Nothing is checked but the
// encoding.
func DecodePayload(raw []byte) (*Payload, error) {
	p := &Payload{size: len(raw)}
	r := cser.NewReader(raw)
	err := p.Event.read(r)
	if err == nil {
		r.Fixed(p.Signature[:])
		err = p.readBody(r)
	}
	// What the streams lack comes before what a value breaks that was read from nothing.
	if r.Err() != nil {
		err = r.Err()
	}
	if err == nil {
		err = r.End()
	}
	if err == nil {
		err = p.identify()
	}
	if err != nil {
		return nil, fmt.Errorf("decode an event: %w", err)
	}
	return p, nil
}

// readBody reads what the header says is there. A part that is there and empty is
// refused; go-opera accepts some of these, and stops when it is to store them.
func (p *Payload) readBody(r *cser.Reader) (err error) {
	if p.AnyTxs && p.Version == 0 {
		p.Txs, err = readTxs(r)
	} else if p.AnyTxs {
		err = readRLP(r, &p.Txs)
	}
	if err == nil && p.AnyProofs {
		err = readRLP(r, &p.Proofs)
	}
	if err == nil && p.AnyEpochVote {
		err = p.EpochVote.read(r)
	}
	if err == nil && p.AnyBlockVotes {
		err = p.BlockVotes.read(r)
	}
	if err != nil || r.Err() != nil {
		return err
	}
	if p.AnyTxs != (len(p.Txs) > 0) || p.AnyProofs != (len(p.Proofs) > 0) {
		return cser.ErrNotCanonical
	}
	for _, tx := range p.Txs {
		if !Supported(tx) {
			return types.ErrTxTypeNotSupported
		}
	}
	return nil
}

func readRLP(r *cser.Reader, into any) error {
	b := r.Slice(MaxEventSize)
	if r.Err() != nil {
		return r.Err()
	}
	return rlp.DecodeBytes(b, into)
}

// EncodeRLP writes the event as one string.
func (p *Payload) EncodeRLP(w io.Writer) error {
	raw, err := p.Encode()
	if err != nil {
		return err
	}
	return rlp.Encode(w, raw)
}

// DecodeRLP reads what EncodeRLP writes.
func (p *Payload) DecodeRLP(s *rlp.Stream) error {
	raw, err := s.Bytes()
	if err != nil {
		return err
	}
	decoded, err := DecodePayload(raw)
	if err == nil {
		*p = *decoded
	}
	return err
}
