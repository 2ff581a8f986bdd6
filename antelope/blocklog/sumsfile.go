package blocklog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"sync"

	"tarn/antelope/logcatalog"
	"tarn/antelope/types"
	"tarn/store/vfs"
)

// No hash of a block covers its producer's signature and its extensions, and what the signature is
// of was part of the chain's state: of an old block nobody knows it, nor the keys of that time. So a file
// beside the log has a checksum of each block that was appended here. Its records are by number
// and name the block's id: they stay true wherever the block is moved, of whatever other programs
// append they say nothing, and one that is missing or damaged says nothing either.

const (
	sumsMagic       = "tarnsums"
	sumsVersion     = 1
	sumsHeaderBytes = 24
	sumBytes        = 8
)

// sumsFile is the open file. Whoever holds the log's writer lock writes, anybody reads. A nil one is
// empty and cannot be written.
type sumsFile struct {
	fs   logcatalog.FS
	path string
	log  *slog.Logger

	mu    sync.RWMutex
	file  vfs.File // nil as long as there is none
	first uint32   // the block of the first record
	told  bool     // that it cannot be read, or is damaged

	// The writer's: records that a sync will write, from a block on. Until then the tail's file has their
	// blocks' checksums.
	waiting []byte
	from    uint32
}

// openSums opens the file if there is one. One that does not begin as it should counts for nothing, and
// is made anew by the next write.
func openSums(fs logcatalog.FS, path string, writable bool, log *slog.Logger) (*sumsFile, error) {
	s := &sumsFile{fs: fs, path: path, log: log}
	exists, err := fs.Exists(path)
	if err != nil || !exists {
		return s, err
	}
	f, err := fs.Open(path, writable)
	if err != nil {
		return nil, fmt.Errorf("open checksums of blocks: %w", err)
	}
	var head [sumsHeaderBytes]byte
	if _, err := f.ReadAt(head[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.Join(fmt.Errorf("read %s at offset 0: %w", path, err), f.Close())
	}
	first, ok := decodeSumsHeader(head[:])
	if !ok {
		s.tell(first, "it does not begin as a file of checksums")
		return s, f.Close()
	}
	s.file, s.first = f, first
	return s, nil
}

func sumsHeader(first uint32) []byte {
	b := append(make([]byte, 0, sumsHeaderBytes), sumsMagic...)
	b = binary.LittleEndian.AppendUint32(b, sumsVersion)
	b = binary.LittleEndian.AppendUint32(b, first)
	return append(logcatalog.Seal(b, 0), 0, 0, 0, 0)
}

func decodeSumsHeader(b []byte) (first uint32, ok bool) {
	first = binary.LittleEndian.Uint32(b[12:])
	return first, string(b) == string(sumsHeader(first))
}

// appendSum appends the record of a block: its checksum, and one of its id and that.
func appendSum(b []byte, id *types.Checksum256, sum uint32) []byte {
	b = binary.LittleEndian.AppendUint32(b, sum)
	return binary.LittleEndian.AppendUint32(b,
		crc32.Update(crc32.Checksum(id[:], castagnoli), castagnoli, b[len(b)-4:]))
}

// tell warns, once, that a part of the file counts for nothing.
func (s *sumsFile) tell(num uint32, what string) {
	s.mu.Lock()
	told, at := s.told, int64(0)
	if s.file != nil {
		at = s.offset(num)
	}
	s.told = true
	s.mu.Unlock()
	if !told {
		s.log.Warn(
			"The file of blocks' checksums is damaged, or of another log. Blocks are served all the same, but "+
				"damage to the signatures and "+
				"extensions of some would not be seen. Nothing has to be done; to stop this warning, stop the "+
				"node and remove the file",
			"file", s.path, "offset", at, "error", what)
	}
}

// read returns the records of blocks, zeros where there is none.
func (s *sumsFile) read(num uint32, n int) []byte {
	b := make([]byte, n*sumBytes)
	if s == nil {
		return b
	}
	s.mu.RLock()
	file, first := s.file, s.first
	skip := 0
	if first > num {
		skip = int(min(first-num, uint32(n)))
	}
	var err error
	if file != nil && skip < n {
		_, err = file.ReadAt(b[skip*sumBytes:], s.offset(max(num, first)))
	}
	s.mu.RUnlock()
	if err != nil && !errors.Is(err, io.EOF) {
		s.tell(num, err.Error())
		clear(b)
	}
	return b
}

func (s *sumsFile) offset(num uint32) int64 {
	return sumsHeaderBytes + int64(num-s.first)*sumBytes
}

// recorded returns the checksum of a record; named tells whether it is that of a block with an id.
func recorded(record []byte, id *types.Checksum256) (named bool, sum uint32) {
	sum = binary.LittleEndian.Uint32(record)
	var b [sumBytes]byte
	return string(appendSum(b[:0], id, sum)) == string(record), sum
}

// refutes tells whether the record of a block says that it is not what was appended.
func (s *sumsFile) refutes(record []byte, num uint32, id *types.Checksum256, sum uint32) bool {
	if named, was := recorded(record, id); named {
		return was != sum
	}
	if binary.LittleEndian.Uint64(record) != 0 {
		s.tell(num, fmt.Sprintf("the checksum of block %d is not one of a block with its id", num))
	}
	return false
}

// add adds the records of blocks from one number on, which follow those that wait. The caller holds
// writer.
func (s *sumsFile) add(num uint32, records []byte) {
	if len(s.waiting) == 0 {
		s.from = num
	}
	s.waiting = append(s.waiting, records...)
}

// begin makes the file anew, for blocks from one number on.
func (s *sumsFile) begin(first uint32) error {
	temporary := s.path + ".tmp"
	if err := writeFile(s.fs, temporary, sumsHeader(first)); err != nil {
		return err
	}
	if err := vfs.RenameDurably(s.fs, temporary, s.path); err != nil {
		return err
	}
	f, err := s.fs.Open(s.path, true)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.file
	if s.file, s.first = f, first; old == nil {
		return nil
	}
	return old.Close()
}

// sync writes what waits, and makes it durable. The caller holds writer.
func (s *sumsFile) sync() error {
	if len(s.waiting) == 0 {
		return nil
	}
	if s.file == nil || s.from < s.first {
		if err := s.begin(s.from); err != nil {
			return fmt.Errorf("create %s: %w", s.path, err)
		}
	}
	if _, err := s.file.WriteAt(s.waiting, s.offset(s.from)); err != nil {
		return fmt.Errorf("write %s at offset %d: %w", s.path, s.offset(s.from), err)
	}
	if err := s.file.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", s.path, err)
	}
	s.waiting = s.waiting[:0]
	return nil
}

// close closes the file, which is made anew if it is written after that. What waits is of no use any
// more.
func (s *sumsFile) close() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.file
	s.file, s.waiting = nil, nil
	if f == nil {
		return nil
	}
	return f.Close()
}
