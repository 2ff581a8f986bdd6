package blocklog

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"tarn/antelope/logcatalog"
	"tarn/antelope/types"
	"tarn/store/vfs"
)

// Tool says on which blocks directory the functions of this file work, which are
// those of leap-util's block-log command. Nobody may have the log open.
type Tool struct {
	Dir    string           // blocks-dir
	FS     logcatalog.FS    // nil is the machine's own
	Now    func() time.Time // nil is time.Now
	Logger *slog.Logger     // gets progress; nil says nothing
}

func (t Tool) settle() Tool {
	t.FS, t.Now, t.Logger = settleSurroundings(t.FS, t.Now, t.Logger)
	t.Dir = filepath.Clean(t.Dir)
	return t
}

func (t Tool) surface(what string, total uint64) *surface {
	return newSurface(t.Logger, t.Now, what, total)
}

// bundle is a finished log with its index.
type bundle struct {
	*source
	seg     *segment
	extent  extent
	first   uint32 // that can be read
	indexed uint32 // entries of the index
}

// open opens a log for reading. If the index has to agree and does not have as many
// entries as it should have for the log, that is an error.
func (t Tool) open(base logcatalog.Pair, agree bool) (*bundle, error) {
	seg, err := openSegment(t.FS, base, false)
	if err != nil {
		return nil, err
	}
	b := &bundle{seg: seg}
	if err := b.inspect(agree); err != nil {
		return nil, errors.Join(err, seg.Close())
	}
	return b, nil
}

// openWhole opens blocks.log to make others of it: it must not be pruned, and its index
// must agree.
func (t Tool) openWhole() (*bundle, error) {
	b, err := t.open(workingBase(t.Dir), true)
	if err != nil {
		return nil, err
	}
	if err := b.whole(); err != nil {
		return nil, errors.Join(err, b.seg.Close())
	}
	return b, nil
}

func (b *bundle) inspect(agree bool) error {
	var err error
	if b.source, err = openSource(b.seg.log, b.seg.base.Log()); err != nil {
		return err
	}
	if b.extent, err = b.closedExtent(); err != nil {
		return err
	}
	b.first = b.preamble.First
	if count, ok, err := b.trailer(); err != nil {
		return err
	} else if b.preamble.Pruned && ok && b.extent.blocks {
		b.first = b.extent.head.num - count + 1
	}
	size, err := b.seg.index.Size()
	if err != nil {
		return fmt.Errorf("size of %s: %w", b.seg.base.Index(), err)
	}
	if size%positionBytes != 0 {
		return fault(Unsound, "The size of %s is not a multiple of sizeof(uint64_t)", b.seg.base.Index())
	}
	b.indexed = uint32(size / positionBytes)
	if entries := b.entries(); agree && entries != b.indexed {
		return fault(Unsound, "%s says it has %d blocks which disagrees with %d indicated by %s",
			b.path, entries, b.indexed, b.seg.base.Index())
	}
	return nil
}

// entries is how many the index should have: one for each block since the log began, those
// that a pruned log has dropped too.
func (b *bundle) entries() uint32 {
	if !b.extent.blocks {
		return 0
	}
	return b.extent.head.num - b.preamble.First + 1
}

// position is where a block begins, or where the last one ends if it is after that.
func (b *bundle) position(num uint32) (int64, error) {
	if !b.extent.blocks || num > b.extent.head.num {
		return b.extent.end, nil
	}
	list, err := b.seg.positions(num, 1)
	if err != nil {
		return 0, err
	}
	return list[0], nil
}

// MakeIndex writes the index of blocks.log anew, to out or to blocks.index if out is
// "".
func (t Tool) MakeIndex(out string) error {
	t = t.settle()
	base := workingBase(t.Dir)
	if out == "" {
		out = base.Index()
	}
	f, err := t.FS.Open(base.Log(), false)
	if err != nil {
		return fmt.Errorf("make index: %w", err)
	}
	defer f.Close()
	s, err := openSource(f, base.Log())
	if err != nil {
		return fmt.Errorf("make index: %w", err)
	}
	e, err := s.closedExtent()
	if err != nil || !e.blocks {
		return err
	}
	first := s.preamble.First
	if count, ok, err := s.trailer(); err != nil {
		return err
	} else if s.preamble.Pruned && ok {
		first = e.head.num - count + 1
	}
	t.Logger.Info("Will write new blocks.index file", "file", out, "version", s.preamble.Version,
		"first", s.preamble.First, "last", e.head.num)
	job := &indexJob{fs: t.FS, source: s, path: out, extent: e, first: first,
		surface: t.surface("blocks indexed", uint64(e.head.num-first)+1)}
	return job.rebuild()
}

