// Package parquet keeps a fleet's irreversible blocks in Parquet files: each block once, in the order of the chain.
//
// It owns the files and their names, when they count, what is held until it is irreversible, where an export goes
// on after it ended, and the table of changed rows. It knows no ledger: a [Ledger] turns a block into rows of the
// tables blocks and transactions. It never applies a move to a state, and never writes what can still be taken back.
//
// # Files
//
// Files come in sets: one of each table, of the same blocks. A set is written under names that end with ".unfinished".
// When all of it is durable, export.json says so, and how the files are called from then on; then they get these
// names. So a crash leaves the export with the sets that export.json counts, and a start ends what the crash
// interrupted.
//
// docs/formats/export.md says which columns the tables have.
package parquet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"tarn/fleet"
	"tarn/fleet/stream"
	"tarn/store/vfs"
)

// Options say what is exported, and where to. [Options.Validate] checks them all.
type Options struct {
	Dir    string // of the files; made if it is missing
	FS     vfs.FS // nil is vfs.OS
	Ledger Ledger
	Stream stream.Options
	// BlocksPerFile ends a set of files with each block whose number is a multiple of it; 0 is 10,000.
	BlocksPerFile uint64
	// RowGroup is how many bytes of rows, before they are compressed, a file holds in memory; 0 is 32 MiB.
	RowGroup int64
	// Held is how many bytes of blocks that can still be taken back are held in memory; 0 is 512 MiB.
	Held int64
	// Until ends the export with the first block of this number or above; 0 is for no end.
	Until uint64
	// FromHere leaves a gap where the stream does not have what follows the last file.
	FromHere bool
	Log      *slog.Logger // nil for none
}

// Defaults of what is not said.
const (
	defaultBlocksPerFile = 10_000
	defaultRowGroup      = 32 << 20
	defaultHeld          = 512 << 20
)

// Validate checks all options, and says all that is wrong.
func (o *Options) Validate() error {
	var errs []error
	if o.Dir == "" {
		errs = append(errs, errors.New("no folder is named for the files"))
	}
	if o.Ledger.tables == nil {
		errs = append(errs, errors.New("no ledger is named"))
	}
	if o.RowGroup < 0 || o.Held < 0 {
		errs = append(errs, errors.New("--row-group-mb and --memory-mb must not be negative"))
	}
	return errors.Join(append(errs, o.Stream.Validate())...)
}

func (o *Options) withDefaults() Options {
	d := *o
	if d.FS == nil {
		d.FS = vfs.OS
	}
	if d.BlocksPerFile == 0 {
		d.BlocksPerFile = defaultBlocksPerFile
	}
	if d.RowGroup == 0 {
		d.RowGroup = defaultRowGroup
	}
	if d.Held == 0 {
		d.Held = defaultHeld
	}
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	return d
}

// ErrGap says that the stream does not have the blocks that follow the last file.
var ErrGap = errors.New("the stream does not have the blocks that follow")

// ErrOtherChain says that the stream has another block in the place of one that a file has.
var ErrOtherChain = errors.New("the stream is of another chain")

// errEnd says that the block was written that the export ends with.
var errEnd = errors.New("the export is complete")

// Run exports until ctx ends, which is no error, or the block Until was written. The options are valid. An error that
// wraps [ErrGap], [ErrOtherChain], [fleet.ErrDamaged] or [fleet.ErrTooLarge] says that the stream cannot be exported;
// the files are good up to the block that it names.
func Run(ctx context.Context, o Options) (err error) {
	o = o.withDefaults()
	w, err := openWriter(&o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	if o.Until > 0 && w.last.Revision >= o.Until {
		return nil
	}
	tail, err := stream.NewTail(o.Stream, stream.RoleExport)
	if err != nil {
		return fmt.Errorf("export to %s: %w", o.Dir, err)
	}
	defer tail.Close()
	tail.Stand(w.last)
	w.told = tail.Stand
	err = tail.Run(ctx, newOrder(&o, w))
	if err == nil || errors.Is(err, errEnd) {
		return nil
	}
	return fmt.Errorf("export to %s: %w", o.Dir, err)
}

// sink is where irreversible blocks go.
type sink interface {
	// write writes a block, of which nothing is kept. errEnd says that it was the last one.
	write(b *fleet.Block) error
	// written is the block that was written last, false if there is none.
	written() (fleet.Point, bool)
}
