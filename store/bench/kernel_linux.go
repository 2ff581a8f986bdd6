package bench

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"tarn/procusage"
)

// fileWrites is what this process has made the kernel write to disks so far, in
// bytes: counted when a page of a file becomes dirty, whoever writes it back.
func fileWrites() (int64, error) {
	p, err := procusage.Self()
	return p.Disk.Written, err
}

// anonymous is the process's memory that no file backs, in bytes.
func anonymous() (int64, error) {
	p, err := procusage.Self()
	return p.Memory.Anonymous, err
}

// resident is the process's memory, its mapped files included, in bytes.
func resident() (int64, error) {
	p, err := procusage.Self()
	return p.Memory.Resident(), err
}

// evict drops the files in dir from the page cache.
func evict(dir string) error {
	return files(dir, func(path string, _ int64) error {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		err = f.Sync() // only clean pages can be dropped
		if err == nil {
			err = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
		}
		return errors.Join(err, f.Close())
	})
}

// onDisk is what the files in dir occupy, in bytes.
func onDisk(dir string) (int64, error) {
	total := int64(0)
	err := files(dir, func(path string, _ int64) error {
		var st unix.Stat_t
		if err := unix.Stat(path, &st); err != nil {
			return err
		}
		total += st.Blocks * 512
		return nil
	})
	return total, err
}

func files(dir string, fn func(path string, size int64) error) error {
	return filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return fn(path, info.Size())
	})
}
