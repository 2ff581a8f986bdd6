package shiplog

import (
	"encoding/binary"
	"errors"
	"fmt"

	"tarn/antelope/logfinding"
)

// begin finds the first entry that is to be read; false if there is none.
func (s *scanner) begin() (bool, error) {
	if s.size < smallest {
		s.wait(logfinding.Finding{Offset: 0, Detail: fmt.Sprintf("%d bytes, which is no entry", s.size)})
		return false, s.end()
	}
	var b [headerBytes]byte
	if _, err := s.log.ReadAt(b[:], 0); err != nil {
		return false, err
	}
	s.num = binary.BigEndian.Uint32(b[8:])
	if s.part != nil {
		s.num = s.part.First
	}
	s.base, s.first = s.num, s.num
	m := binary.LittleEndian.Uint64(b[:])
	pruned, certain, err := s.form()
	if err != nil {
		return false, err
	}
	s.pruned = certain && pruned || !certain && m == magic|featureGone
	if !s.pruned && m != magic|featureGone { // what else is wrong is looked at with the entry
		return true, nil
	}
	want := uint64(magic)
	if s.pruned {
		want |= featureGone
	}
	if m != want {
		s.found(logfinding.Finding{Offset: 0, Block: s.num, Detail: fmt.Sprintf("magic number %x where %x belongs: "+
			"the end of the file tells whether it is pruned", m, want),
			Mend: s.mendBytes([]write{{"magic number", []piece{{0, binary.LittleEndian.AppendUint64(nil, want)}}}})})
		binary.LittleEndian.PutUint64(b[:], want)
	}
	if !s.pruned {
		s.magic = true
		return true, nil
	}
	if ok, err := s.beginPruned(); err != nil || !ok {
		return false, err
	}
	binary.BigEndian.PutUint32(b[8:], s.base) // a wrong one is told of
	if _, err := decodeHeader(b[:], s.size); errors.Is(err, ErrCorrupt) && s.from > 0 {
		// Nobody reads that entry, but its length has to fit the file.
		length := binary.LittleEndian.AppendUint64(nil, uint64(s.from-headerBytes-trailerBytes))
		s.found(logfinding.Finding{Offset: 40, Block: s.base, Detail: err.Error(),
			Mend: s.mendBytes([]write{{"length", []piece{{40, length}}}})})
	}
	return true, nil
}

// form tells by the end of the file whether it is pruned; uncertain if its last entry is
// not whole.
func (s *scanner) form() (pruned, certain bool, err error) {
	_, _, err = lastEntry(s.log, s.size)
	if err == nil || !errors.Is(err, ErrCorrupt) {
		return false, err == nil, err
	}
	h, _, err := lastEntry(s.log, s.size-countBytes)
	if errors.Is(err, ErrCorrupt) {
		return false, false, nil
	}
	if err != nil {
		return false, false, err
	}
	n, err := readCount(s.log, s.size)
	// Other bytes at the end would hardly be a number that can be.
	return true, n > 0 && n <= number(h.id)-s.base+1, err
}

// beginPruned finds the first entry of a pruned file, as the count at its end says. If the
// entries before the end are not as many, it is the first whole one that is left.
func (s *scanner) beginPruned() (bool, error) {
	s.limit = s.size - countBytes
	n, err := readCount(s.log, s.size)
	if err != nil {
		return false, err
	}
	there, err := s.back(n)
	if err != nil {
		return false, err
	}
	if there < n || n == 0 {
		at, num, ok, err := s.firstLeft()
		if err != nil {
			return false, err
		}
		if !ok && there == 0 {
			s.found(logfinding.Finding{Offset: headerBytes, Detail: "no whole entry is left"})
			return false, nil
		}
		if ok {
			s.at, s.num = at, num
		}
	}
	s.said = n
	s.first, s.from = s.num, s.at
	if s.base > s.first || int64(s.first-s.base) > s.at/smallest { // there was no room for so many
		s.found(logfinding.Finding{Offset: 8, Block: s.first, Detail: fmt.Sprintf("the first header is of block %d, "+
			"and the first entry, at offset %d, of block %d", s.base, s.at, s.first)})
		s.lost, s.base = true, s.first
	}
	return true, nil
}

// firstLeft finds the first whole entry that is not let go. Those that are let go are zeros but
// for a crash, and then the mark tells which is the first.
func (s *scanner) firstLeft() (at int64, num uint32, ok bool, err error) {
	var before uint32
	if m := s.mark; m != nil && m.first > 0 {
		before = m.first - 1
	}
	at, num, ok, err = s.whole(0, before)
	if err != nil || !ok || at > 0 {
		return at, num, ok, err
	}
	hole, err := s.hole()
	if err == nil && hole {
		return s.whole(headerBytes, before)
	}
	return at, num, true, err
}

// hole tells whether the payload of the entry at 0 is let go. The zeros in its place look as if
// the entry said at its end that it begins at 0.
func (s *scanner) hole() (bool, error) {
	var b [4]byte // a payload does not begin with zeros
	_, err := s.log.ReadAt(b[:], headerBytes)
	return b == [4]byte{}, err
}

// back goes from the end of the file from entry to entry, at most n, and tells how many
// there are.
func (s *scanner) back(n uint32) (there uint32, err error) {
	end := s.limit
	for want := max(n, 1); there < want && end > 0; there++ {
		var h header
		var at int64
		if there == 0 {
			h, at, err = lastEntry(s.log, end)
		} else {
			h, at, err = previous(s.log, s.num, end)
		}
		if err == nil && at == 0 {
			if hole, err := s.hole(); err != nil || hole {
				return there, err
			}
		}
		if errors.Is(err, ErrCorrupt) {
			return there, nil
		}
		if err != nil {
			return 0, err
		}
		s.num, s.at, end = number(h.id), at, at
	}
	return there, nil
}
