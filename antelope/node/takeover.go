package node

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"

	"tarn/antelope/blocklog"
	"tarn/antelope/consensus"
	"tarn/antelope/types"
	"tarn/store/vfs"
)

// takenOver ends the name of nodeos' file of reversible blocks once they are in ours.
const takenOver = ".taken-over"

// takeOver copies the reversible blocks that nodeos left when it was stopped. Its
// file is renamed then, and not deleted: whoever goes back to the state that nodeos
// left needs it.
func (n *Node) takeOver() error {
	path := filepath.Join(n.o.BlocksDir, blocklog.ReversibleDir, consensus.FileName)
	f := consensus.NewForkDatabase()
	found, err := f.Load(path, n.chain.Features())
	if err != nil {
		return fmt.Errorf("take over the reversible blocks of nodeos: %w; if you remove the file, peers send these blocks again", err)
	}
	if !found {
		return nil
	}
	last, _, _ := n.log.Head()
	taken := 0
	for _, b := range takeOverOrder(f) {
		if b.BlockNum <= last {
			continue
		}
		if err := n.reversible.Append(b.Block.Append(nil)); err != nil {
			return fmt.Errorf("take over block %d: %w", b.BlockNum, err)
		}
		taken++
	}
	if err := n.reversible.Sync(); err != nil {
		return fmt.Errorf("take over the reversible blocks of nodeos: %w", err)
	}
	kept, err := n.setForkDatabaseAside()
	if err != nil {
		return fmt.Errorf("take over the reversible blocks of nodeos: %w", err)
	}
	n.o.Log.Info("Took over the reversible blocks of nodeos", "blocks", taken, "head", f.Head().BlockNum, "log", last, "kept", kept)
	return nil
}

// setForkDatabaseAside renames nodeos' file of reversible blocks, if there is one, and
// returns the name under which it is kept.
func (n *Node) setForkDatabaseAside() (kept string, err error) {
	path := filepath.Join(n.o.BlocksDir, blocklog.ReversibleDir, consensus.FileName)
	if err := vfs.RenameDurably(vfs.OS, path, path+takenOver); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	} else if err != nil {
		return "", err
	}
	return path + takenOver, nil
}

// takeOverOrder are the blocks of a fork database, each after the one that it
// follows: first those that lead to its head, so that the head will be the same.
func takeOverOrder(f *consensus.ForkDatabase) []*consensus.BlockState {
	list := f.FetchBranch(f.Head().ID, math.MaxUint32)
	slices.Reverse(list)
	known := make(map[types.Checksum256]bool, len(list))
	for _, b := range list {
		known[b.ID] = true
	}
	for _, b := range f.Blocks() {
		if !known[b.ID] {
			list = append(list, b)
		}
	}
	return list
}
