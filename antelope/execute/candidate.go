package execute

import (
	"bytes"
	"fmt"
	"slices"
	"sync/atomic"

	"tarn/antelope/crypto"
	"tarn/antelope/exception"
	"tarn/antelope/types"
)

// Candidate is a transaction on its way into a block, with what was found out
// about it on other goroutines.
type Candidate struct {
	Kind    Kind
	Packed  *types.PackedTransaction
	Trx     *types.Transaction
	CFD     [][]byte // context-free data
	Raw     []byte   // Trx, encoded and not compressed
	ID      types.Checksum256
	Keys    []types.PublicKey // that signed it, ascending; for blocks that are trusted none
	KeyTime int64             // microseconds that finding the keys took
	Billed  int64             // microseconds that an earlier execution was billed; whoever pushes it keeps it

	Unprunable, Prunable uint64 // sizes that are billed, in bytes
}

// NewCandidate unpacks a transaction; its keys are not recovered. It may run on any
// goroutine.
func NewCandidate(p *types.PackedTransaction, kind Kind) (*Candidate, error) {
	trx, cfd, err := p.Unpack()
	if err != nil {
		return nil, err
	}
	return UnpackedCandidate(p, trx, cfd, kind)
}

// UnpackedCandidate is NewCandidate for a transaction that was unpacked before.
func UnpackedCandidate(
	p *types.PackedTransaction, trx *types.Transaction, cfd [][]byte, kind Kind,
) (*Candidate, error) {
	x := &Candidate{Kind: kind, Packed: p, Trx: trx, CFD: cfd}
	// Not what came: longer encodings than need be are accepted, and have the same
	// id.
	var room [types.UsualRoom]byte
	raw := trx.Append(room[:0])
	if x.ID = types.Hash(raw); bytes.Equal(raw, p.PackedTrx) {
		x.Raw = p.PackedTrx
	} else {
		x.Raw = bytes.Clone(raw)
	}
	u, err := p.UnprunableSize()
	if err != nil {
		return nil, err
	}
	s, err := p.PrunableSize()
	if err != nil {
		return nil, err
	}
	x.Unprunable, x.Prunable = uint64(u), uint64(s)
	return x, nil
}

// Duplicate is the refusal of a transaction that the chain has.
func Duplicate(id types.Checksum256) error {
	return exception.New(exception.TxDuplicate, "duplicate transaction ${id}", "id", id)
}

// Expired is the refusal of a transaction before it is executed. The expiration is given
// as what nodeos shows it as there: seconds, or with their fraction.
func Expired(id types.Checksum256, expiration fmt.Stringer, now types.TimePoint) error {
	return exception.New(exception.ExpiredTx, "expired transaction ${id}, expiration ${e}, block time ${bt}",
		"id", id, "e", expiration, "bt", now)
}

// appendSigned appends the signatures of a transaction.
func (x *Candidate) appendSigned(list []crypto.Signed, chain types.Checksum256) []crypto.Signed {
	if len(x.Packed.Signatures) == 0 {
		return list
	}
	digest := x.Trx.SigningDigest(chain, x.CFD)
	var by crypto.Signer
	for i := range x.Trx.Actions {
		if a := x.Trx.Actions[i].Authorization; len(a) > 0 {
			by.PermissionLevel = a[0]
			break
		}
	}
	for i := range x.Packed.Signatures {
		by.Place = i
		list = append(list, crypto.Signed{Signature: &x.Packed.Signatures[i], Digest: digest, By: by})
	}
	return list
}

// dependsOnRules tells whether Leap and Spring may find other keys.
func (x *Candidate) dependsOnRules() bool {
	for i := range x.Packed.Signatures {
		if crypto.WebAuthnDiffers(&x.Packed.Signatures[i]) {
			return true
		}
	}
	return false
}

// takeKeys takes the keys that were found for the same transaction before.
func (x *Candidate) takeKeys(known func(types.Checksum256) *Candidate) bool {
	if known == nil {
		return false
	}
	k := known(x.ID)
	if k == nil || !slices.Equal(k.Packed.Signatures, x.Packed.Signatures) ||
		!bytes.Equal(k.Packed.PackedContextFreeData, x.Packed.PackedContextFreeData) ||
		k.Packed.Compression != x.Packed.Compression {
		return false
	}
	x.Keys = k.Keys
	return true
}

// Unpack unpacks the transactions of a block, in the order of its receipts; nil for one that is scheduled, and for
// one that is left to its execution: see [ahead]. It may run on any goroutine.
func Unpack(b *types.SignedBlock) ([]*Candidate, error) {
	list := make([]*Candidate, len(b.Transactions))
	room := newAhead(b)
	for i := range b.Transactions {
		var err error
		if list[i], err = room.unpack(b.Transactions[i].Packed); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// ahead is how many bytes the transactions of a block that may grow much may still unpack to before the block is
// executed: those that are compressed, and those with context-free data, a piece of which may be a byte. A kilobyte can
// inflate to a megabyte, that to twenty-four of empty pieces, and a node has the transactions of many blocks unpacked
// while it catches up; so each block may take some times the bytes that it has itself. The transactions beyond are
// unpacked one after the other when they are executed. Any goroutine may use it.
type ahead struct{ left atomic.Int64 }

const (
	aheadTimes = 4       // of the packed bytes: contracts, which clients compress, inflate to less
	aheadLeast = 1 << 16 // bytes, so that a block of a few small ones needs no more
)

func newAhead(b *types.SignedBlock) *ahead {
	a, packed := new(ahead), 0
	for i := range b.Transactions {
		if p := b.Transactions[i].Packed; p != nil {
			packed += len(p.PackedTrx) + len(p.PackedContextFreeData)
		}
	}
	a.left.Store(int64(aheadLeast + aheadTimes*packed))
	return a
}

// unpack returns nil for no transaction, and for one that may grow much if there is no room left.
func (a *ahead) unpack(p *types.PackedTransaction) (*Candidate, error) {
	grows := p != nil && (p.Compression != types.CompressionNone || len(p.PackedContextFreeData) > 0)
	if p == nil || grows && a.left.Load() <= 0 {
		return nil, nil
	}
	x, err := NewCandidate(p, Input)
	if err == nil && grows {
		a.left.Add(-x.unpackedSize())
	}
	return x, err
}

// unpackedSize is about how many bytes the transaction takes that its packed form does not have.
func (x *Candidate) unpackedSize() int64 {
	const action, extension, piece = 64, 32, 24 // bytes of each in memory, besides its data
	size := action*(len(x.Trx.ContextFreeActions)+len(x.Trx.Actions)) + extension*len(x.Trx.Extensions)
	if x.Packed.Compression != types.CompressionNone {
		size += len(x.Raw)
	}
	for _, b := range x.CFD {
		size += piece + len(b)
	}
	return int64(size)
}
