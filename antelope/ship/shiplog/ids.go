package shiplog

import (
	"errors"
	"io/fs"
	"path/filepath"

	"tarn/antelope/logcatalog"
	"tarn/antelope/types"
	"tarn/store/vfs"
)

// IDs looks up which blocks a log has, for another that is held against it. It changes
// nothing, and says nothing of what it cannot read. One goroutine uses it.
type IDs struct{ files []*file }

// OpenIDs opens the files of a log.
func OpenIDs(o VerifyOptions) (*IDs, error) {
	if o.FS == nil {
		o.FS = logcatalog.OS
	}
	x := &IDs{}
	for _, dir := range o.Old {
		list, err := logcatalog.Parts(o.FS, dir, o.Name, nil, nil)
		if err != nil {
			return nil, errors.Join(err, x.Close())
		}
		for _, p := range list {
			if err := x.open(o.FS, p.Pair, p.First, p.Last+1); err != nil {
				return nil, errors.Join(err, x.Close())
			}
		}
	}
	if err := x.open(o.FS, logcatalog.Pair(filepath.Join(o.Dir, o.Name)), 0, ^uint32(0)); err != nil {
		return nil, errors.Join(err, x.Close())
	}
	return x, nil
}

// open opens a file that has an index, and a first header that can be read.
func (x *IDs) open(files vfs.FS, p logcatalog.Pair, first, end uint32) error {
	log, err := files.Open(p.Log(), false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	index, err := files.Open(p.Index(), false)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return errors.Join(err, log.Close())
	}
	f := &file{log: log, index: index, Pair: p}
	x.files = append(x.files, f)
	if f.size, err = log.Size(); err != nil {
		return err
	}
	if err := f.begin(f.size); err == nil {
		f.first, f.end = max(first, f.base), end
	} else if !errors.Is(err, ErrCorrupt) {
		return err
	}
	return nil
}

// ID is the id of a block; false if the log does not tell it.
func (x *IDs) ID(num uint32) (id types.Checksum256, ok bool, err error) {
	for _, f := range x.files {
		if num < f.first || num >= f.end {
			continue
		}
		h, _, err := f.readIndexed(num)
		if errors.Is(err, ErrCorrupt) {
			return id, false, nil
		}
		return h.id, err == nil, err
	}
	return id, false, nil
}

// Close closes the files.
func (x *IDs) Close() (err error) {
	for _, f := range x.files {
		err = errors.Join(err, f.Close())
	}
	return err
}
