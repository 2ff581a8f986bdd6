// Package appendonly keeps what is written once and never changed, beside a store that
// keeps changing: entries with consecutive numbers in an append-only [Log], cut into
// segments, and an [Index] that finds entries by keys.
//
// It owns the files, their formats and what a crash may leave of them. It never
// interprets an entry, knows no protocol, starts no goroutine, and changes no byte that
// somebody may count on.
//
// # What is durable
//
//  1. Append writes, Sync makes durable. A ledger syncs before the store's meta page that
//     counts on the entries; the log may then be ahead of the store, never behind.
//  2. OpenLog cuts a torn tail off at the last whole entry and says so. It is told how
//     many entries are needed: where those are not whole that is damage, reported with file
//     and offset, and nothing is changed.
//  3. After OpenLog the ledger cuts what its store does not know: Cut.
//  4. After a failed write or sync the log refuses everything until it is opened anew:
//     what the disk has of it is not known.
//  5. An index holds nothing of its own. Its runs are files of entries that were settled,
//     its newest part is memory, made again from the log when it is opened.
//
// # Segments
//
// A finished segment is never written to again. Old ones go away as files (Drop), or move to
// another disk (Move), whose folder belongs to one history ([Pair]), and can be copied as they
// are.
//
// # Goroutines
//
// One goroutine at a time appends and cuts. Another one may move and drop, but not while a
// cut runs. Reads, and Sync, may run beside them and each other.
package appendonly

import (
	"errors"
	"fmt"
	"hash/crc32"
)

// MaxEntry is how many bytes an entry may have.
const MaxEntry = 1 << 30

var (
	// ErrNoEntry is returned for a number that the log does not have: dropped, cut, or
	// not written yet.
	ErrNoEntry = errors.New("no such entry")
	// ErrEntrySize is returned for an entry longer than MaxEntry.
	ErrEntrySize = fmt.Errorf("entry is longer than %d bytes", MaxEntry)
)

// CorruptError says that a file is not what was written. What it covers is never served.
type CorruptError struct {
	Path   string
	Offset int64
	Detail string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%s: offset %d: %s", e.Path, e.Offset, e.Detail)
}

func corrupt(path string, offset int64, format string, args ...any) error {
	return &CorruptError{Path: path, Offset: offset, Detail: fmt.Sprintf(format, args...)}
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(parts ...[]byte) uint32 {
	var sum uint32
	for _, p := range parts {
		sum = crc32.Update(sum, castagnoli, p)
	}
	return sum
}
