package inter

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"

	"github.com/ethereum/go-ethereum/core/types"

	"tarn/opera/inter/cser"
)

// Errors of an event's encoding, in go-opera's words (inter/event_serializer.go).
var (
	ErrMalformedEvent = errors.New("serialization of malformed event")
	ErrTooLowEpoch    = errors.New("serialization of events with epoch<256 and version=0 is unsupported")
	ErrUnknownVersion = errors.New("unknown serialization version")
)

// MaxEventSize is the greatest message between peers, in bytes; nothing in an event is
// larger (go-opera, inter.ProtocolMaxMsgSize).
const MaxEventSize = 10 << 20

// Version of events: 0 until the upgrade Llr, 1 from it on.
const maxVersion = 1

// Event is the header of an event: what its id is a hash of.
type Event struct {
	Version   uint8
	NetForkID uint16 // always 0

	Epoch   Epoch
	Seq     Seq
	Frame   Frame
	Lamport Lamport
	Creator ValidatorID
	Parents []EventID // the creator's own first, if Seq is above 1

	CreationTime  Timestamp
	MedianTime    Timestamp
	PrevEpochHash *[32]byte // hash of the epoch's state, in the first events of an epoch

	GasPowerUsed uint64
	GasPowerLeft GasPower

	Extra []byte

	// What the payload has. Without any, PayloadHash is that of an empty payload.
	AnyTxs, AnyProofs, AnyEpochVote, AnyBlockVotes bool
	PayloadHash                                    [32]byte
}

// SelfParent returns the event of the same creator before this one, and false if this
// one says that it is the first.
func (e *Event) SelfParent() (EventID, bool) {
	if e.Seq <= 1 || len(e.Parents) == 0 {
		return EventID{}, false
	}
	return e.Parents[0], true
}

// any tells whether there is a payload.
func (e *Event) any() bool { return e.AnyTxs || e.AnyProofs || e.AnyEpochVote || e.AnyBlockVotes }

// emptyPayload returns the payload hash of an event that has none: of no transactions,
// and from version 1 on of no proofs and no votes.
func emptyPayload(version uint8) [32]byte {
	if version == 0 {
		return types.EmptyTxsHash
	}
	return [32]byte{
		0x2f, 0xd8, 0x99, 0x6d, 0xf8, 0x4d, 0x1a, 0xb4, 0x4b, 0x75, 0x8d, 0x0c, 0x38, 0x3c, 0x25, 0x96,
		0xb9, 0xc3, 0x4d, 0x46, 0xa9, 0x80, 0xa7, 0xa9, 0xf7, 0xa3, 0x89, 0x02, 0x00, 0x02, 0xfe, 0x7c,
	}
}

// room returns how many bytes the header takes at most, beside its bits.
func (e *Event) room() int { return 160 + 28*len(e.Parents) + len(e.Extra) }

// write writes the header.
func (e *Event) write(w *cser.Writer) error {
	if e.Version > 0 {
		// No number of the epoch below 256 has these bits, as that of version 0 has.
		w.Bits(2, 0)
		w.U8(e.Version)
		w.U16(e.NetForkID)
	} else if e.Epoch < 256 {
		return ErrTooLowEpoch
	}
	for _, v := range []uint32{uint32(e.Epoch), uint32(e.Lamport), uint32(e.Creator), uint32(e.Seq), uint32(e.Frame)} {
		w.U32(v)
	}
	w.U64(uint64(e.CreationTime))
	w.I64(int64(e.CreationTime) - int64(e.MedianTime))
	w.U64(e.GasPowerUsed)
	w.U64(e.GasPowerLeft.Gas[Short])
	w.U64(e.GasPowerLeft.Gas[Long])
	w.U32(uint32(len(e.Parents)))
	for i := range e.Parents {
		p := &e.Parents[i]
		if e.Lamport < p.Lamport() || p.Epoch() != e.Epoch {
			return ErrMalformedEvent
		}
		w.U32(uint32(e.Lamport - p.Lamport()))
		w.Fixed(p[8:])
	}
	w.Bool(e.PrevEpochHash != nil)
	if e.PrevEpochHash != nil {
		w.Fixed(e.PrevEpochHash[:])
	}
	w.Bool(e.AnyTxs)
	if e.Version > 0 {
		w.Bool(e.AnyProofs)
		w.Bool(e.AnyEpochVote)
		w.Bool(e.AnyBlockVotes)
	}
	if e.any() {
		w.Fixed(e.PayloadHash[:])
	}
	w.Slice(e.Extra)
	return nil
}

