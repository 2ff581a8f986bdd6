package badger

import (
	"bytes"

	"github.com/dgraph-io/badger/v4"

	"tarn/store"
)

// cursor implements store.Cursor. It reads rows in chunks and holds no iterator
// between them: the library's iterators go one way only, cost much to make, and
// keep memtables from being let go.
type cursor struct {
	snapshot     *snapshot
	lower, upper []byte
	prefix       []byte // of all keys within the bounds

	rows     []row  // a run of neighbours, in the order of backward
	memory   []byte // their keys and values
	backward bool
	at       int // -1: on no row
	want     int // rows in the next chunk
	err      error
}

type row struct{ from, mid, to int } // key and value in memory

const (
	firstChunk = 16
	maxChunk   = 512
	chunkBytes = 256 << 10
)

// Cursor implements lsm.Snapshot.
func (s *snapshot) Cursor(lower, upper []byte) (store.Cursor, error) {
	c := &cursor{snapshot: s, lower: bytes.Clone(lower), upper: bytes.Clone(upper), at: -1}
	// Bounds that differ in the last byte of upper by one are those of a prefix.
	if n := len(upper); n <= len(lower) && n > 0 && bytes.Equal(lower[:n-1], upper[:n-1]) &&
		lower[n-1]+1 == upper[n-1] {
		c.prefix = c.lower[:n]
	}
	return c, nil
}

func (c *cursor) First() bool { return c.Seek(c.lower) }
func (c *cursor) Last() bool  { return c.SeekLT(c.upper) }

func (c *cursor) Seek(key []byte) bool {
	if bytes.Compare(key, c.lower) < 0 {
		key = c.lower
	}
	c.want = firstChunk
	return c.load(key, false)
}

func (c *cursor) SeekLT(key []byte) bool {
	if bytes.Compare(key, c.upper) > 0 {
		key = c.upper
	}
	c.want = firstChunk
	return c.load(key, true)
}

func (c *cursor) Next() bool { return c.step(false) }
func (c *cursor) Prev() bool { return c.step(true) }

// step moves within the chunk, or to the next one.
func (c *cursor) step(backward bool) bool {
	if c.at < 0 {
		return false
	}
	i := c.at + 1
	if backward != c.backward {
		i = c.at - 1
	}
	if i >= 0 && i < len(c.rows) {
		c.at = i
		return true
	}
	key := bytes.Clone(c.Key())
	if !backward {
		key = append(key, 0)
	}
	return c.load(key, backward)
}

// load reads a chunk: the rows from key on, or those before it.
func (c *cursor) load(key []byte, backward bool) bool {
	c.rows, c.memory, c.at, c.err, c.backward = c.rows[:0], c.memory[:0], -1, nil, backward
	it := c.snapshot.txn.NewIterator(badger.IteratorOptions{Reverse: backward, Prefix: c.prefix})
	defer it.Close()
	seek := key
	if backward && len(c.prefix) > 0 && bytes.Equal(key, c.upper) {
		// If there is a row at upper, which has another prefix, the walk would end
		// before it begins.
		seek = append(bytes.Clone(c.prefix), bytes.Repeat([]byte{0xff}, store.MaxKey)...)
	}
	for it.Seek(seek); it.Valid() && len(c.rows) < c.want && len(c.memory) < chunkBytes; it.Next() {
		item := it.Item()
		if backward && bytes.Compare(item.Key(), key) >= 0 {
			continue
		}
		if bytes.Compare(item.Key(), c.lower) < 0 || bytes.Compare(item.Key(), c.upper) >= 0 {
			break
		}
		if c.err = c.add(c.snapshot.base, item); c.err != nil {
			return false
		}
	}
	c.want = min(8*c.want, maxChunk)
	if len(c.rows) == 0 {
		return false
	}
	c.at = 0
	return true
}

func (c *cursor) add(b *Base, item *badger.Item) error {
	r := row{from: len(c.memory)}
	c.memory = append(c.memory, item.Key()...)
	r.mid = len(c.memory)
	memory, err := b.appendValue(c.memory, item)
	if err != nil {
		return err
	}
	c.memory = memory
	r.to = len(memory)
	c.rows = append(c.rows, r)
	return nil
}

func (c *cursor) Valid() bool { return c.at >= 0 }

func (c *cursor) Key() []byte {
	r := c.rows[c.at]
	return c.memory[r.from:r.mid:r.mid]
}

func (c *cursor) Value() []byte {
	r := c.rows[c.at]
	return c.memory[r.mid:r.to:r.to]
}

func (c *cursor) Err() error { return c.err }

func (c *cursor) Close() error {
	c.rows, c.memory, c.at = nil, nil, -1
	return nil
}
