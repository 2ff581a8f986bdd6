package lsm

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"tarn/store"
)

// A seal says how far the base is known to be durable. Libraries recover what
// their logs hold and take damage at a log's end for an interrupted write; the
// seal tells the one from the other, and tells it before a library has opened,
// and changed, anything. It is written after each flush and before the flush is
// reported.
//
// The file has two slots, written in turn.
const (
	sealName  = "SEAL"
	sealSlot  = 4096 // apart, so that one torn write cannot hit both
	sealSize  = 48
	sealMagic = "tarnlsm\x00"
)

type seal struct {
	kind string // the library, at most 8 bytes
	head
	slot int64 // where it lies in the file
}

// encode: magic, version u32, crc32c u32 of all other bytes, kind, sequence u64,
// revision u64, zeros.
func (s seal) encode() []byte {
	b := make([]byte, sealSize)
	copy(b, sealMagic)
	binary.LittleEndian.PutUint32(b[8:], formatVersion)
	copy(b[16:24], s.kind)
	binary.LittleEndian.PutUint64(b[24:], s.sequence)
	binary.LittleEndian.PutUint64(b[32:], s.revision)
	binary.LittleEndian.PutUint32(b[12:], sealSum(b))
	return b
}

func sealSum(b []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Checksum(b[:12], table), table, b[16:])
}

// decodeSeal reads the newer of the two slots that is sound. One of them may be
// torn or empty.
func decodeSeal(path string, file []byte) (seal, error) {
	var best seal
	found := false
	for at := 0; at <= sealSlot && at+sealSize <= len(file); at += sealSlot {
		b := file[at : at+sealSize]
		if string(b[:8]) != sealMagic || sealSum(b) != binary.LittleEndian.Uint32(b[12:]) {
			continue
		}
		if v := binary.LittleEndian.Uint32(b[8:]); v != formatVersion {
			return seal{}, &store.VersionError{Path: path, Found: v, Known: formatVersion}
		}
		s := seal{
			kind: string(bytes.TrimRight(b[16:24], "\x00")),
			head: head{sequence: binary.LittleEndian.Uint64(b[24:]), revision: binary.LittleEndian.Uint64(b[32:])},
			slot: int64(at),
		}
		if !found || s.sequence > best.sequence {
			best, found = s, true
		}
	}
	if !found {
		return seal{}, corrupt(path, "neither of its two slots is sound")
	}
	return best, nil
}

// corrupt is damage that is not a page's or a table's.
func corrupt(path, format string, args ...any) error {
	return &store.CorruptError{Path: path, Table: -1, Page: -1, Offset: -1, Detail: fmt.Sprintf(format, args...)}
}
