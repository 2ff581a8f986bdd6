package blocklog

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// scanBytes bounds how far back from its end a log is searched for a whole entry.
const scanBytes = 4 * maxBlockBytes

// extent is what of a log is whole: everything from its start to an end.
type extent struct {
	end      int64
	head     link // of the last block, if there is one
	position int64
	blocks   bool
	kept     uint32                    // first block that is known to be there; 0 if that is not known
	beyond   bool                      // whether another program may have appended, and given more back than kept tells
	doubtful int64                     // bytes before the end whose index entries may be missing
	proved   struct{ from, to uint32 } // the blocks that the tail's file has checksums of, without to
}

// soundEnd finds the last whole entry at or before an offset by the log's own
// structure: it must decode as a block, and so must those before it, each with the
// id that the next one names, back to a distance of window bytes or a lowest number.
// holes says that entries may be missing before some point, as in a pruned log.
func (s *source) soundEnd(end, window int64, first uint32, holes bool) (extent, error) {
	lowest := max(s.start, end-scanBytes)
	for e := end; e > lowest; {
		start, ok, err := s.before(e)
		var l link
		if err == nil && ok {
			l, ok, err = s.link(start, e)
		}
		if err != nil {
			return extent{}, err
		}
		if !ok {
			if e, err = s.scan(lowest, e); err != nil {
				return extent{}, err
			}
			continue
		}
		found := extent{end: e, head: l, position: start, blocks: true}
		if e, err = s.findBreak(start, l, e-window, first, holes); err != nil {
			return extent{}, err
		}
		if e < 0 {
			return found, nil
		}
	}
	if lowest > s.start {
		return extent{}, fmt.Errorf("%s: there is no whole block in the last %d bytes; repair it with "+
			"--hard-replay-blockchain",
			s.path, int64(scanBytes))
	}
	return extent{end: s.start}, nil
}

// findBreak goes back from a block that begins at an offset while each has the one
// before it, and tells where the search has to go on, -1 if nothing is broken down
// to the given offset.
func (s *source) findBreak(at int64, l link, to int64, first uint32, holes bool) (int64, error) {
	for at > max(s.start, to) && l.num > first {
		start, ok, err := s.before(at)
		if err != nil {
			return 0, err
		}
		var earlier link
		if ok {
			earlier, ok, err = s.link(start, at)
			if err != nil {
				return 0, err
			}
		}
		switch {
		case !ok && holes:
			hole, err := s.hole(at)
			if err != nil || hole {
				return -1, err
			}
			return at, nil
		case !ok:
			return at, nil
		case earlier.id != l.previous:
			// One of the two is not what was written. Neither stays.
			return start, nil
		}
		at, l = start, earlier
	}
	if at <= s.start && l.num != s.preamble.First && !holes {
		return s.start, nil
	}
	return -1, nil
}

// holeBytes is how much before a block must be zeros for it to be space that was
// given back, unless all of it is: more than a power cut takes between whole blocks.
const holeBytes = 1 << 20

// hole tells whether what is before an offset was given back.
func (s *source) hole(at int64) (bool, error) {
	to := at / holePage * holePage
	from := max((s.start+holePage-1)/holePage*holePage, to-holeBytes)
	if from >= to {
		return false, nil
	}
	b, err := s.read(from, int(to-from))
	return err == nil && len(bytes.TrimLeft(b, "\x00")) == 0, err
}

// scan looks for the highest offset below end at which an entry could end.
func (s *source) scan(lowest, end int64) (int64, error) {
	const piece = 1 << 20
	for high := end - 1; high >= lowest+positionBytes; {
		low := max(lowest, high-piece)
		b, err := s.read(low, int(high-low))
		if err != nil {
			return 0, err
		}
		for e := high; e-positionBytes >= low; e-- {
			if s.plausible(binary.LittleEndian.Uint64(b[e-positionBytes-low:]), e) {
				return e, nil
			}
		}
		if low == lowest {
			break
		}
		high = low + positionBytes - 1
	}
	return lowest, nil
}
