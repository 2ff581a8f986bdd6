package suite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"tarn/bench/record"
	"tarn/store/vfs"
)

// Kept is a chain that is made once and kept in a folder of a cache. A chain is made beside
// its folder and takes its place when it is whole, so an interrupted making leaves none.
type Kept struct {
	Cache string // the folder of chains
	Dir   string // the chain's own, in Cache
	About string // what it has, as in "a chain of ABOUT"
	// Found reads what is said of the chain in Dir, and holds its files against it. Its error
	// is fs.ErrNotExist if there is none.
	Found func() (record.Chain, error)
	// Make makes the chain in the folder "chain" below part.
	Make func(ctx context.Context, part string) error
}

// Chain makes the chain, unless the folder has it whole.
func (k Kept) Chain(ctx context.Context, tell func(string)) (record.Chain, error) {
	made, err := k.Found()
	if err == nil {
		return made, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		tell(fmt.Sprintf("the chain in %s is made again: %s", k.Dir, err))
	}
	tell(fmt.Sprintf("making a chain of %s, which is kept in %s", k.About, k.Dir))
	if err := vfs.MkdirAll(vfs.OS, k.Cache); err != nil {
		return made, fmt.Errorf("make the folder of chains: %w", err)
	}
	part, err := os.MkdirTemp(k.Cache, "making-")
	if err != nil {
		return made, fmt.Errorf("make a chain: %w", err)
	}
	defer os.RemoveAll(part)
	if err := k.Make(ctx, part); err != nil {
		return made, fmt.Errorf("make a chain in %s: %w", part, err)
	}
	if err := errors.Join(os.RemoveAll(k.Dir), os.Rename(filepath.Join(part, "chain"), k.Dir)); err != nil {
		return made, fmt.Errorf("keep the chain that was made: %w", err)
	}
	return k.Found()
}
