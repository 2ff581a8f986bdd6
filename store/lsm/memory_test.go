package lsm

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sort"
	"sync"
	"testing"

	"tarn/store"
)

// memoryBase is a library in memory. A memoryDisk outlives it, as a disk does a
// crash.
type memoryBase struct {
	folder *Folder
	disk   *memoryDisk

	failPut      int  // fail the n-th change and all after it; 0: none
	failCommit   bool // before anything has changed
	lieCommit    bool // after everything has changed
	failSnapshot bool
	puts         int
	batches      []map[string]string // what each committed batch held; "" deletes
}

type memoryDisk struct {
	mu   sync.Mutex
	rows []memoryRow
}

type memoryRow struct{ key, value string }

var errPlanted = errors.New("planted failure")

func (b *memoryBase) Folder() *Folder                 { return b.folder }
func (b *memoryBase) Metrics() Metrics                { return Metrics{} }
func (b *memoryBase) Verify(report func(error)) error { return nil }
func (b *memoryBase) Close() error                    { return b.folder.Leave() }
func (b *memoryBase) Snapshot() (Snapshot, error) {
	if b.failSnapshot {
		return nil, errPlanted
	}
	return &memorySnapshot{b.disk.copy()}, nil
}
func (b *memoryBase) Batch(size int64) (Batch, error) {
	return &memoryBatch{base: b, rows: map[string]string{}}, nil
}

func (d *memoryDisk) copy() []memoryRow {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.rows)
}

type memoryBatch struct {
	base *memoryBase
	last string
	rows map[string]string
}

func (b *memoryBatch) change(key, value string) error {
	if key <= b.last {
		return fmt.Errorf("key %x after %x", key, b.last)
	}
	b.last = key
	b.base.puts++
	if n := b.base.failPut; n > 0 && b.base.puts >= n {
		return errPlanted
	}
	b.rows[key] = value
	return nil
}

func (b *memoryBatch) Put(key, value []byte) error { return b.change(string(key), "="+string(value)) }
func (b *memoryBatch) Delete(key []byte) error     { return b.change(string(key), "") }
func (b *memoryBatch) Discard()                    {}

func (b *memoryBatch) Commit() error {
	if b.base.failCommit {
		return errPlanted
	}
	d := b.base.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	rows := map[string]string{}
	for _, r := range d.rows {
		rows[r.key] = r.value
	}
	for k, v := range b.rows {
		if v == "" {
			delete(rows, k)
		} else {
			rows[k] = v[1:]
		}
	}
	d.rows = nil
	for k, v := range rows {
		d.rows = append(d.rows, memoryRow{k, v})
	}
	slices.SortFunc(d.rows, func(a, b memoryRow) int { return bytes.Compare([]byte(a.key), []byte(b.key)) })
	b.base.batches = append(b.base.batches, b.rows)
	if b.base.lieCommit {
		return errPlanted
	}
	return nil
}

type memorySnapshot struct{ rows []memoryRow }

func (s *memorySnapshot) at(key []byte) int {
	return sort.Search(len(s.rows), func(i int) bool { return s.rows[i].key >= string(key) })
}

func (s *memorySnapshot) Get(dst, key []byte) ([]byte, error) {
	if i := s.at(key); i < len(s.rows) && s.rows[i].key == string(key) {
		return append(dst, s.rows[i].value...), nil
	}
	return nil, store.ErrNotFound
}

func (s *memorySnapshot) Cursor(lower, upper []byte) (store.Cursor, error) {
	return &memoryCursor{rows: (&memorySnapshot{s.rows[s.at(lower):s.at(upper)]}), i: -1}, nil
}

func (s *memorySnapshot) Close() error { return nil }

type memoryCursor struct {
	rows *memorySnapshot
	i    int
}

func (c *memoryCursor) to(i int) bool          { c.i = i; return c.Valid() }
func (c *memoryCursor) First() bool            { return c.to(0) }
func (c *memoryCursor) Last() bool             { return c.to(len(c.rows.rows) - 1) }
func (c *memoryCursor) Seek(key []byte) bool   { return c.to(c.rows.at(key)) }
func (c *memoryCursor) SeekLT(key []byte) bool { return c.to(c.rows.at(key) - 1) }
func (c *memoryCursor) Next() bool             { return c.Valid() && c.to(c.i+1) }
func (c *memoryCursor) Prev() bool             { return c.Valid() && c.to(c.i-1) }
func (c *memoryCursor) Valid() bool            { return c.i >= 0 && c.i < len(c.rows.rows) }
func (c *memoryCursor) Key() []byte            { return []byte(c.rows.rows[c.i].key) }
func (c *memoryCursor) Value() []byte          { return []byte(c.rows.rows[c.i].value) }
func (c *memoryCursor) Err() error             { return nil }
func (c *memoryCursor) Close() error           { return nil }

// openMemory opens an engine on a disk in memory; the folder has lock and seal.
func openMemory(t testing.TB, dir string, disk *memoryDisk, o Options) (*Engine, *memoryBase) {
	t.Helper()
	folder, err := Enter(nil, dir, "memory", false)
	if err != nil {
		t.Fatal(err)
	}
	b := &memoryBase{folder: folder, disk: disk}
	e, err := Open(b, o)
	if err != nil {
		t.Fatal(err)
	}
	return e, b
}
