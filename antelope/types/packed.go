package types

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/klauspost/compress/zlib"

	"tarn/antelope/exception"
	"tarn/antelope/serial"
)

// maxInflated limits what a packed transaction, and its context-free data, may
// inflate to.
const maxInflated = 1 << 20

// Pack packs a signed transaction.
func Pack(t *Transaction, signatures []Signature, contextFreeData [][]byte, c Compression) (*PackedTransaction, error) {
	p := &PackedTransaction{Signatures: signatures, Compression: c, PackedTrx: t.Append(nil)}
	if len(contextFreeData) > 0 {
		p.PackedContextFreeData = appendByteSlices(nil, contextFreeData)
	}
	switch c {
	case CompressionNone:
		return p, nil
	case CompressionZlib:
	default:
		return nil, errCompression()
	}
	var err error
	if p.PackedTrx, err = deflate(p.PackedTrx); err == nil && p.PackedContextFreeData != nil {
		p.PackedContextFreeData, err = deflate(p.PackedContextFreeData)
	}
	return p, err
}

// Unpack decodes the transaction and its context-free data. What follows either
// is ignored, as by nodeos. Errors are those of nodeos: an unknown compression, a
// transaction that inflates to more than 1 MiB, data that do not inflate or decode.
func (p *PackedTransaction) Unpack() (*Transaction, [][]byte, error) {
	raw, err := p.RawTransaction()
	if err != nil {
		return nil, nil, err
	}
	r := serial.NewReader(raw)
	t := new(Transaction)
	if t.Read(r); r.Err() != nil {
		return nil, nil, fmt.Errorf("unpack transaction: %w", r.Err())
	}
	if len(p.PackedContextFreeData) == 0 {
		return t, nil, nil
	}
	raw, err = p.inflate(p.PackedContextFreeData)
	if err != nil || len(raw) == 0 { // some clients deflate nothing
		return t, nil, err
	}
	r.Reset(raw)
	data := readByteSlices(r)
	if r.Err() != nil {
		return nil, nil, fmt.Errorf("unpack context-free data: %w", r.Err())
	}
	return t, data, nil
}

// RawTransaction returns the encoded transaction as it was packed; it may share
// memory with p.
func (p *PackedTransaction) RawTransaction() ([]byte, error) { return p.inflate(p.PackedTrx) }

func (p *PackedTransaction) inflate(b []byte) ([]byte, error) {
	switch p.Compression {
	case CompressionNone:
		return b, nil
	case CompressionZlib:
		return inflate(b)
	}
	return nil, errCompression()
}

func errCompression() error {
	return exception.New(exception.UnknownTransactionCompression, "Unknown transaction compression algorithm")
}

func deflate(b []byte) ([]byte, error) {
	var buf bytes.Buffer
	w, err := zlib.NewWriterLevel(&buf, zlib.BestCompression)
	if err == nil {
		_, err = w.Write(b)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("compress transaction: %w", err)
	}
	return buf.Bytes(), nil
}

// InflatedSize returns about how many bytes of memory the transaction and its context-free data take when
// they are inflated. It inflates no more than limit bytes and keeps none of them. Data that do
// not inflate count up to the error, which Unpack reports.
func (p *PackedTransaction) InflatedSize(limit int64) int64 {
	size, _ := p.inflatedBytes(p.PackedTrx, limit)
	more, begin := p.inflatedBytes(p.PackedContextFreeData, limit-size)
	pieces, _ := binary.Uvarint(begin)
	return size + more + sliceBytes*int64(min(pieces, uint64(more))) // a piece is a byte at least
}

// inflatedBytes returns how many bytes a part has when it is inflated, as far as that is at most a limit, and how
// they begin.
func (p *PackedTransaction) inflatedBytes(b []byte, limit int64) (size int64, begin []byte) {
	if p.Compression != CompressionZlib {
		return int64(len(b)), b[:min(len(b), binary.MaxVarintLen32)]
	}
	z, err := zlib.NewReader(bytes.NewReader(b))
	if err != nil { // Unpack says what is wrong, as below
		return 0, nil
	}
	limited := io.LimitReader(z, limit)
	begin = make([]byte, binary.MaxVarintLen32)
	n, _ := io.ReadFull(limited, begin)
	size, _ = io.Copy(io.Discard, limited)
	return int64(n) + size, begin[:n]
}

// sliceBytes is what a piece of context-free data, or the data of an extension, takes in memory besides its own.
const sliceBytes = 24

