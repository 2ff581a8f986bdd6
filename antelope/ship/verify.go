package ship

import (
	"errors"
	"path/filepath"

	"tarn/antelope/ship/shiplog"
	"tarn/antelope/ship/wire"
	"tarn/antelope/survey"
)

// VerifyOptions say which histories are read, and who is told.
type VerifyOptions struct {
	Dir               string
	Retained, Archive string // folders of older files, which need not exist

	survey.Reporter
}

// Verify reads all of the histories in a folder, and changes nothing. Blocks that both have
// are held against each other.
func Verify(o VerifyOptions) (total survey.Counts, err error) {
	c, err := wire.NewChecker()
	if err != nil {
		return total, err
	}
	old := []string{o.Archive, o.Retained}
	if filepath.Clean(o.Archive) == filepath.Clean(o.Retained) {
		old = old[1:]
	}
	traces := shiplog.VerifyOptions{Name: traceName, Dir: o.Dir, Old: old, Reporter: o.Reporter, Decode: c.Traces}
	n, err := shiplog.Verify(traces)
	if total.Add(n); err != nil {
		return total, err
	}
	ids, err := shiplog.OpenIDs(traces)
	if err != nil {
		return total, err
	}
	defer func() { err = errors.Join(err, ids.Close()) }()
	n, err = shiplog.Verify(shiplog.VerifyOptions{Name: stateName, Dir: o.Dir, Old: old, Reporter: o.Reporter, Decode: c.Deltas, ID: ids.ID})
	total.Add(n)
	return total, err
}
