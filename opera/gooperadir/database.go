package gooperadir

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/ethereum/go-ethereum/rlp"
	"github.com/syndtr/goleveldb/leveldb"
	"github.com/syndtr/goleveldb/leveldb/filter"
	"github.com/syndtr/goleveldb/leveldb/iterator"
	"github.com/syndtr/goleveldb/leveldb/opt"
	"github.com/syndtr/goleveldb/leveldb/util"
)

// metadata begins the keys that a database has for itself (go-opera, integration/assembly.go).
const metadata = "\x00\x68\xc2\x92\x7b\xf8\x42\xc3\xe9\xe2\xf1\x36\x44\x94\xa3\x3a" +
	"\x75\x2d\xb3\x34\xb9\xa8\x19\x53\x4b\xc9\xf1\x7d\x2c\x3b\x4e\x59" +
	"\x70\x00\x8f\xf5\x19\xd3\x5a\x86\xf2\x9f\xca\xa5\xaa\xe7\x06\xb7" +
	"\x5d\xee\x87\x1f\x65\xf1\x74\xfc\xea\x17\x47\xf2\x91\x5f\xc9\x21" +
	"\x58\xf6\xbf\xbf\x5e\xb7\x9f\x65\xd1\x62\x25\x73\x85\x94\xbf\xfb"

// After metadata: of what names the last flush, and of the list of tables.
const (
	flushSuffix  = 0x0c
	tablesSuffix = 0x0d
)

// The flush mark begins with one of these (lachesis-base, kvdb/flushable/synced_pool.go).
const (
	cleanMark = 0x00
	dirtyMark = 0xde
)

func metadataKey(suffix byte) []byte { return append([]byte(metadata), suffix) }

// database is a LevelDB, opened for reading.
type database struct {
	name, path string
	flushed    bool // carries the mark of the last flush
	db         *leveldb.DB
}

// openDatabase opens a database. What its journal has that is in no table yet goes into
// memory, which is as much as go-opera had in memory for it.
func openDatabase(path string, cache int) (*database, error) {
	// The library would make a LOCK where there is none, which is no database's folder.
	for _, name := range []string{"LOCK", "CURRENT"} {
		if _, err := os.Stat(filepath.Join(path, name)); err != nil {
			return nil, fmt.Errorf("database %s: %w: %w", path, errNotLevelDB, err)
		}
	}
	db, err := leveldb.OpenFile(path, &opt.Options{
		ReadOnly: true, ErrorIfMissing: true, Strict: opt.StrictAll,
		Filter: filter.NewBloomFilter(10), OpenFilesCacheCapacity: 256, BlockCacheCapacity: cache,
		DisableSeeksCompaction: true, CompactionL0Trigger: math.MaxInt32, WriteL0SlowdownTrigger: math.MaxInt32,
		WriteL0PauseTrigger: math.MaxInt32, CompactionTotalSize: math.MaxInt64,
	})
	if errors.Is(err, syscall.EAGAIN) {
		return nil, fmt.Errorf("%w: somebody holds %s", ErrInUse, filepath.Join(path, "LOCK"))
	}
	if err != nil {
		return nil, fmt.Errorf("open database %s: %w", path, err)
	}
	return &database{path: path, db: db}, nil
}

func (d *database) close() error { return d.db.Close() }

// get reads a row, nil if there is none. It is the caller's.
func (d *database) get(key []byte) ([]byte, error) {
	value, err := d.db.Get(key, nil)
	if errors.Is(err, leveldb.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read key %x of database %s: %w", key, d.path, err)
	}
	return value, nil
}

// checkFlushes compares the marks of the last flush, which are the same in all databases
// that are flushed together.
func checkFlushes(all []*database) error {
	var first []byte
	var of string
	for _, d := range all {
		if !d.flushed {
			continue
		}
		mark, err := d.get(metadataKey(flushSuffix))
		switch {
		case err != nil:
			return err
		case len(mark) > 0 && mark[0] == dirtyMark:
			return fmt.Errorf("%w: %s has the mark %x", ErrDirty, d.path, mark)
		case len(mark) > 0 && mark[0] != cleanMark:
			return fmt.Errorf("%w: %s has the mark %x", ErrVersion, d.path, mark)
		case mark == nil:
			return fmt.Errorf("%w: %s has no mark", ErrDirty, d.path)
		case first == nil:
			first, of = mark, d.path
		case !bytes.Equal(mark, first):
			return fmt.Errorf("%w: %s has the mark %x, and %s has %x", ErrDirty, d.path, mark, of, first)
		}
	}
	return nil
}

// table is the part of a database that answers a request.
type table struct {
	*database
	prefix []byte
}

// route reads of each database which tables it has.
func (f *Folder) route() error {
	f.tables = map[string]table{}
	for _, d := range f.databases {
		raw, err := d.get(metadataKey(tablesSuffix))
		if err != nil {
			return err
		}
		var list []struct{ Request, Table string }
		if raw != nil {
			if err := rlp.DecodeBytes(raw, &list); err != nil {
				return fmt.Errorf("the list of tables of database %s: %w: %w", d.path, ErrVersion, err)
			}
		}
		for _, t := range list {
			if other, ok := f.tables[t.Request]; ok {
				return fmt.Errorf("table %s: %w: %s and %s", t.Request, errManyTables, other.path, d.path)
			}
			f.tables[t.Request] = table{d, []byte(t.Table)}
		}
	}
	for _, name := range tableNames {
		if _, ok := f.tables[name]; !ok {
			return fmt.Errorf("no database has the table %s: %w", name, ErrVersion)
		}
	}
	return nil
}

// key is where a key of the table lies.
func (t table) key(key []byte) []byte {
	return append(append(make([]byte, 0, len(t.prefix)+len(key)), t.prefix...), key...)
}

func (t table) get(key []byte) ([]byte, error) { return t.database.get(t.key(key)) }

// value reads a row in RLP, and tells whether there is one.
func (t table) value(key []byte, into any) (bool, error) {
	raw, err := t.get(key)
	if err != nil || raw == nil {
		return false, err
	}
	if err := rlp.DecodeBytes(raw, into); err != nil {
		return false, t.malformedError(key, err)
	}
	return true, nil
}

func (t table) malformedError(key []byte, err error) error {
	return fmt.Errorf("row %x of table %q of database %s: %w: %w", key, t.prefix, t.path, ErrMalformed, err)
}

// ascend calls each for the rows from a key on, whose slices are good until it returns,
// until it returns false.
func (t table) ascend(from []byte, each func(key, value []byte) (bool, error)) error {
	within := util.BytesPrefix(t.prefix)
	within.Start = t.key(from)
	rows := t.db.NewIterator(within, &opt.ReadOptions{DontFillCache: true})
	defer rows.Release()
	return t.walk(rows, each)
}

func (t table) walk(rows iterator.Iterator, each func(key, value []byte) (bool, error)) error {
	for rows.Next() {
		if bytes.HasPrefix(rows.Key(), []byte(metadata)) {
			continue
		}
		more, err := each(rows.Key()[len(t.prefix):], rows.Value())
		if err != nil {
			return err
		}
		if !more {
			return nil
		}
	}
	if err := rows.Error(); err != nil {
		return fmt.Errorf("walk table %q of database %s: %w", t.prefix, t.path, err)
	}
	return nil
}

// String names the databases, for operators.
func (f *Folder) String() string {
	var names []string
	for _, d := range f.databases {
		names = append(names, d.name)
	}
	return strings.Join(names, " ")
}
