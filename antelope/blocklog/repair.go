package blocklog

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path/filepath"

	"tarn/antelope/serial"
	"tarn/antelope/types"
	"tarn/store/vfs"
)

// Repaired is what [Tool.Repair] did.
type Repaired struct {
	Backup string // the folder with what was there before
	Head   uint32 // number of the last block that was recovered; First-1 if none was
	Reason error  // why it stopped before the end; nil if it did not or was told to
	Tail   string // where the rest of the log was saved; "" if nothing was wrong
}

// Repair prepares a hard replay. It moves the log, its index and the reversible
// blocks to a folder beside the blocks directory, named by the time, and copies back
// the blocks that are sound: each must decode, follow the one before by number and
// id, and end with its own position. With truncateAt above 0 it stops after that
// block. A pruned log cannot be repaired.
func (t Tool) Repair(truncateAt uint32) (Repaired, error) {
	t = t.settle()
	if err := t.Repairable(); err != nil {
		return Repaired{}, err
	}
	now := isoTime(t.Now())
	done := Repaired{Backup: t.Dir + "-" + now}
	if exists, err := t.FS.Exists(done.Backup); err != nil {
		return done, err
	} else if exists {
		return done, fault(InTheWay,
			"Cannot move existing blocks directory to already existing directory '%s'", done.Backup)
	}
	if err := t.backUp(done.Backup); err != nil {
		return done, fmt.Errorf("back up %s: %w", t.Dir, err)
	}
	t.Logger.Info("Moved existing blocks directory to backup location", "folder", done.Backup)
	return t.recover(done, truncateAt, now)
}

// Repairable tells why Repair would refuse a log, before anything is changed.
func (t Tool) Repairable() error {
	t = t.settle()
	path := workingBase(t.Dir).Log()
	exists, err := t.FS.Exists(path)
	if err != nil {
		return err
	}
	if !exists {
		return fault(Missing, "Block log not found in '%s'", t.Dir)
	}
	p, err := t.preamble(path)
	if err == nil && p.Pruned {
		err = fault(Unsound, "pruned block log cannot be repaired")
	}
	return err
}

// backUp moves the files of a blocks directory away. The log goes last, so that a
// repair that was interrupted can be begun again.
func (t Tool) backUp(backup string) error {
	reversible := filepath.Join(t.Dir, ReversibleDir)
	if err := vfs.MkdirAll(t.FS, filepath.Join(backup, ReversibleDir)); err != nil {
		return err
	}
	names, err := t.FS.List(reversible)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := t.FS.Rename(filepath.Join(reversible, name), filepath.Join(backup, ReversibleDir, name)); err != nil {
			return err
		}
	}
	for _, name := range []string{TailName, IndexName, LogName} {
		if exists, err := t.FS.Exists(filepath.Join(t.Dir, name)); err != nil {
			return err
		} else if !exists {
			continue
		}
		if err := t.FS.Rename(filepath.Join(t.Dir, name), filepath.Join(backup, name)); err != nil {
			return err
		}
	}
	return errors.Join(t.FS.SyncDir(filepath.Join(backup, ReversibleDir)), t.FS.SyncDir(backup), t.FS.SyncDir(t.Dir))
}

// recover copies the sound blocks of the backed up log back.
func (t Tool) recover(done Repaired, truncateAt uint32, now string) (Repaired, error) {
	if truncateAt == 0 {
		truncateAt = 1<<32 - 1
	}
	path := filepath.Join(done.Backup, LogName)
	f, err := t.FS.Open(path, false)
	if err != nil {
		return done, err
	}
	defer f.Close()
	s, err := openSource(f, path)
	if err != nil {
		return done, err
	}
	sums, err := openSums(t.FS, filepath.Join(t.Dir, SumsName), false, t.Logger)
	if err != nil {
		return done, err
	}
	defer sums.close() //nolint:errcheck // opened for reading
	v := &validator{source: s, sums: sums, surface: t.surface("blocks verified, bytes", uint64(s.size))}
	e, err := v.run(truncateAt)
	if err != nil {
		return done, err
	}
	done.Head, done.Reason = s.preamble.First-1, v.reason
	if e.blocks {
		done.Head = e.head.num
	}
	if v.reason != nil {
		done.Tail = filepath.Join(t.Dir, "blocks-bad-tail-"+now+".log")
		if err := vfs.CopyRange(t.FS, f, e.end, s.size, done.Tail); err != nil {
			return done, fmt.Errorf("save damaged end of block log: %w", err)
		}
		t.Logger.Warn("Recovered only up to a block; the next one is damaged", "block", done.Head, "error", v.reason,
			"rest", done.Tail)
	}
	base := workingBase(t.Dir)
	if err := vfs.CopyRange(t.FS, f, 0, e.end, base.Log()); err != nil {
		return done, err
	}
	job := &indexJob{fs: t.FS, source: s, path: base.Index(), extent: e, first: s.preamble.First}
	if !e.blocks {
		_, err := job.clear()
		return done, err
	}
	return done, job.rebuild()
}

