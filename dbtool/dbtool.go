// Package dbtool is `tarn db`: it looks into state stores of any engine, verifies
// them and the logs of history, prints their rows, and moves them from one engine to another. It owns
// the commands' words, their exit codes and the fields of their JSON
// (docs/db.md). It never repairs a store in place, and opens what it only looks at
// for reading only.
package dbtool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"tarn/internal/exit"
	"tarn/store"
	"tarn/store/engine"
	"tarn/store/page"
)

// Exit codes of all commands.
const (
	exitDamaged     = 1   // the store is damaged
	exitFailed      = 2   // the command could not do its work
	exitInterrupted = 130 // stopped by a signal
)

var (
	errDamaged     = errors.New("the store is damaged")
	errHistory     = errors.New("the history is damaged")
	errInterrupted = errors.New("interrupted")
)

// explain gives an error its exit code and its remedy.
func explain(err error) error {
	if err == nil {
		return nil
	}
	f := &exit.Error{Err: err, Code: exitFailed}
	switch {
	case errors.Is(err, errInterrupted), errors.Is(err, context.Canceled):
		f.Code = exitInterrupted
	case errors.Is(err, errDamaged):
		f.Code = exitDamaged
		f.Remedy = "restore the folder from a copy or a snapshot; `tarn db dump` prints what can still be read"
	case errors.Is(err, errHistory):
		f.Code = exitDamaged
		f.Remedy = "restore the files from a copy; indexes (RUNS, .run) are made again by a start"
	case errors.Is(err, store.ErrCorrupt), errors.Is(err, store.ErrFault):
		f.Code = exitDamaged
		f.Remedy = "`tarn db verify` on the folder lists all of the damage"
	case errors.Is(err, store.ErrLocked):
		f.Remedy = "stop the process that holds the store, or work on a copy of the folder"
	case errors.Is(err, store.ErrVersion):
		f.Remedy = "use the build that wrote the store"
	case errors.Is(err, store.ErrFull):
		f.Remedy = "run the command again with a larger --limit, or on a larger disk"
	case errors.Is(err, fs.ErrPermission):
		f.Remedy = "run as the user who owns the folder"
	case errors.Is(err, fs.ErrNotExist):
		f.Remedy = "give the folder that holds the store itself"
	}
	return f
}

// open opens a store for reading. One that can only be read after it was opened
// for writing is: that loses nothing, and whoever uses the store next would do it.
func open(dir string, o engine.Options) (store.Engine, error) {
	kind, err := engine.Detect(dir)
	if err != nil {
		return nil, err
	}
	o.ReadOnly, o.Mode = true, page.Mapped
	if unclosed, err := engine.Unclosed(dir, kind); err != nil {
		return nil, err
	} else if unclosed {
		e, err := engine.OpenRows(dir, engine.Options{Unfinished: o.Unfinished})
		if err != nil {
			return nil, err
		}
		if err := e.Close(); err != nil {
			return nil, err
		}
	}
	return engine.OpenRows(dir, o)
}

// checkStopped is errInterrupted once the work shall stop.
func checkStopped(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return errInterrupted
}

// checkImage tells whether what an engine recovered holds together: a revision for
// each undo journal, and journals that can be read.
func checkImage(path string, im store.Image, tables int) []error {
	damage := func(format string, args ...any) error {
		return &store.CorruptError{Path: path, Table: -1, Page: -1, Offset: -1, Detail: fmt.Sprintf(format, args...)}
	}
	if im.Head < im.Irreversible || im.Head-im.Irreversible != uint64(len(im.Undo)) {
		return []error{damage("head %d and irreversible revision %d with undo data of %d revisions",
			im.Head, im.Irreversible, len(im.Undo))}
	}
	var errs []error
	for i, journal := range im.Undo {
		err := store.Changed(journal, func(t store.Table, _, _ []byte, _ bool) error {
			if t == 0 || int(t) > tables {
				return fmt.Errorf("a row of table %d, of %d tables", t, tables)
			}
			return nil
		})
		if err != nil {
			errs = append(errs, damage("undo data of revision %d: %v", im.Irreversible+uint64(i)+1, err))
		}
	}
	return errs
}
