package bench

import (
	"errors"

	"github.com/syndtr/goleveldb/leveldb"
	"github.com/syndtr/goleveldb/leveldb/filter"
	"github.com/syndtr/goleveldb/leveldb/iterator"
	"github.com/syndtr/goleveldb/leveldb/opt"
)

// bareLevelDB is goleveldb as its users use it: one write of a batch for a block,
// not synced.
type bareLevelDB struct {
	db    *leveldb.DB
	batch leveldb.Batch
}

// bloomBits is what all libraries get for each key.
const bloomBits = 10

func openLevelDB(dir string, memory int64, seekCompaction bool) (subject, error) {
	db, err := leveldb.OpenFile(dir, &opt.Options{
		BlockCacheCapacity:     int(memory / 4 * 3),
		WriteBuffer:            int(memory / 8), // twice: one fills while one is written
		Filter:                 filter.NewBloomFilter(bloomBits),
		DisableSeeksCompaction: !seekCompaction,
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
