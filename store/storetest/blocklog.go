package storetest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"tarn/store/vfs"
)

// label tells which revision a state is, and who built it when: epochs are the
// processes that worked on the store, one after the other, builds the revisions
// that one of them has made, those of forks included. A state carries its label
// in a row, and the block log has a record of it.
type label struct {
	epoch, build uint64
	lineage
}

// before reports whether l was built before o.
func (l label) before(o label) bool {
	return l.epoch < o.epoch || l.epoch == o.epoch && l.build < o.build
}

func (l label) String() string {
	return fmt.Sprintf("revision %d (epoch %d, build %d, fork from %d)", l.revision, l.epoch, l.build, l.from)
}

const labelSize = 4*8 + 4

func (l label) encode() []byte {
	b := make([]byte, 0, labelSize)
	for _, n := range []uint64{l.epoch, l.build, l.revision, l.from} {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	return binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

func decodeLabel(b []byte) (label, bool) {
	if len(b) < labelSize || crc32.ChecksumIEEE(b[:labelSize-4]) != binary.LittleEndian.Uint32(b[labelSize-4:]) {
		return label{}, false
	}
	n := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	return label{n(0), n(1), lineage{n(2), n(3)}}, true
}

// blockLog stands for a ledger's log of blocks: records are gathered in memory
// and reach the file, and the disk, when the store says that an image needs
// them. A state on disk whose record is missing here could not be followed by
// its ledger.
type blockLog struct {
	mu      sync.Mutex
	file    *os.File
	pending []byte
	failed  error // once, and for good: what was pending then is lost
}

func blockLogPath(dir string) string { return filepath.Join(dir, "blocks.log") }

// openBlockLog opens the log in dir and cuts what was torn off its end.
func openBlockLog(dir string) (*blockLog, error) {
	whole, err := readBlockLog(dir)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(blockLogPath(dir), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	end := int64(len(whole) * labelSize)
	_, seekErr := f.Seek(end, 0)
	if err := errors.Join(f.Truncate(end), seekErr, f.Sync(), vfs.OS.SyncDir(dir)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &blockLog{file: f}, nil
}

func (b *blockLog) append(l label) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pending = append(b.pending, l.encode()...)
}

func (b *blockLog) sync() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failed == nil {
		_, err := b.file.Write(b.pending)
		b.pending = b.pending[:0]
		b.failed = errors.Join(err, b.file.Sync())
	}
	return b.failed
}

// readBlockLog returns the records up to the first one that is not whole.
func readBlockLog(dir string) ([]label, error) {
	b, err := os.ReadFile(blockLogPath(dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var all []label
	for {
		l, ok := decodeLabel(b)
		if !ok {
			return all, nil
		}
		all = append(all, l)
		b = b[labelSize:]
	}
}
