package consensus

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"tarn/antelope/exception"
	"tarn/antelope/feature"
	"tarn/antelope/serial"
	"tarn/antelope/types"
	"tarn/store/vfs"
)

// FileName is the name of nodeos' file in the folder of reversible blocks.
const FileName = "fork_db.dat"

// The start of the file of version 1, Leap's only one.
const (
	fileMagic   = 0x30510FDB
	fileVersion = 1
)

// maxFile bounds the file that Load reads: it is held in memory twice.
const maxFile = 4 << 30

// Load reads nodeos' file, and tells whether it is there; if it is not, the fork
// database does not change. A file of Spring is an error that wraps ErrSpring. Nodeos
// deletes the file then; here that is the caller's to do, once nothing depends on it any more.
func (f *ForkDatabase) Load(path string) (found bool, err error) {
	b, found, err := readFile(path)
	if !found || err != nil {
		return found, err
	}
	return true, f.Decode(b, path)
}

// readFile reads a fork database, if there is one.
func readFile(path string) (b []byte, found bool, err error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err == nil && info.Size() > maxFile {
		err = fmt.Errorf("%d bytes, more than %d", info.Size(), int64(maxFile))
	}
	if err == nil {
		b, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, true, fmt.Errorf("read the fork database: %w", err)
	}
	return b, true, nil
}

// Save writes nodeos' file, whole or not at all.
func (f *ForkDatabase) Save(path string) error {
	b, err := f.Encode()
	if err != nil {
		return err
	}
	if err := vfs.WriteDurably(vfs.OS, path, b); err != nil {
		return fmt.Errorf("write the fork database: %w", err)
	}
	return nil
}

// Encode returns the content of nodeos' file. Every block comes after the one that
// it follows, and otherwise in the order of nodeos.
func (f *ForkDatabase) Encode() ([]byte, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.root == nil {
		return nil, exception.New(exception.ForkDatabase, "root not yet set")
	}
	b := serial.AppendUint32(nil, fileMagic)
	b = serial.AppendUint32(b, fileVersion)
	b = f.root.HeaderState.Append(b)
	b = serial.AppendCount(b, len(f.blocks))
	for _, n := range f.orderedNodes() {
		b = appendBlockState(b, n.BlockState, n.valid)
	}
	return append(b, f.head.ID[:]...), nil
}

// Blocks returns all blocks in the order of nodeos' file: each after the one that it
// follows, and otherwise from the worst to the best.
func (f *ForkDatabase) Blocks() []*BlockState {
	f.mu.RLock()
	defer f.mu.RUnlock()
	nodes := f.orderedNodes()
	list := make([]*BlockState, len(nodes))
	for i, n := range nodes {
		list[i] = n.BlockState
	}
	return list
}

func (f *ForkDatabase) orderedNodes() []*branchNode {
	list := make([]*branchNode, 0, len(f.blocks))
	others, valid := f.ranks[index(false)], f.ranks[index(true)]
	written := map[*branchNode]bool{}
	for len(others)+len(valid) > 0 {
		next := &valid
		if len(valid) == 0 || len(others) > 0 && f.better(valid[0].HeaderState, others[0].HeaderState) {
			next = &others
		}
		// A change of schedule can take the irreversible block back, and put a block
		// before those that it follows.
		first := len(list)
		for n := (*next)[0]; n != nil && !written[n]; n = f.blocks[n.Header.Previous] {
			written[n] = true
			list = append(list, n)
		}
		slices.Reverse(list[first:])
		*next = (*next)[1:]
	}
	return list
}

// Decode replaces what f holds by the content of nodeos' file, which must fit
// together; path is for the messages. If it fails, f is unchanged.
func (f *ForkDatabase) Decode(b []byte, path string) error {
	loaded, err := decodeFile(b, path, f.set)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.root, f.rooted, f.head, f.blocks, f.children, f.ranks = loaded.root, loaded.rooted, loaded.head, loaded.blocks,
		loaded.children, loaded.ranks
	f.waiting, f.came, f.final = loaded.waiting, loaded.came, loaded.final
	return nil
}

func decodeFile(b []byte, path string, set *feature.Set) (*ForkDatabase, error) {
	f := NewForkDatabase(set)
	r := serial.NewReader(b)
	if magic := r.Uint32(); r.Err() == nil && magic != fileMagic {
		return nil, exception.New(exception.ForkDatabase,
			"Fork database file '${filename}' has unexpected magic number: ${actual_totem}. Expected ${expected_totem}",
			"filename", path, "actual_totem", magic, "expected_totem", fileMagic)
	}
	version := r.Uint32()
	if r.Err() == nil && version == springVersion {
		return nil, fmt.Errorf("%s: %w", path, ErrSpring)
	}
	if r.Err() == nil && version != fileVersion {
		return nil, exception.New(exception.ForkDatabase,
			"Unsupported version of fork database file '${filename}'. Fork database version is ${version} while code "+
				"supports version(s) [${min},${max}]", "filename", path, "version", version, "min", fileVersion,
			"max", fileVersion)
	}
	root := &BlockState{HeaderState: new(HeaderState)}
	root.Read(r)
	if r.Err() == nil {
		f.reset(root)
	}
	for n := r.Varuint32(); n > 0 && r.Err() == nil; n-- {
		offset := r.Offset()
		s, valid := readBlockState(r)
		if r.Err() != nil {
			break
		}
		if err := f.restore(&branchNode{BlockState: s, valid: valid}); err != nil {
			return nil, fmt.Errorf("fork database file '%s', block at offset %d: %w", path, offset, err)
		}
	}
	var head types.Checksum256
	head.Read(r)
	if err := r.End(); err != nil {
		return nil, fmt.Errorf("fork database file '%s': %w", path, err)
	}
	return f, f.restoreHead(head, path)
}

// restore adds a block from a file after checking it as far as that goes without
// applying it.
func (f *ForkDatabase) restore(n *branchNode) error {
	previous := f.blockOrRoot(n.Header.Previous)
	switch {
	case n.Block == nil:
		return exception.New(exception.ForkDatabase, "block missing")
	case n.ID != n.Header.ID() || n.ID != n.Block.ID():
		return exception.New(exception.ForkDatabase, "header state of another block")
	case previous == nil:
		return exception.New(exception.UnlinkableBlock, "unlinkable block", "id", n.ID, "previous", n.Header.Previous)
	case n.BlockNum != previous.BlockNum+1:
		return exception.New(exception.ForkDatabase, "block does not fit the one before it")
	}
	if added := n.Activations(); added != nil {
		if err := f.set.Check(n.Header.Timestamp.TimePoint(), previous.Activated, added); err != nil {
			return exception.Wrap(exception.ForkDatabase, err,
				"serialized fork database is incompatible with configured protocol features")
		}
	}
	return f.add(n, false)
}

// restoreHead sets the head that the file names, if it may be the head.
func (f *ForkDatabase) restoreHead(id types.Checksum256, path string) error {
	if f.head = f.blockOrRoot(id); f.head == nil {
		return exception.New(exception.ForkDatabase,
			"could not find head while reconstructing fork database from file; '${filename}' is likely corrupted",
			"filename", path)
	}
	switch candidate := f.best(true); {
	case candidate == nil && f.head != f.root:
		return exception.New(exception.ForkDatabase,
			"head not set to root despite no better option available; '${filename}' is likely corrupted",
			"filename", path)
	case candidate != nil && f.better(candidate.HeaderState, f.head.HeaderState):
		return exception.New(exception.ForkDatabase,
			"head not set to best available option available; '${filename}' is likely corrupted", "filename", path)
	}
	return nil
}