// validator reads a log from its beginning and checks every block.
type validator struct {
	*source
	sums    *sumsFile
	surface *surface
	buf     []byte
	offset  int64 // of buf
	reason  error
}

const validateBytes = 8 << 20

// run goes on to a number, the end, or the first block that is damaged.
func (v *validator) run(last uint32) (extent, error) {
	e := extent{end: v.start}
	before := e // the block that e ends with
	for e.end < v.size && (!e.blocks || e.head.num < last) {
		if !e.blocks && v.preamble.First > last {
			break
		}
		l, size, err := v.entry(e.end)
		if err != nil {
			return e, err
		}
		expected := v.preamble.First
		if e.blocks {
			expected = e.head.num + 1
		}
		switch {
		case v.reason != nil:
			return e, nil
		case l.num != expected:
			v.reason = fmt.Errorf("block %d follows block %d", l.num, expected-1)
			return e, nil
		case e.blocks && l.previous != e.head.id:
			// One of the two is not what was written. Neither stays.
			v.reason = fmt.Errorf("block %d does not link back to previous block", l.num)
			return before, nil
		}
		before = e
		e = extent{end: e.end + size, head: l, position: e.end, blocks: true}
		v.surface.at(uint64(e.end))
	}
	return e, nil
}

// entry decodes the entry at an offset and tells its length. What is wrong with it
// becomes the reason.
func (v *validator) entry(at int64) (link, int64, error) {
	for want := int64(validateBytes); ; want *= 4 {
		if err := v.window(at, want); err != nil {
			return link{}, 0, err
		}
		b := v.buf[at-v.offset:]
		var block types.SignedBlock
		r := serial.NewReader(b)
		block.Read(r)
		position := r.Uint64()
		err := r.Err()
		if errors.Is(err, serial.ErrShort) && at+int64(len(b)) < v.size && want < maxBlockBytes*2 {
			v.buf = v.buf[:0]
			continue
		}
		if err == nil && position != uint64(at) {
			err = fault(Unsound,
				"the block position for block %d at the end of a block entry is incorrect", block.BlockNum())
		}
		if err != nil {
			v.reason = fmt.Errorf("entry at offset %d of %s: %w", at, v.path, err)
			return link{}, 0, nil
		}
		if err := checkNames(&block); err != nil {
			v.reason = fmt.Errorf("entry at offset %d of %s: block %d: %w", at, v.path, block.BlockNum(), err)
			return link{}, 0, nil
		}
		l, sum := linkOf(&block.BlockHeader), crc32.Checksum(b[:r.Offset()-positionBytes], castagnoli)
		if v.sums.refutes(v.sums.read(l.num, 1), l.num, &l.id, sum) {
			v.reason = fmt.Errorf("entry at offset %d of %s: block %d: %s", at, v.path, l.num, unlike(v.sums.path))
			return link{}, 0, nil
		}
		return l, int64(r.Offset()), nil
	}
}

// window makes buf hold what is at an offset: at least a quarter of want bytes, or
// all that there is.
func (v *validator) window(at, want int64) error {
	end := v.offset + int64(len(v.buf))
	if at >= v.offset && (end-at >= want/4 || end == v.size) && at <= end {
		return nil
	}
	n := min(want, v.size-at)
	if int64(cap(v.buf)) < n {
		v.buf = make([]byte, n)
	}
	v.buf, v.offset = v.buf[:n], at
	if err := readFull(v.file, v.path, v.buf, at); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}
