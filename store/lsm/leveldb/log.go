package leveldb

import (
	"encoding/binary"
	"hash/crc32"
)

// A log of the library's, and its list of files, is a row of blocks of 32 KiB.
// In them lie chunks: masked CRC32C of kind and payload u32, payload length u16,
// kind u8, payload; little-endian. A record is one full chunk, or a first one,
// middle ones and a last one.
const (
	blockSize  = 32 << 10
	headerSize = 7

	fullChunk, firstChunk, middleChunk, lastChunk = 1, 2, 3, 4
)

// soundEnd returns where the whole records from the start end. damaged tells that
// another record begins behind that; otherwise what follows can be one whose
// writing was interrupted.
func soundEnd(b []byte) (end int, damaged bool) {
	open, lost := false, false
	for at := 0; at < len(b); {
		left := min(blockSize-at%blockSize, len(b)-at)
		kind, size, ok := chunkAt(b[at : at+left])
		switch {
		case left < headerSize:
			at += left
			continue
		case !ok:
			lost = true
			at += left // lengths in a damaged block say nothing
			continue
		case lost && (kind == fullChunk || kind == firstChunk):
			return end, true
		case open != (kind == middleChunk || kind == lastChunk):
			lost = true
		}
		at += size
		open = kind == firstChunk || kind == middleChunk
		if !lost && !open {
			end = at
		}
	}
	return end, false
}

// chunkAt reads the chunk at the start of b, the rest of a block.
func chunkAt(b []byte) (kind byte, size int, ok bool) {
	if len(b) < headerSize {
		return 0, 0, false
	}
	size = headerSize + int(binary.LittleEndian.Uint16(b[4:]))
	kind = b[6]
	if kind < fullChunk || kind > lastChunk || size > len(b) {
		return 0, 0, false
	}
	sum := crc32.Checksum(b[6:size], crc32.MakeTable(crc32.Castagnoli))
	masked := (sum>>15 | sum<<17) + 0xa282ead8
	return kind, size, masked == binary.LittleEndian.Uint32(b)
}
