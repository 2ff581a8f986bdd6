package torntail

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"tarn/store/vfs"
)

// KeptSuffix is what the names of files end with in which given up bytes are kept: the name of the
// file that they were in, and this, and from the second on a number. Nothing of ours reads them.
const KeptSuffix = ".bad"

// Removed says what was taken out of a file.
type Removed struct {
	Path          string
	Offset, Bytes int64
	Kept          string // the file in which it is now; empty if it was nothing but zeros
}

func (r Removed) String() string {
	if r.Kept == "" {
		return fmt.Sprintf("cut %d bytes of zeros off %s at offset %d", r.Bytes, r.Path, r.Offset)
	}
	return fmt.Sprintf("took %d bytes out of %s at offset %d; they are kept in %s", r.Bytes, r.Path, r.Offset, r.Kept)
}

// names are the last name under which something of a file is kept, empty if nothing is, and the
// first that is free.
func names(files vfs.FS, path string) (last, free string, err error) {
	for n := 1; ; n++ {
		name := path + KeptSuffix
		if n > 1 {
			name += "." + strconv.Itoa(n)
		}
		there, err := files.Exists(name)
		if err != nil || !there {
			return last, name, err
		}
		last = name
	}
}

// Keep copies a range of a file to a file of its own beside it, durably. What has nothing but
// zeros is not kept, and what is kept already, by a start that was ended before its cut, is not kept twice.
func Keep(files vfs.FS, f vfs.File, path string, from, to int64) (Removed, error) {
	r := Removed{Path: path, Offset: from, Bytes: to - from}
	empty, err := zeros(f, from, to)
	if err != nil || empty {
		return r, err
	}
	last, free, err := names(files, path)
	if err == nil && last != "" {
		var same bool
		if same, err = has(files, last, f, from, to); same && err == nil {
			r.Kept = last
			// It may have been made by a process that was killed before it synced the name.
			return r, files.SyncDir(filepath.Dir(path))
		}
	}
	if err != nil {
		return r, err
	}
	if err := vfs.CopyRange(files, f, from, to, free); err != nil {
		return r, fmt.Errorf("keep the %d bytes of %s at offset %d: %w", to-from, path, from, err)
	}
	r.Kept = free
	return r, nil
}

// has tells whether a file has the bytes of a range of another, and no others.
func has(files vfs.FS, path string, f vfs.File, from, to int64) (same bool, err error) {
	kept, err := files.Open(path, false)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, kept.Close()) }()
	size, err := kept.Size()
	if err != nil || size != to-from {
		return false, err
	}
	a, b := make([]byte, 64<<10), make([]byte, 64<<10)
	for at := int64(0); at < size; at += int64(len(a)) {
		n := min(int64(len(a)), size-at)
		if err := errors.Join(vfs.ReadFull(kept, a[:n], at), vfs.ReadFull(f, b[:n], from+at)); err != nil {
			return false, fmt.Errorf("compare %s: %w", path, err)
		}
		if !bytes.Equal(a[:n], b[:n]) {
			return false, nil
		}
	}
	return true, nil
}

// Cut keeps what a file has from an offset on beside it, durably, and then makes the file end
// there. The caller syncs the file, and says in the log what was removed.
func Cut(files vfs.FS, f vfs.File, path string, from, size int64) (Removed, error) {
	r, err := Keep(files, f, path, from, size)
	if err != nil {
		return r, err
	}
	if err := f.Truncate(from); err != nil {
		return r, fmt.Errorf("cut %s at %d: %w", path, from, err)
	}
	return r, nil
}

// SetAside gives a file, which nobody has open, a name under which it is kept, durably.
func SetAside(files vfs.FS, path string) (kept string, err error) {
	if _, kept, err = names(files, path); err != nil {
		return "", err
	}
	if err := vfs.RenameDurably(files, path, kept); err != nil {
		return "", fmt.Errorf("set %s aside: %w", path, err)
	}
	return kept, nil
}

// zeros tells whether a range of a file has nothing but zeros.
func zeros(f vfs.File, from, to int64) (bool, error) {
	buf := make([]byte, min(64<<10, max(0, to-from)))
	for from < to {
		part := buf[:min(int64(len(buf)), to-from)]
		if err := vfs.ReadFull(f, part, from); err != nil {
			return false, fmt.Errorf("read at %d: %w", from, err)
		}
		if len(bytes.TrimLeft(part, "\x00")) > 0 {
			return false, nil
		}
		from += int64(len(part))
	}
	return true, nil
}
