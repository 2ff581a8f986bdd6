package gooperadir

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/syndtr/goleveldb/leveldb"
)

// makeDatabase makes a LevelDB with some rows.
func makeDatabase(t *testing.T, path string, rows map[string]string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	db, err := leveldb.OpenFile(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range rows {
		if err := db.Put([]byte(key), []byte(value), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func touch(t *testing.T, path string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o644)); err != nil {
		t.Fatal(err)
	}
}

// A folder that cannot be read is refused with the reason, and nothing is added to it.
func TestAFolderIsRefusedWithTheReason(t *testing.T) {
	flush, tables := string(metadataKey(flushSuffix)), string(metadataKey(tablesSuffix))
	const clean, dirty, other = "\x00\x01", "\xde\x01", "\x00\x02"
	for name, c := range map[string]struct {
		make func(dir string)
		want error
	}{
		"nothing":    {func(string) {}, ErrNoFolder},
		"unfinished": {func(dir string) { touch(t, dir+"/leveldb-fsh/x"); touch(t, dir+"/unfinished") }, ErrUnfinished},
		"old":        {func(dir string) { touch(t, dir+"/gossip/LOG") }, ErrOldLayout},
		"pebble":     {func(dir string) { touch(t, dir+"/pebble-fsh/main/CURRENT") }, ErrPebble},
		"empty":      {func(dir string) { touch(t, dir+"/leveldb-fsh/x") }, errNoDatabases},
		"no LOCK":    {func(dir string) { touch(t, dir+"/leveldb-fsh/main/CURRENT") }, errNotLevelDB},
		"dirty":      {func(dir string) { makeDatabase(t, dir+"/leveldb-fsh/main", map[string]string{flush: dirty}) }, ErrDirty},
		"no mark":    {func(dir string) { makeDatabase(t, dir+"/leveldb-fsh/main", map[string]string{"a": "b"}) }, ErrDirty},
		"other mark": {func(dir string) { makeDatabase(t, dir+"/leveldb-fsh/main", map[string]string{flush: "\x07"}) }, ErrVersion},
		"two flushes": {func(dir string) {
			makeDatabase(t, dir+"/leveldb-fsh/main", map[string]string{flush: clean})
			makeDatabase(t, dir+"/leveldb-flg/events", map[string]string{flush: other})
		}, ErrDirty},
		"no tables": {func(dir string) { makeDatabase(t, dir+"/leveldb-fsh/main", map[string]string{flush: clean}) }, ErrVersion},
		"no list": {func(dir string) {
			makeDatabase(t, dir+"/leveldb-fsh/main", map[string]string{flush: clean, tables: "\xff"})
		}, ErrVersion},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c.make(filepath.Join(dir, "chaindata"))
			before := listFolder(t, dir)
			for range 2 { // the locks are given back
				if f, err := Open(Options{Dir: dir}); !errors.Is(err, c.want) {
					t.Fatalf("%v, %v; want %v", f, err, c.want)
				}
			}
			if after := listFolder(t, dir); after != before {
				t.Errorf("there was %s, and is %s", before, after)
			}
		})
	}
}

// A database that somebody has open is refused.
func TestADatabaseInUseIsRefused(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "leveldb-fsh", "main")
	makeDatabase(t, path, nil)
	db, err := leveldb.OpenFile(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := Open(Options{Dir: dir}); !errors.Is(err, ErrInUse) {
		t.Error(err)
	}
}

// listFolder names the files below a folder.
func listFolder(t *testing.T, dir string) (all string) {
	t.Helper()
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		all += path + "\n"
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
