package space

import (
	"golang.org/x/sys/unix"
)

func system(path string) (disk, error) {
	var s unix.Stat_t
	if err := unix.Stat(path, &s); err != nil {
		return disk{}, err
	}
	var f unix.Statfs_t
	if err := unix.Statfs(path, &f); err != nil {
		return disk{}, err
	}
	size := uint64(f.Frsize)
	return disk{id: s.Dev, capacity: f.Blocks * size, available: f.Bavail * size}, nil
}