// inflate ignores what follows the stream. A stream without its end is refused.
func inflate(b []byte) ([]byte, error) {
	bad := func(err error) error {
		return exception.Wrap(exception.FCUnhandled, err, "internal decompression error")
	}
	z, err := zlib.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, bad(err)
	}
	out, err := io.ReadAll(io.LimitReader(z, maxInflated+1))
	if len(out) > maxInflated {
		return nil, exception.New(exception.TxDecompressionError, "Exceeded maximum decompressed transaction size")
	}
	if err != nil {
		return nil, bad(err)
	}
	return out, nil
}

// Footprint is about how many bytes of memory the packed transaction takes with what it
// unpacks to.
func (p *PackedTransaction) Footprint(t *Transaction, contextFreeData [][]byte) int64 {
	const action, level, signature = 128, 16, 128 // bytes of each, besides its data
	n := len(p.PackedTrx) + len(p.PackedContextFreeData) + signature*len(p.Signatures)
	for _, list := range [...][]Action{t.ContextFreeActions, t.Actions} {
		for i := range list {
			n += action + level*len(list[i].Authorization) + len(list[i].Data)
		}
	}
	for _, data := range contextFreeData {
		n += sliceBytes + len(data)
	}
	for _, e := range t.Extensions {
		n += sliceBytes + len(e.Data)
	}
	return int64(n)
}

// Footprint is about how many bytes of memory the block's transactions, as they are packed, and its extensions take.
func (b *SignedBlock) Footprint() int64 {
	const receipt, signature, slice = 192, 128, 32 // bytes of each, besides its data
	n := receipt * len(b.Transactions)
	for i := range b.Transactions {
		if p := b.Transactions[i].Packed; p != nil {
			n += len(p.PackedTrx) + len(p.PackedContextFreeData) + signature*len(p.Signatures)
		}
	}
	for _, list := range [...]Extensions{b.SignedBlockHeader.Extensions, b.Extensions} {
		for i := range list {
			n += slice + len(list[i].Data)
		}
	}
	return int64(n)
}

// Footprint is about how many bytes of memory the schedule takes.
func (s *ProducerSchedule) Footprint() int64 {
	const producer, key, compact = 40, 64, 33 // bytes of each, with what a key's type has besides
	n := producer * len(s.Producers)
	for i := range s.Producers {
		n += (key + compact) * len(s.Producers[i].Authority.Keys)
	}
	return int64(n)
}

// fixedPackedOverhead is billed for every packed transaction, in bytes.
const fixedPackedOverhead = 16

// UnprunableSize returns the bytes of network usage that can never be pruned.
func (p *PackedTransaction) UnprunableSize() (uint32, error) {
	return packedSize(fixedPackedOverhead + len(p.PackedTrx))
}

// PrunableSize returns the bytes of signatures and context-free data.
func (p *PackedTransaction) PrunableSize() (uint32, error) {
	size := sizeCount(len(p.Signatures)) + len(p.PackedContextFreeData)
	for i := range p.Signatures {
		size += p.Signatures[i].Size()
	}
	return packedSize(size)
}

func packedSize(n int) (uint32, error) {
	if uint64(n) > math.MaxUint32 {
		return 0, exception.New(exception.TxTooBig, "packed_transaction is too big")
	}
	return uint32(n), nil
}

// Digest returns the hash by which a transaction receipt's digest covers the packed
// transaction. Signatures and context-free data go into it as a hash of their own, because
// they can be pruned.
func (p *PackedTransaction) Digest() Checksum256 {
	var room [UsualRoom]byte
	prunable := serial.AppendBytes(AppendSignatures(room[:0], p.Signatures), p.PackedContextFreeData)
	digest := Hash(prunable)
	return Hash(digest.Append(serial.AppendBytes(append(room[:0], byte(p.Compression)), p.PackedTrx)))
}

// Append appends the packed transaction.
func (p PackedTransaction) Append(b []byte) []byte {
	b = append(AppendSignatures(b, p.Signatures), byte(p.Compression))
	b = serial.AppendBytes(b, p.PackedContextFreeData)
	return serial.AppendBytes(b, p.PackedTrx)
}

// Read reads a packed transaction without unpacking it. nodeos unpacks while it reads, and
// refuses what does not unpack: a caller that must refuse the same calls Unpack too.
func (p *PackedTransaction) Read(r *serial.Reader) {
	p.Signatures = ReadSignatures(r)
	p.Compression = Compression(r.Uint8())
	p.PackedContextFreeData = bytes.Clone(r.Bytes())
	p.PackedTrx = bytes.Clone(r.Bytes())
}
