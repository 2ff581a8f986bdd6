package shiplog

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"path/filepath"

	"tarn/antelope/blocklog"
	"tarn/antelope/types"
	"tarn/store/vfs"
)

// IDs looks up which blocks a log has, for another that is held against it. It changes
// nothing, and says nothing of what it cannot read. One goroutine uses it.
type IDs struct{ files []*idFile }

type idFile struct {
	log, index  vfs.File
	first, last uint32
	base        uint32
	size        int64
}

// OpenIDs opens the files of a log.
func OpenIDs(o VerifyOptions) (*IDs, error) {
	if o.FS == nil {
		o.FS = blocklog.OS
	}
	x := &IDs{}
	for _, dir := range o.Old {
		list, err := parts(o.FS, dir, o.Name)
		if err != nil {
			return nil, errors.Join(err, x.Close())
		}
		for _, p := range list {
			if err := x.open(o.FS, p.path, p.first, p.last); err != nil {
				return nil, errors.Join(err, x.Close())
			}
		}
	}
	if err := x.open(o.FS, filepath.Join(o.Dir, o.Name), 0, ^uint32(0)); err != nil {
		return nil, errors.Join(err, x.Close())
	}
	return x, nil
}

// open opens a file that has an index, and a first header that can be read.
func (x *IDs) open(files vfs.FS, stem string, first, last uint32) error {
	log, err := files.Open(stem+".log", false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	index, err := files.Open(stem+".index", false)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return errors.Join(err, log.Close())
	}
	f := &idFile{log: log, index: index, first: first, last: last}
	x.files = append(x.files, f)
	if f.size, err = log.Size(); err != nil {
		return err
	}
	if h, err := readHeader(log, 0, f.size); err == nil {
		f.base = number(h.id)
	} else if errors.Is(err, ErrCorrupt) {
		f.size = 0
	} else {
		return err
	}
	return nil
}

// ID is the id of a block; false if the log does not tell it.
func (x *IDs) ID(num uint32) (id types.Checksum256, ok bool, err error) {
	for _, f := range x.files {
		if f.size == 0 || num < f.base || num < f.first || num > f.last {
			continue
		}
		size, err := f.index.Size()
		offset := int64(num-f.base) * indexBytes
		if err != nil || offset+indexBytes > size {
			return id, false, err
		}
		var b [indexBytes]byte
		if _, err := f.index.ReadAt(b[:], offset); err != nil {
			return id, false, err
		}
		h, err := readHeader(f.log, int64(binary.LittleEndian.Uint64(b[:])), f.size)
		if errors.Is(err, ErrCorrupt) || err == nil && number(h.id) != num {
			return id, false, nil
		}
		return h.id, err == nil, err
	}
	return id, false, nil
}

// Close closes the files.
func (x *IDs) Close() (err error) {
	for _, f := range x.files {
		err = errors.Join(err, f.log.Close(), f.index.Close())
	}
	return err
}
