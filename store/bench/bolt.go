package bench

import (
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"
)

// bareBolt is bbolt with its file mapped and its syncs left to Settle.
type bareBolt struct {
	db *bbolt.DB
	// A load commits now and then only: bbolt writes a page for every row that
	// comes alone.
	tx      *bbolt.Tx
	pending int
}

func boltBucket() []byte { return []byte("rows") }

func openBolt(dir string) (subject, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	db, err := bbolt.Open(filepath.Join(dir, "bolt.db"), 0o644, &bbolt.Options{
		NoSync: true, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType,
	})
	if err != nil {
		return nil, err
	}
	return &bareBolt{db: db}, nil
}

func (s *bareBolt) Apply(b *batch) error {
	return s.db.Update(func(tx *bbolt.Tx) error { return putBolt(tx, b, batchRows) })
}

func putBolt(tx *bbolt.Tx, b *batch, n int) error {
	bucket, err := tx.CreateBucketIfNotExists(boltBucket())
	if err != nil {
		return err
	}
	for i := range n {
		// bbolt keeps the value until the transaction ends.
		value := append([]byte(nil), b.values[i][:]...)
		if err := bucket.Put(b.keys[i][:], value); err != nil {
			return err
		}
	}
	return nil
}

const boltLoadRows = 100_000

func (s *bareBolt) Append(b *batch, n int) error {
	if s.tx == nil {
		tx, err := s.db.Begin(true)
		if err != nil {
			return err
		}
		s.tx = tx
	}
	if err := putBolt(s.tx, b, n); err != nil {
		return err
	}
	if s.pending += n; s.pending < boltLoadRows {
		return nil
	}
	return s.commit()
}

func (s *bareBolt) commit() error {
	if s.tx == nil {
		return nil
	}
	tx := s.tx
	s.tx, s.pending = nil, 0
	return tx.Commit()
}

func (s *bareBolt) Settle() error {
	if err := s.commit(); err != nil {
		return err
	}
	return s.db.Sync()
}

func (s *bareBolt) Close() error { return s.db.Close() }

func (s *bareBolt) Reader() (reader, error) {
	tx, err := s.db.Begin(false)
	if err != nil {
		return nil, err
	}
	return boltReader{tx, tx.Bucket(boltBucket())}, nil
}

type boltReader struct {
	tx     *bbolt.Tx
	bucket *bbolt.Bucket
}

func (r boltReader) Get(key []byte) ([]byte, error) { return r.bucket.Get(key), nil }
func (r boltReader) Close() error                   { return r.tx.Rollback() }
func (r boltReader) Cursor() (cursor, error)        { return &boltCursor{c: r.bucket.Cursor()}, nil }

type boltCursor struct {
	c          *bbolt.Cursor
	key, value []byte
}

func (c *boltCursor) Seek(key []byte) bool {
	c.key, c.value = c.c.Seek(key)
	return c.key != nil
}

func (c *boltCursor) Next() bool {
	c.key, c.value = c.c.Next()
	return c.key != nil
}

func (c *boltCursor) Key() []byte   { return c.key }
func (c *boltCursor) Value() []byte { return c.value }
func (c *boltCursor) Close() error  { return nil }
