// Package scratch sees to it that tests make their temporary folders on a disk.
// Where the usual place is a file system in memory, as on many fresh machines,
// mapped files, full disks and power cuts are not what they are in real life. It
// is for tests only.
package scratch

import (
	"os"

	"golang.org/x/sys/unix"
)

// OnDisk moves the default folder for temporary files, of this process and its
// children, to a disk if it is in memory: to /var/tmp, which outlives restarts
// everywhere, or else to the working folder. A TestMain calls it first. Where
// there is no disk at all nothing changes.
func OnDisk() error {
	if !inMemory(os.TempDir()) {
		return nil
	}
	wd, err := os.Getwd()
	if err != nil {
		return err
	}
	for _, dir := range []string{"/var/tmp", wd} {
		if !inMemory(dir) && unix.Access(dir, unix.W_OK) == nil {
			return os.Setenv("TMPDIR", dir)
		}
	}
	return nil
}

// inMemory is true also of what cannot be asked.
func inMemory(dir string) bool {
	var st unix.Statfs_t
	return unix.Statfs(dir, &st) != nil || st.Type == unix.TMPFS_MAGIC || st.Type == unix.RAMFS_MAGIC
}
