package inter

import (
	"errors"
	"fmt"
	"io"

	"github.com/ethereum/go-ethereum/rlp"
)

// Two kinds of values have grown since the first networks. Each is a list as it was, or
// the byte 1 and then the longer form: siblings in the list around them, not a list of
// their own (go-opera, opera/legacy_serialization.go).
const extended = 1

// form reads what stands before a value of one of these kinds.
func form(s *rlp.Stream) (isExtended bool, err error) {
	kind, _, err := s.Kind()
	if err != nil || kind != rlp.Byte {
		return false, err
	}
	b, err := s.Uint8()
	switch {
	case err != nil:
		return false, err
	case b != extended:
		return false, fmt.Errorf("unknown type %d", b)
	}
	return true, nil
}

// plainRules are encoded field by field.
type plainRules Rules

// EncodeRLP writes the rules as a list; with any upgrade the byte 1 before and the
// upgrades behind it.
func (r Rules) EncodeRLP(w io.Writer) error {
	if r.Upgrades == (Upgrades{}) {
		return rlp.Encode(w, (*plainRules)(&r))
	}
	if _, err := w.Write([]byte{extended}); err != nil {
		return err
	}
	if err := rlp.Encode(w, (*plainRules)(&r)); err != nil {
		return err
	}
	return rlp.Encode(w, r.Upgrades)
}

// DecodeRLP reads what EncodeRLP writes.
func (r *Rules) DecodeRLP(s *rlp.Stream) error {
	upgraded, err := form(s)
	if err != nil {
		return fmt.Errorf("decode rules: %w", err)
	}
	var plain plainRules
	if err := s.Decode(&plain); err != nil {
		return fmt.Errorf("decode rules: %w", err)
	}
	if plain.Economy.MinGasPrice == nil {
		return errors.New("decode rules: no least gas price")
	}
	*r = Rules(plain)
	if upgraded {
		return s.Decode(&r.Upgrades)
	}
	return nil
}

// bits of an encoded Upgrades
const (
	berlinBit = 1 << iota
	londonBit
	llrBit
)

// EncodeRLP writes the upgrades as a list of one number, a bit for each.
func (u Upgrades) EncodeRLP(w io.Writer) error {
	bits := uint64(0)
	for _, b := range []struct {
		on  bool
		bit uint64
	}{{u.Berlin, berlinBit}, {u.London, londonBit}, {u.Llr, llrBit}} {
		if b.on {
			bits |= b.bit
		}
	}
	return rlp.Encode(w, []uint64{bits})
}

// DecodeRLP reads what EncodeRLP writes. Bits that have no meaning are ignored.
func (u *Upgrades) DecodeRLP(s *rlp.Stream) error {
	var list struct{ Bits uint64 }
	if err := s.Decode(&list); err != nil {
		return fmt.Errorf("decode upgrades: %w", err)
	}
	*u = Upgrades{Berlin: list.Bits&berlinBit != 0, London: list.Bits&londonBit != 0, Llr: list.Bits&llrBit != 0}
	return nil
}

// plainGas is encoded field by field, firstGas as before there were votes.
type (
	plainGas GasRules
	firstGas struct{ MaxEventGas, EventGas, ParentGas, ExtraDataGas uint64 }
)

// EncodeRLP writes the four prices that there were first as a list; if any of the
// others is not 0, the byte 1 and then a list of all.
func (g GasRules) EncodeRLP(w io.Writer) error {
	if g.BlockVotesBaseGas|g.BlockVoteGas|g.EpochVoteGas|g.MisbehaviourProofGas == 0 {
		return rlp.Encode(w, &firstGas{g.MaxEventGas, g.EventGas, g.ParentGas, g.ExtraDataGas})
	}
	if _, err := w.Write([]byte{extended}); err != nil {
		return err
	}
	return rlp.Encode(w, (*plainGas)(&g))
}

// DecodeRLP reads what EncodeRLP writes.
func (g *GasRules) DecodeRLP(s *rlp.Stream) error {
	all, err := form(s)
	if err == nil && all {
		return s.Decode((*plainGas)(g))
	}
	var first firstGas
	if err == nil {
		err = s.Decode(&first)
	}
	if err != nil {
		return fmt.Errorf("decode rules of gas: %w", err)
	}
	*g = GasRules{MaxEventGas: first.MaxEventGas, EventGas: first.EventGas, ParentGas: first.ParentGas,
		ExtraDataGas: first.ExtraDataGas}
	return nil
}
