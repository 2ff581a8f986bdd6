package types

import (
	"math/bits"
	"slices"

	"tarn/antelope/serial"
)

// Types of extensions that Savanna adds (Spring: finality_extension.hpp,
// quorum_certificate_extension).
const (
	HeaderFinality  = 2 // FinalityExtension
	BlockQuorumCert = 3 // QuorumCertificate
)

// ProperSchedule is the schedule version in the headers of blocks that follow Savanna's rules.
// Blocks that have a finality extension and another version lead over from the rules before
// (Spring: block_header.hpp).
const ProperSchedule = 1 << 31

// IsProper tells whether the block follows Savanna's rules alone.
func (h *BlockHeader) IsProper() bool { return h.ScheduleVersion == ProperSchedule }

// Limits of policies (Spring: config.hpp).
const (
	MaxProposers            = 64 * 1024
	MaxFinalizers           = 64 * 1024
	MaxFinalizerDescription = 256 // bytes
)

// BLSPublicKey is a point of G1, affine, both coordinates little-endian; zero for the one at
// infinity.
type BLSPublicKey [96]byte

// Append appends the length and the coordinates.
func (k BLSPublicKey) Append(b []byte) []byte { return append(append(b, byte(len(k))), k[:]...) }

// Read reads the length, which must be that of a key, and the coordinates. Whether they are those
// of a point is the crypto package's to say.
func (k *BLSPublicKey) Read(r *serial.Reader) { readSized(r, k[:]) }

// BLSSignature is a point of G2, likewise.
type BLSSignature [192]byte

// Append appends the length and the coordinates.
func (s BLSSignature) Append(b []byte) []byte { return append(serial.AppendCount(b, len(s)), s[:]...) }

// Read reads the length, which must be that of a signature, and the coordinates.
func (s *BLSSignature) Read(r *serial.Reader) { readSized(r, s[:]) }

func readSized(r *serial.Reader, dst []byte) {
	if n := r.Varuint32(); r.Err() == nil && n != uint32(len(dst)) {
		r.Fail(serial.ErrValue)
	}
	r.Copy(dst)
}

// Finalizer is one that votes, with what its vote weighs (Spring: finalizer_authority).
type Finalizer struct {
	Description string
	Weight      uint64
	Key         BLSPublicKey
}

// Append appends the fields.
func (f Finalizer) Append(b []byte) []byte {
	return f.Key.Append(serial.AppendUint64(serial.AppendString(b, f.Description), f.Weight))
}

// Read reads the fields.
func (f *Finalizer) Read(r *serial.Reader) {
	f.Description, f.Weight = r.String(), r.Uint64()
	f.Key.Read(r)
}

// finalizerSize is the least that a finalizer takes.
const finalizerSize = 1 + 8 + 1 + 96

// FinalizerPolicy is who finalizes blocks, and how much weight a quorum has. The order is that of
// the bits of certificates. Policies are shared and never changed.
type FinalizerPolicy struct {
	Generation uint32
	Threshold  uint64
	Finalizers []Finalizer
}

// Append appends the fields.
func (p *FinalizerPolicy) Append(b []byte) []byte {
	b = serial.AppendUint64(serial.AppendUint32(b, p.Generation), p.Threshold)
	b = serial.AppendCount(b, len(p.Finalizers))
	for i := range p.Finalizers {
		b = p.Finalizers[i].Append(b)
	}
	return b
}

// Read reads the fields.
func (p *FinalizerPolicy) Read(r *serial.Reader) {
	*p = FinalizerPolicy{Generation: r.Uint32(), Threshold: r.Uint64()}
	p.Finalizers = readList(r, finalizerSize, (*Finalizer).Read)
}

// Digest is the hash of the encoding.
func (p *FinalizerPolicy) Digest() Checksum256 { return Hash(p.Append(nil)) }

// Equal tells whether two policies are the same, generations too.
func (p *FinalizerPolicy) Equal(o *FinalizerPolicy) bool {
	return p.Generation == o.Generation && p.Threshold == o.Threshold && slices.Equal(p.Finalizers, o.Finalizers)
}

// ProposerPolicy is who produces blocks, and when that was proposed. Policies are shared and never
// changed.
type ProposerPolicy struct {
	Proposed BlockTimestamp
	Schedule ProducerSchedule
}

// Append appends the fields.
func (p *ProposerPolicy) Append(b []byte) []byte {
	return p.Schedule.Append(serial.AppendUint32(b, uint32(p.Proposed)))
}

// Read reads the fields.
func (p *ProposerPolicy) Read(r *serial.Reader) {
	p.Proposed = BlockTimestamp(r.Uint32())
	p.Schedule.Read(r)
}

