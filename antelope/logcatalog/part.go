package logcatalog

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tarn/store/vfs"
)

const (
	logEnding   = ".log"
	indexEnding = ".index"
)

// Pair is a log with its index: the path of both without ending.
type Pair string

// Log is the path of the log.
func (p Pair) Log() string { return string(p) + logEnding }

// Index is the path of its index.
func (p Pair) Index() string { return string(p) + indexEnding }

// Replace gives a pair, whose bytes must be durable, another name, durably, in place of the pair that
// has it. A file that is not there is left out: done again after a crash it comes to its end.
func (p Pair) Replace(fs vfs.FS, to Pair) error {
	for _, move := range [][2]string{{p.Log(), to.Log()}, {p.Index(), to.Index()}} {
		there, err := fs.Exists(move[0])
		if err == nil && there {
			err = vfs.MoveDurably(fs, move[0], move[1])
		}
		if err != nil {
			return fmt.Errorf("move %s to %s: %w", move[0], move[1], err)
		}
	}
	return nil
}

// Remove removes a pair durably, as far as it is there.
func (p Pair) Remove(fs vfs.FS) error {
	return errors.Join(vfs.RemoveDurably(fs, p.Log()), vfs.RemoveDurably(fs, p.Index()))
}

// surrender is Replace for a name that others have a right to: a file that is there, durably, stays, as
// nodeos has it, and that of the pair goes. But one that is shorter is what an interrupted copy left.
func (p Pair) surrender(fs vfs.FS, to Pair, log *slog.Logger) error {
	for _, move := range [][2]string{{p.Log(), to.Log()}, {p.Index(), to.Index()}} {
		there, err := holds(fs, move[1], move[0])
		if err == nil && there {
			log.Warn("file already exists, just removing the other", "exists", move[1], "removed", move[0])
			err = vfs.RemoveDurably(fs, move[0])
		}
		if err != nil {
			return fmt.Errorf("move %s to %s: %w", move[0], move[1], err)
		}
	}
	return p.Replace(fs, to)
}

// holds tells whether a file is there and is at least as long as another.
func holds(fs vfs.FS, file, other string) (bool, error) {
	var sizes [2]int64
	for i, path := range [2]string{file, other} {
		there, err := fs.Exists(path)
		if err != nil || !there {
			return false, err
		}
		if sizes[i], err = Size(fs, path); err != nil {
			return false, err
		}
	}
	return sizes[0] >= sizes[1], nil
}

// Size is how many bytes a file has, 0 if there is none.
func Size(fs vfs.FS, path string) (size int64, err error) {
	if there, err := fs.Exists(path); err != nil || !there {
		return 0, err
	}
	f, err := fs.Open(path, false)
	if err != nil {
		return 0, err
	}
	size, err = f.Size()
	return size, errors.Join(err, f.Close())
}

// Part is a finished part of a log, and the blocks that it has, the first and the last included.
type Part struct {
	Pair
	First, Last uint32
}

// NewPart is the part with these blocks of a log of this name, in a folder.
func NewPart(dir, name string, first, last uint32) Part {
	return Part{Pair(filepath.Join(dir, fmt.Sprintf("%s-%d-%d", name, first, last))), first, last}
}

// parse reads which blocks a part has from its file's name without ending.
func parse(stem, name string) (first, last uint32, ok bool) {
	rest, ok := strings.CutPrefix(stem, name+"-")
	a, b, two := strings.Cut(rest, "-")
	from, err := strconv.ParseUint(a, 10, 32)
	to, err2 := strconv.ParseUint(b, 10, 32)
	return uint32(from), uint32(to), ok && two && err == nil && err2 == nil
}

// Parts lists the parts of a log in a folder, in order, and leaves out those whose blocks others have. look says
// which blocks a part has; nil believes its name. A nil logger is told nothing.
func Parts(fs FS, dir, name string, look func(Part) (Part, error), log *slog.Logger) ([]Part, error) {
	list, err := list(fs, dir, name)
	if err != nil {
		return nil, err
	}
	if look == nil {
		return order(slices.DeleteFunc(list, func(p Part) bool { return p.First > p.Last || p.Last+1 == 0 }), log), nil
	}
	for i := range list {
		if list[i], err = look(list[i]); err != nil {
			return nil, err
		}
	}
	return order(list, log), nil
}

// list lists the files in a folder that have a part's name.
func list(fs FS, dir, name string) (list []Part, err error) {
	names, err := fs.List(dir)
	if err != nil {
		return nil, fmt.Errorf("list the parts of a log in %s: %w", dir, err)
	}
	slices.Sort(names)
	for _, n := range names {
		stem, isLog := strings.CutSuffix(n, logEnding)
		if first, last, ok := parse(stem, name); ok && isLog {
			list = append(list, Part{Pair(filepath.Join(dir, stem)), first, last})
		}
	}
	return list, nil
}

// order puts parts in order, and leaves out those whose blocks another one has.
func order(list []Part, log *slog.Logger) (kept []Part) {
	slices.SortStableFunc(list, func(a, b Part) int {
		return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(b.Last, a.Last))
	})
	for _, p := range list {
		if n := len(kept); n > 0 && p.Last <= kept[n-1].Last {
			if log != nil {
				log.Warn("Two parts of a log have the same blocks: one is not looked at", "dropped", p.Log(),
					"kept", kept[n-1].Log())
			}
			continue
		}
		kept = append(kept, p)
	}
	return kept
}

// settle removes what interrupted copies into a folder left of a log's parts, and makes the names in
// it durable: a process that was killed may have moved a file there whose old name is about to be used again.
func settle(fs FS, dir, name string) error {
	names, err := fs.List(dir)
	if err != nil {
		return err
	}
	for _, n := range names {
		if copied(n, name) {
			if err := fs.Remove(filepath.Join(dir, n)); err != nil {
				return err
			}
		}
	}
	return fs.SyncDir(dir)
}

// copied tells whether a name is that of a copy of a part while it is made; ".part" is an older program's.
func copied(file, name string) bool {
	for _, ending := range []string{logEnding, indexEnding} {
		for _, suffix := range []string{vfs.NewSuffix, ".part"} {
			if stem, ok := strings.CutSuffix(file, ending+suffix); ok {
				_, _, ok = parse(stem, name)
				return ok
			}
		}
	}
	return false
}
