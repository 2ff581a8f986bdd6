package lsm

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"time"

	"tarn/store"
	"tarn/store/vfs"
)

// A seal says how far the base is known to be durable. Libraries recover what
// their logs hold and take damage at a log's end for an interrupted write; the
// seal tells the one from the other, and tells it before a library has opened,
// and changed, anything. It is written after each flush and before the flush is
// reported, and before a file of the library's goes.
//
// The file has two slots, written in turn.
const (
	sealName  = "SEAL"
	sealSlot  = 4096 // apart, so that one torn write cannot hit both
	sealSize  = 48
	sealMagic = "tarnlsm\x00"
)

// Sealed is when the last seal of a library's store in dir was written.
func Sealed(dir, kind string) (time.Time, error) {
	info, err := os.Stat(filepath.Join(dir, kind, sealName))
	if err != nil {
		return time.Time{}, fmt.Errorf("time of the last checkpoint: %w", err)
	}
	return info.ModTime(), nil
}

type seal struct {
	kind string // the library, at most 8 bytes
	head
	list  List
	slot  int64 // where it lies in the file
	alone bool  // the other slot is not sound
}

// List is how far a library's list of its files is durable. A library stops reading its list at a change
// that is not whole, and takes what came before for all there is: rows of the tables that are named behind
// it would be gone without a word.
type List struct {
	// Number tells one list from the next, which the library begins when the one has become long.
	Number uint32
	// Size is in bytes, up to the end of a change; 0 if it is not known.
	Size uint32
}

// covers tells whether a seal says no less than another one.
func (s seal) covers(o seal) bool {
	return cmp.Or(cmp.Compare(s.sequence, o.sequence), cmp.Compare(s.list.Number, o.list.Number),
		cmp.Compare(s.list.Size, o.list.Size)) >= 0
}

// encode: magic, version u32, crc32c u32 of all other bytes, kind, sequence u64,
// revision u64, number u32 and size u32 of the list.
func (s seal) encode() []byte {
	b := make([]byte, sealSize)
	copy(b, sealMagic)
	binary.LittleEndian.PutUint32(b[8:], formatVersion)
	copy(b[16:24], s.kind)
	binary.LittleEndian.PutUint64(b[24:], s.sequence)
	binary.LittleEndian.PutUint64(b[32:], s.revision)
	binary.LittleEndian.PutUint32(b[40:], s.list.Number)
	binary.LittleEndian.PutUint32(b[44:], s.list.Size)
	binary.LittleEndian.PutUint32(b[12:], sealSum(b))
	return b
}

func sealSum(b []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Checksum(b[:12], table), table, b[16:])
}

// sealFile is the file of a store's seal.
type sealFile struct {
	fs   vfs.FS
	path string
}

// make makes the file with one slot.
func (f sealFile) make(s seal) error {
	if err := vfs.WriteDurably(f.fs, f.path, s.encode()); err != nil {
		return fmt.Errorf("make the seal: %w", err)
	}
	return nil
}

// read returns the newest sound seal. Without a file the error is fs.ErrNotExist.
func (f sealFile) read() (_ seal, err error) {
	file, err := f.fs.Open(f.path, false)
	if err != nil {
		return seal{}, fmt.Errorf("read the seal: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	b := make([]byte, sealSlot+sealSize)
	n, err := file.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return seal{}, fmt.Errorf("read the seal: %w", err)
	}
	return decodeSeal(f.path, b[:n])
}

// write writes a seal into its slot, durably.
func (f sealFile) write(next seal) error {
	file, err := f.fs.Open(f.path, true)
	if err != nil {
		return fmt.Errorf("write the seal: %w", err)
	}
	_, err = file.WriteAt(next.encode(), next.slot)
	if err == nil {
		err = file.Sync()
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("write the seal: %w", err)
	}
	return nil
}

// settle makes a seal that was read durable: its last sync may have failed. A slot that
// is the only sound one is durable, since the other slot is written only then; that slot
// is left alone, because a power cut may leave nothing of a sector that is being written.
func (f sealFile) settle(s seal) error {
	if s.alone {
		return nil
	}
	return f.write(s)
}

// decodeSeal reads the newer of the two slots that is sound. One of them may be
// torn or empty.
func decodeSeal(path string, file []byte) (seal, error) {
	var best seal
	sound := 0
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
			list: List{Number: binary.LittleEndian.Uint32(b[40:]), Size: binary.LittleEndian.Uint32(b[44:])},
			slot: int64(at),
		}
		if sound++; sound == 1 || s.covers(best) {
			best = s
		}
	}
	if sound == 0 {
		return seal{}, corrupt(path, "neither of its two slots is sound")
	}
	best.alone = sound == 1
	return best, nil
}

// corrupt is damage that is not a page's or a table's.
func corrupt(path, format string, args ...any) error {
	return &store.CorruptError{Path: path, Table: -1, Page: -1, Offset: -1, Detail: fmt.Sprintf(format, args...)}
}
