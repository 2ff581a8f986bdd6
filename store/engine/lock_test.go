package engine

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"tarn/store"
)

func TestAFolderIsLockedAgainstWhoHasItsStoreOpen(t *testing.T) {
	for _, k := range Kinds() {
		dir := filepath.Join(t.TempDir(), "deep", "store")
		lock, err := Lock(dir)
		check(t, err)
		if _, err := Open(dir, Options{Kind: k}); !errors.Is(err, store.ErrLocked) {
			t.Fatalf("%s: opened under a lock: %v", k, err)
		}
		check(t, lock.Close())
		s, err := Open(dir, Options{Kind: k})
		check(t, err)
		var locked *store.LockedError
		if _, err := Lock(dir); !errors.As(err, &locked) || locked.PID != os.Getpid() {
			t.Fatalf("%s: an open store's folder was locked: %v", k, err)
		}
		check(t, s.Close())
		lock, err = Lock(dir)
		check(t, err)
		check(t, lock.Close())
	}
}