// extract copies a range of blocks into a new pair. A range from the log's first
// block on keeps its preamble, any other begins with the chain's id.
func (t Tool) extract(b *bundle, first, count uint32, base logcatalog.Pair) error {
	first = max(first, b.preamble.First)
	count = min(count, b.entries())
	from, err := b.position(first)
	if err != nil {
		return err
	}
	to, err := b.position(uint32(min(uint64(first)+uint64(count), 1<<32-1)))
	if err != nil {
		return err
	}
	p := b.preamble
	if first != p.First {
		p = newPreamble(first, nil, p.ChainID)
	}
	c := &cutter{fs: t.FS, source: b.source, end: to, surface: t.surface("bytes copied", uint64(to-from))}
	if _, err := c.cut(from, p, base); err != nil {
		return fmt.Errorf("extract blocks of %s: %w", b.path, err)
	}
	return t.FS.SyncDir(filepath.Dir(base.Log()))
}

// whole refuses pruned logs, whose blocks do not lie from the preamble on.
func (b *bundle) whole() error {
	if b.preamble.Pruned {
		return fault(Unsound, "%s is a pruned log; vacuum it first", b.path)
	}
	return nil
}

// Extract copies a range of blocks into a new log in another folder, named by what
// was asked for.
func (t Tool) Extract(first, last uint32, out string) error {
	t = t.settle()
	if last <= first {
		return fault(Unsound, "extract range end must be greater than start")
	}
	b, err := t.openWhole()
	if err != nil {
		return err
	}
	defer b.seg.Close()
	if first < b.preamble.First {
		return fault(Unsound, "The first available block is block %d.", b.preamble.First)
	}
	if err := vfs.MkdirAll(t.FS, out); err != nil {
		return err
	}
	return t.extract(b, first, last-first+1, rangeBase(out, first, last))
}

// rangeBase is the path without extension of a log of a range of blocks.
func rangeBase(dir string, first, last uint32) logcatalog.Pair {
	return logcatalog.NewPart(dir, logName, first, last).Pair
}

// Split copies blocks.log into logs of stride blocks each in another folder.
func (t Tool) Split(stride uint32, out string) error {
	t = t.settle()
	if stride == 0 {
		return fault(Unsound, "stride cannot be 0")
	}
	b, err := t.openWhole()
	if err != nil {
		return err
	}
	defer b.seg.Close()
	if err := vfs.MkdirAll(t.FS, out); err != nil {
		return err
	}
	for first := uint64(b.preamble.First); b.extent.blocks && first <= uint64(b.extent.head.num); {
		last := min((first+uint64(stride)-1)/uint64(stride)*uint64(stride), uint64(b.extent.head.num))
		if err := t.extract(b, uint32(first), uint32(last-first)+1,
			rangeBase(out, uint32(first), uint32(last))); err != nil {
			return err
		}
		first = last + 1
	}
	return nil
}

// Merge joins the logs of a folder named blocks-<first>-<last> into as few as
// possible in another folder. Its own folder stays as it is, but for indexes that did
// not match.
func (t Tool) Merge(out string) error {
	t = t.settle()
	list, err := logcatalog.Parts(t.FS, t.Dir, logName, (&inspection{fs: t.FS, log: t.Logger, now: t.Now}).look, t.Logger)
	if err != nil {
		return err
	}
	if len(list) <= 1 {
		t.Logger.Warn("There's no more than one blocklog files, skip merge.", "folder", t.Dir)
		return nil
	}
	if err := vfs.MkdirAll(t.FS, out); err != nil {
		return err
	}
	for rest := list; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].First == rest[n-1].Last+1 {
			n++
		}
		if err := t.join(rest[:n], out); err != nil {
			return err
		}
		if rest = rest[n:]; len(rest) > 0 {
			t.Logger.Warn(
				"cannot be merged with previous block log file because of the discontinuity of blocks, skip merging.",
				"file", rest[0].Log())
		}
	}
	return nil
}

// join makes one log of consecutive ones.
func (t Tool) join(list []logcatalog.Part, out string) (err error) {
	base, temporary := rangeBase(out, list[0].First, list[len(list)-1].Last),
		logcatalog.Pair(filepath.Join(out, "merging"))
	log, err := t.FS.Create(temporary.Log())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	index, err := t.FS.Create(temporary.Index())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, index.Close()) }()
	var end, count int64
	for _, r := range list {
		if end, err = t.joinOne(r, log, index, end, count); err != nil {
			return fmt.Errorf("merge %s: %w", r.Log(), err)
		}
		count += int64(r.Last-r.First) + 1
	}
	if err := errors.Join(log.Sync(), index.Sync()); err != nil {
		return err
	}
	return temporary.Replace(t.FS, base)
}

