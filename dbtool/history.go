package dbtool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"tarn/appendonly"
	"tarn/store"
	"tarn/store/engine"
	"tarn/store/vfs"
)

// Folders below that of a chain.
const (
	stateFolder   = "state"
	historyFolder = "history"
)

// depth is how far below chaindata a log may be.
const depth = 3

// target is what a folder has that can be verified.
type target struct {
	store string   // folder of a store, "" if there is none
	lock  string   // folder whose lock whoever writes the logs holds; "" if there is none
	logs  []string // folders of logs and indexes
	root  string   // of them
}

// find looks for what there is: a store, logs, or the folder of a chain with both.
func find(dir string) (t target, err error) {
	_, none := engine.Detect(dir)
	if none == nil {
		return target{store: dir}, nil
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() || !errors.Is(none, fs.ErrNotExist) {
		return t, none
	}
	t.root = dir
	state := filepath.Join(dir, stateFolder)
	if info, err := os.Stat(filepath.Join(dir, historyFolder)); err == nil && info.IsDir() {
		t.store, t.root = state, filepath.Join(dir, historyFolder)
	}
	if t.root, err = filepath.EvalSymlinks(t.root); err != nil {
		return t, err
	}
	err = filepath.WalkDir(t.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		is, err := appendonly.Is(vfs.OS, path)
		if is {
			t.logs = append(t.logs, path)
		}
		return err
	})
	if err != nil {
		return t, err
	}
	if len(t.logs) == 0 {
		return t, none
	}
	for at, n := t.root, 0; t.lock == "" && n <= depth; at, n = filepath.Dir(at), n+1 {
		if _, err := os.Stat(filepath.Join(at, engine.LockFile)); err == nil {
			t.lock = at
		}
	}
	return t, nil
}

// other is the folder to which segments of a log may have been moved, "" if there is none.
func other(log string) (string, error) {
	for at, n := log, 0; n <= depth; at, n = filepath.Dir(at), n+1 {
		other, err := appendonly.Paired(vfs.OS, at)
		if err != nil {
			return "", err
		}
		if other != "" {
			below, err := filepath.Rel(at, log)
			return filepath.Join(other, below), err
		}
	}
	return "", nil
}

// verifyHistory reads the logs and indexes of a folder.
func (v *Verification) verifyHistory(ctx context.Context, t *target, p *display, report func(error)) error {
	if t.lock != "" {
		lock, err := engine.Lock(t.lock)
		if err != nil {
			return err
		}
		defer lock.Close() //nolint:errcheck // nothing was written
	}
	var total int64
	for _, dir := range t.logs {
		total += sizeOf(dir)
	}
	p.begin("verifying the history", 0, total)
	p.unit = "bytes"
	defer p.end()
	for _, dir := range t.logs {
		old, err := other(dir)
		if damage := new(appendonly.CorruptError); errors.As(err, &damage) {
			report(err)
		} else if err != nil {
			return err
		}
		done, err := appendonly.Verify(appendonly.VerifyOptions{
			Dir: dir, OldDir: old, Damage: report,
			Notice: func(err error) { v.Notices = append(v.Notices, err.Error()) },
			Read: func(bytes int64) error {
				p.add(bytes)
				return checkStopped(ctx)
			},
		})
		if err != nil {
			return err
		}
		v.Logs++
		v.Entries, v.Postings, v.HistoryBytes = v.Entries+int64(done.Entries), v.Postings+
			int64(done.Postings), v.HistoryBytes+done.Bytes
	}
	return nil
}

// sizeOf adds up the files of a folder, for the time left; what is elsewhere is not counted.
func sizeOf(dir string) (n int64) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			n += info.Size()
		}
	}
	return n
}

// damageIn takes a finding in the history apart.
func damageIn(err error) (Damage, bool) {
	var c *appendonly.CorruptError
	if !errors.As(err, &c) {
		return Damage{}, false
	}
	return Damage{Path: c.Path, Table: -1, Page: -1, Offset: c.Offset, Detail: c.Detail}, true
}

// tooBroken tells whether an error of opening a store is damage.
func tooBroken(err error) bool {
	return errors.Is(err, store.ErrCorrupt) || errors.Is(err, store.ErrFault) || errors.Is(err, store.ErrFormat)
}

func (v *Verification) historyText() string {
	return fmt.Sprintf("%s: sound: %s entries and %s index postings in %d logs and indexes, %s",
		v.Path, formatGrouped(v.Entries), formatGrouped(v.Postings), v.Logs, size(v.HistoryBytes))
}
