package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"tarn/store"
)

// unfinishedFile marks a store that somebody has begun to fill and has not
// finished filling.
const unfinishedFile = "UNFINISHED"

// MarkUnfinished makes the folder if need be and marks it, durably, as one that
// [Open] must refuse. The note is for whoever resumes the work, and for whoever
// reads the file. A mark that is there already gets the new note.
func MarkUnfinished(dir string, note []byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("mark as unfinished: %w", err)
	}
	name := filepath.Join(dir, unfinishedFile)
	if err := writeSynced(name+".new", note); err != nil {
		return fmt.Errorf("mark as unfinished: %w", err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		return fmt.Errorf("mark as unfinished: %w", err)
	}
	// The folder's own name must not outlive a crash without the mark's.
	return errors.Join(syncFolder(dir), syncFolder(filepath.Dir(filepath.Clean(dir))))
}

// Unfinished returns the note of a marked folder, or fs.ErrNotExist if it is not
// marked.
func Unfinished(dir string) ([]byte, error) {
	return os.ReadFile(filepath.Join(dir, unfinishedFile))
}

// MarkFinished takes the mark away, durably. What the store holds must be
// durable before.
func MarkFinished(dir string) error {
	if err := os.Remove(filepath.Join(dir, unfinishedFile)); err != nil {
		return fmt.Errorf("mark as finished: %w", err)
	}
	return syncFolder(dir)
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
	return syncFolder(dir)
}

// finished refuses a marked folder.
func finished(dir string) error {
	switch _, err := Unfinished(dir); {
	case err == nil:
		return &store.FormatError{Path: dir, Detail: "a conversion into this folder has not finished (" + unfinishedFile +
			"); run the same conversion again, or delete the folder"}
	case errors.Is(err, fs.ErrNotExist):
		return nil
	default:
		return fmt.Errorf("look for an unfinished store: %w", err)
	}
}

func writeSynced(name string, data []byte) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
