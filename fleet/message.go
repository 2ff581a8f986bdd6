package fleet

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/klauspost/compress/s2"
)

// Digest is the hash of a move and of all before it in its line: SHA-256 of the digest before,
// the line, the move's number and its encoding. Before the first move it is zero.
type Digest [sha256.Size]byte

// Header begins each message. A reader that sees the newest message of a stream knows from
// it where the line stands.
type Header struct {
	Line   uint64 // which line; drawn at random when it begins
	Number uint64 // of the move in its line, from 1
	Part   uint32 // of the move, from 0
	Parts  uint32 // that the move has
	Before Digest // of the move before
	Digest Digest // of this one
	Base   Point  // the block that the first of the move's follows: the head before, or one to go back to
	To     Point  // the head after it
}

const (
	messageVersion = 1
	headerSize     = 1 + 8 + 8 + 4 + 4 + 2*sha256.Size + 2*(8+32)
)

// Append appends the header's encoding, of always the same size: the version, then the fields in
// their order, numbers little-endian.
func (h *Header) Append(b []byte) []byte {
	b = append(b, messageVersion)
	b = binary.LittleEndian.AppendUint64(b, h.Line)
	b = binary.LittleEndian.AppendUint64(b, h.Number)
	b = binary.LittleEndian.AppendUint32(b, h.Part)
	b = binary.LittleEndian.AppendUint32(b, h.Parts)
	b = append(append(b, h.Before[:]...), h.Digest[:]...)
	for _, p := range [2]Point{h.Base, h.To} {
		b = append(binary.LittleEndian.AppendUint64(b, p.Revision), p.ID[:]...)
	}
	return b
}

// ReadHeader takes the header off a message. An error wraps [ErrDamaged].
func ReadHeader(b []byte) (h Header, data []byte, err error) {
	if len(b) < headerSize {
		return h, nil, fmt.Errorf("%w: %d bytes are less than a header", ErrDamaged, len(b))
	}
	if b[0] != messageVersion {
		return h, nil, fmt.Errorf("%w: a message of version %d; this program knows %d",
			ErrDamaged, b[0], messageVersion)
	}
	b = b[1:]
	take := func(n int) []byte { v := b[:n]; b = b[n:]; return v }
	h.Line = binary.LittleEndian.Uint64(take(8))
	h.Number = binary.LittleEndian.Uint64(take(8))
	h.Part = binary.LittleEndian.Uint32(take(4))
	h.Parts = binary.LittleEndian.Uint32(take(4))
	copy(h.Before[:], take(sha256.Size))
	copy(h.Digest[:], take(sha256.Size))
	for _, p := range [2]*Point{&h.Base, &h.To} {
		p.Revision = binary.LittleEndian.Uint64(take(8))
		copy(p.ID[:], take(32))
	}
	if h.Number == 0 || h.Part >= h.Parts {
		return h, nil, fmt.Errorf("%w: part %d of %d of move %d", ErrDamaged, h.Part, h.Parts, h.Number)
	}
	return h, b, nil
}

// isLast tells whether a move ends with this message.
func (h *Header) IsLast() bool { return h.Part+1 == h.Parts }

func digest(before Digest, line, number uint64, move []byte) (d Digest) {
	s := sha256.New()
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:8], line)
	binary.LittleEndian.PutUint64(b[8:], number)
	s.Write(before[:])
	s.Write(b[:])
	s.Write(move)
	s.Sum(d[:0])
	return d
}

// Limits bound what a move may take. The zero value has the default of each.
type Limits struct {
	Message    int   // bytes of a message, header included; the server refuses more; 0 is 1,000,000
	Move       int64 // bytes of a move's encoding; 0 is 512 MiB
	Compressed int64 // bytes of its messages; 0 is 128 MiB
}

// WithDefaults returns the limits that hold.
func (l Limits) WithDefaults() Limits {
	if l.Message == 0 {
		l.Message = 1_000_000
	}
	if l.Move == 0 {
		l.Move = 512 << 20
	}
	if l.Compressed == 0 {
		l.Compressed = 128 << 20
	}
	return l
}

// Writer makes the messages of a line, one move after another. One goroutine at a time uses it.
type Writer struct {
	limits Limits

	last Header // of the last move; what it says of parts has no meaning

	plain, packed []byte
}

// NewWriter makes a writer that goes on after the message whose header is last, the last one of its move; or begins
// a line, if last.Number is 0, whose head is last.To.
func NewWriter(last Header, l Limits) *Writer { return &Writer{limits: l.WithDefaults(), last: last} }

// Last is the header of the last move; what it says of parts has no meaning.
func (w *Writer) Last() Header { return w.last }

// Write returns the messages of a move. They are valid until the next Write. An error wraps
// [ErrTooLarge], and says nothing of later moves.
func (w *Writer) Write(m *Move) ([][]byte, error) {
	w.plain = m.Append(w.plain[:0])
	if int64(len(w.plain)) > w.limits.Move {
		return nil, fmt.Errorf("a move of %d bytes: %w, of %d bytes", len(w.plain), ErrTooLarge, w.limits.Move)
	}
	w.packed = s2.Encode(w.packed[:cap(w.packed)], w.plain)
	if int64(len(w.packed)) > w.limits.Compressed {
		return nil, fmt.Errorf("a move of %d bytes, compressed: %w, of %d bytes",
			len(w.packed), ErrTooLarge, w.limits.Compressed)
	}
	h := Header{Line: w.last.Line, Number: w.last.Number + 1, Before: w.last.Digest, Base: w.last.To, To: w.last.To}
	if len(m.Blocks) > 0 {
		h.Base, h.To = m.Base(), m.To()
	}
	h.Digest = digest(h.Before, h.Line, h.Number, w.plain)
	size := w.limits.Message - headerSize
	h.Parts = uint32(max(1, (len(w.packed)+size-1)/size))
	list := make([][]byte, 0, h.Parts)
	for rest := w.packed; h.Part < h.Parts; h.Part++ {
		n := min(size, len(rest))
		list = append(list, append(h.Append(make([]byte, 0, headerSize+n)), rest[:n]...))
		rest = rest[n:]
	}
	w.last = h
	return list, nil
}

