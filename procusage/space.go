package procusage

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Space is the room of a file system, in bytes. Device tells two of them apart.
type Space struct {
	Device     uint64
	Size, Free int64 // Free is for those who are not root
}

// ReadSpace reads the room of the file system that a file or folder is on.
func ReadSpace(path string) (Space, error) {
	var s unix.Stat_t
	if err := unix.Stat(path, &s); err != nil {
		return Space{}, fmt.Errorf("read the space of %s: %w", path, err)
	}
	var f unix.Statfs_t
	if err := unix.Statfs(path, &f); err != nil {
		return Space{}, fmt.Errorf("read the space of %s: %w", path, err)
	}
	return Space{Device: s.Dev, Size: int64(f.Blocks) * f.Frsize, Free: int64(f.Bavail) * f.Frsize}, nil
}
