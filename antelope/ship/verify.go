package ship

import (
	"errors"
	"io"
	"path/filepath"

	"tarn/antelope/logfinding"
	"tarn/antelope/ship/shiplog"
	"tarn/antelope/ship/wire"
	"tarn/antelope/types"
)

// VerifyOptions say which histories are read, and who is told.
type VerifyOptions struct {
	Dir               string
	Retained, Archive string // folders of older files, which need not exist

	logfinding.Reporter
}

// Verify reads all of the histories in a folder, and changes nothing. Blocks that several
// have are held against each other.
func Verify(o VerifyOptions) (total logfinding.Counts, err error) {
	c, err := wire.NewChecker()
	if err != nil {
		return total, err
	}
	old := []string{o.Archive, o.Retained}
	if filepath.Clean(o.Archive) == filepath.Clean(o.Retained) {
		old = old[1:]
	}
	var read others
	defer func() { err = errors.Join(err, read.close()) }()
	for _, l := range []struct {
		name   string
		decode func(io.Reader) error
	}{{traceName, c.Traces}, {stateName, c.Deltas}, {finalityName, c.Finality}} {
		x := shiplog.VerifyOptions{Name: l.name, Dir: o.Dir, Old: old, Reporter: o.Reporter,
			Decode: l.decode, ID: read.id}
		n, err := shiplog.Verify(x)
		if total.Add(n); err != nil {
			return total, err
		}
		ids, err := shiplog.OpenIDs(x)
		if err != nil {
			return total, err
		}
		read = append(read, ids)
	}
	return total, nil
}

// others are the logs that a log is held against.
type others []*shiplog.IDs

// id is what the first of them says that knows a block.
func (o *others) id(num uint32) (id types.Checksum256, ok bool, err error) {
	for _, x := range *o {
		if id, ok, err = x.ID(num); ok || err != nil {
			return id, ok, err
		}
	}
	return id, false, nil
}

func (o *others) close() (err error) {
	for _, x := range *o {
		err = errors.Join(err, x.Close())
	}
	return err
}
