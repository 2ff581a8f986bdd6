package node

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"tarn/antelope/blocklog"
	"tarn/antelope/consensus"
	"tarn/antelope/feature"
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
	blocks, found, err := leftBlocks(path, n.chain.Features())
	if err != nil {
		return fmt.Errorf(
			"take over the reversible blocks of nodeos: %w; if you remove the file, peers send these blocks again", err)
	}
	if !found {
		return nil
	}
	last, _, _ := n.log.Head()
	taken := 0
	for _, b := range blocks {
		if b.BlockNum() <= last {
			continue
		}
		if err := n.reversible.Append(b.Append(nil)); err != nil {
			return fmt.Errorf("take over block %d: %w", b.BlockNum(), err)
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
	n.o.Log.Info("Took over the reversible blocks of nodeos", "blocks", taken, "head", max(last, leadTo(blocks)),
		"log", last, "kept", kept)
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

// foreign are files of nodeos that nothing reads here, as far as they are there: its state, its
// cache of compiled contracts, and the reversible blocks of versions before Leap 3.1.
func (o *Options) foreign() (found []string) {
	reversible := filepath.Join(o.BlocksDir, blocklog.ReversibleDir)
	for _, path := range []string{
		filepath.Join(o.StateDir, "shared_memory.bin"), filepath.Join(o.StateDir, "shared_memory.meta"),
		filepath.Join(o.StateDir, "code_cache.bin"),
		filepath.Join(o.StateDir, "chain_head.dat"),
		filepath.Join(reversible, "shared_memory.bin"), filepath.Join(reversible, "shared_memory.meta"),
		filepath.Join(reversible, consensus.FileName+takenOver),
	} {
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
			found = append(found, path)
		}
	}
	return found
}

// tellForeign says that files of nodeos may go, and what they take, at each start while they are
// there: some are as large as memory, and on a file system in memory they are memory.
func (n *Node) tellForeign() {
	var disk, memory int64
	list := n.o.foreign()
	for _, path := range list {
		var st unix.Stat_t
		if unix.Lstat(path, &st) != nil {
			continue
		}
		const block = 512 // bytes, of st_blocks on every file system
		if in, err := vfs.OS.InMemory(filepath.Dir(path)); err == nil && in {
			memory += st.Blocks * block
			continue
		}
		disk += st.Blocks * block
	}
	if len(list) == 0 {
		return
	}
	takes := fmt.Sprintf("%.1f MiB of disk", float64(disk)/(1<<20))
	if memory > 0 {
		takes += fmt.Sprintf(" and %.1f MiB of memory, on a file system in memory", float64(memory)/(1<<20))
	}
	n.o.Log.Info(fmt.Sprintf(
		"Files of nodeos are left, which nothing reads here; they take %s. Delete them if you do not want to go "+
			"back to nodeos", takes),
		"files", strings.Join(list, " "))
}

// leftBlocks are the blocks of nodeos' file, Leap's or Spring's, each after the one that it follows:
// first those that lead to its head, so that the head will be the same.
func leftBlocks(path string, set *feature.Set) (blocks []*types.SignedBlock, found bool, err error) {
	f := consensus.NewForkDatabase(set)
	found, err = f.Load(path)
	if errors.Is(err, consensus.ErrSpring) {
		blocks, err = consensus.SpringBlocks(path)
		return blocks, true, err
	}
	if !found || err != nil {
		return nil, found, err
	}
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
	for _, b := range list {
		blocks = append(blocks, b.Block)
	}
	return blocks, true, nil
}

// leadTo is the number of the head to which the first of the blocks lead; 0 if there are none.
func leadTo(blocks []*types.SignedBlock) (head uint32) {
	for i, b := range blocks {
		if i > 0 && b.Previous != blocks[i-1].ID() {
			break
		}
		head = b.BlockNum()
	}
	return head
}
