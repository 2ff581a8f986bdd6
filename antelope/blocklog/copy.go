package blocklog

import (
	"errors"
	"fmt"

	"tarn/store/vfs"
)

const copyBytes = 4 << 20

// writeFile makes a file of this content; its bytes are durable, its name not.
func writeFile(fs FS, path string, b []byte) error {
	f, err := fs.Create(path)
	if err != nil {
		return err
	}
	if _, err = f.WriteAt(b, 0); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// copyFile copies a file; the bytes are durable, the name not.
func copyFile(fs FS, from, to string) error {
	f, err := fs.Open(from, false)
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return err
	}
	return copyRange(fs, f, 0, size, to)
}

// copyRange copies a range of a file into a new one.
func copyRange(fs FS, f vfs.File, from, to int64, path string) error {
	out, err := fs.Create(path)
	if err != nil {
		return err
	}
	err = transfer(f, from, to, out, 0, path)
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}

// transfer copies a range of one file to an offset of another.
func transfer(f vfs.File, from, to int64, out vfs.File, at int64, what string) error {
	buf := make([]byte, min(copyBytes, max(0, to-from)))
	for from < to {
		n := int(min(int64(len(buf)), to-from))
		if err := readFull(f, what, buf[:n], from); err != nil {
			return fmt.Errorf("copy: %w", err)
		}
		if _, err := out.WriteAt(buf[:n], at); err != nil {
			return fmt.Errorf("copy to %s: %w", what, err)
		}
		from += int64(n)
		at += int64(n)
	}
	return nil
}