func (t Tool) joinOne(r logcatalog.Part, log, index vfs.File, end, count int64) (int64, error) {
	b, err := t.open(r.Pair, true)
	if err != nil {
		return 0, err
	}
	defer b.seg.Close()
	if err := b.whole(); err != nil {
		return 0, err
	}
	from := b.source.start
	if end == 0 {
		head := b.preamble.Append(nil)
		if _, err := log.WriteAt(head, 0); err != nil {
			return 0, err
		}
		end = int64(len(head))
	}
	c := &cutter{fs: t.FS, source: b.source, end: b.extent.end, surface: t.surface("bytes merged", uint64(b.size))}
	if err := c.copyEntries(from, end, log); err != nil {
		return 0, err
	}
	newEnd := end + b.extent.end - from
	joined := &source{file: log, path: "the merged log", preamble: b.preamble, start: end, size: newEnd}
	return newEnd, joined.reposition(from, end-from, newEnd, index, count)
}

// SmokeTest looks whether log and index agree on how many blocks there are, and at
// one of every interval blocks that can be read; with 0, at no more than eight.
func (t Tool) SmokeTest(interval uint32) error {
	t = t.settle()
	b, err := t.open(workingBase(t.Dir), true)
	if err != nil {
		return err
	}
	defer b.seg.Close()
	t.Logger.Info("block log", "version", b.preamble.Version, "first", b.first, "last", b.extent.head.num)
	dropped := b.first - b.preamble.First
	if interval == 0 {
		interval = max((b.indexed-dropped+7)>>3, 1)
	}
	for i := uint64(dropped); i < uint64(b.indexed); i += uint64(interval) {
		num := b.preamble.First + uint32(i)
		at, err := b.position(num)
		if err != nil {
			return err
		}
		is, ok, err := b.numberAt(at)
		if err != nil {
			return err
		}
		if !ok || is != num {
			return fault(Unsound, "At position %d expected to find block number %d but found %d", at, num, is)
		}
	}
	return nil
}

// IsPruned tells whether there is a pruned log.
func (t Tool) IsPruned() (bool, error) {
	t = t.settle()
	p, err := t.preamble(workingBase(t.Dir).Log())
	return err == nil && p.Pruned, err
}

func (t Tool) preamble(path string) (Preamble, error) {
	f, err := t.FS.Open(path, false)
	if err != nil {
		return Preamble{}, err
	}
	defer f.Close()
	p, _, err := readPreamble(f, path)
	return p, err
}

// Vacuum makes an ordinary log of a pruned one.
func (t Tool) Vacuum() error {
	t = t.settle()
	path := workingBase(t.Dir).Log()
	exists, err := t.FS.Exists(path)
	if err != nil {
		return err
	}
	if !exists {
		return fmt.Errorf("No blocks.log found at '%s'.", path) //nolint:staticcheck // nodeos' words
	}
	if is, err := t.IsPruned(); err != nil || !is {
		if err == nil {
			err = errors.New("blocks.log is not a pruned log; nothing to vacuum")
		}
		return err
	}
	l, err := Open(Options{Dir: t.Dir, FS: t.FS, Now: t.Now, Logger: t.Logger})
	if err != nil {
		return err
	}
	return l.Close()
}

// Context returns the preamble that tells a log's chain: that of the partition with
// block 1 in a folder of finished ones if there is one, else that of blocks.log, else
// that of the oldest partition. retained may be "". ok is false if there is no log.
func (t Tool) Context(retained string) (p Preamble, ok bool, err error) {
	t = t.settle()
	var parts []logcatalog.Part
	if retained != "" {
		asNamed := func(p logcatalog.Part) (logcatalog.Part, error) { return p, nil }
		if parts, err = logcatalog.Parts(t.FS, retained, logName, asNamed, nil); err != nil {
			return Preamble{}, false, err
		}
	}
	path := workingBase(t.Dir).Log()
	if exists, err := t.FS.Exists(path); err != nil {
		return Preamble{}, false, err
	} else if len(parts) > 0 && (!exists || parts[0].First == 1) {
		path = parts[0].Log()
	}
	if size, err := logcatalog.Size(t.FS, path); err != nil || size == 0 {
		return Preamble{}, false, err
	}
	p, err = t.preamble(path)
	return p, err == nil, err
}

// First returns the first block that can be read of a log with finished partitions in a
// folder, see Context; 0 if there is no log.
func (t Tool) First(retained string) (uint32, error) {
	p, ok, err := t.Context(retained)
	if err != nil || !ok || !p.Pruned {
		return p.First, err
	}
	t = t.settle()
	b, err := t.open(workingBase(t.Dir), false)
	if err != nil {
		return 0, err
	}
	return b.first, b.seg.Close()
}

// Genesis returns the genesis state that a log begins with. It is nil if the log has
// only the chain's id or there is none.
func (t Tool) Genesis(retained string) (*types.Genesis, error) {
	p, _, err := t.Context(retained)
	return p.Genesis, err
}
