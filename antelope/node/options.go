package node

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"time"

	"tarn/antelope/blocklog"
	"tarn/antelope/chain"
	"tarn/antelope/tracelog"
	"tarn/antelope/types"
	"tarn/fleet/fleetnode"
	"tarn/store/engine"
)

// Options are what a node is started with. Paths are used as they are; what is
// relative in a configuration file was made absolute by whoever read it.
type Options struct {
	StateDir     string
	BlocksDir    string
	SnapshotsDir string
	Log          *slog.Logger // required

	Genesis  *types.Genesis // for a new chain, or to be compared with the one there is; nil for none
	Snapshot string         // file to start from; "" for none

	DeleteAllBlocks bool
	HardReplay      bool
	Replay          bool
	TruncateAt      uint32 // with HardReplay; 0 for no end
	TerminateAt     uint32 // stop after this block; 0 for never

	Engine   engine.Options     // of the state; BeforeCheckpoint is the node's own
	Blocks   blocklog.Options   // Dir and Logger are the node's own
	Chain    chain.Options      // the logs are the node's own
	History  *History           // nil for none
	Traces   *tracelog.Options  // nil for none
	DeepMind io.Writer          // told all that the chain does, a line at a time; nil for nothing
	Fleet    *fleetnode.Options // nil for none
	// how long the blocks after the last checkpoint may take to be applied again; 0 for any time
	Recovery time.Duration

	IntegrityHashOnStart bool
	IntegrityHashOnStop  bool
	ReplayOnly           bool // end when the head is reached
	// Follower says that no blocks are signed here. Reversible blocks that are damaged come from peers
	// again then, instead of ending the start.
	Follower bool
}

// Validate checks the options together.
func (o *Options) Validate() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if o.StateDir == "" || o.BlocksDir == "" {
		fail("state-dir and blocks-dir must be given")
	}
	if o.StateDir != "" && filepath.Clean(o.StateDir) == filepath.Clean(o.BlocksDir) {
		fail("state-dir and blocks-dir are both %s", o.StateDir)
	}
	if o.Snapshot != "" && o.Genesis != nil {
		fail("--snapshot is incompatible with --genesis-json as the snapshot contains genesis information")
	}
	if o.Recovery < 0 {
		fail("the recovery-time target is %s", o.Recovery)
	}
	if o.Log == nil {
		fail("no log")
	}
	if o.Traces != nil {
		errs = append(errs, o.Traces.Files.Validate())
	}
	if o.Fleet != nil {
		errs = append(errs, o.Fleet.Validate())
	}
	blocks := o.Blocks
	blocks.Dir = o.BlocksDir
	return errors.Join(append(errs, blocks.Validate())...)
}

// retainedDir is the folder of a partitioned log's older parts, "" for no such log.
func (o *Options) retainedDir() string {
	b := &o.Blocks
	switch {
	case b.RetainedDir != nil && filepath.IsAbs(*b.RetainedDir):
		return *b.RetainedDir
	case b.RetainedDir != nil:
		return filepath.Join(o.BlocksDir, *b.RetainedDir)
	case b.Stride != nil || b.MaxRetainedFiles != nil || b.ArchiveDir != nil:
		return o.BlocksDir
	}
	return ""
}
