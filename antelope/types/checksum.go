package types

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"log/slog"

	"tarn/antelope/exception"
	"tarn/antelope/serial"
)

// Hash returns the SHA-256 of b.
func Hash(b []byte) Checksum256 { return sha256.Sum256(b) }

// parseHex fills dst from s. Like nodeos (libfc: from_hex) it takes a text that is
// too short, leaves the rest zero, and ignores what is too long.
func parseHex(dst []byte, s string) error {
	for i := 0; i < len(s) && i < 2*len(dst); i++ {
		var v byte
		switch c := s[i]; {
		case '0' <= c && c <= '9':
			v = c - '0'
		case 'a' <= c && c <= 'f':
			v = c - 'a' + 10
		case 'A' <= c && c <= 'F':
			v = c - 'A' + 10
		default:
			return exception.New(exception.FCUnspecified, "Invalid hex character '${c}'", "c", s[i:i+1])
		}
		dst[i/2] |= v << (4 * (1 - i%2))
	}
	return nil
}

// ParseChecksum256 reads hex, as leniently as nodeos: a short text is filled up
// with zeros.
func ParseChecksum256(s string) (c Checksum256, err error) { return c, parseHex(c[:], s) }

// String returns c as hex.
func (c Checksum160) String() string { return hex.EncodeToString(c[:]) }

// String returns c as hex.
func (c Checksum256) String() string { return hex.EncodeToString(c[:]) }

// LogValue makes logs show c as hex, in whatever form they are.
func (c Checksum256) LogValue() slog.Value { return slog.StringValue(c.String()) }

// String returns c as hex.
func (c Checksum512) String() string { return hex.EncodeToString(c[:]) }

// Compare orders checksums by their bytes.
func (c Checksum256) Compare(o Checksum256) int { return bytes.Compare(c[:], o[:]) }

// IsZero tells whether all bytes are zero.
func (c Checksum256) IsZero() bool { return c == Checksum256{} }

// BlockNum returns the number that is the start of a block's id.
func BlockNum(id Checksum256) uint32 { return binary.BigEndian.Uint32(id[:4]) }

// RefBlock returns what a transaction refers to the block id with (Leap:
// transaction_header::set_reference_block).
func RefBlock(id Checksum256) (num uint16, prefix uint32) {
	return uint16(BlockNum(id)), binary.LittleEndian.Uint32(id[8:])
}

// Append appends the bytes of c.
func (c Checksum160) Append(b []byte) []byte { return append(b, c[:]...) }

// Append appends the bytes of c.
func (c Checksum256) Append(b []byte) []byte { return append(b, c[:]...) }

// Append appends the bytes of c.
func (c Checksum512) Append(b []byte) []byte { return append(b, c[:]...) }

// Read reads 20 bytes.
func (c *Checksum160) Read(r *serial.Reader) { r.Copy(c[:]) }

// Read reads 32 bytes.
func (c *Checksum256) Read(r *serial.Reader) { r.Copy(c[:]) }

// Read reads 64 bytes.
func (c *Checksum512) Read(r *serial.Reader) { r.Copy(c[:]) }

// AppendChecksums appends a list of checksums.
func AppendChecksums(b []byte, list []Checksum256) []byte {
	b = serial.AppendCount(b, len(list))
	for i := range list {
		b = append(b, list[i][:]...)
	}
	return b
}

// ReadChecksums reads a list of checksums.
func ReadChecksums(r *serial.Reader) []Checksum256 {
	n := r.Count(32)
	if n == 0 {
		return nil
	}
	list := make([]Checksum256, n)
	for i := range list {
		list[i].Read(r)
	}
	return list
}