// QCClaim says which block the newest certificate known to a block is for.
type QCClaim struct {
	Block  uint32
	Strong bool
}

// Append appends the fields.
func (c QCClaim) Append(b []byte) []byte {
	return serial.AppendBool(serial.AppendUint32(b, c.Block), c.Strong)
}

// Read reads the fields.
func (c *QCClaim) Read(r *serial.Reader) { c.Block, c.Strong = r.Uint32(), r.Bool() }

// Less orders claims by their blocks, a weak one before a strong one.
func (c QCClaim) Less(o QCClaim) bool {
	return c.Block < o.Block || c.Block == o.Block && !c.Strong && o.Strong
}

// Inserted is an element of a list with the index that it gets.
type Inserted[T any] struct {
	Index uint16
	Value T
}

// ListDiff leads from one ordered list to another: indexes to be removed, ascending, then elements
// to be inserted, ascending.
type ListDiff[T any] struct {
	Removed  []uint16
	Inserted []Inserted[T]
}

func (d *ListDiff[T]) append(b []byte, value func(*T, []byte) []byte) []byte {
	b = serial.AppendCount(b, len(d.Removed))
	for _, i := range d.Removed {
		b = serial.AppendUint16(b, i)
	}
	b = serial.AppendCount(b, len(d.Inserted))
	for i := range d.Inserted {
		b = value(&d.Inserted[i].Value, serial.AppendUint16(b, d.Inserted[i].Index))
	}
	return b
}

func (d *ListDiff[T]) read(r *serial.Reader, size int, value func(*T, *serial.Reader)) {
	d.Removed = readList(r, 2, func(i *uint16, r *serial.Reader) { *i = r.Uint16() })
	d.Inserted = readList(r, 2+size, func(e *Inserted[T], r *serial.Reader) {
		e.Index = r.Uint16()
		value(&e.Value, r)
	})
}

// readList reads an array whose elements take at least size bytes; nil if it is empty.
func readList[T any](r *serial.Reader, size int, read func(*T, *serial.Reader)) []T {
	n := r.Count(size)
	if n == 0 {
		return nil
	}
	list := make([]T, n)
	for i := range list {
		read(&list[i], r)
	}
	return list
}

// FinalizerPolicyDiff leads from one policy to the next.
type FinalizerPolicyDiff struct {
	Generation uint32
	Threshold  uint64
	Finalizers ListDiff[Finalizer]
}

// Append appends the fields.
func (d *FinalizerPolicyDiff) Append(b []byte) []byte {
	b = serial.AppendUint64(serial.AppendUint32(b, d.Generation), d.Threshold)
	return d.Finalizers.append(b, func(f *Finalizer, b []byte) []byte { return f.Append(b) })
}

// Read reads the fields.
func (d *FinalizerPolicyDiff) Read(r *serial.Reader) {
	*d = FinalizerPolicyDiff{Generation: r.Uint32(), Threshold: r.Uint64()}
	d.Finalizers.read(r, finalizerSize, (*Finalizer).Read)
}

// ProposerPolicyDiff leads from one policy to the next.
type ProposerPolicyDiff struct {
	Version   uint32
	Proposed  BlockTimestamp
	Producers ListDiff[ProducerAuthority]
}

// Append appends the fields.
func (d *ProposerPolicyDiff) Append(b []byte) []byte {
	b = serial.AppendUint32(serial.AppendUint32(b, d.Version), uint32(d.Proposed))
	return d.Producers.append(b, func(p *ProducerAuthority, b []byte) []byte { return p.Append(b) })
}

// Read reads the fields.
func (d *ProposerPolicyDiff) Read(r *serial.Reader) {
	*d = ProposerPolicyDiff{Version: r.Uint32(), Proposed: BlockTimestamp(r.Uint32())}
	d.Producers.read(r, 8+1+4+1, (*ProducerAuthority).Read)
}

// FinalityExtension is what a block's header says about finality.
type FinalityExtension struct {
	Claim      QCClaim
	Finalizers *FinalizerPolicyDiff // that the block proposes; nil for none
	Proposers  *ProposerPolicyDiff  // the same
}

// Append appends the fields.
func (e *FinalityExtension) Append(b []byte) []byte {
	b = serial.AppendBool(e.Claim.Append(b), e.Finalizers != nil)
	if e.Finalizers != nil {
		b = e.Finalizers.Append(b)
	}
	if b = serial.AppendBool(b, e.Proposers != nil); e.Proposers != nil {
		b = e.Proposers.Append(b)
	}
	return b
}

