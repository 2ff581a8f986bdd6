package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"tarn/opera/chain"
	"tarn/store"
	"tarn/store/engine"
	"tarn/store/vfs"
)

func (n *Node) dir() string        { return filepath.Join(n.o.Dir, "chaindata") }
func (n *Node) stateDir() string   { return filepath.Join(n.dir(), "state") }
func (n *Node) historyDir() string { return filepath.Join(n.dir(), "history") }

// Folders that go-opera makes in chaindata, one for each way to use a database.
var operas = []string{"leveldb-fsh", "leveldb-flg", "leveldb-drc", "pebble-fsh", "pebble-flg", "pebble-drc"}

// errlock is a file in the data folder with which go-opera, and our emitter, forbid a start
// after an error that an operator must look at.
const errlock = "errlock"

// inUse is why the data folder cannot be used, nil if nobody uses it. It leaves no trace.
func (l *invocation) inUse() error {
	dir := filepath.Join(l.Node.DataDir, "chaindata")
	if _, err := os.Stat(filepath.Join(dir, engine.LockFile)); err != nil {
		return nil
	}
	lock, err := engine.Lock(dir)
	if errors.Is(err, store.ErrLocked) {
		return fmt.Errorf("another node uses this datadir: %w", err)
	}
	if err != nil {
		return err
	}
	return lock.Close()
}

// openFolder takes the lock and looks at what is there.
func (n *Node) openFolder() error {
	if text, err := os.ReadFile(filepath.Join(n.o.Dir, errlock)); err == nil {
		return fmt.Errorf(
			"Node isn't allowed to start due to a previous error. Please fix the issue and then delete file %q. "+
				"Error message:\n%.5000s",
			filepath.Join(n.o.Dir, errlock), text)
	}
	for _, name := range operas {
		if _, err := os.Stat(filepath.Join(n.dir(), name)); err == nil {
			return fmt.Errorf(
				"%s is a folder of go-opera's: take it over into another one, `tarn opera --datadir OTHER import "+
					"datadir %s`, and start with --datadir OTHER", n.dir(), n.o.Dir)
		}
	}
	if n.o.Genesis == nil && !n.fleet.replicates() {
		// A mistaken path must not become a folder.
		if _, err := os.Stat(n.stateDir()); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w in %s: start with --genesis FILE or --fakenet n/N", chain.ErrEmpty, n.o.Dir)
		}
	}
	if err := n.makeFolders(); err != nil {
		return err
	}
	lock, err := engine.Lock(n.dir())
	if errors.Is(err, store.ErrLocked) {
		return fmt.Errorf("another node uses this datadir: %w", err)
	}
	if err != nil {
		return err
	}
	n.lock = lock
	return nil
}

// makeFolders makes the data folder and those in it that are missing, for their owner alone, as
// go-opera does. One that is there stays as an operator has made it.
func (n *Node) makeFolders() error {
	for _, dir := range []string{n.dir(), n.Dir("")} {
		if err := vfs.MkdirAll(vfs.Private, dir); err != nil {
			return fmt.Errorf("make the data folder: %w", remedy(err))
		}
	}
	return nil
}

// openStore opens the store, and makes the logs ready to be opened by the chain.
func (n *Node) openStore(unfinished bool) error {
	n.history = chain.NewHistory(n.historyOptions())
	eo := n.o.Engine
	eo.BeforeCheckpoint, eo.Unfinished = n.history.Sync, unfinished
	if eo.Kind == "" {
		found, err := engine.Detect(n.stateDir())
		switch {
		case err == nil:
			eo.Kind = found
		case errors.Is(err, fs.ErrNotExist) && unfinished:
			eo.Kind = engine.Page
		default:
			return err
		}
	}
	n.o.Engine = eo
	s, err := engine.Open(n.stateDir(), eo)
	if err != nil {
		return fmt.Errorf("open the state: %w", remedy(err))
	}
	n.store = s
	return nil
}

// historyOptions say where the logs are. Folders that are written down in files have whole paths.
func (n *Node) historyOptions() chain.HistoryOptions {
	o := n.o.History
	o.Dir = whole(n.historyDir())
	if o.OldDir != "" {
		o.OldDir = whole(o.OldDir)
	}
	if o.FS == nil {
		o.FS = vfs.Count(vfs.OS, &n.written)
	}
	o.Notice = func(err error) { n.o.Log.Warn("History", "notice", err) }
	return o
}

// whole is the whole path of a folder, where that can be known.
func whole(dir string) string {
	if path, err := filepath.Abs(dir); err == nil {
		return path
	}
	return dir
}
