package blocklog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"regexp"

	"tarn/antelope/logcatalog"
	"tarn/antelope/serial"
	"tarn/antelope/types"
	"tarn/store/vfs"
	"tarn/store/vfs/torntail"
)

// Open opens the log of a blocks directory, or prepares for one to be begun by
// [Log.Reset] or [Log.ResetGenesis]. It repairs by itself what a crash left: it cuts
// the log after its last whole block, keeping what it cuts in a file named
// blocks-bad-tail-<time>.log, and makes the index agree. It prunes, vacuums or
// removes the log to fit the options. Only one process may have a log open.
func Open(o Options) (*Log, error) {
	o, err := o.settle()
	if err != nil {
		return nil, err
	}
	l := &Log{o: o, mode: o.mode(), retained: new(logcatalog.Catalog[*segment])}
	if err := (opening{l}).open(); err != nil {
		return nil, errors.Join(fmt.Errorf("open block log in %s: %w", o.Dir, err), l.shut(false))
	}
	return l, nil
}

// opening is a log that nobody uses yet: what makes its files whole, and fit the options.
type opening struct{ *Log }

func (l opening) open() error {
	fs := l.o.FS
	if err := vfs.MkdirAll(fs, l.o.Dir); err != nil {
		return err
	}
	if err := l.removeUnfinished(); err != nil {
		return err
	}
	if l.mode == empty {
		if used, err := l.useUp(); used || err != nil {
			return err
		}
		return l.removeAll()
	}
	if l.mode == partitioned {
		if err := l.openRetained(); err != nil {
			return err
		}
	}
	if err := l.openSums(); err != nil {
		return err
	}
	e, err := l.recoverAny()
	if err != nil {
		return err
	}
	if e.end == 0 { // no log, or not even a preamble
		return l.openNothing()
	}
	return l.adopt(e)
}

// useUp is for a log that is not wanted any more. As long as a start may ask for its
// blocks it is gone on with as a pruned one of a single block, and it tells so.
func (l opening) useUp() (bool, error) {
	if l.o.Needed == nil {
		return false, nil
	}
	one := uint32(1)
	l.mode, l.o.RetainBlocks = pruned, &one
	e, err := l.recoverAny()
	if err == nil {
		err = l.openSums()
	}
	if err != nil {
		return false, err
	}
	if e.blocks && e.head.num >= l.o.needed() {
		l.o.Logger.Info("The block log has blocks that the saved state does not have yet, so it is kept. A start "+
			"after the state is saved removes it",
			"first_needed", l.o.needed(), "head", e.head.num)
		return true, l.adopt(e)
	}
	l.mode, l.first, l.recovery = empty, 0, Recovery{}
	return false, l.stored.close()
}

func (l opening) openSums() (err error) {
	l.stored, err = openSums(l.o.FS, filepath.Join(l.o.Dir, SumsName), true, l.o.Logger)
	return err
}

// recoverAny is recover where there may be no working log.
func (l opening) recoverAny() (extent, error) {
	size, err := logcatalog.Size(l.o.FS, workingBase(l.o.Dir).Log())
	if err != nil || size == 0 {
		return extent{}, err
	}
	return l.recover()
}

// removeUnfinished removes what was being written when the process ended: none of it
// was in use.
func (l opening) removeUnfinished() error {
	base := workingBase(l.o.Dir)
	vacuumed := base + ".tmp"
	sums := filepath.Join(l.o.Dir, SumsName) + ".tmp"
	paths := []string{base.Log() + ".tmp", base.Index() + ".tmp", vacuumed.Log(), vacuumed.Index(), sums}
	names, err := l.o.FS.List(l.o.Dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if copyName.MatchString(name) {
			paths = append(paths, filepath.Join(l.o.Dir, name))
		}
	}
	for _, path := range paths {
		if err := removeFile(l.o.FS, path); err != nil {
			return err
		}
	}
	return nil
}

// copyName is that of a copy of the log, or of its end, while it is made.
var copyName = regexp.MustCompile(`^blocks(-bad-tail-.*)?\.log` + regexp.QuoteMeta(vfs.NewSuffix) + `$`)

// removeAll leaves no log, as block-log-retain-blocks = 0 wants it.
func (l opening) removeAll() error {
	base := workingBase(l.o.Dir)
	for _, path := range []string{base.Log(), base.Index(), l.tailPath(), filepath.Join(l.o.Dir, SumsName)} {
		if err := removeFile(l.o.FS, path); err != nil {
			return err
		}
	}
	return l.o.FS.SyncDir(l.o.Dir)
}

