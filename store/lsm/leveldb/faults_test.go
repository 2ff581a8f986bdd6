package leveldb

import (
	"errors"
	"sync/atomic"
	"testing"

	goleveldb "github.com/syndtr/goleveldb/leveldb"
	"github.com/syndtr/goleveldb/leveldb/storage"

	"tarn/store/lsm"
	"tarn/store/lsm/lsmtest"
)

var errPlanted = errors.New("planted failure")

// faultyStorage fails the writes, or the syncs, of one kind of file.
type faultyStorage struct {
	storage.Storage
	kind   storage.FileType
	sync   bool
	active atomic.Bool
}

func (f *faultyStorage) Create(fd storage.FileDesc) (storage.Writer, error) {
	w, err := f.Storage.Create(fd)
	if err != nil || fd.Type != f.kind {
		return w, err
	}
	return &faultyWriter{w, f}, nil
}

type faultyWriter struct {
	storage.Writer
	from *faultyStorage
}

func (w *faultyWriter) Write(p []byte) (int, error) {
	if w.from.active.Load() && !w.from.sync {
		n, err := w.Writer.Write(p[:len(p)/2])
		return n, errors.Join(errPlanted, err)
	}
	return w.Writer.Write(p)
}

func (w *faultyWriter) Sync() error {
	if w.from.active.Load() && w.from.sync {
		return errPlanted
	}
	return w.Writer.Sync()
}

func TestAFailingDiskEndsTheWritingOnly(t *testing.T) {
	library := lsmtest.Library{Open: func(dir string, readOnly bool) (lsm.Base, error) {
		return Open(Options{Dir: dir, CacheBytes: lsm.MinCache, ReadOnly: readOnly})
	}}
	for name, c := range map[string]struct {
		kind storage.FileType
		sync bool
		rows int
	}{
		"log write":   {storage.TypeJournal, false, 10},
		"log sync":    {storage.TypeJournal, true, 10},
		"list write":  {storage.TypeManifest, false, 20_000},
		"list sync":   {storage.TypeManifest, true, 20_000},
		"table write": {storage.TypeTable, false, 20_000},
		"table sync":  {storage.TypeTable, true, 20_000},
	} {
		t.Run(name, func(t *testing.T) {
			faulty := &faultyStorage{kind: c.kind, sync: c.sync}
			open := func(dir string) (lsm.Base, error) {
				folder, err := lsm.Enter(nil, dir, Kind, false)
				if err != nil {
					return nil, err
				}
				f, err := openFiles(folder.Path(), false)
				if err != nil {
					return nil, err
				}
				faulty.Storage = f.Storage
				f.Storage = faulty
				options := Options{CacheBytes: lsm.MinCache}.library()
				db, err := goleveldb.Open(f, options)
				return &Base{folder: folder, files: f, db: db, buffer: options.WriteBuffer, options: options}, err
			}
			lsmtest.Failing(t, library, open, func() { faulty.active.Store(true) },
				func() { faulty.active.Store(false) }, c.rows)
		})
	}
}
