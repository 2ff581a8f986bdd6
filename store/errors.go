package store

import (
	"errors"
	"fmt"
	"syscall"
)

// Expected answers and misuse. Test with errors.Is.
var (
	ErrNotFound      = errors.New("no such row")
	ErrNoTable       = errors.New("no such table")
	ErrKeySize       = fmt.Errorf("key is empty or longer than %d bytes", MaxKey)
	ErrValueSize     = fmt.Errorf("value is longer than %d bytes", MaxValue)
	ErrNoSession     = errors.New("change outside a session while revisions can be undone")
	ErrSessionOpen   = errors.New("a session is open")
	ErrNothingToUndo = errors.New("nothing to undo")
	ErrClosed        = errors.New("store is closed")
	ErrReadOnly      = errors.New("store is open for reading only")
	ErrRevision      = errors.New("revision out of range")
)

// Families of failures: each typed error below belongs to one, so that
// errors.Is(err, ErrFull) and errors.As(err, *FullError) both work.
var (
	ErrFull    = errors.New("store is full")
	ErrGuard   = errors.New("store is nearly full")
	ErrLocked  = errors.New("store is in use")
	ErrFormat  = errors.New("not a store of this format")
	ErrVersion = errors.New("store has another format version")
	ErrCorrupt = errors.New("store is damaged")
	ErrMemory  = errors.New("not enough memory for the store")
	ErrFault   = errors.New("the disk cannot serve a page of the store")
	// ErrFailed: an earlier failure left the writer's state in doubt; the disk
	// is whole, and reopening is the remedy. Views go on working.
	ErrFailed = errors.New("store stopped accepting changes")
)

// FullError: a change, a checkpoint or an open needs more than there is. Nothing
// was changed. Sizes in bytes. One of a disk is syscall.ENOSPC, too.
type FullError struct {
	Path              string
	Of                Room
	Need, Free, Limit int64 // Limit is the size of the disk where Of is RoomOnDisk
}

// Room is what a store can run out of.
type Room int

const (
	RoomUnderLimit Room = iota // what the store may take
	RoomOnDisk                 // of the store's folder
	RoomInMemory               // for changes that no checkpoint holds
)

func (e *FullError) Error() string {
	where := "under the limit of %d; raise the limit or take a checkpoint, which frees replaced pages"
	switch e.Of {
	case RoomOnDisk:
		where = "on a disk of %d"
	case RoomInMemory:
		where = "of the %d that changes since the last checkpoint may take in memory; take a checkpoint"
	}
	return fmt.Sprintf("%s: %v: %d bytes needed, %d free "+where, e.Path, ErrFull, e.Need, e.Free, e.Limit)
}

// Is implements the interface of errors.Is.
func (e *FullError) Is(target error) bool {
	return target == ErrFull || e.Of == RoomOnDisk && target == syscall.ENOSPC
}

// LockedError: another process (or another open in this one) has the store.
type LockedError struct {
	Path string
	PID  int // 0 if the holder did not say
}

func (e *LockedError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("%s: %v by another process", e.Path, ErrLocked)
	}
	return fmt.Sprintf("%s: %v by process %d", e.Path, ErrLocked, e.PID)
}
func (e *LockedError) Is(target error) bool { return target == ErrLocked }

// FormatError: the file is something else. No file was changed.
type FormatError struct {
	Path   string
	Detail string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("%s: %v: %s", e.Path, ErrFormat, e.Detail)
}
func (e *FormatError) Is(target error) bool { return target == ErrFormat }

// VersionError: written by a build with another format. No file was changed.
type VersionError struct {
	Path         string
	Found, Known uint32
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("%s: %v: found %d, this build knows %d", e.Path, ErrVersion, e.Found, e.Known)
}
func (e *VersionError) Is(target error) bool { return target == ErrVersion }

// CorruptError: bytes on disk are not what was written. Page, Table and Offset
// (bytes from the start of the file) are -1 where they do not apply.
type CorruptError struct {
	Path   string
	Table  int
	Page   int64
	Offset int64
	Detail string
}

func (e *CorruptError) Error() string {
	s := e.Path + ": " + ErrCorrupt.Error()
	if e.Page >= 0 {
		s += fmt.Sprintf(": page %d", e.Page)
	}
	if e.Table >= 0 {
		s += fmt.Sprintf(" of table %d", e.Table)
	}
	if e.Offset >= 0 {
		s += fmt.Sprintf(" at offset %d", e.Offset)
	}
	return s + ": " + e.Detail
}
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }

// MemoryError: the kernel refused a mapping or a lock. Sizes in bytes; Detail
// names the setting that refused it.
type MemoryError struct {
	Path      string
	Asked     int64
	RAM, Swap int64  // what the machine has, or the control group around the process
	Limit     string // the file with the group's limit, if it is below the machine's
	Available int64  // what the machine could give now
	Detail    string
	Err       error
}

func (e *MemoryError) Error() string {
	has := fmt.Sprintf("the machine has %d MiB RAM", e.RAM>>20)
	if e.Limit != "" {
		has = fmt.Sprintf("%s allows %d MiB RAM", e.Limit, e.RAM>>20)
	}
	return fmt.Sprintf("%s: %v: asked for %d MiB, %s (%d MiB available) and %d MiB swap; %s: %v",
		e.Path, ErrMemory, e.Asked>>20, has, e.Available>>20, e.Swap>>20, e.Detail, e.Err)
}
func (e *MemoryError) Is(target error) bool { return target == ErrMemory }
func (e *MemoryError) Unwrap() error        { return e.Err }

// FaultError: touching a mapped page failed (the file was cut behind our back,
// the disk is broken or, under a sparse file, full).
type FaultError struct {
	Path   string
	Offset int64
}

func (e *FaultError) Error() string {
	return fmt.Sprintf("%s: %v at offset %d: I/O error, file cut short, or disk full", e.Path, ErrFault, e.Offset)
}
func (e *FaultError) Is(target error) bool { return target == ErrFault }
