package logcatalog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"tarn/store/vfs"
)

// A mark is a small file beside a log that says how far the log is durable, in its owner's words. nodeos'
// formats have no checksums, so only what follows the mark is looked at again after a crash. It is
// replaced as a whole, so one that is not whole is damaged.

// ErrMark is wrapped by the error for a mark that is not whole.
var ErrMark = errors.New("the mark is not whole")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Seal appends the CRC-32C of what b has from an offset on.
func Seal(b []byte, from int) []byte {
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[from:], castagnoli))
}

// Unseal returns what was sealed; false if it is not whole.
func Unseal(b []byte) ([]byte, bool) {
	n := len(b) - crc32.Size
	if n < 0 || crc32.Checksum(b[:n], castagnoli) != binary.LittleEndian.Uint32(b[n:]) {
		return nil, false
	}
	return b[:n], true
}

// ReadMark reads a mark of at most so many bytes. The error is fs.ErrNotExist if there is none.
func ReadMark(files vfs.FS, path string, most int64) ([]byte, error) {
	b, err := vfs.ReadFile(files, path, most)
	if err != nil {
		return nil, err
	}
	said, ok := Unseal(b)
	if !ok {
		return nil, fmt.Errorf("%s: %w: it has %d bytes", path, ErrMark, len(b))
	}
	return said, nil
}

// WriteMark makes a mark say something, durably, and with it the names in its folder. It tells how many
// bytes it has written.
func WriteMark(files vfs.FS, path string, said []byte) (bytes int, err error) {
	b := Seal(said, 0)
	if err := vfs.WriteDurably(files, path, b); err != nil {
		return 0, fmt.Errorf("write %s: %w", path, err)
	}
	return len(b), nil
}
