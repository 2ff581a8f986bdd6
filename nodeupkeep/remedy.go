package nodeupkeep

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"

	"tarn/procusage"
	"tarn/store"
)

// fullDisk is the folder, or the store's file, whose disk is full, if err is of one; else "".
func fullDisk(err error) string {
	var at *fs.PathError
	var state *store.FullError
	switch {
	case errors.As(err, &state) && state.Of == store.RoomOnDisk:
		return state.Path
	case errors.Is(err, syscall.ENOSPC) && errors.As(err, &at):
		return filepath.Dir(at.Path)
	}
	return ""
}

// Remedy adds to an error of a disk that is full, or of memory for changes, what helps, and
// tells whether it was one of those. What helps against a store that is full as such, which
// is an option's doing, the protocol's own node says.
func Remedy(err error) (helped error, ok bool) {
	if dir := fullDisk(err); dir != "" {
		return fmt.Errorf("free space on the disk of %s: %w", dir, err), true
	}
	var full *store.FullError
	if errors.As(err, &full) && full.Of == store.RoomInMemory {
		return fmt.Errorf("The changes of the state that are not saved yet need more memory than they may take. "+
			"Give the node more memory and start it again: %w", err), true
	}
	return err, false
}

// Free is how many bytes of a folder's disk others than root may still write.
func Free(dir string) (uint64, error) {
	s, err := procusage.ReadSpace(dir)
	return uint64(s.Free), err
}
