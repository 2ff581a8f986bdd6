package suite

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// stateBytes is what all files of a folder occupy, but for blocks and logs of words.
func stateBytes(dir string) int64 { return occupancy(dir, "blocks", "config") }

// occupancy is what files of a folder occupy on the disk, but for folders of some names and
// logs of words.
func occupancy(dir string, but ...string) (sum int64) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && slices.Contains(but, d.Name()) {
			return filepath.SkipDir // what cannot be read is not counted
		}
		var st unix.Stat_t
		if !d.IsDir() && d.Name() != "log" && unix.Lstat(path, &st) == nil {
			sum += st.Blocks * 512
		}
		return nil
	})
	return sum
}

// logSize is the size of a node's log of words.
func logSize(dir string) int64 {
	info, err := os.Stat(filepath.Join(dir, "log"))
	if err != nil {
		return 0
	}
	return info.Size()
}

// evict puts a folder's files out of the page cache, as far as they are on the disk.
func evict(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := f.Sync(); err != nil {
			return fmt.Errorf("sync %s: %w", path, err)
		}
		if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
			return fmt.Errorf("put %s out of the page cache: %w", path, err)
		}
		return nil
	})
}
