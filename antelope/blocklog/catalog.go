package blocklog

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"tarn/antelope/logcatalog"
	"tarn/antelope/types"
)

// inspection looks into the finished partitions of a log, which must be of one chain, and repairs indexes
// that are missing or do not match.
type inspection struct {
	fs      logcatalog.FS
	log     *slog.Logger
	now     func() time.Time
	chain   types.Checksum256 // of the partitions; zero until one is looked into
	rebuilt bool              // whether an index was written anew
}

// look returns a partition with the blocks that it has, whatever its name says.
func (x *inspection) look(p logcatalog.Part) (logcatalog.Part, error) {
	f, err := x.fs.Open(p.Log(), false)
	if err != nil {
		return p, fmt.Errorf("open retained block log: %w", err)
	}
	defer f.Close()
	s, err := openSource(f, p.Log())
	if err != nil {
		return p, err
	}
	e, err := s.closedExtent()
	if err != nil {
		return p, err
	}
	if !e.blocks {
		return p, fault(Unsound, "block log file %s has no blocks", p.Log())
	}
	job := &indexJob{fs: x.fs, source: s, path: p.Index(), extent: e, first: s.preamble.First, window: 1,
		surface: newSurface(x.log, x.now, "Recreating index for "+p.Log(), uint64(e.head.num-s.preamble.First)+1)}
	state, err := job.mend()
	if err != nil {
		return p, err
	}
	if state != indexGood {
		x.rebuilt = true
		x.log.Info("Recreated index", "file", p.Index())
	}
	if x.chain != (types.Checksum256{}) && x.chain != s.preamble.ChainID {
		return p, fault(Unsound, "block log file %s has a different chain id", p.Log())
	}
	x.chain = s.preamble.ChainID
	p.First, p.Last = s.preamble.First, e.head.num
	return p, nil
}

// closedExtent is the extent of a log that nobody was writing to: its end is right,
// or it is damaged.
func (s *source) closedExtent() (extent, error) {
	end := s.size
	if s.preamble.Pruned {
		end -= trailerBytes
	}
	if end <= s.start {
		return extent{end: s.start}, nil
	}
	start, ok, err := s.before(end)
	var l link
	if err == nil && ok {
		l, ok, err = s.link(start, end)
	}
	if err == nil && !ok {
		err = fault(Unsound, "block log file %s does not end with a whole block", s.path)
	}
	return extent{end: end, head: l, position: start, blocks: true}, err
}

// openPart opens a finished partition.
func (l *Log) openPart(p logcatalog.Part) (*segment, error) {
	seg, err := openSegment(l.o.FS, p.Pair, false)
	if err != nil {
		return nil, err
	}
	if seg.end, err = seg.log.Size(); err != nil {
		return nil, errors.Join(fmt.Errorf("size of %s: %w", p.Log(), err), seg.Close())
	}
	if seg.preamble.Pruned {
		seg.end -= trailerBytes
	}
	return seg, nil
}
