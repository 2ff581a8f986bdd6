// Package vfs is the way to the disk of whatever must be there after a crash: a
// handful of calls, small enough that a test can fail, tear, reorder or forget any
// of them. It owns the interface, its real implementations, [OS] and [Private], and the order
// of calls that makes a small file or a name durable, or moves a file to another file
// system ([WriteDurably], [RenameDurably], [RemoveDurably], [MkdirAll], [MoveDurably]). It never decides what is
// written.
package vfs

import (
	"errors"
	"io"
)

// ErrLocked is returned by FS.Lock when somebody else holds the lock.
var ErrLocked = errors.New("locked")

// Sector is what a disk writes at least, in bytes, and either writes or does not.
const Sector = 512

// FS opens and names files. Implementations are safe for concurrent use. What a
// call changed is durable only after the sync that covers it: File.Sync for a
// file's bytes and size, SyncDir for the names in a directory.
type FS interface {
	// Open opens an existing file; write access only if writable.
	Open(path string, writable bool) (File, error)
	// OpenDirect opens an existing file for writes past the page cache. Their offsets and
	// sizes are multiples of [Sector]. What they write is read as if it had been written
	// otherwise, and needs a sync like it. An error that is errors.ErrUnsupported says that
	// there is no such way to this file; a write may be the first to say so.
	OpenDirect(path string) (File, error)
	// Create makes an empty file for reading and writing, replacing one of that
	// name.
	Create(path string) (File, error)
	// Rename gives a file another name; a file of that name is replaced. Both names must be
	// on one file system.
	Rename(from, to string) error
	// Remove removes a file's name. It is an error that is fs.ErrNotExist if there is none.
	Remove(path string) error
	// Mkdir makes one directory; an error that is fs.ErrExist if there is one, or a
	// file of that name. See also [MkdirAll].
	Mkdir(dir string) error
	// SyncDir makes the names in a directory durable, and those that were removed from it.
	SyncDir(dir string) error
	// Exists reports whether there is a file or directory of that name.
	Exists(path string) (bool, error)
	// Lock takes the advisory lock of a file, made if need be, until the Closer
	// is closed or the process ends. It does not wait: if the lock is held
	// otherwise it returns ErrLocked and what the holder wrote into the file.
	// An exclusive holder's process id is written into it.
	Lock(path string, exclusive bool) (lock io.Closer, holder string, err error)
	// InMemory reports whether dir is on a file system that keeps files in
	// memory (tmpfs, ramfs).
	InMemory(dir string) (bool, error)
}

// File is an open file. WriteAt of one range and Sync may run beside reads and
// writes of others.
type File interface {
	io.ReaderAt
	io.WriterAt // an error leaves the range's content unknown, whatever n says
	io.Closer
	// Sync makes all that was written before it durable, the size included.
	// After an error nothing is known of any of it.
	Sync() error
	// Truncate makes the file size bytes long. Bytes that are new read as zeros.
	Truncate(size int64) error
	// Allocate reserves disk blocks for a range, extending the file if need be.
	// Where the file system cannot reserve, it only extends.
	Allocate(offset, size int64) error
	// Punch turns a range into a hole that reads as zeros; the size stays.
	// Where the file system cannot, it does nothing and returns nil.
	Punch(offset, size int64) error
	// Size returns the file's length in bytes.
	Size() (int64, error)
	// Fd is the descriptor to map, and false where there is none.
	Fd() (uintptr, bool)
}
