package blocklog

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"tarn/antelope/types"
	"tarn/store/vfs"
)

var (
	retainedName = regexp.MustCompile(`^blocks-[0-9]+-[0-9]+\.log$`)
	// movedName is a copy to another file system that did not end.
	movedName = regexp.MustCompile(`^blocks-[0-9]+-[0-9]+\.(log|index)(\.part|\.new)$`)
)

// retainedLog is a finished partition.
type retainedLog struct {
	first, last uint32
	base        string
}

// catalog is the finished partitions, oldest first. The log's mu guards the list;
// the open files guard themselves. A nil catalog is empty.
type catalog struct {
	fs      FS
	list    []retainedLog
	chainID types.Checksum256
	rebuilt bool

	mu     sync.Mutex
	opened []*openRetained // most recently used last
}

type openRetained struct {
	base string
	seg  *segment
	end  int64
}

// retainedOpen is how many finished partitions are kept open.
const retainedOpen = 8

func (c *catalog) empty() bool { return c == nil || len(c.list) == 0 }

func (c *catalog) last() uint32 { return c.list[len(c.list)-1].last }

// behind returns the first block of the partitions that lead up to a block without a gap:
// the block itself if none does.
func (c *catalog) behind(first uint32) uint32 {
	if c == nil {
		return first
	}
	for _, r := range slices.Backward(c.list) {
		if uint64(r.last)+1 < uint64(first) {
			break
		}
		first = min(first, r.first)
	}
	return first
}

// find returns the partition that has a block.
func (c *catalog) find(num uint32) (retainedLog, bool) {
	if c == nil {
		return retainedLog{}, false
	}
	i, found := slices.BinarySearchFunc(c.list, num, func(r retainedLog, n uint32) int {
		switch {
		case r.last < n:
			return -1
		case r.first > n:
			return 1
		}
		return 0
	})
	if !found {
		return retainedLog{}, false
	}
	return c.list[i], true
}

// openCatalog lists the finished partitions of a directory, repairing indexes that
// are missing or do not match.
func openCatalog(fs FS, dir string, log *slog.Logger, now func() time.Time) (*catalog, error) {
	names, err := fs.List(dir)
	if err != nil {
		return nil, fmt.Errorf("list retained block logs: %w", err)
	}
	slices.Sort(names)
	c := &catalog{fs: fs}
	for _, name := range names {
		if !retainedName.MatchString(name) {
			continue
		}
		base := filepath.Join(dir, strings.TrimSuffix(name, ".log"))
		if err := c.admit(base, log, now); err != nil {
			return nil, err
		}
	}
	c.sort()
	return c, nil
}

func (c *catalog) sort() {
	slices.SortFunc(c.list, func(a, b retainedLog) int { return cmp.Compare(a.first, b.first) })
}

// admit adds a partition to the list. Of two that begin with the same block the
// longer one counts.
func (c *catalog) admit(base string, log *slog.Logger, now func() time.Time) error {
	r, id, rebuilt, err := inspect(c.fs, base, log, now)
	if err != nil {
		return err
	}
	c.rebuilt = c.rebuilt || rebuilt
	if c.chainID != (types.Checksum256{}) && c.chainID != id {
		return fault(Unsound, "block log file %s has a different chain id", logPath(base))
	}
	c.chainID = id
	i := slices.IndexFunc(c.list, func(o retainedLog) bool { return o.first == r.first })
	switch {
	case i < 0:
		c.list = append(c.list, r)
	case r.last > c.list[i].last:
		log.Warn("retained block logs overlap", "dropped", logPath(c.list[i].base), "kept", logPath(base))
		c.list[i] = r
	default:
		log.Warn("retained block logs overlap", "dropped", logPath(base), "kept", logPath(c.list[i].base))
	}
	return nil
}

