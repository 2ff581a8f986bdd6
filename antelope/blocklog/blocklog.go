// Package blocklog keeps the blocks of a node in files: the irreversible ones in a
// block log whose files nodeos can read and go on with, and it with ours ([Log]),
// the reversible ones in a file of our own ([Reversible]). It owns those files,
// their repair after a crash, and the tools that work on them.
//
// It never judges a block: what is appended was decided by the chain. It never
// decodes what it is not asked to, and knows nothing of state.
//
// docs/formats/blocklog.md and docs/formats/reversible.md tell the bytes.
package blocklog

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"path/filepath"
	"time"

	"tarn/antelope/logcatalog"
	"tarn/antelope/serial"
	"tarn/antelope/types"
)

// Names of files in the blocks directory.
const (
	LogName        = "blocks.log"
	IndexName      = "blocks.index"
	TailName       = "blocks.tail" // ours: checksums of what is not yet known durable
	SumsName       = "blocks.sums" // ours: checksums of blocks that were appended here
	ReversibleDir  = "reversible"
	ReversibleName = "blocks.reversible" // ours
)

// Errors that callers branch on.
var (
	// ErrNotFound says that the log does not have a block.
	ErrNotFound = errors.New("block not found")
	// ErrFailed is wrapped by what a log or reversible file returns once a write or
	// sync of it has failed: what the disk holds is not known then, and nothing
	// is appended until the file is opened again. Reading goes on.
	ErrFailed = errors.New("an earlier write or sync failed; open it again")
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("closed")
)

const (
	positionBytes = 8
	trailerBytes  = 4 // of a pruned log: how many blocks it has
	noPosition    = math.MaxUint64

	// maxBlockBytes bounds what is taken for a block; the protocol's own bound
	// is far below it, but a setting of the chain.
	maxBlockBytes = 64 << 20
	// minBlockBytes is a header of no extensions, a K1 signature, no transactions.
	minBlockBytes = 4 + 8 + 2 + 32 + 32 + 32 + 4 + 1 + 1 + 66 + 1 + 1
	// Where a packed block has the number of the block before it, big-endian.
	previousOffset = 14
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// blockNumber tells the number that a packed block says it has, without decoding
// it, and whether b is long enough to say one.
func blockNumber(b []byte) (uint32, bool) {
	if len(b) < minBlockBytes {
		return 0, false
	}
	return binary.BigEndian.Uint32(b[previousOffset:]) + 1, true
}

// link is what ties a block to its neighbours.
type link struct {
	num          uint32
	id, previous types.Checksum256
}

// decodeBlock decodes all of b as one block.
func decodeBlock(b []byte) (*types.SignedBlock, error) {
	block := new(types.SignedBlock)
	if err := types.Decode(b, block); err != nil {
		return nil, err
	}
	return block, nil
}

func linkOf(h *types.BlockHeader) link {
	return link{num: h.BlockNum(), id: h.ID(), previous: h.Previous}
}

// decodeLink decodes all of b as a block and tells its link.
func decodeLink(b []byte) (link, error) {
	block, err := decodeBlock(b)
	if err != nil {
		return link{}, err
	}
	return linkOf(&block.BlockHeader), nil
}

// decodeHeader decodes a block's header and first signature.
func decodeHeader(b []byte) (*types.SignedBlockHeader, error) {
	h := new(types.SignedBlockHeader)
	r := serial.NewReader(b)
	h.Read(r)
	return h, r.Err()
}

// isoTime is a time as nodeos writes it into file names.
func isoTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000") }

// removeFile removes a file if there is one.
func removeFile(fs logcatalog.FS, path string) error {
	ok, err := fs.Exists(path)
	if err != nil || !ok {
		return err
	}
	return fs.Remove(path)
}

// logName is what the names of the log's files, and of its parts, begin with.
const logName = "blocks"

func workingBase(dir string) logcatalog.Pair { return logcatalog.Pair(filepath.Join(dir, logName)) }
