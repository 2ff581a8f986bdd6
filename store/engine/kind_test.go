package engine

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestADataFolderNamesTheStoreInIt: whoever gives a node's data folder is told the
// folder that is wanted, and nothing is opened in its place.
func TestADataFolderNamesTheStoreInIt(t *testing.T) {
	for _, k := range []Kind{Page, LevelDB} {
		dir := t.TempDir()
		if _, err := Detect(dir); !errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), "there is one in") {
			t.Errorf("an empty folder: %v", err)
		}
		state := filepath.Join(dir, stateFolder)
		e, err := OpenRows(state, Options{Kind: k})
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := Detect(dir); !errors.Is(err, fs.ErrNotExist) ||
			!strings.Contains(err.Error(), "there is one in "+state) {
			t.Errorf("%s: %v", k, err)
		}
		if found, err := Detect(state); err != nil || found != k {
			t.Errorf("%s is found as %q, %v", k, found, err)
		}
	}
}
