package engine

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"tarn/store"
	"tarn/store/vfs"
)

// LockFile is the name, in the folder of a store of any kind, of the file whose lock
// whoever has the store open holds.
const LockFile = "LOCK"

// Lock takes the lock of a store's folder, for those who delete what is in it: as
// long as it is held nobody can open the store, and while somebody has it open the
// error is a [store.LockedError]. The folder is made if need be; the lock's file must
// be left in it.
func Lock(dir string) (io.Closer, error) {
	if err := vfs.MkdirAll(vfs.OS, dir); err != nil {
		return nil, fmt.Errorf("lock the store's folder: %w", err)
	}
	lock, holder, err := vfs.OS.Lock(filepath.Join(dir, LockFile), true)
	if errors.Is(err, vfs.ErrLocked) {
		pid, _ := strconv.Atoi(strings.TrimSpace(holder)) //nolint:errcheck // the number is a courtesy
		return nil, &store.LockedError{Path: dir, PID: pid}
	}
	return lock, err
}
