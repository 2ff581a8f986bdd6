package bench

import (
	"errors"

	"github.com/syndtr/goleveldb/leveldb"
	"github.com/syndtr/goleveldb/leveldb/filter"
	"github.com/syndtr/goleveldb/leveldb/iterator"
	"github.com/syndtr/goleveldb/leveldb/opt"
)

// bareLevelDB is goleveldb as its users use it: one write of a batch for a block,
// not synced. As with the other libraries, filters and the shape of the levels are
// those that the engine over it has, so that the seam is all the difference.
type bareLevelDB struct {
	db    *leveldb.DB
	batch leveldb.Batch
}

// bloomBits is what all libraries get for each key.
const bloomBits = 10

func openLevelDB(dir string, b budget, seekCompaction bool) (subject, error) {
	db, err := leveldb.OpenFile(dir, &opt.Options{
		BlockCacheCapacity:     int(b.blocks()),
		WriteBuffer:            int(b.memtable()),
		Filter:                 filter.NewBloomFilter(bloomBits),
		DisableSeeksCompaction: !seekCompaction,
		CompactionTableSize:    8 << 20,
		CompactionTotalSize:    64 << 20,
		OpenFilesCacheCapacity: 1000,
	})
	if err != nil {
		return nil, err
	}
	return &bareLevelDB{db: db}, nil
}

func (l *bareLevelDB) Apply(b *batch) error { return l.Append(b, batchRows) }

func (l *bareLevelDB) Append(b *batch, n int) error {
	l.batch.Reset()
	for i := range n {
		l.batch.Put(b.keys[i][:], b.values[i][:])
	}
	return l.db.Write(&l.batch, nil)
}

// Settle syncs the log, and with it all that was written before.
func (l *bareLevelDB) Settle() error {
	l.batch.Reset()
	l.batch.Delete([]byte("none"))
	return l.db.Write(&l.batch, &opt.WriteOptions{Sync: true})
}

func (l *bareLevelDB) Close() error { return l.db.Close() }

func (l *bareLevelDB) Reader() (reader, error) {
	s, err := l.db.GetSnapshot()
	if err != nil {
		return nil, err
	}
	return levelReader{s}, nil
}

type levelReader struct{ snapshot *leveldb.Snapshot }

func (r levelReader) Get(key []byte) ([]byte, error) { return r.snapshot.Get(key, nil) }

func (r levelReader) Cursor() (cursor, error) {
	return levelCursor{r.snapshot.NewIterator(nil, nil)}, nil
}

func (r levelReader) Close() error {
	r.snapshot.Release()
	return nil
}

type levelCursor struct{ iterator.Iterator }

func (c levelCursor) Close() error {
	c.Release()
	return errors.Join(c.Error())
}
