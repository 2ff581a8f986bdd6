package procusage

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// FileID tells files apart, whatever they are called.
type FileID struct {
	Major, Minor uint32 // of the file system's device
	Inode        uint64
}

// File is a regular file that a process has open, or has mapped to write through the mapping.
type File struct {
	Path    string // as the process sees it
	Size    int64  // bytes
	Blocks  int64  // bytes that it occupies
	Changed time.Time
	Made    time.Time // zero if the file system does not know
}

// filesMost is the most descriptors, and the most mappings, that are looked at.
const filesMost = 20_000

// ReadFiles lists a process's files. Only its own user and root may ask.
func ReadFiles(pid int) (map[FileID]File, error) {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	f, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("read the files of a process: %w", err)
	}
	defer f.Close()
	names, _ := f.Readdirnames(filesMost) // what closes meanwhile ends no listing
	all := map[FileID]File{}
	for _, name := range names {
		link := filepath.Join(dir, name)
		if path, err := os.Readlink(link); err == nil && strings.HasPrefix(path, "/") {
			addFile(all, path, link)
		}
	}
	return all, addMapped(all, pid)
}

// addMapped adds the files that the process writes through mappings.
func addMapped(all map[FileID]File, pid int) error {
	f, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return fmt.Errorf("read the files of a process: %w", err)
	}
	defer f.Close()
	seen := map[string]bool{}
	lines := bufio.NewScanner(f)
	for n := 0; lines.Scan() && n < filesMost; n++ {
		if !bytes.Contains(lines.Bytes(), []byte(" rw-s ")) {
			continue
		}
		line := lines.Text()
		if at := strings.IndexByte(line, '/'); at > 0 && !seen[line[at:]] {
			seen[line[at:]] = true
			addFile(all, line[at:], fmt.Sprintf("/proc/%d/root%s", pid, line[at:]))
		}
	}
	if err := lines.Err(); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("read the mappings of a process: %w", err)
	}
	return nil
}

// addFile looks at a file by another name of it. What is gone, and what is no regular file,
// is left out.
func addFile(all map[FileID]File, path, name string) {
	var st unix.Statx_t
	if unix.Statx(unix.AT_FDCWD, name, 0, unix.STATX_BASIC_STATS|unix.STATX_BTIME, &st) != nil ||
		st.Mode&unix.S_IFMT != unix.S_IFREG {
		return
	}
	file := File{Path: path, Size: int64(st.Size), Blocks: int64(st.Blocks) * 512,
		Changed: time.Unix(st.Mtime.Sec, int64(st.Mtime.Nsec))}
	if st.Mask&unix.STATX_BTIME != 0 {
		file.Made = time.Unix(st.Btime.Sec, int64(st.Btime.Nsec))
	}
	all[FileID{st.Dev_major, st.Dev_minor, st.Ino}] = file
}
