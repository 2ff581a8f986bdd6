package vfs

import (
	"errors"
	"io/fs"
	"path/filepath"
)

// NewSuffix is what the name of a file that [WriteDurably] writes ends with until the
// file is whole. A crash may leave such a file.
const NewSuffix = ".new"

// WriteDurably makes path a file of this content, so that at any moment, and after
// any crash, there is the file of before or the new one. When it returns nil the
// new one is durable. After an error either may be there; what it wrote under
// path+NewSuffix is removed, if that is possible.
func WriteDurably(files FS, path string, data []byte) error {
	f, err := files.Create(path + NewSuffix)
	if err != nil {
		return err
	}
	if _, err = f.WriteAt(data, 0); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, files.Remove(path+NewSuffix))
	}
	return RenameDurably(files, path+NewSuffix, path)
}

// RenameDurably gives a file, whose bytes must be durable, another name, in place
// of the file that has it. When it returns nil the name is durable, and that the
// old one is gone. After an error the file may have either.
func RenameDurably(files FS, from, to string) error {
	if err := files.Rename(from, to); err != nil {
		return err
	}
	above, before := filepath.Dir(to), filepath.Dir(from)
	if err := files.SyncDir(above); err != nil || above == before {
		return err
	}
	return files.SyncDir(before)
}

// RemoveDurably removes a file, and makes that durable. If there is none it does
// only the latter: whoever removed it may have been killed before.
func RemoveDurably(files FS, path string) error {
	if err := files.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return files.SyncDir(filepath.Dir(path))
}

// MkdirAll makes a folder and those above it that are missing. When it returns nil
// the name of each that it made is durable, and so is the name of the lowest that
// it found: whoever made that may have been killed before.
func MkdirAll(files FS, dir string) error {
	dir = filepath.Clean(dir)
	parent := filepath.Dir(dir)
	if parent == dir {
		return nil
	}
	there, err := files.Exists(dir)
	if err != nil {
		return err
	}
	if there {
		// A folder that was given to us may lie in one that we may not open.
		if err := files.SyncDir(parent); !errors.Is(err, fs.ErrPermission) {
			return err
		}
		return nil
	}
	if err := MkdirAll(files, parent); err != nil {
		return err
	}
	if err := files.Mkdir(dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return files.SyncDir(parent)
}
