package blocklog

import (
	"encoding/binary"
	"errors"
	"fmt"

	"tarn/antelope/logcatalog"
	"tarn/store/vfs/torntail"
)

// mostMended bounds how many positions of an index are found from blocks beside, for one that is
// asked for.
const mostMended = 4096

// readMended is segment.read, which makes an index right that leads astray: the block after one
// tells where that begins. highest is the segment's last block, which ends at end.
func (l *Log) readMended(s *segment, num, last, highest uint32, end, limit int64) (span, error) {
	for range 3 { // where a block begins, where it ends, and where the index ends
		sp, err := s.read(num, last, highest, end, limit)
		odd := new(torntail.Damage)
		if !errors.As(err, &odd) || odd.Path != s.base.Index() {
			return sp, err
		}
		from := s.preamble.First + uint32(odd.Offset/positionBytes)
		if mended, e := s.mend(l.o.FS, from, highest, end); e != nil || !mended {
			return span{}, errors.Join(err, e)
		}
		l.o.Logger.Warn("The index of a block log was damaged, and is made again from the log where it was",
			"file", odd.Path, "offset", odd.Offset, "block", from)
	}
	return s.read(num, last, highest, end, limit)
}

// mend finds where blocks begin, from one on to the next to which the index leads, and makes the
// index say so. It is false if the log does not tell.
func (s *segment) mend(fs logcatalog.FS, num, highest uint32, end int64) (bool, error) {
	log := &source{file: s.log, path: s.base.Log(), preamble: s.preamble, start: s.start, size: end}
	next, to := num+1, end
	for ; next <= highest; next++ {
		if next-num > mostMended {
			return false, nil
		}
		list, err := s.positions(next, 1)
		if errors.As(err, new(*torntail.Damage)) { // the index ends before it
			continue
		}
		if err != nil {
			return false, err
		}
		if ok, err := log.holds(next, list[0]); err != nil {
			return false, err
		} else if ok {
			to = list[0]
			break
		}
	}
	list := make([]uint64, next-num)
	for n := next; n > num; n-- {
		at, ok, err := log.before(to)
		if err != nil || !ok {
			return false, err
		}
		if ok, err := log.holds(n-1, at); err != nil || !ok {
			return false, err
		}
		list[n-1-num], to = uint64(at), at
	}
	f, err := fs.Open(s.base.Index(), true)
	if err != nil {
		return false, err
	}
	_, err = f.WriteAt(appendPositions(nil, list), int64(num-s.preamble.First)*positionBytes)
	return true, errors.Join(err, f.Close())
}

// misplaced says why a block is not where its index says: the log or the index may be
// damaged.
func (s *segment) misplaced(num, highest uint32, at, end int64) error {
	log := &source{file: s.log, path: s.base.Log(), preamble: s.preamble, start: s.start, size: end}
	to, follows := end, true
	if num < highest {
		list, err := s.positions(num+1, 1)
		if err != nil {
			return err
		}
		if follows, err = log.holds(num+1, list[0]); err != nil {
			return err
		}
		to = list[0]
	}
	ok, err := log.holds(num, at)
	if err != nil {
		return err
	}
	back := int64(-1)
	if to-positionBytes >= s.start && to <= end {
		b, err := log.read(to-positionBytes, positionBytes)
		if err != nil {
			return err
		}
		back = int64(binary.LittleEndian.Uint64(b))
	}
	switch {
	case back == at:
		return damaged(num, at, log.path, "its number is not in it")
	case ok && follows:
		return damaged(num, at, log.path, "its entry says, at offset %d, that it begins at %d", to-positionBytes, back)
	case ok:
		return disagree(num+1, s)
	}
	return disagree(num, s)
}

// disagree is said of an index that does not lead to a block.
func disagree(num uint32, s *segment) error {
	return &torntail.Damage{
		Path: s.base.Index(), Offset: int64(num-s.preamble.First) * positionBytes,
		Detail: fmt.Sprintf("the index is damaged: block %d is not where it says", num),
		Remedy: "Stop the node, and write the index anew with `leap-util block-log make-index`",
	}
}
