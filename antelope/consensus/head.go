package consensus

import (
	"fmt"

	"tarn/antelope/finality"
	"tarn/antelope/serial"
	"tarn/antelope/types"
)

// Head is where the state of a chain stands: what the header of the newest block says, and, from the
// genesis block of Savanna's rules on, the tree over what blocks did, which only their execution
// tells.
type Head struct {
	*HeaderState
	Validation *finality.Validation // nil before the genesis block
}

// SavannaHead is where a chain stands after the block s, if proper blocks follow it, without the
// signatures of the block.
func SavannaHead(s *finality.State, v *finality.Validation) Head {
	return Head{savannaHeaderState(s, &types.SignedBlockHeader{BlockHeader: s.Header}, nil), v}
}

// Append appends the encoding in the state: before the genesis block that of the header state, which
// begins with the block's number, else a zero, which no block has as number, the part of the older rules
// while they hold for the next block, and Savanna's. docs/formats/antelope-state.md has the table.
func (h Head) Append(b []byte) []byte {
	if h.Finality == nil {
		return h.HeaderState.Append(b)
	}
	b = serial.AppendUint32(b, 0)
	older := !h.PrecedesProper()
	if b = serial.AppendBool(b, older); older {
		b = h.HeaderState.Append(b)
	} else {
		b = types.AppendSignatures(h.Header.ProducerSignature.Append(b), h.AdditionalSignatures)
	}
	return h.Validation.Append(h.Finality.Append(b))
}

// DecodeHead decodes what a state says of where it stands.
func DecodeHead(b []byte) (Head, error) {
	var h Head
	if err := types.Decode(b, &h); err != nil {
		return Head{}, fmt.Errorf("decode the head of the chain state: %w", err)
	}
	return h, nil
}

// Read decodes what Append encodes. The block before the first proper one may have both parts.
func (h *Head) Read(r *serial.Reader) {
	*h = Head{HeaderState: new(HeaderState)}
	ahead := *r
	if ahead.Uint32() != 0 {
		h.HeaderState.Read(r)
		return
	}
	r.Uint32()
	older := r.Bool()
	var signature types.Signature
	var more []types.Signature
	if older {
		h.HeaderState.Read(r)
	} else {
		signature.Read(r)
		more = types.ReadSignatures(r)
	}
	f, v := new(finality.State), new(finality.Validation)
	f.Read(r)
	v.Read(r)
	switch {
	case r.Err() != nil:
		return
	case older && (f.IsProper() || f.ID != h.ID):
		r.Fail(serial.ErrValue)
		return
	case older:
		h.Finality = f
	default:
		header := types.SignedBlockHeader{BlockHeader: f.Header, ProducerSignature: signature}
		h.HeaderState = savannaHeaderState(f, &header, more)
	}
	h.Validation = v
}
