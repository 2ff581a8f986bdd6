package pebble

import (
	"context"
	"errors"
	"io/fs"

	"github.com/cockroachdb/pebble/v2/sstable"

	"tarn/store/lsm"
)

// Verify implements lsm.Base: every block of every table is read from the disk,
// past the cache, and the order of the levels is checked.
func (b *Base) Verify(report func(error)) error {
	levels, err := b.db.SSTables()
	if err != nil {
		return translate(b.folder.Path(), err)
	}
	for _, level := range levels {
		for _, t := range level {
			name := b.files.PathJoin(b.folder.Path(), t.BackingSSTNum.String()+".sst")
			switch err := b.verifyTable(name); {
			case err == nil, errors.Is(err, fs.ErrNotExist): // a compaction has replaced it
			default:
				report(lsm.Damaged(name, err))
			}
		}
	}
	if err := b.db.CheckLevels(nil); err != nil {
		report(translate(b.folder.Path(), err))
	}
	return nil
}

func (b *Base) verifyTable(name string) error {
	f, err := b.files.Open(name)
	if err != nil {
		return err
	}
	readable, err := sstable.NewSimpleReadable(f)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	r, err := sstable.NewReader(context.Background(), readable, b.options.MakeReaderOptions())
	if err != nil {
		return errors.Join(err, readable.Close())
	}
	return errors.Join(r.ValidateBlockChecksums(), r.Close())
}