// openNothing is for a directory without a working log. Finished partitions are
// gone on with.
func (l opening) openNothing() error {
	base := workingBase(l.o.Dir)
	if l.retained.Len() == 0 {
		if err := removeFile(l.o.FS, l.tailPath()); err != nil {
			return err
		}
		if err := removeFile(l.o.FS, base.Index()); err != nil {
			return err
		}
		return removeFile(l.o.FS, base.Log())
	}
	if err := l.begin(newPreamble(l.retained.Newest().Last+1, nil, l.chain)); err != nil {
		return err
	}
	return l.headFromRetained()
}

// headFromRetained is for a working log without blocks behind finished partitions.
func (l opening) headFromRetained() error {
	last := l.retained.Newest().Last
	l.head, l.blocks = link{num: last}, true
	b, err := l.ReadRaw(last)
	if err != nil {
		return err
	}
	h, err := decodeLink(b)
	if err != nil {
		return fmt.Errorf("decode block %d: %w", last, err)
	}
	l.head = h
	return nil
}

// recover makes the files of the working log whole and tells how far they go.
func (l opening) recover() (extent, error) {
	base := workingBase(l.o.Dir)
	f, err := l.o.FS.Open(base.Log(), true)
	if err != nil {
		return extent{}, err
	}
	defer f.Close()
	s, err := openSource(f, base.Log())
	if errors.Is(err, serial.ErrShort) {
		size, sizeErr := f.Size()
		if sizeErr != nil {
			return extent{}, sizeErr
		}
		if size < maxPreambleBytes {
			return extent{}, l.setAside(f, 0, size, 0)
		}
	}
	if err != nil {
		return extent{}, err
	}
	e, err := l.sound(s)
	if err != nil {
		return extent{}, err
	}
	if err := l.cut(s, e); err != nil {
		return extent{}, err
	}
	first := s.preamble.First
	if s.preamble.Pruned {
		if first, err = l.mendPruned(s, e); err != nil {
			return extent{}, err
		}
	} else if err := l.mendIndex(s, e, first); err != nil {
		return extent{}, err
	}
	l.first = first
	return e, l.convert(s, &e)
}

// sound tells how far the log is whole: by the checksums of the tail's file if it
// is of this log, by the log's own structure if not. Where that is no crash's doing it is an error.
func (l opening) sound(s *source) (extent, error) {
	m, records, ok, err := readTail(l.o.FS, l.tailPath())
	if err != nil {
		return extent{}, err
	}
	if ok {
		e, proved, err := s.followRecords(m, records, l.o.doubtful()+2*maxBlockBytes)
		if proved || err != nil {
			return e, err
		}
	}
	e, err := s.structure(l.o.doubtful())
	if err != nil || !ok || m.first != s.preamble.First || m.durable > s.size || l.o.Mend {
		// Of what another program was writing when the machine stopped any part may be missing.
		return e, err
	}
	end := torntail.End{Path: s.path, Whole: e.end, Size: s.size, Durable: m.durable, Remedy: remedy}
	return e, end.Judge()
}

// structure tells how far the log is whole by its own structure.
func (s *source) structure(window int64) (extent, error) {
	if s.preamble.Pruned {
		if e, ok, err := s.soundPruned(window); ok || err != nil {
			return e, err
		}
	}
	return s.soundEnd(s.size, window, s.preamble.First, s.preamble.Pruned)
}

// remedy is what helps where blocks are damaged that were durable.
const remedy = "restore the log, or start from a snapshot, or rebuild the state from the undamaged blocks with " +
	"--replay-blockchain, " +
	"or move the log's files away from blocks-dir: the chain goes on from the state, with a new log"

// soundPruned believes the trailer of a pruned log if the entries before it bear it
// out.
func (s *source) soundPruned(window int64) (extent, bool, error) {
	count, ok, err := s.trailer()
	if err != nil || !ok {
		return extent{}, false, err
	}
	end := s.size - trailerBytes
	if count == 0 && end == s.start {
		return extent{end: end}, true, nil
	}
	start, ok, err := s.before(end)
	if err != nil || !ok {
		return extent{}, false, err
	}
	l, ok, err := s.link(start, end)
	if err != nil || !ok || count == 0 || int64(l.num)-int64(count)+1 < int64(s.preamble.First) {
		return extent{}, false, err
	}
	e, err := s.soundEnd(end, window, l.num-count+1, true)
	return e, err == nil && e.end == end, err
}

