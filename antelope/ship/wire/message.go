package wire

import (
	_ "embed"
	"encoding/binary"

	"tarn/antelope/serial"
	"tarn/antelope/types"
)

// ABI is the first frame that a client gets, a text: it says what the others are. It is
// nodeos' own, byte by byte; see abi.json.license.
//
//go:embed abi.json
var ABI []byte

// Position is a block, as messages name it.
type Position struct {
	Num uint32
	ID  types.Checksum256
}

func (p Position) append(b []byte) []byte { return p.ID.Append(serial.AppendUint32(b, p.Num)) }

// Requests, by their numbers in the variant.
const (
	requestStatus = iota
	requestBlocks
	requestAck
)

// Request is what a client asks; one field is set.
type Request struct {
	Status bool
	Blocks *BlocksRequest
	Ack    *uint32 // so many messages more may be sent
}

// BlocksRequest asks for the blocks from Start on, before End, in place of what was
// asked before.
type BlocksRequest struct {
	Start, End    uint32
	Credits       uint32 // how many messages may be sent before more are allowed
	Have          []Position
	Irreversible  bool
	Block, Traces bool
	Deltas        bool
}

// DecodeRequest reads a request; what follows it does not matter.
func DecodeRequest(b []byte) (q Request, err error) {
	r := serial.NewReader(b)
	switch kind := r.Varuint32(); kind {
	case requestStatus:
		q.Status = true
	case requestBlocks:
		q.Blocks = &BlocksRequest{Start: r.Uint32(), End: r.Uint32(), Credits: r.Uint32()}
		for range r.Count(4 + 32) {
			p := Position{Num: r.Uint32()}
			r.Copy(p.ID[:])
			q.Blocks.Have = append(q.Blocks.Have, p)
		}
		q.Blocks.Irreversible, q.Blocks.Block, q.Blocks.Traces, q.Blocks.Deltas = r.Bool(), r.Bool(), r.Bool(), r.Bool()
	case requestAck:
		q.Ack = new(r.Uint32())
	default:
		r.Fail(serial.ErrValue)
	}
	return q, r.Err()
}

// Status answers what there is. Ends are exclusive.
type Status struct {
	Head, Irreversible   Position
	TraceBegin, TraceEnd uint32
	StateBegin, StateEnd uint32
	ChainID              types.Checksum256
}

// Append appends the answer.
func (s *Status) Append(b []byte) []byte {
	b = s.Irreversible.append(s.Head.append(append(b, 0)))
	for _, n := range [...]uint32{s.TraceBegin, s.TraceEnd, s.StateBegin, s.StateEnd} {
		b = serial.AppendUint32(b, n)
	}
	return s.ChainID.Append(b)
}

// BlockHead is the part of an answer about a block that comes before its contents.
type BlockHead struct {
	Head, Irreversible Position
	This, Prev         *Position // nil if they are not known
}

// Append appends it.
func (h *BlockHead) Append(b []byte) []byte {
	b = h.Irreversible.append(h.Head.append(append(b, 1)))
	for _, p := range [...]*Position{h.This, h.Prev} {
		b = serial.AppendBool(b, p != nil)
		if p != nil {
			b = p.append(b)
		}
	}
	return b
}

// AppendNothing appends that a block, its traces or its changes are not sent;
// AppendLength that so many bytes of them follow, which may be more than 4 GiB.
func AppendNothing(b []byte) []byte { return append(b, 0) }

// AppendLength appends that so many bytes follow.
func AppendLength(b []byte, n uint64) []byte { return binary.AppendUvarint(append(b, 1), n) }
