// Package eventlog keeps the events of an Opera chain: each once, in the order in which it
// was connected, and finds them by their ids.
//
// It owns the entries' form and the keys of their index; files and what a crash leaves of
// them are appendonly's. It never checks an event, and forgets none but by Cut.
//
// One goroutine appends, cuts and settles. Everything else is anybody's, beside it.
package eventlog

import (
	"bytes"
	"errors"
	"fmt"

	"tarn/appendonly"
	"tarn/opera/inter"
	"tarn/store/vfs"
)

// Options say where the log is. Zero values stand for the defaults.
type Options struct {
	FS     vfs.FS // vfs.OS
	Dir    string
	OldDir string // where segments move to; "" is nowhere
	// SegmentBytes is from which size on a file is finished; 0 is appendonly's default.
	SegmentBytes int64
	// Need is how many events must be there: those that the store counts on.
	Need uint64
	// Notice, if not nil, is told what a crash or damage left to mend, and that it is.
	Notice func(error)
}

// Log is the events. Their numbers begin with 0.
type Log struct {
	log   *appendonly.Log
	index *appendonly.Index
}

// An entry is an event's id and then the event as it travels. The index has the first
// keySize bytes of the id: epoch, lamport time, and so much of the hash that no two events
// share them.
const (
	idSize  = len(inter.EventID{})
	keySize = 20
)

// indexBytes bounds the part of the index that is in memory: a walk sorts it.
const indexBytes = 4 << 20

// Open opens the log, or makes one.
func Open(o Options) (*Log, error) {
	log, err := appendonly.OpenLog(appendonly.LogOptions{
		FS: o.FS, Dir: o.Dir, OldDir: o.OldDir, Need: o.Need, SegmentBytes: o.SegmentBytes, Notice: o.Notice,
	})
	if err != nil {
		return nil, fmt.Errorf("open the log of events: %w", err)
	}
	index, err := appendonly.OpenIndex(appendonly.IndexOptions{
		FS: o.FS, Dir: o.Dir, Log: log, Keys: keys, MemoryBytes: indexBytes, Notice: o.Notice,
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the index of events: %w", err), log.Close())
	}
	return &Log{log: log, index: index}, nil
}

func keys(_ uint64, entry []byte, emit func(key, value []byte)) error {
	if len(entry) < idSize {
		return fmt.Errorf("%d bytes are no event", len(entry))
	}
	emit(entry[:keySize], nil)
	return nil
}

// Append adds an event and returns its number. It is durable after the next Sync.
func (l *Log) Append(id inter.EventID, raw []byte) (uint64, error) {
	entry := append(append(make([]byte, 0, idSize+len(raw)), id[:]...), raw...)
	number, err := l.log.Append(entry)
	if err == nil {
		err = l.index.Add(number, entry)
	}
	if err != nil {
		return 0, fmt.Errorf("append event %v: %w", id, err)
	}
	return number, nil
}

// Next is how many events there are: the number that the next one gets.
func (l *Log) Next() uint64 { return l.log.Next() }

// Read returns the event of a number: its id, and the event as it travels. Both are the
// caller's.
func (l *Log) Read(number uint64) (inter.EventID, []byte, error) {
	entry, err := l.log.Read(number, nil)
	if err != nil {
		return inter.EventID{}, nil, fmt.Errorf("read event %d of the log: %w", number, err)
	}
	return inter.EventID(entry[:idSize]), entry[idSize:], nil
}

// Has tells whether there is an event of an id. It reads nothing but the index, which
// knows ids well enough for it.
func (l *Log) Has(id inter.EventID) (found bool, err error) {
	err = l.index.Find(id[:keySize], 0, func(uint64, []byte) bool {
		found = true
		return false
	})
	return found, err
}

// Get returns the event of an id as it travels, nil if there is none. It is the caller's.
func (l *Log) Get(id inter.EventID) ([]byte, error) {
	_, raw, err := l.Find(id)
	return raw, err
}

// Find returns the number of the event of an id and the event as it travels, which is nil
// if there is none, and the caller's.
func (l *Log) Find(id inter.EventID) (number uint64, raw []byte, err error) {
	var failed error
	err = l.index.Find(id[:keySize], 0, func(n uint64, _ []byte) bool {
		var at inter.EventID
		if at, raw, failed = l.Read(n); at != id {
			raw = nil
		}
		number = n
		return failed == nil && raw == nil
	})
	return number, raw, errors.Join(err, failed)
}

// Ascend calls each for the ids from one up to another, that one excluded, in their order,
// in which parents come before their children, with the numbers of their events, until it
// returns false. Of an id the first 20 bytes are given; the rest is zero.
func (l *Log) Ascend(from, to inter.EventID, each func(id inter.EventID, number uint64) bool) error {
	end := to[:keySize]
	if rest := to[keySize:]; !bytes.Equal(rest, make([]byte, len(rest))) {
		end = append(bytes.Clone(end), 0) // the event with the same beginning may come before to
	}
	return l.index.Ascend(from[:keySize], end, func(key []byte, number uint64, _ []byte) bool {
		var id inter.EventID
		copy(id[:], key)
		return each(id, number)
	})
}

// Flush hands what was appended to the kernel: a process that is killed loses none of it.
func (l *Log) Flush() error { return l.log.Flush() }

// Sync makes durable what was appended.
func (l *Log) Sync() error { return l.log.Sync() }

// Settle tells that the events before a number will not be cut any more. It takes as long
// as sorting some of them does, and may run beside the goroutine that appends, but not
// beside Cut.
func (l *Log) Settle(before uint64) error { return l.index.Settle(before) }

// Save is [appendonly.Index.Save].
func (l *Log) Save(before uint64) error { return l.index.Save(before) }

// Move moves a segment of nothing but events before a number to OldDir, and tells whether there
// was one. It may run beside the goroutine that appends, but not beside Cut.
func (l *Log) Move(before uint64) (bool, error) { return l.log.Move(before) }

// Cut forgets the events from a number on.
func (l *Log) Cut(next uint64) error { return errors.Join(l.log.Cut(next), l.index.Cut(next)) }

// Verify reads everything and reports what is not as it was written. Read, if not nil, is told
// how many bytes were read since the last time; its error ends this.
func (l *Log) Verify(report func(error), read func(bytes int64) error) error {
	return errors.Join(l.log.Verify(report, read), l.index.Verify(report, read))
}

// Stats are the log's figures.
type Stats struct {
	LogBytes int64 // of the log's files, written once
	Index    appendonly.IndexStats
}

// Stats may be called by any goroutine.
func (l *Log) Stats() Stats { return Stats{LogBytes: l.log.Size(), Index: l.index.Stats()} }

// Close closes the files; what was not synced may be lost.
func (l *Log) Close() error { return errors.Join(l.index.Close(), l.log.Close()) }
