// Package types holds the values of the Antelope protocol: names, assets, times,
// keys, transactions, blocks, configurations, traces. Every type knows its binary
// encoding (Append, Read: package serial), its digests where the protocol defines
// them, and, where nodeos prints it, its text.
//
// It owns no rules of the chain. It does no I/O, starts no goroutine and reads no
// clock.
//
// The methods that all wire types have:
//
//	func (v T) Append(b []byte) []byte // appends the encoding; cannot fail
//	func (v *T) Read(r *serial.Reader) // decodes; the first error sticks to r
//
// What Read fills never shares memory with the slice that was read, except where a
// type says so.
package types

import "tarn/antelope/serial"

// Decode reads v from all of b.
func Decode(b []byte, v interface{ Read(*serial.Reader) }) error {
	r := serial.NewReader(b)
	v.Read(r)
	return r.End()
}

// DecodePrefix reads v from the start of b and ignores what follows, as nodeos does
// wherever it unpacks a byte string that is a field of something else (libfc:
// raw::unpack).
func DecodePrefix(b []byte, v interface{ Read(*serial.Reader) }) error {
	r := serial.NewReader(b)
	v.Read(r)
	return r.Err()
}

// Name is an account, action, table or permission name: up to 13 characters of
// .12345a-z, five bits each from the highest, four for the last.
type Name uint64

// Checksum160, Checksum256 and Checksum512 are digests, in the order of bytes in
// which they are printed.
type (
	Checksum160 [20]byte
	Checksum256 [32]byte
	Checksum512 [64]byte
)

// Uint128 is an unsigned integer of 128 bits, little-endian on the wire.
type Uint128 struct{ Lo, Hi uint64 }

// Int128 is a signed integer of 128 bits in two's complement.
type Int128 struct{ Lo, Hi uint64 }

// Float128 is the bits of an IEEE 754 quadruple.
type Float128 struct{ Lo, Hi uint64 }

// TimePoint is microseconds since 1970, UTC.
type TimePoint int64

// TimePointSec is seconds since 1970, UTC.
type TimePointSec uint32

// BlockTimestamp is a slot: half-seconds since 2000-01-01, UTC.
type BlockTimestamp uint32

// Extension is an entry of the extension list of a transaction, header or block.
type Extension struct {
	Type uint16
	Data []byte
}

// Extensions is such a list.
type Extensions []Extension
