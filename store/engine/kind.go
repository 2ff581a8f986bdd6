package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tarn/store"
	"tarn/store/lsm"
	"tarn/store/lsm/badger"
	"tarn/store/page"
)

// Kind names an engine's format on disk. A folder holds a store of one kind.
type Kind string

// The kinds. The page engine's four map modes share one format.
const (
	Page    Kind = "page"
	LevelDB Kind = "leveldb"
	Pebble  Kind = "pebble"
	Badger  Kind = "badger"
)

// Kinds lists all kinds.
func Kinds() []Kind { return []Kind{Page, LevelDB, Pebble, Badger} }

// KindNames lists the names of all kinds.
func KindNames() []string {
	var names []string
	for _, k := range Kinds() {
		names = append(names, string(k))
	}
	return names
}

// ModeNames lists the names of the page engine's map modes.
func ModeNames() []string {
	var names []string
	for _, m := range Modes() {
		names = append(names, m.String())
	}
	return names
}

// Choice is how a sentence names things of which one is chosen: "page, leveldb, pebble or badger".
func Choice(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// Modes lists the page engine's map modes.
func Modes() []page.Mode {
	return []page.Mode{page.Mapped, page.MappedPrivate, page.Heap, page.Locked}
}

// ParseKind reads a kind's name. The error lists the names.
func ParseKind(name string) (Kind, error) {
	if slices.Contains(Kinds(), Kind(name)) {
		return Kind(name), nil
	}
	return "", fmt.Errorf("unknown engine %q: %s", name, Choice(KindNames()))
}

// ParseMode reads a map mode's name. The error lists the names.
func ParseMode(name string) (page.Mode, error) { return page.ParseMode(name) }

// pageFile is the page engine's file. An LSM engine has a folder of its name.
const pageFile = "state.tarn"

// file is the name, in the store's folder, of what only that kind has.
func (k Kind) file() string {
	if k == Page {
		return pageFile
	}
	return string(k)
}

// FolderNames lists the folders that the kinds have which are not one file.
func FolderNames() []string {
	return slices.DeleteFunc(KindNames(), func(name string) bool { return Kind(name) == Page })
}

// stateFolder is where a node keeps its store, in its data folder.
const stateFolder = "state"

// Detect tells which kind of store a folder holds. Without one the error is
// fs.ErrNotExist, and names the folder below that holds one if it is a node's data
// folder; with more than one it is a [store.FormatError].
func Detect(dir string) (Kind, error) {
	found, err := kindsIn(dir)
	switch {
	case err != nil:
		return "", err
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return "", &store.FormatError{Path: dir,
			Detail: fmt.Sprintf("the folder holds stores of more than one engine: %v", found)}
	}
	state := filepath.Join(dir, stateFolder)
	if below, err := kindsIn(state); err == nil && len(below) > 0 {
		return "", fmt.Errorf("%s: no store in this folder, but there is one in %s: %w", dir, state, fs.ErrNotExist)
	}
	return "", fmt.Errorf("%s: no store in this folder, neither %s nor %s: %w",
		dir, pageFile, Choice(FolderNames()), fs.ErrNotExist)
}

// kindsIn lists the kinds of the stores in a folder.
func kindsIn(dir string) ([]Kind, error) {
	var found []Kind
	for _, k := range Kinds() {
		switch info, err := os.Stat(filepath.Join(dir, k.file())); {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, fmt.Errorf("look for a store: %w", err)
		case info.IsDir() == (k != Page):
			found = append(found, k)
		}
	}
	return found, nil
}

// Unclosed reports whether a store has to be opened for writing once before it
// can be opened for reading: Badger cannot read a store whose process was killed
// without finishing its logs.
func Unclosed(dir string, k Kind) (bool, error) {
	if k != Badger {
		return false, nil
	}
	return badger.Unclosed(dir)
}

// Sealed is when the last checkpoint of an LSM store became durable: the time of
// the file that it writes at its end. A copy of the folder may have another.
func Sealed(dir string, k Kind) (time.Time, error) { return lsm.Sealed(dir, k.file()) }