// read reads the header. The slices are part of what the reader reads.
func (e *Event) read(r *cser.Reader) error {
	if r.Peek(2) == 0 && r.Err() == nil {
		r.Bits(2)
		if e.Version = r.U8(); e.Version == 0 && r.Err() == nil {
			return cser.ErrNotCanonical
		}
	}
	if e.Version > maxVersion {
		return ErrUnknownVersion
	}
	if e.Version > 0 {
		e.NetForkID = r.U16()
	}
	e.Epoch, e.Lamport, e.Creator = Epoch(r.U32()), Lamport(r.U32()), ValidatorID(r.U32())
	e.Seq, e.Frame = Seq(r.U32()), Frame(r.U32())
	created := r.U64()
	e.CreationTime, e.MedianTime = Timestamp(created), Timestamp(int64(created)-r.I64())
	e.GasPowerUsed = r.U64()
	e.GasPowerLeft = GasPower{[2]uint64{r.U64(), r.U64()}}
	if err := e.readParents(r); err != nil {
		return err
	}
	if r.Bool() {
		e.PrevEpochHash = new([32]byte)
		r.Fixed(e.PrevEpochHash[:])
	}
	e.AnyTxs = r.Bool()
	if e.Version > 0 {
		e.AnyProofs, e.AnyEpochVote, e.AnyBlockVotes = r.Bool(), r.Bool(), r.Bool()
	}
	e.PayloadHash = emptyPayload(e.Version)
	if e.any() {
		empty := e.PayloadHash
		if r.Fixed(e.PayloadHash[:]); e.PayloadHash == empty {
			return cser.ErrNotCanonical
		}
	}
	e.Extra = r.Slice(MaxEventSize)
	if e.Version == 0 && e.Epoch < 256 && r.Err() == nil {
		return ErrTooLowEpoch
	}
	return r.Err()
}

// readParents reads the parents, whose epoch is the event's. One with a greater lamport
// time is refused: go-opera hashes such an event as if it were nothing, and never
// accepts it.
func (e *Event) readParents(r *cser.Reader) error {
	const each = 1 + 24 // bytes at least
	n := r.Count(MaxEventSize/24, each)
	if err := r.Err(); err != nil {
		return err
	}
	e.Parents = make([]EventID, n)
	for i := range e.Parents {
		back := Lamport(r.U32())
		if back > e.Lamport && r.Err() == nil {
			return ErrMalformedEvent
		}
		p := &e.Parents[i]
		binary.BigEndian.PutUint32(p[0:], uint32(e.Epoch))
		binary.BigEndian.PutUint32(p[4:], uint32(e.Lamport-back))
		r.Fixed(p[8:])
	}
	return r.Err()
}

// hashes returns the hash of the header, and that of its locator, which is signed.
func (e *Event) hashes() (base, locator [32]byte, err error) {
	w := cser.NewWriter(e.room())
	if err := e.write(&w); err != nil {
		return base, locator, err
	}
	base = sha256.Sum256(w.AppendTo(nil))
	if e.Version == 0 {
		return base, base, nil
	}
	l := e.locator(base)
	return base, l.Hash(), nil
}

// locator returns what is signed of the event with that hash of its header.
func (e *Event) locator(base [32]byte) Locator {
	return Locator{
		BaseHash: base, NetForkID: e.NetForkID, Epoch: e.Epoch, Seq: e.Seq, Lamport: e.Lamport,
		Creator: e.Creator, PayloadHash: e.PayloadHash,
	}
}

// Locator is what of an event is signed: enough to prove who made which event, without
// the event.
type Locator struct {
	BaseHash    [32]byte
	NetForkID   uint16
	Epoch       Epoch
	Seq         Seq
	Lamport     Lamport
	Creator     ValidatorID
	PayloadHash [32]byte
}

// Hash returns what is signed, of an event of version 1: SHA-256 over the fields, numbers
// big-endian.
func (l *Locator) Hash() [32]byte {
	b := make([]byte, 0, 32+2+4*4+32)
	b = append(b, l.BaseHash[:]...)
	b = binary.BigEndian.AppendUint16(b, l.NetForkID)
	for _, v := range []uint32{uint32(l.Epoch), uint32(l.Seq), uint32(l.Lamport), uint32(l.Creator)} {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	return sha256.Sum256(append(b, l.PayloadHash[:]...))
}

// ID names the locator where votes are stored and exchanged. It is not the event's id: it
// keeps other bytes of the hash (go-opera, EventLocator.ID).
func (l *Locator) ID() EventID {
	id := EventID(l.Hash())
	binary.BigEndian.PutUint32(id[0:], uint32(l.Epoch))
	binary.BigEndian.PutUint32(id[4:], uint32(l.Lamport))
	return id
}

// Signature is of secp256k1, R and S of 32 bytes each.
type Signature [64]byte

// SignedLocator is a locator with its creator's signature.
type SignedLocator struct {
	Locator   Locator
	Signature Signature
}