// Reader makes moves of messages, and checks that they follow each other. One goroutine at a
// time uses it.
type Reader struct {
	limits Limits

	last   Header // the last message of the last move that was whole
	begun  Header // the last part of a move that is not whole yet; Parts is 0 for none
	packed []byte
	plain  []byte
}

// NewReader makes a reader. It takes the first move that it gets for the one to begin with.
func NewReader(l Limits) *Reader { return &Reader{limits: l.WithDefaults()} }

// Forget makes the reader take the next move for the one to begin with.
func (r *Reader) Forget() { r.last, r.begun, r.packed = Header{}, Header{}, r.packed[:0] }

// Last is the header of the last move that was whole.
func (r *Reader) Last() Header { return r.last }

// Keep makes the move that came last valid for as long as somebody has it.
func (r *Reader) Keep() { r.plain = nil }

// Read takes the next message. It returns the move that ends with it, nil if there is none: the message is one of
// several, or came before. A move is valid until the next Read, or for ever with [Reader.Keep]. An error wraps
// [ErrDamaged], [ErrGap], [ErrLine] or [ErrTooLarge]; the reader then waits for the message that it expects.
func (r *Reader) Read(message []byte) (*Move, error) {
	h, data, err := ReadHeader(message)
	if err != nil {
		return nil, err
	}
	if len(message) > r.limits.Message && h.Parts > 1 {
		return nil, fmt.Errorf("a message of %d bytes: %w, of %d bytes", len(message), ErrTooLarge, r.limits.Message)
	}
	known, err := r.place(&h)
	if known || err != nil {
		return nil, err
	}
	if h.Part == 0 { // the part of one that its publisher did not end is dropped
		r.packed = r.packed[:0]
	}
	if int64(len(r.packed)+len(data)) > r.limits.Compressed {
		r.begun = Header{}
		return nil, fmt.Errorf("a move of more than %d bytes, compressed: %w, of %d bytes",
			len(r.packed), ErrTooLarge, r.limits.Compressed)
	}
	r.packed, r.begun = append(r.packed, data...), h
	if !h.IsLast() {
		return nil, nil
	}
	r.begun = Header{}
	m, err := r.decode(&h)
	if err != nil {
		return nil, fmt.Errorf("move %d: %w", h.Number, err)
	}
	r.last = h
	return m, nil
}

// place tells whether a message came before, and refuses one that does not follow.
func (r *Reader) place(h *Header) (known bool, err error) {
	next := r.last.Number + 1
	switch {
	case r.last.Number == 0 && r.begun.Parts == 0 && h.Part > 0:
		return true, nil // the rest of a move that began before the first message
	case r.last.Number == 0:
		if r.begun.Parts == 0 || h.Part == 0 {
			return false, nil
		}
		next = r.begun.Number
	case h.Line != r.last.Line:
		return false, fmt.Errorf("%w: line %016x after %016x", ErrLine, h.Line, r.last.Line)
	case h.Number < next:
		return true, nil
	}
	switch b := &r.begun; {
	case h.Number != next:
		return false, fmt.Errorf("%w: move %d comes where %d is expected", ErrGap, h.Number, next)
	case h.Part == 0 && r.last.Number > 0 && h.Before != r.last.Digest:
		return false, fmt.Errorf("%w: move %d does not follow move %d", ErrDamaged, h.Number, r.last.Number)
	case h.Part == 0:
		return false, nil
	case b.Parts > 0 && h.Part <= b.Part && h.Digest == b.Digest:
		return true, nil
	case b.Parts == 0 || h.Part != b.Part+1:
		return false, fmt.Errorf("%w: part %d of move %d", ErrGap, h.Part, h.Number)
	case h.Parts != b.Parts || h.Digest != b.Digest || h.Line != b.Line:
		return false, fmt.Errorf("%w: part %d of move %d is of another one", ErrDamaged, h.Part, h.Number)
	}
	return false, nil
}

func (r *Reader) decode(h *Header) (m *Move, err error) {
	n, err := s2.DecodedLen(r.packed)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: decompress: %w", ErrDamaged, err)
	case int64(n) > r.limits.Move:
		return nil, fmt.Errorf("%w: decompress: %d bytes, where a move has at most %d", ErrDamaged, n, r.limits.Move)
	}
	if cap(r.plain) > 2*n { // whoever keeps a small move keeps no large room
		r.plain = nil
	}
	if r.plain, err = s2.Decode(r.plain[:cap(r.plain)], r.packed); err != nil {
		return nil, fmt.Errorf("%w: decompress: %w", ErrDamaged, err)
	}
	if d := digest(h.Before, h.Line, h.Number, r.plain); d != h.Digest {
		return nil, fmt.Errorf("%w: its digest is %x, not %x", ErrDamaged, d, h.Digest)
	}
	if m, err = DecodeMove(r.plain); err != nil {
		return nil, err
	}
	if len(m.Blocks) == 0 && h.Base != h.To || len(m.Blocks) > 0 && (h.Base != m.Base() || h.To != m.To()) {
		return nil, fmt.Errorf("%w: it does not lead from block %d to %d", ErrDamaged, h.Base.Revision, h.To.Revision)
	}
	return m, nil
}
