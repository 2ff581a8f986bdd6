package types

import (
	"encoding/binary"
	"slices"

	"tarn/antelope/exception"
	"tarn/antelope/serial"
)

// Append appends the status, the CPU usage and the network usage.
func (h TransactionReceiptHeader) Append(b []byte) []byte {
	b = serial.AppendUint32(append(b, byte(h.Status)), h.CPUUsageUS)
	return serial.AppendVaruint32(b, h.NetUsageWords)
}

// Read reads the status, which may be any byte, and the usages.
func (h *TransactionReceiptHeader) Read(r *serial.Reader) {
	h.Status = TransactionStatus(r.Uint8())
	h.CPUUsageUS = r.Uint32()
	h.NetUsageWords = r.Varuint32()
}

// Append appends the receipt with what it is for.
func (t TransactionReceipt) Append(b []byte) []byte {
	b = t.TransactionReceiptHeader.Append(b)
	if t.Packed == nil {
		return t.ID.Append(append(b, 0))
	}
	return t.Packed.Append(append(b, 1))
}

// Read reads a receipt with what it is for.
func (t *TransactionReceipt) Read(r *serial.Reader) {
	*t = TransactionReceipt{}
	t.TransactionReceiptHeader.Read(r)
	switch r.Varuint32() {
	case 0:
		t.ID.Read(r)
	case 1:
		t.Packed = new(PackedTransaction)
		t.Packed.Read(r)
	default:
		r.Fail(exception.New(exception.FCAssert, "Provided index out of range for variant."))
	}
}

// Digest returns the leaf of the transaction merkle tree.
func (t *TransactionReceipt) Digest() Checksum256 {
	var buf [48]byte
	what := t.ID
	if t.Packed != nil {
		what = t.Packed.Digest()
	}
	return Hash(what.Append(t.TransactionReceiptHeader.Append(buf[:0])))
}

// Append appends the header.
func (h BlockHeader) Append(b []byte) []byte {
	b = h.Producer.Append(h.Timestamp.Append(b))
	b = h.Previous.Append(serial.AppendUint16(b, h.Confirmed))
	b = h.ActionMRoot.Append(h.TransactionMRoot.Append(b))
	b = serial.AppendUint32(b, h.ScheduleVersion)
	b = serial.AppendBool(b, h.NewProducers != nil)
	if h.NewProducers != nil {
		b = h.NewProducers.Append(b)
	}
	return h.Extensions.Append(b)
}

// Read reads a header.
func (h *BlockHeader) Read(r *serial.Reader) {
	*h = BlockHeader{}
	h.Timestamp.Read(r)
	h.Producer.Read(r)
	h.Confirmed = r.Uint16()
	h.Previous.Read(r)
	h.TransactionMRoot.Read(r)
	h.ActionMRoot.Read(r)
	h.ScheduleVersion = r.Uint32()
	if r.Bool() {
		h.NewProducers = new(LegacySchedule)
		h.NewProducers.Read(r)
	}
	h.Extensions.Read(r)
}

// BlockNum returns the number of the block: one more than the previous.
func (h *BlockHeader) BlockNum() uint32 { return BlockNum(h.Previous) + 1 }

// Digest returns the hash of the header.
func (h *BlockHeader) Digest() Checksum256 { return Hash(h.Append(make([]byte, 0, 160))) }

// ID returns the block's id: the digest with the block's number, big-endian, in
// the place of its first four bytes.
func (h *BlockHeader) ID() Checksum256 {
	id := h.Digest()
	binary.BigEndian.PutUint32(id[:4], h.BlockNum())
	return id
}

// Append appends the header and the signature.
func (h SignedBlockHeader) Append(b []byte) []byte {
	return h.ProducerSignature.Append(h.BlockHeader.Append(b))
}

// Read reads a header and its signature.
func (h *SignedBlockHeader) Read(r *serial.Reader) {
	h.BlockHeader.Read(r)
	h.ProducerSignature.Read(r)
}

// minReceipt is the length of the shortest transaction receipt.
const minReceipt = 6 + 1 + 4

// Append appends the block.
func (s SignedBlock) Append(b []byte) []byte {
	b = slices.Grow(b, s.room())
	b = serial.AppendCount(s.SignedBlockHeader.Append(b), len(s.Transactions))
	for i := range s.Transactions {
		b = s.Transactions[i].Append(b)
	}
	return s.Extensions.Append(b)
}

// room returns a number of bytes that the encoding is not longer than, unless it has
// long extensions or signatures.
func (s *SignedBlock) room() int {
	const header, receipt, signature = 512, 64, 66
	room := header
	for i := range s.Transactions {
		room += receipt
		if p := s.Transactions[i].Packed; p != nil {
			room += signature*len(p.Signatures) + len(p.PackedContextFreeData) + len(p.PackedTrx)
		}
	}
	return room
}

// Read reads a block. Its transactions are not unpacked.
func (s *SignedBlock) Read(r *serial.Reader) {
	*s = SignedBlock{}
	s.SignedBlockHeader.Read(r)
	if n := r.Count(minReceipt); n > 0 {
		s.Transactions = make([]TransactionReceipt, n)
		for i := range s.Transactions {
			s.Transactions[i].Read(r)
		}
	}
	s.Extensions.Read(r)
}
