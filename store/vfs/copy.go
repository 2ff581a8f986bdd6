package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"
)

// copyBytes is how much of a file is in memory while it is copied.
const copyBytes = 4 << 20

// ReadFull fills b from an offset. Where the file ends before, that is
// [io.ErrUnexpectedEOF], also if it ends at the offset.
func ReadFull(f io.ReaderAt, b []byte, at int64) error {
	n, err := f.ReadAt(b, at)
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// ReadFile returns the bytes of a file, at most so many from its beginning.
func ReadFile(files FS, path string, most int64) ([]byte, error) {
	f, err := files.Open(path, false)
	if err != nil {
		return nil, err
	}
	size, err := f.Size()
	b := make([]byte, min(size, most))
	if err == nil {
		err = ReadFull(f, b, 0)
	}
	return b, errors.Join(err, f.Close())
}

// CopyTo copies the bytes from one offset to before another of a file to an offset of
// another file. Nothing of it is durable. A file that ends before is an error.
func CopyTo(out File, at int64, in File, from, to int64) error {
	buf := make([]byte, min(copyBytes, max(0, to-from)))
	for from < to {
		b := buf[:min(int64(len(buf)), to-from)]
		if err := ReadFull(in, b, from); err != nil {
			return fmt.Errorf("copy: read %d bytes at offset %d: %w", len(b), from, err)
		}
		if _, err := out.WriteAt(b, at); err != nil {
			return fmt.Errorf("copy: write %d bytes at offset %d: %w", len(b), at, err)
		}
		from, at = from+int64(len(b)), at+int64(len(b))
	}
	return nil
}

// CopyRange makes path a file of the bytes of a range of another, in place of one of that
// name, durably: at any moment, and after any crash, there is all of it or what was there before.
// After an error there is no part of it, if that is possible. A crash may leave one, whose name
// ends with [NewSuffix].
func CopyRange(files FS, in File, from, to int64, path string) error {
	part := path + NewSuffix
	out, err := files.Create(part)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err = CopyTo(out, 0, in, from, to); err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err == nil {
		err = RenameDurably(files, part, path)
	}
	if err == nil {
		return nil
	}
	// Else it takes room on a full disk.
	if gone := files.Remove(part); !errors.Is(gone, fs.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return fmt.Errorf("write %s: %w", path, err)
}

// CopyFile copies a file as CopyRange does.
func CopyFile(files FS, from, to string) error {
	in, err := files.Open(from, false)
	if err != nil {
		return err
	}
	size, err := in.Size()
	if err == nil {
		err = CopyRange(files, in, 0, size, to)
	}
	if err = errors.Join(err, in.Close()); err != nil {
		return fmt.Errorf("copy %s: %w", from, err)
	}
	return nil
}

// MoveDurably gives a file, whose bytes must be durable, another name, in place of the
// file that has it, also where that is on another file system: then it copies. When it
// returns nil the name is durable, and that the old one is gone. A crash or an error
// leaves the file whole under one of its names, or under both after a copy; done again it
// comes to its end. A crash may leave a part of a copy, as [CopyFile] does.
func MoveDurably(files FS, from, to string) error {
	err := RenameDurably(files, from, to)
	if !errors.Is(err, syscall.EXDEV) {
		return err
	}
	// The source goes when the name of the copy is durable.
	if err := CopyFile(files, from, to); err != nil {
		return err
	}
	return RemoveDurably(files, from)
}
