package vfs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// OS is the machine's own file system, and Private the same for what only its owner may read.
var (
	OS      FS = osFS{}
	Private FS = privateFS{}
)

type (
	osFS      struct{}
	privateFS struct{ osFS }
)

func (osFS) Open(path string, writable bool) (File, error) {
	flag := os.O_RDONLY
	if writable {
		flag = os.O_RDWR
	}
	f, err := os.OpenFile(path, flag, 0)
	if err != nil {
		return nil, err
	}
	return newFile(f), nil
}

func (osFS) Create(path string) (File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return nil, err
	}
	return newFile(f), nil
}

func (privateFS) Create(path string) (File, error) {
	// Somebody may have opened one that was there, and would read what is written to it.
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return newFile(f), nil
}

// newFile turns readahead off: pages are read where they lie, and what the kernel
// reads around them would stay in the page cache in folios of up to 2 MiB.
func newFile(f *os.File) File {
	unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_RANDOM) //nolint:errcheck // only advice
	return osFile{f}
}

func (osFS) Rename(from, to string) error { return os.Rename(from, to) }
func (osFS) Remove(path string) error     { return os.Remove(path) }
func (osFS) Mkdir(dir string) error       { return os.Mkdir(dir, 0o755) }

func (privateFS) Mkdir(dir string) error { return os.Mkdir(dir, 0o700) }

func (osFS) SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	return errors.Join(err, d.Close())
}

func (osFS) Exists(path string) (bool, error) {
	_, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func (osFS) Lock(path string, exclusive bool) (io.Closer, string, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil && !exclusive {
		f, err = os.Open(path) // a reader may lock in a directory it cannot write
	}
	if err != nil {
		return nil, "", err
	}
	how := unix.LOCK_SH
	if exclusive {
		how = unix.LOCK_EX
	}
	if err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB); err != nil {
		holder, _ := io.ReadAll(io.LimitReader(f, 64))
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, strings.TrimSpace(string(holder)), ErrLocked
		}
		return nil, "", fmt.Errorf("lock %s: %w", path, err)
	}
	if exclusive {
		text := []byte(strconv.Itoa(os.Getpid()) + "\n")
		err := f.Truncate(0)
		if err == nil {
			_, err = f.WriteAt(text, 0)
		}
		if err != nil && !errors.Is(err, unix.ENOSPC) { // the number is only a courtesy
			f.Close()
			return nil, "", fmt.Errorf("write process id to %s: %w", path, err)
		}
	}
	return osLock{f}, "", nil
}

// osLock gives its lock back in so many words: a child being started elsewhere in
// the process holds a copy of the descriptor for a moment, and the lock with it.
type osLock struct{ *os.File }

func (f osLock) Close() error {
	return errors.Join(unix.Flock(int(f.Fd()), unix.LOCK_UN), f.File.Close())
}

func (osFS) InMemory(dir string) (bool, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return false, &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	return st.Type == unix.TMPFS_MAGIC || st.Type == unix.RAMFS_MAGIC, nil
}

type osFile struct{ *os.File }

func (f osFile) Sync() error {
	if err := unix.Fdatasync(int(f.File.Fd())); err != nil {
		return &os.PathError{Op: "fdatasync", Path: f.Name(), Err: err}
	}
	return nil
}

func (f osFile) Allocate(offset, size int64) error {
	err := unix.Fallocate(int(f.File.Fd()), 0, offset, size)
	if errors.Is(err, unix.EOPNOTSUPP) {
		return f.extend(offset + size)
	}
	if err != nil {
		return &os.PathError{Op: "fallocate", Path: f.Name(), Err: err}
	}
	return nil
}

// extend makes the file at least size bytes long.
func (f osFile) extend(size int64) error {
	if now, err := f.Size(); err != nil || now >= size {
		return err
	}
	return f.Truncate(size)
}

func (f osFile) Punch(offset, size int64) error {
	err := unix.Fallocate(int(f.File.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, offset, size)
	if err == nil || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return nil
	}
	return &os.PathError{Op: "punch hole", Path: f.Name(), Err: err}
}

func (f osFile) Size() (int64, error) {
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}

func (f osFile) Fd() (uintptr, bool) { return f.File.Fd(), true }
