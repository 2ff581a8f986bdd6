package node

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tarn/antelope/blocklog"
	"tarn/store"
	"tarn/store/engine"
	"tarn/store/vfs"
)

// lockBlocks takes the lock of a folder of blocks, which only one node may write.
func lockBlocks(dir string) (io.Closer, error) {
	lock, err := engine.Lock(dir)
	if errors.Is(err, store.ErrLocked) {
		return nil, fmt.Errorf("another node uses this blocks-dir: %w", err)
	}
	return lock, err
}

// lockRetained takes the lock of the folder of older parts of the log, where that is not in the
// folder of the blocks, whose lock tools look at, too.
func (n *Node) lockRetained() error {
	dir := n.o.retainedDir()
	if dir == "" {
		return nil
	}
	if rel, err := filepath.Rel(n.o.BlocksDir, dir); err == nil && !strings.HasPrefix(rel, "..") {
		return nil
	}
	lock, err := engine.Lock(dir)
	if errors.Is(err, store.ErrLocked) {
		err = fmt.Errorf("another node uses this blocks-retained-dir: %w", err)
	}
	if err == nil {
		n.histories = map[string]io.Closer{filepath.Clean(dir): lock}
	}
	return err
}

// unmet does the work of a tool that writes into folders, while no node uses them. Those of a
// node's own kind are locked in any case; others, where something is only put, if they are a
// node's or lie in one that is: such a folder has the file of a lock.
func unmet(own, others []string, do func() error) (err error) {
	held := map[string]io.Closer{}
	defer func() {
		for _, lock := range held {
			err = errors.Join(err, lock.Close())
		}
	}()
	take := func(dir string, make bool) error {
		path, err := filepath.Abs(dir)
		if err != nil {
			return err
		}
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		if held[path] != nil {
			return nil
		}
		if _, err := os.Stat(filepath.Join(path, engine.LockFile)); err != nil && !make {
			return nil //nolint:nilerr // it is no node's
		}
		lock, err := engine.Lock(path)
		if errors.Is(err, store.ErrLocked) {
			err = fmt.Errorf("a node uses this folder; stop it first: %w", err)
		}
		if err == nil {
			held[path] = lock
		}
		return err
	}
	for _, dir := range own {
		if err := errors.Join(take(dir, true), take(filepath.Join(dir, ".."), false)); err != nil {
			return err
		}
	}
	for _, dir := range others {
		if err := errors.Join(take(dir, false), take(filepath.Join(dir, ".."), false)); err != nil {
			return err
		}
	}
	return do()
}

// checkUnused tells whether another process uses one of the folders. [Open] takes their locks; this is
// for what comes before that, and must not be what a second node hears of.
func checkUnused(o *Options) error {
	folders := map[string]string{"blocks-dir": o.BlocksDir, "state-dir": o.StateDir}
	if o.History != nil {
		folders["state-history-dir"] = o.History.Dir
	}
	if o.Traces != nil {
		folders["trace-dir"] = o.Traces.Files.Dir
	}
	for _, option := range slices.Sorted(maps.Keys(folders)) {
		lock, err := engine.Lock(folders[option])
		if errors.Is(err, store.ErrLocked) {
			err = fmt.Errorf("another node uses this %s: %w", option, err)
		}
		if err != nil {
			return err
		}
		if err := lock.Close(); err != nil {
			return err
		}
	}
	return nil
}

// clearFolders deletes what the options ask to begin without (Leap:
// chain_plugin::plugin_initialize).
func clearFolders(o *Options) error {
	log := o.Log
	switch {
	case o.DeleteAllBlocks:
		log.Info("Deleting state database and blocks")
		if o.TruncateAt > 0 {
			log.Warn("The --truncate-at-block option does not make sense when deleting all blocks.")
		}
		return clearState(o.StateDir, func() error { return clearFolder(o.BlocksDir, engine.LockFile) })
	case o.HardReplay:
		if err := repairable(o.BlocksDir); err != nil {
			return err
		}
		log.Info("Hard replay requested: deleting state database")
		return clearState(o.StateDir, func() error { return recoverBlocks(o, o.TruncateAt) })
	case o.Replay:
		log.Info("Replay requested: deleting state database")
		if o.TruncateAt > 0 {
			log.Warn("The --truncate-at-block option does not work for a regular replay of the blockchain.")
		}
	case o.TruncateAt > 0:
		log.Warn("The --truncate-at-block option can only be used with --hard-replay-blockchain.")
	}
	last, interrupted, err := interruptedRecovery(o.BlocksDir)
	switch {
	case err != nil:
		return err
	case interrupted:
		log.Warn("A hard replay was interrupted before it had the blocks; it begins again")
		return clearState(o.StateDir, func() error { return recoverBlocks(o, last) })
	case o.Replay:
		if err := replayable(o); err != nil {
			return err
		}
		return clearState(o.StateDir, nil)
	}
	return nil
}

