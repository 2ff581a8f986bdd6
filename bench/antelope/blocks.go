package antelope

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"tarn/antelope/blocklog"
	"tarn/antelope/types"
	"tarn/bench/record"
	"tarn/store/vfs"
)

// blocks is a chain whose blocks lie in a folder.
type blocks struct {
	dir   string
	chain record.Chain
	more  int // room for its state, in MiB, besides what is usual

	// AllChecks has imports check all that a node checks of a block that a peer sent, such as
	// signatures; without it they trust the blocks of their own folder, as a start does.
	AllChecks bool
}

// Recorded is the chain of a block log that a node left. Nobody here has its keys: it can be
// applied and synced, and goes no further.
type Recorded struct{ blocks }

// NewRecorded is the network of a folder with a block log, such as a node's folder blocks.
func NewRecorded(dir string) *Recorded { return &Recorded{blocks{dir: dir}} }

// Chain reads all of the log, for its hash.
func (r *Recorded) Chain(ctx context.Context, tell func(string)) (record.Chain, error) {
	if r.chain.SHA256 != "" {
		return r.chain, nil
	}
	tell("reading the chain in " + r.dir)
	c := record.Chain{Protocol: "antelope"}
	genesis, err := r.genesis()
	if err != nil {
		return c, err
	}
	c.ID = genesis.ChainID().String()
	last, err := (blocklog.Tool{Dir: r.dir}).Last()
	if err != nil {
		return c, fmt.Errorf("read the chain in %s: %w", r.dir, err)
	}
	c.Blocks = uint64(last)
	c.SHA256, c.Bytes, err = hashFile(filepath.Join(r.dir, blocklog.LogName))
	r.chain = c
	return c, err
}

// genesis is what the log begins with.
func (b *blocks) genesis() (*types.Genesis, error) {
	g, err := (blocklog.Tool{Dir: b.dir}).Genesis("")
	if err == nil && g == nil {
		err = errors.New("it does not begin with a genesis: only a log from the first block can be measured")
	}
	if err != nil {
		return nil, fmt.Errorf("read the genesis of the chain in %s: %w", b.dir, err)
	}
	return g, nil
}

// Install puts the chain's blocks where a node of the folder looks for them.
func (b *blocks) Install(dir string) error {
	to := filepath.Join(dir, "blocks")
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for _, name := range []string{blocklog.LogName, blocklog.IndexName} {
		if err := vfs.CopyFile(vfs.OS, filepath.Join(b.dir, name), filepath.Join(to, name)); err != nil {
			return fmt.Errorf("give the node its blocks: %w", err)
		}
	}
	return nil
}
