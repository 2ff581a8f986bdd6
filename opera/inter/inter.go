// Package inter holds what Opera's nodes exchange and record: ids, validators,
// events, votes, proofs, rules, and the records of blocks and epochs, each with
// its encoding and its hash.
//
// It owns values and encodings. It never reads a store or a clock, verifies
// nothing that needs a chain's state, and executes nothing.
//
// Hashes of consensus are SHA-256 over a value's own encoding, never over bytes
// that were received: the decoders accept a few encodings that no encoder makes
// (lachesis-base and go-opera do), and two of them must not be two events.
package inter

import (
	"encoding/binary"
	"encoding/hex"
)

// Numbers that order events. Valid ones are at least 1 and below [MaxNumber].
type (
	Epoch       uint32 // counts the validator sets of a network
	Seq         uint32 // counts a validator's events in an epoch
	Frame       uint32 // counts the elections of an epoch
	Lamport     uint32 // greater than that of every parent
	ValidatorID uint32
)

// MaxNumber is the first number that an event may not have (go-opera,
// eventcheck/basiccheck: 2^31-2).
const MaxNumber = 1<<31 - 2

// BlockNumber counts the blocks of a network, across epochs.
type BlockNumber uint64

// Timestamp is in nanoseconds since 1970.
type Timestamp uint64

// Seconds is a time, or a span of time, in whole seconds, as contracts and clients are told.
// go-opera divides it as a signed number, and takes what comes of that for one without a sign.
func (t Timestamp) Seconds() uint64 { return uint64(int64(t) / 1e9) }

// EventID is an event's name: its epoch and its lamport time, big-endian, then the
// first 24 bytes of its locator's hash. Ids of one epoch in the order of their bytes
// are in an order in which parents come before children. A block has the id of its
// Atropos.
type EventID [32]byte

// NewEventID returns the id of an event with that locator's hash.
func NewEventID(epoch Epoch, lamport Lamport, locator [32]byte) EventID {
	var id EventID
	binary.BigEndian.PutUint32(id[0:], uint32(epoch))
	binary.BigEndian.PutUint32(id[4:], uint32(lamport))
	copy(id[8:], locator[:24])
	return id
}

// Epoch returns the epoch of the event.
func (id EventID) Epoch() Epoch { return Epoch(binary.BigEndian.Uint32(id[0:])) }

// Lamport returns the lamport time of the event.
func (id EventID) Lamport() Lamport { return Lamport(binary.BigEndian.Uint32(id[4:])) }

// IsZero tells whether the id is of no event.
func (id EventID) IsZero() bool { return id == EventID{} }

// String returns the id in hexadecimal with 0x before it.
func (id EventID) String() string { return "0x" + hex.EncodeToString(id[:]) }
