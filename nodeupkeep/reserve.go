package nodeupkeep

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Reserve is a file that takes room on a disk while there is plenty, and gives it back where the
// state is to be saved and the disk is full. Any goroutine may call its methods; calls at one time leave it
// taken or given.
type Reserve struct {
	Path  string
	Bytes int64
}

// plenty is how many times its bytes must be free before a reserve is taken.
const plenty = 8

// Take makes the file, unless it is there or there is not plenty of room. A file system that cannot
// set room aside has no reserve.
func (r Reserve) Take() error {
	if info, err := os.Stat(r.Path); err == nil && info.Size() == r.Bytes {
		return nil
	}
	free, err := Free(filepath.Dir(r.Path))
	if err != nil || free < plenty*uint64(r.Bytes) {
		return err
	}
	f, err := os.OpenFile(r.Path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("set room aside: %w", err)
	}
	err = unix.Fallocate(int(f.Fd()), 0, 0, r.Bytes)
	if err = errors.Join(err, f.Close()); err == nil {
		return nil
	}
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSPC) {
		err = nil
	}
	return errors.Join(err, r.Give())
}

// Give removes the file. It is no error if there is none.
func (r Reserve) Give() error {
	if err := os.Remove(r.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("give the room back that was set aside: %w", err)
	}
	return nil
}
