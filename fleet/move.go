package fleet

import (
	"encoding/binary"
	"fmt"
)

// moveVersion is of the encoding of a move.
const moveVersion = 1

// Append appends the encoding of a move: the version, the point Final, the number of blocks; for
// each block its parent's point, its own, the number of its records, each with its log and
// its bytes, and the rows. Numbers and lengths are unsigned varints; a point is a revision and 32 bytes of an id.
// docs/formats/fleet.md has it as a table.
func (m *Move) Append(b []byte) []byte {
	b = appendPoint(append(b, moveVersion), m.Final)
	b = binary.AppendUvarint(b, uint64(len(m.Blocks)))
	for i := range m.Blocks {
		x := &m.Blocks[i]
		b = appendPoint(appendPoint(b, x.Parent), x.Point)
		b = binary.AppendUvarint(b, uint64(len(x.Records)))
		for _, r := range x.Records {
			b = appendBytes(append(b, r.Log), r.Data)
		}
		b = appendBytes(b, x.Rows)
	}
	return b
}

// What a block and a record count for at least, in bytes: that bounds how many an encoding can have, and what they take
// in memory. Records have more.
const (
	leastBlock  = 2*33 + 2
	leastRecord = 16
)

// DecodeMove decodes a move, whose slices are parts of b. It checks all but what the rows and
// the records are. An error wraps [ErrDamaged].
func DecodeMove(b []byte) (*Move, error) {
	r := reader{b: b}
	if v := r.take(1); r.err == nil && v[0] != moveVersion {
		return nil, fmt.Errorf("%w: a move of version %d; this program knows %d", ErrDamaged, v[0], moveVersion)
	}
	m := &Move{Final: r.point()}
	n := r.number()
	if n > uint64(len(r.b)/leastBlock) {
		r.fail(fmt.Sprintf("%d blocks in %d bytes", n, len(r.b)))
	}
	for i := uint64(0); i < n && r.err == nil; i++ {
		x := r.block()
		if r.err == nil && len(m.Blocks) > 0 && x.Parent != m.To() {
			r.fail(fmt.Sprintf("block %d does not follow the one before it", x.Revision))
		}
		m.Blocks = append(m.Blocks, x)
	}
	if r.err == nil && len(r.b) > 0 {
		r.fail(fmt.Sprintf("%d bytes behind the last block", len(r.b)))
	}
	if r.err != nil {
		return nil, fmt.Errorf("decode a move: %w", r.err)
	}
	return m, nil
}

func (r *reader) block() (x Block) {
	x.Parent, x.Point = r.point(), r.point()
	if r.err == nil && x.Revision <= x.Parent.Revision {
		r.fail(fmt.Sprintf("revision %d after %d", x.Revision, x.Parent.Revision))
	}
	n := r.number()
	if n > uint64(len(r.b)/leastRecord) {
		r.fail(fmt.Sprintf("%d records in %d bytes", n, len(r.b)))
	}
	for i := uint64(0); i < n && r.err == nil; i++ {
		log := r.take(1)
		if r.err == nil {
			x.Records = append(x.Records, Record{log[0], r.bytes(len(r.b))})
		}
	}
	x.Rows = r.bytes(len(r.b))
	return x
}