// inspect reads what range a finished log has, and repairs its index.
func inspect(fs FS, base string, log *slog.Logger, now func() time.Time) (r retainedLog, id types.Checksum256, rebuilt bool, err error) {
	path := logPath(base)
	f, err := fs.Open(path, false)
	if err != nil {
		return r, id, false, fmt.Errorf("open retained block log: %w", err)
	}
	defer f.Close()
	s, err := openSource(f, path)
	if err != nil {
		return r, id, false, err
	}
	e, err := s.closedExtent()
	if err != nil {
		return r, id, false, err
	}
	if !e.blocks {
		return r, id, false, fault(Unsound, "block log file %s has no blocks", path)
	}
	job := &indexJob{fs: fs, source: s, path: indexPath(base), extent: e, first: s.preamble.First, window: 1,
		surface: newSurface(log, now, "Recreating index for "+path, uint64(e.head.num-s.preamble.First)+1)}
	state, err := job.mend()
	if err != nil {
		return r, id, false, err
	}
	if state != indexGood {
		log.Info("Recreated index", "file", indexPath(base))
	}
	return retainedLog{s.preamble.First, e.head.num, base}, s.preamble.ChainID, state != indexGood, nil
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

// acquire returns an open partition, locked for reading. The caller unlocks it.
func (c *catalog) acquire(r retainedLog) (*openRetained, error) {
	o, surplus, err := c.open(r)
	if surplus != nil {
		surplus.close() //nolint:errcheck // opened for reading
	}
	return o, err
}

// open finds or opens a partition and tells which one to close instead.
func (c *catalog) open(r retainedLog) (o *openRetained, surplus *segment, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.IndexFunc(c.opened, func(o *openRetained) bool { return o.base == r.base }); i >= 0 {
		o = c.opened[i]
		c.opened = append(slices.Delete(c.opened, i, i+1), o)
		o.seg.mu.RLock()
		return o, nil, nil
	}
	seg, err := openSegment(c.fs, r.base, false)
	if err != nil {
		return nil, nil, err
	}
	size, err := seg.log.Size()
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("size of %s: %w", logPath(r.base), err), seg.close())
	}
	if seg.preamble.Pruned {
		size -= trailerBytes
	}
	o = &openRetained{base: r.base, seg: seg, end: size}
	o.seg.mu.RLock()
	if c.opened = append(c.opened, o); len(c.opened) > retainedOpen {
		surplus = c.opened[0].seg
		c.opened = slices.Delete(c.opened, 0, 1)
	}
	return o, surplus, nil
}

// forget closes a partition that is about to go.
func (c *catalog) forget(base string) error {
	c.mu.Lock()
	i := slices.IndexFunc(c.opened, func(o *openRetained) bool { return o.base == base })
	var seg *segment
	if i >= 0 {
		seg = c.opened[i].seg
		c.opened = slices.Delete(c.opened, i, i+1)
	}
	c.mu.Unlock()
	if seg == nil {
		return nil
	}
	return seg.close()
}

func (c *catalog) close() error {
	c.mu.Lock()
	opened := c.opened
	c.opened = nil
	c.mu.Unlock()
	var errs []error
	for _, o := range opened {
		errs = append(errs, o.seg.close())
	}
	return errors.Join(errs...)
}

// move moves a file durably. A file that is there already stays, as nodeos has it, unless
// it is shorter: then it is what an interrupted copy left.
func move(fs FS, from, to string, log *slog.Logger) error {
	there, err := holds(fs, to, from)
	if err != nil {
		return err
	}
	if there {
		log.Warn("file already exists, just removing the other", "exists", to, "removed", from)
		// A copy that was interrupted may have left a name that is not durable.
		if err := fs.SyncDir(filepath.Dir(to)); err != nil {
			return err
		}
		return fs.Remove(from)
	}
	return vfs.MoveDurably(fs, from, to)
}

// holds tells whether a file is there and is at least as long as another.
func holds(fs FS, file, other string) (bool, error) {
	var sizes [2]int64
	for i, path := range [2]string{file, other} {
		if there, err := fs.Exists(path); err != nil || !there {
			return false, err
		}
		f, err := fs.Open(path, false)
		if err != nil {
			return false, err
		}
		sizes[i], err = f.Size()
		if err = errors.Join(err, f.Close()); err != nil {
			return false, err
		}
	}
	return sizes[0] >= sizes[1], nil
}

// movePair moves a log and its index, and makes the new names durable.
func movePair(fs FS, from, to string, log *slog.Logger) error {
	for _, path := range []func(string) string{logPath, indexPath} {
		if ok, err := fs.Exists(path(from)); err != nil {
			return err
		} else if !ok {
			continue
		}
		if err := move(fs, path(from), path(to), log); err != nil {
			return err
		}
	}
	return errors.Join(fs.SyncDir(filepath.Dir(to)), fs.SyncDir(filepath.Dir(from)))
}