// trailer reads the count at the end of a pruned log.
func (s *source) trailer() (uint32, bool, error) {
	if s.size < s.start+trailerBytes {
		return 0, false, nil
	}
	b, err := s.read(s.size-trailerBytes, trailerBytes)
	if err != nil {
		return 0, false, err
	}
	return binary.LittleEndian.Uint32(b), true, nil
}

// cut removes what is behind the last whole entry, after saving it. A pruned log's
// trailer is neither saved nor missed here.
func (l opening) cut(s *source, e extent) error {
	rest := s.size - e.end
	if rest == 0 || s.preamble.Pruned && rest == trailerBytes {
		return nil
	}
	next := s.preamble.First
	if e.blocks {
		next = e.head.num + 1
	}
	if l.o.Needed != nil && next < l.o.needed() {
		return &torntail.Damage{Path: s.path, Offset: e.end, Remedy: remedy,
			Detail: fmt.Sprintf("block %d is not whole, and the state counts on the blocks before %d",
				next, l.o.needed())}
	}
	if err := l.setAside(s.file, e.end, s.size, next); err != nil {
		return err
	}
	if err := s.file.Truncate(e.end); err != nil {
		return fmt.Errorf("cut %s after its last whole block: %w", s.path, err)
	}
	s.size = e.end
	return nil
}

// setAside saves a damaged range of the log in a file of its own.
func (l opening) setAside(f vfs.File, from, to int64, next uint32) error {
	name := "blocks-bad-tail-" + isoTime(l.o.Now())
	path := filepath.Join(l.o.Dir, name+".log")
	for i := 1; ; i++ {
		exists, err := l.o.FS.Exists(path)
		if err != nil {
			return err
		}
		if !exists {
			break
		}
		path = filepath.Join(l.o.Dir, fmt.Sprintf("%s-%d.log", name, i))
	}
	if err := vfs.CopyRange(l.o.FS, f, from, to, path); err != nil {
		return fmt.Errorf("save damaged end of block log: %w", err)
	}
	l.recovery.CutBytes, l.recovery.CutFile = to-from, path
	l.o.Logger.Warn("The block log did not end with a whole block. What followed the last one was cut and saved",
		"bytes", to-from, "next_block", next, "file", path)
	return nil
}

// mendIndex repairs the index of a log whose blocks from first on are there.
func (l opening) mendIndex(s *source, e extent, first uint32) error {
	job := &indexJob{fs: l.o.FS, source: s, path: workingBase(l.o.Dir).Index(), extent: e, first: first,
		window:  max(l.o.doubtful()+l.o.doubtful()/2, e.doubtful+1),
		surface: newSurface(l.o.Logger, l.o.Now, "Rebuilding blocks.index", uint64(e.head.num-first)+1)}
	state, err := job.mend()
	if err != nil {
		return err
	}
	l.recovery.Index, l.recovery.Rebuilt = l.recovery.Index || state != indexGood,
		l.recovery.Rebuilt || state == indexRebuilt
	if state != indexGood {
		l.o.Logger.Warn("blocks.index did not match blocks.log and was repaired", "anew", state == indexRebuilt)
	}
	return nil
}

// adopt opens the recovered files for appending.
func (l opening) adopt(e extent) error {
	seg, err := openSegment(l.o.FS, workingBase(l.o.Dir), true)
	if err != nil {
		return err
	}
	l.work = seg
	if l.retained.Len() > 0 && l.chain != seg.preamble.ChainID {
		return fault(Unsound, "block log file %s has a different chain id", seg.base.Log())
	}
	l.end, l.head, l.blocks, l.written = e.end, e.head, e.blocks, seg.preamble.First-1
	if e.blocks {
		l.written = e.head.num
	}
	if l.first == 0 {
		l.first = seg.preamble.First
	}
	if err := l.storeSums(e); err != nil {
		return err
	}
	if err := l.settleFiles(); err != nil {
		return err
	}
	if !e.blocks && l.retained.Len() > 0 && l.retained.Newest().Last+1 == l.first {
		return l.headFromRetained()
	}
	return nil
}