// replayable tells why a replay could not begin, while the state still is there. A log
// that cannot be read in this way is opened later, with what mends it.
func replayable(o *Options) error {
	first, err := blocklog.Tool{Dir: o.BlocksDir}.First(o.retainedDir())
	if o.Snapshot != "" || err != nil || first <= 1 {
		return nil
	}
	reason := fmt.Errorf("block log does not start with genesis block, but with block %d", first)
	if p, _, err := (blocklog.Tool{Dir: o.BlocksDir}).Context(o.retainedDir()); err == nil && p.Genesis == nil &&
		o.Genesis == nil {
		reason = errNoGenesis // nodeos asks for it first
	}
	return fmt.Errorf("%w: nothing was changed; start from a snapshot, or start without --replay-blockchain", reason)
}

// repairable tells why a hard replay would have no blocks, while the state still is there.
func repairable(blocksDir string) error {
	_, interrupted, err := interruptedRecovery(blocksDir)
	if err != nil || interrupted { // then the log may be in the backup only
		return err
	}
	if err := (blocklog.Tool{Dir: blocksDir}).Repairable(); err != nil {
		return fmt.Errorf("recover blocks: %w; nothing was changed, start without --hard-replay-blockchain", err)
	}
	return nil
}

// clearState deletes the state, which nobody may have open, and then does what else
// needs that.
func clearState(dir string, then func() error) error {
	lock, err := engine.Lock(dir)
	if err != nil {
		return fmt.Errorf("delete the state: %w", err)
	}
	if err = clearFolder(dir, engine.LockFile); err == nil && then != nil {
		err = then()
	}
	return errors.Join(err, lock.Close())
}

// clearFolder deletes what is in a folder, but not the folder, which may be a
// mount.
func clearFolder(dir string, keep ...string) error {
	list, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range list {
		if !slices.Contains(keep, e.Name()) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

// recoveryMark is a file in the blocks folder that says that a hard replay is at the
// blocks, and after which one it stops. While it is there the log may be in the
// backup only: without the mark a start would take that for a new chain.
const recoveryMark = "hard-replay.unfinished"

// interruptedRecovery tells whether a hard replay ended before it had the blocks, and
// its last block.
func interruptedRecovery(blocksDir string) (last uint32, interrupted bool, err error) {
	text, err := os.ReadFile(filepath.Join(blocksDir, recoveryMark))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 32)
	if err != nil {
		n = 0 // torn: nothing was moved yet
	}
	return uint32(n), true, nil
}

// recoverBlocks keeps of the blocks only what is whole, up to last if that is not 0.
func recoverBlocks(o *Options, last uint32) error {
	mark := filepath.Join(o.BlocksDir, recoveryMark)
	_, interrupted, err := interruptedRecovery(o.BlocksDir)
	if err != nil {
		return err
	}
	if interrupted {
		if err := putBack(o.BlocksDir); err != nil {
			return fmt.Errorf("take the block log of an interrupted hard replay back: %w", err)
		}
	}
	if _, err := os.Stat(filepath.Join(o.BlocksDir, blocklog.LogName)); err == nil {
		if err := vfs.WriteDurably(vfs.OS, mark, strconv.AppendUint(nil, uint64(last), 10)); err != nil {
			return err
		}
	}
	r, err := blocklog.Tool{Dir: o.BlocksDir, Logger: o.Log}.Repair(last)
	if err != nil {
		if r.Backup == "" { // nothing was moved
			err = errors.Join(err, vfs.RemoveDurably(vfs.OS, mark))
		}
		return fmt.Errorf("recover blocks: %w", err)
	}
	o.Log.Info("Recovered blocks", "head", r.Head, "backup", r.Backup, "stopped", r.Reason)
	return vfs.RemoveDurably(vfs.OS, mark)
}

// putBack moves a block log, which an interrupted recovery has moved to its backup,
// back.
func putBack(blocksDir string) error {
	log := filepath.Join(blocksDir, blocklog.LogName)
	if _, err := os.Stat(log); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	dir, name := filepath.Split(filepath.Clean(blocksDir))
	siblings, err := os.ReadDir(filepath.Clean(dir))
	if err != nil {
		return err
	}
	newest := ""
	for _, e := range siblings { // in order of their names, which end with times
		backup := filepath.Join(dir, e.Name(), blocklog.LogName)
		if _, err := os.Stat(backup); err == nil && strings.HasPrefix(e.Name(), name+"-") {
			newest = backup
		}
	}
	if newest == "" {
		return fmt.Errorf("%s is missing, and there is no backup of it beside the folder", log)
	}
	return vfs.RenameDurably(vfs.OS, newest, log)
}
