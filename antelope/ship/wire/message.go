package wire

import (
	"encoding/binary"

	"tarn/antelope/serial"
	"tarn/antelope/types"
)

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
	requestBlocks1 // Spring's, as the next
	requestStatus1
)

// Results, by their numbers in the variant.
const (
	resultStatus = iota
	resultBlocks
	resultBlocks1 // Spring's, as the next
	resultStatus1
)

// Request is what a client asks; one of its pointers is set.
type Request struct {
	Status *StatusRequest
	Blocks *BlocksRequest
	Ack    *uint32 // so many messages more may be sent
}

// StatusRequest asks what there is.
type StatusRequest struct {
	V1 bool // the answer is to tell of finality data
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
	V1, Finality  bool // the answers have a place for finality data, and it is asked for
}

// DecodeRequest reads a request of this version; what follows it does not matter.
func (v Version) DecodeRequest(b []byte) (q Request, err error) {
	r := serial.NewReader(b)
	kind := r.Varuint32()
	if v == Leap && kind > requestAck {
		r.Fail(serial.ErrValue)
	}
	switch kind {
	case requestStatus, requestStatus1:
		q.Status = &StatusRequest{V1: kind == requestStatus1}
	case requestBlocks, requestBlocks1:
		q.Blocks = &BlocksRequest{Start: r.Uint32(), End: r.Uint32(), Credits: r.Uint32()}
		for range r.Count(4 + 32) {
			p := Position{Num: r.Uint32()}
			r.Copy(p.ID[:])
			q.Blocks.Have = append(q.Blocks.Have, p)
		}
		q.Blocks.Irreversible, q.Blocks.Block, q.Blocks.Traces, q.Blocks.Deltas = r.Bool(), r.Bool(), r.Bool(), r.Bool()
		if q.Blocks.V1 = kind == requestBlocks1; q.Blocks.V1 {
			q.Blocks.Finality = r.Bool()
		}
	case requestAck:
		q.Ack = new(r.Uint32())
	default:
		r.Fail(serial.ErrValue)
	}
	return q, r.Err()
}

// Status answers what there is. Ends are exclusive.
type Status struct {
	V1                         bool // the answer tells of finality data
	Head, Irreversible         Position
	TraceBegin, TraceEnd       uint32
	StateBegin, StateEnd       uint32
	FinalityBegin, FinalityEnd uint32
	ChainID                    types.Checksum256
}

// Append appends the answer.
func (s *Status) Append(b []byte) []byte {
	kind := byte(resultStatus)
	if s.V1 {
		kind = resultStatus1
	}
	b = s.Irreversible.append(s.Head.append(append(b, kind)))
	for _, n := range [...]uint32{s.TraceBegin, s.TraceEnd, s.StateBegin, s.StateEnd} {
		b = serial.AppendUint32(b, n)
	}
	if b = s.ChainID.Append(b); s.V1 {
		b = serial.AppendUint32(serial.AppendUint32(b, s.FinalityBegin), s.FinalityEnd)
	}
	return b
}

// BlockHead is the part of an answer about a block that comes before its contents.
type BlockHead struct {
	V1                 bool // the contents end with finality data
	Head, Irreversible Position
	This, Prev         *Position // nil if they are not known
}

// Append appends it.
func (h *BlockHead) Append(b []byte) []byte {
	kind := byte(resultBlocks)
	if h.V1 {
		kind = resultBlocks1
	}
	b = h.Irreversible.append(h.Head.append(append(b, kind)))
	for _, p := range [...]*Position{h.This, h.Prev} {
		b = serial.AppendBool(b, p != nil)
		if p != nil {
			b = p.append(b)
		}
	}
	return b
}

// AppendNothing appends that a block, its traces, its changes or its finality data are not sent;
// AppendLength that so many bytes of them follow, which may be more than 4 GiB.
func AppendNothing(b []byte) []byte { return append(b, 0) }

// AppendLength appends that so many bytes follow.
func AppendLength(b []byte, n uint64) []byte { return binary.AppendUvarint(append(b, 1), n) }
