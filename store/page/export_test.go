package page

import (
	"encoding/binary"
	"hash/crc32"
)

// Repair gives a page of a store file the checksum of what it holds, so that
// damage gets past the first line of defence.
func Repair(file []byte, page int) {
	le := binary.LittleEndian
	b := file[page*pageSize:]
	if len(b) < pageSize {
		return
	}
	size := pageSize
	switch {
	case page < firstPage:
		le.PutUint32(b[metaSize-4:], crc32.Checksum(b[:metaSize-4], castagnoli))
		return
	case b[4] != kindNode:
		size = headerSize + int(le.Uint32(b[12:]))
	}
	if size <= len(b) {
		le.PutUint32(b, crc32.Checksum(b[4:size], castagnoli))
	}
}

// Capacity is how far an undo may take a store.
func Capacity(limit int64) int64 { return capacity(limit) }