// Read reads the fields.
func (e *FinalityExtension) Read(r *serial.Reader) {
	*e = FinalityExtension{}
	e.Claim.Read(r)
	if r.Bool() {
		e.Finalizers = new(FinalizerPolicyDiff)
		e.Finalizers.Read(r)
	}
	if r.Bool() {
		e.Proposers = new(ProposerPolicyDiff)
		e.Proposers.Read(r)
	}
}

// Bitset is a row of bits, of those finalizers that voted. It is shared and never changed; its
// zero value is no bitset at all, which is another thing than one without bits.
type Bitset struct {
	size  int
	bytes []byte // bit i is in byte i/8, the lowest first; unused ones are zero
}

// NewBitset makes one of so many bits, with those that are set.
func NewBitset(size int, set ...int) *Bitset {
	b := &Bitset{size: size, bytes: make([]byte, (size+7)/8)}
	for _, i := range set {
		b.bytes[i/8] |= 1 << (i % 8)
	}
	return b
}

// Len is the number of bits, set or not.
func (b *Bitset) Len() int { return b.size }

// Has tells whether bit i is set.
func (b *Bitset) Has(i int) bool { return b.bytes[i/8]>>(i%8)&1 != 0 }

// Count is the number of bits that are set.
func (b *Bitset) Count() int {
	n := 0
	for _, v := range b.bytes {
		n += bits.OnesCount8(v)
	}
	return n
}

// Digest is a hash of the bits.
func (b *Bitset) Digest() Checksum256 { return Hash(b.bytes) }

// Append appends the number of bits and the bytes (Spring: fc bitset).
func (b *Bitset) Append(to []byte) []byte {
	return append(serial.AppendCount(to, b.size), b.bytes...)
}

// Read reads the number of bits and the bytes. Bits beyond the number are left out, as nodeos does.
func (b *Bitset) Read(r *serial.Reader) {
	*b = Bitset{}
	n := uint64(r.Varuint32())
	raw := r.Raw(int((n + 7) / 8)) // an error if there are not so many
	if r.Err() != nil {
		return
	}
	*b = Bitset{size: int(n), bytes: slices.Clone(raw)}
	if rest := n % 8; rest != 0 {
		b.bytes[len(b.bytes)-1] &= 1<<rest - 1
	}
}

// AppendText appends a 0 or 1 for each bit, the highest first.
func (b *Bitset) AppendText(to []byte) []byte {
	for i := b.size - 1; i >= 0; i-- {
		to = append(to, '0'+b.bytes[i/8]>>(i%8)&1)
	}
	return to
}

// QCSignature is the sum of the votes of one policy's finalizers. Whoever votes weakly makes
// it weak: it is strong only if Weak is nil.
type QCSignature struct {
	Strong, Weak *Bitset // nil for none
	Signature    BLSSignature
}

// IsWeak tells whether there is a bitset of weak votes, bits or not.
func (s *QCSignature) IsWeak() bool { return s.Weak != nil }

// Append appends the fields.
func (s *QCSignature) Append(b []byte) []byte {
	for _, set := range []*Bitset{s.Strong, s.Weak} {
		if b = serial.AppendBool(b, set != nil); set != nil {
			b = set.Append(b)
		}
	}
	return s.Signature.Append(b)
}

// Read reads the fields.
func (s *QCSignature) Read(r *serial.Reader) {
	*s = QCSignature{}
	for _, set := range []**Bitset{&s.Strong, &s.Weak} {
		if r.Bool() {
			*set = new(Bitset)
			(*set).Read(r)
		}
	}
	s.Signature.Read(r)
}

// QuorumCertificate says that a quorum has voted for a block: of the policy that is active, and of
// the one that is pending if there is one.
type QuorumCertificate struct {
	Block   uint32
	Active  QCSignature
	Pending *QCSignature // nil for none
}

// Append appends the fields.
func (q *QuorumCertificate) Append(b []byte) []byte {
	b = q.Active.Append(serial.AppendUint32(b, q.Block))
	if b = serial.AppendBool(b, q.Pending != nil); q.Pending != nil {
		b = q.Pending.Append(b)
	}
	return b
}

// Read reads the fields.
func (q *QuorumCertificate) Read(r *serial.Reader) {
	*q = QuorumCertificate{Block: r.Uint32()}
	q.Active.Read(r)
	if r.Bool() {
		q.Pending = new(QCSignature)
		q.Pending.Read(r)
	}
}

// IsStrong tells whether all signatures of the certificate are strong.
func (q *QuorumCertificate) IsStrong() bool {
	return !q.Active.IsWeak() && (q.Pending == nil || !q.Pending.IsWeak())
}

// Claim is what a block that has the certificate claims.
func (q *QuorumCertificate) Claim() QCClaim { return QCClaim{q.Block, q.IsStrong()} }
