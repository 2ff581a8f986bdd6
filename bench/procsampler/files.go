package procsampler

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tarn/bench/record"
	"tarn/internal/figuretable"
	"tarn/procusage"
)

// files follows what a process's files become, from reading to reading. A file that is made
// and removed between two readings is not seen.
type files struct {
	began time.Time
	last  map[procusage.FileID]procusage.File
	grown map[string]*record.File // by name
}

// pattern is a file's name, or that of all files in its folder that differ by a number: a
// library that writes tables makes hundreds of them.
func pattern(path string) string {
	path = strings.TrimSuffix(path, " (deleted)")
	dir, base := filepath.Split(path)
	ext := filepath.Ext(base)
	for _, c := range strings.TrimSuffix(base, ext) {
		if c < '0' || c > '9' {
			return path
		}
	}
	return dir + "*" + ext
}

// read adds what changed since the last reading.
func (f *files) read(pid int) error {
	now, err := procusage.ReadFiles(pid)
	if err != nil {
		return err
	}
	for id, file := range now {
		before, known := f.last[id]
		if !known {
			if f.last == nil || file.Made.Before(f.began) { // it was there
				continue
			}
			before = procusage.File{}
		}
		if file.Size == before.Size && file.Blocks == before.Blocks && file.Changed.Equal(before.Changed) {
			continue
		}
		name := pattern(file.Path)
		g := f.grown[name]
		if g == nil {
			g = &record.File{Name: name}
			f.grown[name] = g
		}
		g.Grew += max(0, file.Size-before.Size)
		g.Occupied += max(0, file.Blocks-before.Blocks)
		if file.Size <= before.Size {
			g.InPlace++
		}
	}
	f.last = now
	return nil
}

// list is what was written, what grew most first.
func (f *files) list() []record.File {
	var all []record.File
	for _, g := range f.grown {
		all = append(all, *g)
	}
	slices.SortFunc(all, func(a, b record.File) int {
		return cmp.Or(cmp.Compare(b.Occupied, a.Occupied), strings.Compare(a.Name, b.Name))
	})
	return all
}

// device is the folder whose files are the largest together, of those on a disk that the
// kernel counts; "" is none.
func (f *files) device() string {
	sizes := map[string]int64{}
	for _, file := range f.last {
		if !strings.HasPrefix(file.Path, "/dev/") {
			sizes[filepath.Dir(file.Path)] += file.Blocks
		}
	}
	folders := slices.SortedFunc(maps.Keys(sizes), func(a, b string) int {
		return cmp.Or(cmp.Compare(sizes[b], sizes[a]), strings.Compare(a, b))
	})
	for _, folder := range folders {
		if figuretable.DeviceWrites(folder) >= 0 {
			return folder
		}
	}
	return ""
}
