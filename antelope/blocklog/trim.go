package blocklog

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"

	"tarn/antelope/logcatalog"
	"tarn/store/vfs"
)

// TrimFront removes the blocks before a number from blocks.log. What it replaces is
// left in temporary, or in the folder "old" if that is "". It fails if that leaves
// everything or nothing.
func (t Tool) TrimFront(first uint32, temporary string) error {
	t = t.settle()
	if temporary == "" {
		temporary = filepath.Join(t.Dir, "old")
	}
	if filepath.Clean(temporary) == t.Dir {
		return fault(Unsound, "block_dir and temp_dir need to be different directories")
	}
	base, made, old := workingBase(t.Dir), workingBase(temporary), logcatalog.Pair(filepath.Join(temporary, "old"))
	b, err := t.openWhole()
	if err != nil {
		return err
	}
	defer b.seg.Close()
	switch {
	case first <= b.preamble.First:
		return fmt.Errorf("There are no blocks before block %d so do nothing.", first) //nolint:staticcheck // nodeos' words
	case !b.extent.blocks || first > b.extent.head.num:
		return fmt.Errorf("All blocks are before block %d so do nothing (trim front would delete entire blocks.log).", first) //nolint:staticcheck // nodeos' words
	}
	if err := t.checkProven(b, b.extent.head.num); err != nil {
		return err
	}
	if err := vfs.MkdirAll(t.FS, temporary); err != nil {
		return err
	}
	if err := t.extract(b, first, b.extent.head.num-first+1, made); err != nil {
		return err
	}
	if err := base.Replace(t.FS, old); err != nil {
		return err
	}
	if err := made.Replace(t.FS, base); err != nil {
		return err
	}
	return t.forgetTail() // which is not of the new log, so it tells nothing of it before
}

// TrimEnd removes the blocks after a number from blocks.log. It fails if there are
// none, or no others.
func (t Tool) TrimEnd(last uint32) error {
	t = t.settle()
	b, err := t.openWhole()
	if err != nil {
		return err
	}
	defer b.seg.Close()
	switch {
	case last < b.preamble.First:
		return fmt.Errorf("All blocks are after block %d so do nothing (trim_end would delete entire blocks.log)", last) //nolint:staticcheck // nodeos' words
	case last > b.extent.head.num:
		return fmt.Errorf("There are no blocks after block %d so do nothing", last) //nolint:staticcheck // nodeos' words
	}
	if err := t.checkProven(b, last); err != nil {
		return err
	}
	end, err := b.position(last + 1)
	if err != nil {
		return err
	}
	if err := t.shorten(b.seg.base.Log(), end); err != nil {
		return err
	}
	if err := t.shorten(b.seg.base.Index(), int64(last-b.preamble.First+1)*positionBytes); err != nil {
		return err
	}
	return t.forgetTail() // what it tells of the shorter log is true until then
}

// checkProven returns an error if blocks up to a number may not be whole: a node that did not end properly
// has left checksums of what it had not synced, and a log without them would be believed.
func (t Tool) checkProven(b *bundle, last uint32) error {
	path := filepath.Join(t.Dir, TailName)
	m, records, ok, err := readTail(t.FS, path)
	if err != nil || !ok || last < m.next {
		return err
	}
	e, fits, err := b.followRecords(m, records, math.MaxInt64)
	if err != nil || !fits || e.blocks && e.head.num >= last {
		return err
	}
	return fmt.Errorf("%s: the blocks from offset %d on may not be whole, as the node did not end properly. Start it "+
		"once, stop it, and trim again; or, if another program has gone on with the log since, remove %s",
		b.path, e.end, path)
}

// forgetTail removes what a node that did not end properly has left of the checksums, durably: it
// is of no use where all of the log is durable, and another program would not know it.
func (t Tool) forgetTail() error {
	if err := removeFile(t.FS, filepath.Join(t.Dir, TailName)); err != nil {
		return err
	}
	return t.FS.SyncDir(t.Dir)
}

func (t Tool) shorten(path string, size int64) error {
	f, err := t.FS.Open(path, true)
	if err != nil {
		return err
	}
	err = f.Truncate(size)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
