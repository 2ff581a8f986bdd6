// Package fleet is how a node's state leaves its machine: what each block changed, as moves
// that replicas apply to stores of their own, without executing anything.
//
// It owns the form of a [Move] and of the messages that carry it, the checks of both, and
// what a publisher remembers ([Line]). It knows no ledger: a block is a revision of a store, with
// an id that its ledger gave it, and records that its ledger's logs got with it, whose bytes
// are the ledger's. It opens no connection, reads no clock and starts no goroutine; package
// stream brings messages from one machine to another.
//
// # Words
//
//   - line: the moves of one publisher after another, each of which begins where the one
//     before it ended. It begins with a snapshot of the state. A new line begins where the next
//     move cannot be told, as the publisher no longer has it.
//   - move: what takes a replica from one head to another: the blocks to apply, in their order,
//     after going back to the block that the first of them follows. A switch of forks is one
//     move, so that readers never see its middle.
//   - message: a move, or a part of one that is too large for a server.
//   - digest: the hash of a move and of all before it in the line.
package fleet

import (
	"encoding/hex"
	"errors"
	"fmt"
)

// ID is a block's, as its ledger gives it. The zero value is of no block.
type ID [32]byte

func (id ID) String() string { return hex.EncodeToString(id[:]) }

// MarshalText implements encoding.TextMarshaler: an id is hex.
func (id ID) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, id[:]), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (id *ID) UnmarshalText(text []byte) error {
	b, err := hex.DecodeString(string(text))
	if err == nil && len(b) != len(id) {
		err = fmt.Errorf("it has %d bytes, not %d", len(b), len(id))
	}
	if err != nil {
		return fmt.Errorf("the id %.80q: %w", text, err)
	}
	*id = ID(b)
	return nil
}

// Point is a place in a chain: a block by its revision and id.
type Point struct {
	Revision uint64 `json:"block"`
	ID       ID     `json:"id"`
}

// Block is what made one revision of another: one block, or in a replay several at once,
// of which the last one's is the id. Its slices are not written to.
type Block struct {
	Parent Point
	Point
	// Rows are those that differ from the parent's state, as [Rows] encodes them.
	Rows []byte
	// Records are what the ledger's logs got with it, in their order.
	Records []Record
}

// Record is an entry of a log of the ledger's.
type Record struct {
	Log  uint8 // which log; the ledger says what each number means
	Data []byte
}

// Move is what takes a replica from one head to another. A move without blocks tells only what
// is irreversible.
type Move struct {
	// Final is the newest block that is irreversible, zero if none is known.
	Final  Point
	Blocks []Block
}

// Base is the block that the first of the move's follows, to which a replica goes back if it is not
// there. The move has blocks.
func (m *Move) Base() Point { return m.Blocks[0].Parent }

// To is the head after the move, which has blocks.
func (m *Move) To() Point { return m.Blocks[len(m.Blocks)-1].Point }

// Size is about how much memory the blocks take, in bytes.
func (m *Move) Size() (n int64) {
	const block, record = 256, 32
	for i := range m.Blocks {
		b := &m.Blocks[i]
		n += block + int64(len(b.Rows))
		for _, r := range b.Records {
			n += record + int64(len(r.Data))
		}
	}
	return n
}

// Errors of what was received. A replica that meets one begins again from a snapshot, or asks for
// the messages again.
var (
	// ErrDamaged says that bytes are not what a publisher has written.
	ErrDamaged = errors.New("damaged message")
	// ErrGap says that a message is missing before this one.
	ErrGap = errors.New("a message is missing")
	// ErrLine says that the message is of another line.
	ErrLine = errors.New("the stream begins anew")
	// ErrTooLarge says that a move, or a message, exceeds the limits.
	ErrTooLarge = errors.New("larger than the limit")
	// ErrDiffers says that a state is not the one that a move was made for.
	ErrDiffers = errors.New("the state differs from the publisher's")
)
