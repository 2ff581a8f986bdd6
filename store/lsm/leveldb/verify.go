package leveldb

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/syndtr/goleveldb/leveldb/storage"
	"github.com/syndtr/goleveldb/leveldb/table"
	"github.com/syndtr/goleveldb/leveldb/util"
)

// Verify implements lsm.Base: it reads every finished table in the folder from
// the disk, past all caches, and every log.
func (b *Base) Verify(report func(error)) error {
	all, err := b.files.disk.List(storage.TypeTable | storage.TypeJournal | storage.TypeManifest)
	if err != nil {
		return err
	}
	pool := util.NewBufferPool(b.options.GetBlockSize() + 5)
	for _, fd := range all {
		if b.files.isUnfinished(fd) {
			continue
		}
		err := b.verifyFile(fd, pool)
		switch {
		case err == nil, errors.Is(err, fs.ErrNotExist): // a compaction has replaced it
		default:
			report(translate(b.folder.Path(), err))
		}
	}
	return nil
}

func (b *Base) verifyFile(fd storage.FileDesc, pool *util.BufferPool) (err error) {
	// The library's storage opens a file only once, and may have it open.
	r, err := os.Open(filepath.Join(b.files.path, fd.String()))
	if err != nil {
		return err
	}
	size, err := r.Seek(0, io.SeekEnd)
	if err != nil {
		return errors.Join(err, r.Close())
	}
	if fd.Type != storage.TypeTable {
		defer func() { err = errors.Join(err, r.Close()) }()
		return b.verifyLog(fd, r)
	}
	t, err := table.NewReader(r, size, fd, nil, pool, b.options)
	if err != nil {
		return errors.Join(err, r.Close())
	}
	defer t.Release() // closes r
	it := t.NewIterator(nil, nil)
	defer it.Release()
	for it.Next() {
	}
	return it.Error()
}

// verifyLog finds damage that has a record behind it. An unfinished record at the
// end may be one that is being written.
func (b *Base) verifyLog(fd storage.FileDesc, r storage.Reader) error {
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return err
	}
	all, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if end, damaged := soundEnd(all); damaged {
		return corrupt(b.folder.Path(), fd,
			fmt.Errorf("a record after byte %d is damaged, and another follows it", end))
	}
	return nil
}
