package wire

import (
	"fmt"

	"tarn/antelope/serial"
	"tarn/antelope/types"
)

// What a replica asks a node of its fleet for, where its clients want blocks from before it. No client sees these
// messages; their bytes are in docs/formats/fleet.md.

// Kinds are what histories have of a block, in the order of messages to clients.
const (
	KindBlock = iota
	KindTraces
	KindDeltas
	KindFinality
	Kinds // how many there are
)

// OlderRequest asks for the ids of IDs, and for the blocks from Start on, before End.
type OlderRequest struct {
	IDs        []uint32
	Start, End uint32
	Want       [Kinds]bool
	Offset     uint64 // in what there is of the first block
	Most       uint32 // bytes of all blocks, about

	// What nodes of the fleet are known to have: one that has less refuses what it would answer otherwise than they.
	First  uint32
	Begins [Kinds]uint32
}

// Append appends the request.
func (q *OlderRequest) Append(b []byte) []byte {
	b = serial.AppendCount(b, len(q.IDs))
	for _, n := range q.IDs {
		b = serial.AppendUint32(b, n)
	}
	b = serial.AppendUint32(serial.AppendUint32(b, q.Start), q.End)
	for _, want := range q.Want {
		b = serial.AppendBool(b, want)
	}
	b = serial.AppendUint32(serial.AppendUint32(serial.AppendUint64(b, q.Offset), q.Most), q.First)
	for _, n := range q.Begins {
		b = serial.AppendUint32(b, n)
	}
	return b
}

// DecodeOlderRequest reads a request.
func DecodeOlderRequest(b []byte) (q OlderRequest, err error) {
	r := serial.NewReader(b)
	for range r.Count(4) {
		q.IDs = append(q.IDs, r.Uint32())
	}
	q.Start, q.End = r.Uint32(), r.Uint32()
	for k := range q.Want {
		q.Want[k] = r.Bool()
	}
	q.Offset, q.Most, q.First = r.Uint64(), r.Uint32(), r.Uint32()
	for k := range q.Begins {
		q.Begins[k] = r.Uint32()
	}
	return q, r.End()
}

// Older is what a node answers.
type Older struct {
	First  uint32        // block of all that the node has
	Begins [Kinds]uint32 // first block that it has of each kind; 0 if it has none
	IDs    []Position    // of those that were asked for
	Blocks []OlderBlock
}

// OlderBlock is an irreversible block.
type OlderBlock struct {
	Position
	Prev    types.Checksum256
	Lengths [Kinds]int64 // of what there is; -1 for nothing
	Data    []byte       // all of it, one kind after the other, from the offset on, or the front of that
}

// Length is how much there is of a block.
func (x *OlderBlock) Length() (n int64) {
	for _, l := range x.Lengths {
		n += max(0, l)
	}
	return n
}

// Append appends the answer.
func (o *Older) Append(b []byte) []byte {
	b = serial.AppendUint32(b, o.First)
	for _, n := range o.Begins {
		b = serial.AppendUint32(b, n)
	}
	b = serial.AppendCount(b, len(o.IDs))
	for _, p := range o.IDs {
		b = p.append(b)
	}
	b = serial.AppendCount(b, len(o.Blocks))
	for i := range o.Blocks {
		x := &o.Blocks[i]
		b = x.Prev.Append(x.Position.append(b))
		for _, n := range x.Lengths {
			b = serial.AppendInt64(b, n)
		}
		b = serial.AppendBytes(b, x.Data)
	}
	return b
}

// DecodeOlder reads an answer. What it returns refers to b.
func DecodeOlder(b []byte) (o Older, err error) {
	const blockBytes = 4 + 32 + 32 + 8*Kinds + 1
	r := serial.NewReader(b)
	o.First = r.Uint32()
	for k := range o.Begins {
		o.Begins[k] = r.Uint32()
	}
	for range r.Count(4 + 32) {
		p := Position{Num: r.Uint32()}
		r.Copy(p.ID[:])
		o.IDs = append(o.IDs, p)
	}
	for range r.Count(blockBytes) {
		x := OlderBlock{Position: Position{Num: r.Uint32()}}
		r.Copy(x.ID[:])
		r.Copy(x.Prev[:])
		for k := range x.Lengths {
			if x.Lengths[k] = r.Int64(); x.Lengths[k] < -1 {
				r.Fail(fmt.Errorf("%d bytes: %w", x.Lengths[k], serial.ErrValue))
			}
		}
		x.Data = r.Bytes()
		o.Blocks = append(o.Blocks, x)
	}
	return o, r.End()
}
