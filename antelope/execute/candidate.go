package execute

import (
	"bytes"
	"fmt"
	"slices"

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
func UnpackedCandidate(p *types.PackedTransaction, trx *types.Transaction, cfd [][]byte, kind Kind) (*Candidate, error) {
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

// Unpack unpacks the transactions of a block. It may run on any goroutine.
func Unpack(b *types.SignedBlock) ([]*Candidate, error) {
	list := make([]*Candidate, len(b.Transactions))
	for i := range b.Transactions {
		if packed := b.Transactions[i].Packed; packed != nil {
			x, err := NewCandidate(packed, Input)
			if err != nil {
				return nil, err
			}
			list[i] = x
		}
	}
	return list, nil
}
