package blocklog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"tarn/antelope/logcatalog"
	"tarn/store/vfs"
)

// segment is an open log with its index. Readers hold its lock while they read, so
// that the files stay open under them.
type segment struct {
	log, index vfs.File
	base       logcatalog.Pair
	preamble   Preamble
	start      int64 // where entries begin
	end        int64 // of the entries of a finished partition

	mu     sync.RWMutex
	closed bool
}

// openSegment opens a log and its index.
func openSegment(fs logcatalog.FS, base logcatalog.Pair, writable bool) (*segment, error) {
	log, err := fs.Open(base.Log(), writable)
	if err != nil {
		return nil, fmt.Errorf("open block log: %w", err)
	}
	index, err := fs.Open(base.Index(), writable)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open block index: %w", err), log.Close())
	}
	p, start, err := readPreamble(log, base.Log())
	if err != nil {
		return nil, errors.Join(err, log.Close(), index.Close())
	}
	return &segment{log: log, index: index, base: base, preamble: p, start: start}, nil
}

// close waits for readers. Closing twice is harmless.
func (s *segment) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	return errors.Join(s.log.Close(), s.index.Close())
}

// positions returns where blocks from num on begin, n of them.
func (s *segment) positions(num uint32, n int) ([]int64, error) {
	b := make([]byte, n*positionBytes)
	if err := readFull(s.index, s.base.Index(), b, int64(num-s.preamble.First)*positionBytes); errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) {
		size, e := s.index.Size()
		if e != nil {
			return nil, errors.Join(err, e)
		}
		return nil, disagree(max(num, s.preamble.First+uint32(size/positionBytes)), s)
	} else if err != nil {
		return nil, err
	}
	list := make([]int64, n)
	for i := range list {
		list[i] = int64(binary.LittleEndian.Uint64(b[i*positionBytes:]))
	}
	return list, nil
}

// place is where a block begins, by the index and by the log: what is before it is about to go,
// and opening has looked at some positions of the index only.
func (s *segment) place(num uint32) (int64, error) {
	list, err := s.positions(num, 1)
	if err != nil {
		return 0, err
	}
	size, err := s.log.Size()
	if err != nil {
		return 0, fmt.Errorf("size of %s: %w", s.base.Log(), err)
	}
	log := &source{file: s.log, path: s.base.Log(), start: s.start, size: size}
	return list[0], log.begins(num, list[0])
}

// span is blocks of a segment, one after the other, as they lie in the file.
type span struct {
	first     uint32
	positions []int64 // of each block, and the end of the last
	data      []byte  // from the first position to the end
	next      []byte  // how the next block begins, if it is in the same file
	path      string  // of the file; empty if the block is in memory
}

// read reads blocks from num to at most last, as many as fit into limit bytes but
// at least one. end is where the segment's block of number highest ends.
func (s *segment) read(num, last, highest uint32, end int64, limit int64) (span, error) {
	n := int(min(int64(last-num)+1, 1+limit/minBlockBytes))
	bounded := int64(num)+int64(n) > int64(highest)
	ask := n + 1
	if bounded {
		ask = n
	}
	list, err := s.positions(num, ask)
	if err != nil {
		return span{}, err
	}
	if bounded {
		list = append(list, end)
	}
	for n > 1 && list[n]-list[0] > limit {
		n--
	}
	list = list[:n+1]
	for i := range n {
		if list[i] < s.start || list[i+1] > end || list[i+1]-list[i] < minBlockBytes+positionBytes ||
			list[i+1]-list[i] > maxBlockBytes+positionBytes {
			return span{}, s.misplaced(num+uint32(i), highest, list[i], end)
		}
	}
	all, size := list[n]-list[0], list[n]-list[0]
	if end-list[n] >= minBlockBytes {
		all += linkBytes
	}
	data := make([]byte, all)
	if err := readFull(s.log, s.base.Log(), data, list[0]); err != nil {
		return span{}, err
	}
	sp := span{first: num, positions: list, data: data[:size], path: s.base.Log()}
	if all > size {
		sp.next = data[size:]
	}
	for i := range n {
		b := sp.block(i)
		is, _ := blockNumber(b)
		at := binary.LittleEndian.Uint64(data[list[i+1]-list[0]-positionBytes:])
		if at != uint64(list[i]) || is != num+uint32(i) {
			return span{}, s.misplaced(num+uint32(i), highest, list[i], end)
		}
	}
	return sp, nil
}

// block is the i-th packed block of a span.
func (sp *span) block(i int) []byte {
	from, to := sp.positions[i]-sp.positions[0], sp.positions[i+1]-sp.positions[0]-positionBytes
	return sp.data[from:to:to]
}
