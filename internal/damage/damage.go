// Package damage spoils files of a folder as disks, people and crashes do: anywhere, and in
// any way. It owns how a file is spoilt; what must hold afterwards is a test's to say. It is
// for tests only.
package damage

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// A Way is how a file is spoilt.
type Way int

// Ways of spoiling a file.
const (
	Flip     Way = iota // one bit is another
	Zero                // a stretch is zeros
	Garbage             // a stretch is anything
	Truncate            // the end is missing
	Extend              // there is more behind the end: zeros, anything, or what the file has elsewhere
	ways
)

func (w Way) String() string {
	return [...]string{"flip", "zero", "garbage", "truncate", "extend"}[w]
}

// Done is what was done to one file.
type Done struct {
	File string // from the folder
	Way  Way
	At   int64 // offset of the first byte that is another or missing
	Size int64 // how many are
	Of   int64 // how many the file had
}

func (d Done) String() string {
	return fmt.Sprintf("%s of %d bytes at offset %d of %s, which had %d", d.Way, d.Size, d.At, d.File, d.Of)
}

// longest is how many bytes are spoilt at most, but by Truncate: some sectors and pages.
const longest = 9000

// Spoil damages one of the folder's files that are not empty, so that its content is another.
// The random source decides which, where and how. Folders have the same chance each, however
// many files are in them.
func Spoil(r *rand.Rand, dir string) (Done, error) {
	files, err := Files(dir)
	if err != nil {
		return Done{}, err
	}
	if len(files) == 0 {
		return Done{}, fmt.Errorf("damage a file of %s: there is none with content", dir)
	}
	d := Done{File: chooseFile(r, files)}
	name := filepath.Join(dir, d.File)
	before, err := os.ReadFile(name)
	if err != nil {
		return d, fmt.Errorf("damage a file: %w", err)
	}
	d.Of = int64(len(before))
	for { // what changes nothing is no damage
		d.Way = Way(r.IntN(int(ways)))
		after := d.spoilt(r, before)
		if bytes.Equal(before, after) {
			continue
		}
		if err := os.WriteFile(name, after, 0o600); err != nil {
			return d, fmt.Errorf("damage a file: %w", err)
		}
		return d, nil
	}
}

// chooseFile is one of the files, which are in the order of their names: of a folder, then in it.
func chooseFile(r *rand.Rand, files []string) string {
	var folders []string
	in := map[string][]string{}
	for _, name := range files {
		folder := filepath.Dir(name)
		if in[folder] == nil {
			folders = append(folders, folder)
		}
		in[folder] = append(in[folder], name)
	}
	list := in[folders[r.IntN(len(folders))]]
	return list[r.IntN(len(list))]
}

// spoilt is a file's content after what the way does to it, and notes where that is.
func (d *Done) spoilt(r *rand.Rand, b []byte) []byte {
	at := place(r, len(b))
	n := min(len(b)-at, 1+r.IntN(longest))
	if r.IntN(2) == 0 {
		n = min(n, 16)
	}
	d.At, d.Size = int64(at), int64(n)
	c := bytes.Clone(b)
	switch d.Way {
	case Flip:
		c[at] ^= 1 << r.IntN(8)
		d.Size = 1
	case Zero:
		clear(c[at : at+n])
	case Garbage:
		fill(r, c[at:at+n])
	case Truncate:
		d.Size = int64(len(b) - at)
		return c[:at]
	case Extend:
		more := make([]byte, 1+r.IntN(longest))
		switch r.IntN(3) {
		case 0:
			fill(r, more)
		case 1:
			more = more[:copy(more, b[at:])]
		}
		d.At, d.Size = int64(len(b)), int64(len(more))
		return append(c, more...)
	}
	return c
}

// place is an offset in a file of n bytes: as often as not one of its ends.
func place(r *rand.Rand, n int) int {
	near := min(n, 200)
	switch r.IntN(4) {
	case 0:
		return r.IntN(near)
	case 1:
		return n - 1 - r.IntN(near)
	}
	return r.IntN(n)
}

func fill(r *rand.Rand, b []byte) {
	for i := range b {
		b[i] = byte(r.Uint32())
	}
}

// Files are those of a folder and of the folders in it that are not empty, from the folder, in
// the order of their names.
func Files(dir string) (list []string, err error) {
	err = filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		info, err := e.Info()
		if err != nil || info.Size() == 0 {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		list = append(list, rel)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look for files: %w", err)
	}
	return list, nil
}
