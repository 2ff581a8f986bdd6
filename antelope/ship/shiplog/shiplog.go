// Package shiplog keeps the files of state history: an entry for each block, of traces
// or of changes of the state, which nodeos can read and go on with, and this package
// with nodeos' ([Log]). It owns those files, their repair after a crash, and what is let
// go of them.
//
// It knows nothing of what an entry says, and never decides which block is the right
// one: it keeps what it is given last.
//
// docs/formats/state-history.md tells the bytes.
package shiplog

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"tarn/antelope/logcatalog"
	"tarn/antelope/types"
	"tarn/store/vfs"
)

// Errors that callers branch on.
var (
	// ErrNotFound says that the log does not have a block.
	ErrNotFound = errors.New("block not in the history")
	// ErrMissed says that an entry cannot follow those that there are: blocks between
	// them, or a switch of forks, were not recorded.
	ErrMissed = errors.New("missed a block")
	// ErrCorrupt is wrapped by what is said of files that are not what they should be.
	ErrCorrupt = errors.New("corrupt history log")
	// ErrFailed is wrapped by what a log returns once a write or sync of it has failed:
	// nothing is appended until it is opened again. Reading goes on.
	ErrFailed = errors.New("an earlier write of the history failed; open it again")
)

// Options say where a log is and how much of it is kept.
type Options struct {
	Name   string        // of the files: trace_history, chain_state_history, finality_data_history
	Dir    string        // made if it isn't there
	FS     logcatalog.FS // nil for the machine's own
	Logger *slog.Logger

	// Retain is how many of the newest blocks are kept; 0 is all.
	Retain uint32
	// Partition, if not nil, begins new files now and then.
	Partition *Partition

	step int64 // how much a pruned log grows between two prunings; 0 for what nodeos has
}

// Partition is how a log is spread over several files.
type Partition struct {
	Retained string // folder of older files that are read
	Archive  string // folder for those that are not read any more; empty, they are deleted
	Stride   uint32 // a file ends with the block whose number it divides
	MaxFiles uint32 // how many older files are read
}

// Validate names all that is wrong.
func (o *Options) Validate() error {
	var errs []error
	add := func(text string) { errs = append(errs, fmt.Errorf("history log %s: %s", o.Name, text)) }
	if o.Name == "" || o.Dir == "" {
		add("it needs a name and a folder")
	}
	if o.Partition != nil {
		if o.Partition.Stride == 0 {
			add("a stride of 0 blocks")
		}
		if o.Partition.Retained == "" {
			add("no folder for retained files")
		}
		if o.Retain > 0 {
			add("it can be pruned or partitioned, not both")
		}
	}
	return errors.Join(errs...)
}

// pair is the file that is appended to, with its index.
func (o *Options) pair() logcatalog.Pair { return logcatalog.Pair(filepath.Join(o.Dir, o.Name)) }

func (o *Options) logPath() string   { return o.pair().Log() }
func (o *Options) indexPath() string { return o.pair().Index() }
func (o *Options) markPath() string  { return markPath(o.pair()) }

// markPath is where the mark of a log is.
func markPath(p logcatalog.Pair) string { return string(p) + ".mark" }

// Remove deletes the files of a log that is not open, retained ones too; those in an
// archive are the operator's.
func Remove(o Options) error {
	if err := o.Validate(); err != nil {
		return err
	}
	fs := o.fs()
	remove := []logcatalog.Pair{o.pair()}
	if o.Partition != nil {
		list, err := logcatalog.Parts(fs, o.Partition.Retained, o.Name, nil, nil)
		if err != nil {
			return err
		}
		for _, p := range list {
			remove = append(remove, p.Pair)
		}
	}
	there, err := fs.Exists(o.Dir)
	if err != nil || !there {
		return err
	}
	err = vfs.RemoveDurably(fs, o.markPath())
	for _, p := range remove {
		err = errors.Join(err, p.Remove(fs))
	}
	return err
}

func (o *Options) fs() logcatalog.FS {
	if o.FS == nil {
		return logcatalog.OS
	}
	return o.FS
}

// number is that of the block with this id.
func number(id types.Checksum256) uint32 { return types.BlockNum(id) }
