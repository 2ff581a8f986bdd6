// Package gooperadir reads the data folder of a go-opera that has ended: its databases, as they
// lie in chaindata, in whichever of its LevelDB layouts.
//
// It owns what is known of their folders, names, keys and values, which go-opera's own code
// is the source of: integration/ and lachesis-base kvdb/multidb for the databases and their
// marks, gossip/store*.go and gossip/evmstore for the tables, abft/store*.go for consensus.
// It writes nothing there, and holds the locks of all that it reads, so that no go-opera
// starts meanwhile. What the values mean for a chain is its reader's business.
//
// # Layouts
//
// Each database has a list of the requests that it answers and of the prefixes under which
// their keys lie. A table is found by these lists, so that any layout is read that go-opera
// can be configured to write.
//
// # Goroutines
//
// After [Open] any goroutine may use a [Folder], several at once, until Close.
package gooperadir

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/lru"

	"tarn/store/vfs"
)

// What can be wrong with a folder.
var (
	ErrNoFolder   = errors.New("no data folder of go-opera")
	ErrInUse      = errors.New("it is in use: end the go-opera that has it open")
	ErrUnfinished = errors.New("go-opera was still applying its genesis")
	ErrDirty      = errors.New(
		"go-opera was killed while it wrote, and its databases do not agree; repair them with `opera db heal " +
			"--experimental`, with the options that go-opera was started with")
	ErrVersion = errors.New(
		"an unknown version of go-opera's databases; start and end go-opera v1.1.3 on them once, which brings " +
			"them up to date")
	ErrPebble = errors.New(
		"its Pebble databases are of a format that the library no longer reads; change them to LevelDB first with " +
			"`opera --db.preset ldb-1 db transform`, with the other options that go-opera was started with")
	ErrOldLayout = errors.New(
		"its databases are laid out as before go-opera v1.1.2; start and end go-opera v1.1.3 on them once with " +
			"--db.migration.mode reformat --db.preset legacy-ldb")
	ErrMalformed   = errors.New("malformed")
	errMissing     = errors.New("missing")
	errManyTables  = errors.New("two databases have it")
	errNotLevelDB  = errors.New("no LevelDB: it lacks its file LOCK or CURRENT")
	errNoDatabases = errors.New("it has no LevelDB databases")
)

// Options say which folder is read. Zero values stand for the defaults.
type Options struct {
	// Dir is the --datadir of go-opera, or the folder chaindata in it.
	Dir string
	// CacheBytes bounds what is kept in memory of the databases and of the nodes of tries:
	// 256 MiB.
	CacheBytes int64
}

// Folder is an open data folder.
type Folder struct {
	chaindata string
	locks     []io.Closer
	databases []*database
	tables    map[string]table // by request
	nodes     *lru.SizeConstrainedCache[common.Hash, []byte]
	preimages *lru.SizeConstrainedCache[common.Hash, []byte]
}

// kinds are the folders of databases in chaindata, and whether the databases in them carry
// the mark of the last flush.
var kinds = []struct {
	name    string
	flushed bool
}{{"leveldb-fsh", true}, {"leveldb-flg", true}, {"leveldb-drc", false}}

var pebbles = []string{"pebble-fsh", "pebble-flg", "pebble-drc"}

// Open opens a folder, and refuses one that is in use, dirty, or of a layout or version that
// it does not know. The error says what to do.
func Open(o Options) (*Folder, error) {
	if o.CacheBytes == 0 {
		o.CacheBytes = 256 << 20
	}
	f := &Folder{
		nodes:     lru.NewSizeConstrainedCacheWithKeySize[common.Hash, []byte](uint64(o.CacheBytes/2), hashSize),
		preimages: lru.NewSizeConstrainedCacheWithKeySize[common.Hash, []byte](uint64(o.CacheBytes/16), hashSize),
	}
	err := f.open(o)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read go-opera's folder %s: %w", o.Dir, err), f.Close())
	}
	return f, nil
}

func hashSize(common.Hash) uint64 { return common.HashLength + 64 } // with the map's part

func (f *Folder) open(o Options) error {
	if err := f.find(o.Dir); err != nil {
		return err
	}
	if err := f.openDatabases(o.CacheBytes); err != nil {
		return err
	}
	if err := checkFlushes(f.databases); err != nil {
		return err
	}
	if err := f.route(); err != nil {
		return err
	}
	return f.checkVersion()
}

// find finds chaindata, and refuses what can be told to be wrong by the names in it.
func (f *Folder) find(dir string) error {
	for _, candidate := range []string{filepath.Join(dir, "chaindata"), dir} {
		if anyThere(candidate, append([]string{kinds[0].name, kinds[2].name, "gossip"}, pebbles...)...) {
			f.chaindata = candidate
			break
		}
	}
	switch {
	case f.chaindata == "":
		return fmt.Errorf("%w: neither it nor chaindata in it has a folder %s or %s",
			ErrNoFolder, kinds[0].name, pebbles[0])
	case anyThere(f.chaindata, "unfinished"):
		return fmt.Errorf("%w: %s is there", ErrUnfinished, filepath.Join(f.chaindata, "unfinished"))
	case anyThere(f.chaindata, "gossip"):
		return fmt.Errorf("%w: %s is there", ErrOldLayout, filepath.Join(f.chaindata, "gossip"))
	}
	// go-opera holds this one as long as it runs, and the databases' while they are open.
	lock := filepath.Join(filepath.Dir(f.chaindata), "go-opera", "LOCK")
	if _, err := os.Stat(lock); err == nil {
		l, _, err := vfs.OS.Lock(lock, false)
		if errors.Is(err, vfs.ErrLocked) {
			return fmt.Errorf("%w: somebody holds %s", ErrInUse, lock)
		}
		if err != nil {
			return err
		}
		f.locks = append(f.locks, l)
	}
	return nil
}

func anyThere(dir string, names ...string) bool {
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// openDatabases opens all that there are.
func (f *Folder) openDatabases(cache int64) error {
	for _, kind := range pebbles {
		if names, err := f.names(kind); err != nil || len(names) > 0 {
			return errors.Join(err,
				fmt.Errorf("%w: %s is there", ErrPebble, filepath.Join(f.chaindata, kind, strings.Join(names, ", "))))
		}
	}
	for _, kind := range kinds {
		names, err := f.names(kind.name)
		if err != nil {
			return err
		}
		for _, name := range names {
			// Nearly all reads are of nodes, which are cached by themselves.
			db, err := openDatabase(filepath.Join(f.chaindata, kind.name, name), int(cache/16))
			if err != nil {
				return err
			}
			db.name, db.flushed = kind.name+"/"+name, kind.flushed
			f.databases = append(f.databases, db)
		}
	}
	if len(f.databases) == 0 {
		return errNoDatabases
	}
	return nil
}

// names lists the databases of a kind.
func (f *Folder) names(kind string) (names []string, err error) {
	entries, err := os.ReadDir(filepath.Join(f.chaindata, kind))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// Path returns the folder that is read.
func (f *Folder) Path() string { return f.chaindata }

// Close closes the databases and gives their locks back.
func (f *Folder) Close() (err error) {
	for _, db := range f.databases {
		err = errors.Join(err, db.close())
	}
	for _, l := range f.locks {
		err = errors.Join(err, l.Close())
	}
	f.databases, f.locks, f.tables = nil, nil, nil
	return err
}