// storeSums stores the checksums of blocks that the tail's file has proved whole, which had not been
// synced.
func (l opening) storeSums(e extent) error {
	var records []byte
	from := max(e.proved.from, l.first)
	for num := from; num < e.proved.to; num++ {
		sp, err := l.span(num, num, 0)
		if err != nil {
			return err
		}
		b := sp.block(0)
		is, err := decodeLink(b)
		if err != nil {
			return fmt.Errorf("decode block %d: %w", num, err)
		}
		records = appendSum(records, &is.id, crc32.Checksum(b, castagnoli))
	}
	l.stored.add(from, records)
	return nil
}

// settleFiles makes what is in the files durable, and says so.
func (l *Log) settleFiles() error {
	if err := errors.Join(l.work.log.Sync(), l.work.index.Sync(), l.stored.sync()); err != nil {
		return err
	}
	m := tailMark{first: l.work.preamble.First, next: l.written + 1, durable: l.end, kept: l.first}
	if l.tail != nil {
		return l.mark(m)
	}
	var err error
	if l.tail, err = createTail(l.o.FS, l.tailPath(), m); err != nil {
		return err
	}
	l.marked, l.dirty, l.durable = m, 0, l.written
	if m.next == m.first && l.retained.Len() == 0 {
		l.durable = 0
	}
	return l.o.FS.SyncDir(l.o.Dir)
}

// Reset begins the log anew for a chain that it has no blocks of: the next block
// must be first, above 1. What the log had is gone; finished partitions stay.
func (l *Log) Reset(chainID types.Checksum256, first uint32) error {
	if first <= 1 {
		return fault(Unsound, "Block log version %d needs to be created with a genesis state if "+
			"starting from block number 1.", maxVersion)
	}
	return l.reset(newPreamble(first, nil, chainID))
}

// ResetGenesis begins the log anew with a genesis state and block 1, packed.
func (l *Log) ResetGenesis(g types.Genesis, block []byte) error {
	first, err := decodeLink(block)
	if err != nil {
		return fmt.Errorf("decode block 1: %w", err)
	}
	if err := l.reset(newPreamble(1, &g, g.ChainID())); err != nil {
		return err
	}
	return l.Append(first.num, first.id, block)
}

func (l *Log) reset(p Preamble) error {
	l.writer.Lock()
	defer l.writer.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	if l.mode == empty {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.first, l.blocks, l.head = p.First, false, link{}
		return nil
	}
	if l.retained.Len() > 0 && l.chain != p.ChainID {
		return fault(Unsound, "Trying to reset to the chain to a different chain id")
	}
	if err := l.begin(p); err != nil {
		return l.fail("reset block log", err)
	}
	return nil
}

// begin makes a new, empty working log. The caller holds writer.
func (l *Log) begin(p Preamble) error {
	p.Pruned = l.mode == pruned
	if err := createLog(l.o.FS, workingBase(l.o.Dir), p); err != nil {
		return err
	}
	seg, err := openSegment(l.o.FS, workingBase(l.o.Dir), true)
	if err != nil {
		return err
	}
	l.mu.Lock()
	old := l.work
	l.work, l.end, l.first, l.written = seg, seg.start, p.First, p.First-1
	l.pending, l.waiting, l.head, l.blocks = nil, 0, link{}, false
	l.sums.forget()
	l.mu.Unlock()
	l.punch = 0
	if l.retained.Len() == 0 { // of no block that is there
		err = l.stored.close()
	}
	if old != nil {
		err = errors.Join(err, old.Close())
	}
	return errors.Join(err, l.settleFiles())
}

// createLog makes an empty log and index, durably, replacing what has these names.
func createLog(fs logcatalog.FS, base logcatalog.Pair, p Preamble) error {
	b := p.Append(nil)
	if p.Pruned {
		b = binary.LittleEndian.AppendUint32(b, 0)
	}
	temporary := base.Log() + ".tmp"
	if err := writeFile(fs, temporary, b); err != nil {
		return err
	}
	index, err := fs.Create(base.Index())
	if err != nil {
		return err
	}
	if err := index.Close(); err != nil {
		return err
	}
	if err := fs.Rename(temporary, base.Log()); err != nil {
		return err
	}
	return fs.SyncDir(filepath.Dir(base.Log()))
}

// writeFile makes a file of this content; its bytes are durable, its name not.
func writeFile(fs logcatalog.FS, path string, b []byte) error {
	f, err := fs.Create(path)
	if err != nil {
		return err
	}
	if _, err = f.WriteAt(b, 0); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
