package lsm

import (
	"encoding/binary"
	"fmt"

	"tarn/store"
)

// Rows lie in the base under the table's handle, two bytes big-endian, followed
// by the key. Table 0 is the engine's own; docs/formats/lsm.md has the bytes.
const (
	tablePrefix = 2
	maxTables   = 4096

	formatVersion = 1
	headSize      = 16
)

var (
	formatKey = []byte{0, 0, 'f'} // version u32
	headKey   = []byte{0, 0, 'h'} // sequence u64, revision u64
)

const nameKind = 't' // {0, 0, 't', handle u16 big-endian}: name

// appendKey appends the base key of a row.
func appendKey(dst []byte, t store.Table, key []byte) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(t))
	return append(dst, key...)
}

// tableBounds are the bounds of a table's rows in the base.
func tableBounds(t store.Table) (lower, upper []byte) {
	lower = binary.BigEndian.AppendUint16(nil, uint16(t))
	return lower, binary.BigEndian.AppendUint16(nil, uint16(t)+1)
}

func nameKey(t store.Table) []byte {
	return binary.BigEndian.AppendUint16([]byte{0, 0, nameKind}, uint16(t))
}

// head is the row that every flush rewrites: which flush it was, and the
// revision that it made durable.
type head struct {
	sequence uint64
	revision uint64
}

func (h head) encode() []byte {
	b := binary.LittleEndian.AppendUint64(nil, h.sequence)
	return binary.LittleEndian.AppendUint64(b, h.revision)
}

func decodeHead(b []byte) (head, error) {
	if len(b) != headSize {
		return head{}, fmt.Errorf("head row of %d bytes", len(b))
	}
	return head{
		sequence: binary.LittleEndian.Uint64(b),
		revision: binary.LittleEndian.Uint64(b[8:]),
	}, nil
}
