package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"tarn/store"
	"tarn/store/vfs"
)

// unfinishedFile marks a store that somebody has begun to fill and has not
// finished filling.
const unfinishedFile = "UNFINISHED"

// MarkUnfinished makes the folder if need be and marks it, durably, as one that
// [Open] must refuse. The note is for whoever resumes the work, and for whoever
// reads the file. A mark that is there already gets the new note.
func MarkUnfinished(dir string, note []byte) error {
	return markUnfinished(vfs.OS, dir, note)
}

func markUnfinished(files vfs.FS, dir string, note []byte) error {
	err := vfs.MkdirAll(files, dir)
	if err == nil {
		err = vfs.WriteDurably(files, filepath.Join(dir, unfinishedFile), note)
	}
	if err != nil {
		return fmt.Errorf("mark as unfinished: %w", err)
	}
	return nil
}

// Unfinished returns the note of a marked folder, or fs.ErrNotExist if it is not
// marked.
func Unfinished(dir string) ([]byte, error) {
	return os.ReadFile(filepath.Join(dir, unfinishedFile))
}

// MarkFinished takes the mark away, durably. What the store holds must be
// durable before.
func MarkFinished(dir string) error {
	return markFinished(vfs.OS, dir)
}

func markFinished(files vfs.FS, dir string) error {
	if err := vfs.RemoveDurably(files, filepath.Join(dir, unfinishedFile)); err != nil {
		return fmt.Errorf("mark as finished: %w", err)
	}
	return nil
}

// Remove deletes an unfinished store from its folder. The mark stays; a folder
// without one is refused.
func Remove(dir string) error {
	if _, err := Unfinished(dir); err != nil {
		return fmt.Errorf("remove unfinished store: %w", err)
	}
	for _, k := range Kinds() {
		if err := os.RemoveAll(filepath.Join(dir, k.file())); err != nil {
			return fmt.Errorf("remove unfinished store: %w", err)
		}
	}
	return vfs.OS.SyncDir(dir)
}

// checkFinished refuses a marked folder. Who is going to write into one without a mark makes
// sure that none comes back: whoever took it away may have been killed before that was
// durable.
func checkFinished(files vfs.FS, dir string, readOnly bool) error {
	marked, err := files.Exists(filepath.Join(dir, unfinishedFile))
	switch {
	case err != nil:
		return fmt.Errorf("look for an unfinished store: %w", err)
	case marked:
		return &store.FormatError{Path: dir,
			Detail: "a conversion into this folder has not finished (" + unfinishedFile +
				"); run the same conversion again, or delete the folder"}
	case readOnly:
		return nil
	}
	if err := files.SyncDir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("sync folder of store: %w", err)
	}
	return nil
}
