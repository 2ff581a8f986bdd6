package parquet

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"tarn/fleet"
	"tarn/store/vfs"
)

// placeName is the file that says which sets there are.
const placeName = "export.json"

// placeVersion is of what that file holds.
const placeVersion = 1

// mostPlaceBytes is how large that file may be.
const mostPlaceBytes = 1 << 16

// place is how far an export has come: the set that was completed last. Its files may still have the names under which
// they were written.
type place struct {
	Version int         `json:"version"`
	Ledger  string      `json:"ledger"`
	Set     uint64      `json:"set"`   // its number, from 1
	First   uint64      `json:"first"` // the number of its first block
	Last    fleet.Point `json:"last"`  // its last block
}

// readPlace reads it, nil if nothing was completed yet.
func readPlace(files vfs.FS, path, ledger string) (*place, error) {
	there, err := files.Exists(path)
	if err != nil || !there {
		return nil, err
	}
	text, err := readFile(files, path)
	if err != nil {
		return nil, err
	}
	p := new(place)
	if err := json.Unmarshal(text, p); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", path, err)
	}
	switch {
	case p.Version != placeVersion:
		return nil, fmt.Errorf("%s has version %d; this program knows %d", path, p.Version, placeVersion)
	case p.Set == 0 || p.First > p.Last.Revision:
		return nil, fmt.Errorf("%s is damaged: set %d has blocks %d to %d", path, p.Set, p.First, p.Last.Revision)
	case p.Ledger != ledger:
		return nil, fmt.Errorf("the files in %s are of ledger %q, not of %q: name another folder, or the other ledger",
			filepath.Dir(path), p.Ledger, ledger)
	}
	return p, nil
}

func readFile(files vfs.FS, path string) (text []byte, err error) {
	f, err := files.Open(path, false)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	if size > mostPlaceBytes {
		return nil, fmt.Errorf("%s is damaged: it has %d bytes", path, size)
	}
	text = make([]byte, size)
	if n, err := f.ReadAt(text, 0); err != nil && (!errors.Is(err, io.EOF) || n < len(text)) {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return text, nil
}

// write makes the set count, durably.
func (p *place) write(files vfs.FS, path string) error {
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	if err := vfs.WriteDurably(files, path, append(text, '\n')); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// complete is the name of a set's file in each folder. Names sort as blocks do, up to ten digits.
func (p *place) complete() string {
	return fmt.Sprintf("%010d-%010d.parquet", p.First, p.Last.Revision)
}

// unfinished is the name of a file while its set is written.
func unfinished(set uint64) string { return fmt.Sprintf("set-%d.unfinished", set) }
