package appendonly

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"

	"tarn/store/vfs"
)

// Move copies the oldest segment in Dir that has nothing but entries before a number into
// OldDir, removes it where it was, and tells whether there was one. It may run beside Append,
// Sync and reads, but not beside Cut, Drop and itself. An error leaves the log as it was.
func (l *Log) Move(before uint64) (moved bool, err error) {
	if l.o.OldDir == "" || l.o.OldDir == l.o.Dir {
		return false, fmt.Errorf("move a segment of %s: there is no other folder", l.o.Dir)
	}
	s := l.movable(before)
	if s == nil {
		return false, nil
	}
	from, to := segmentPath(l.o.Dir, s.sequence), segmentPath(l.o.OldDir, s.sequence)
	if err := vfs.CopyFile(l.o.FS, from, to); err != nil {
		return false, fmt.Errorf("move to %s: %w", l.o.OldDir, err)
	}
	l.mu.Lock()
	s.dir = l.o.OldDir
	l.mu.Unlock()
	// Nobody looks for it there any more.
	if err := errors.Join(l.files.Forget(from), vfs.RemoveDurably(l.o.FS, from)); err != nil {
		return true, fmt.Errorf("remove %s, which was moved to %s: %w", from, to, err)
	}
	return true, nil
}

// movable returns the oldest segment that may move, nil if there is none.
func (l *Log) movable(before uint64) *segment {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for _, s := range l.segments {
		if !s.finished || s.first+s.count > before {
			return nil
		}
		if s.dir == l.o.Dir {
			return s
		}
	}
	return nil
}

// ErrOther is wrapped by the error for a folder in which another history has files.
var ErrOther = errors.New("it belongs to another history")

// pair is what the folder of a history, and the other folder that its finished segments
// are moved to, both have in a file: the same number, by chance, and where the other one is.
type pair struct {
	number [16]byte
	other  string
}

const (
	pairMagic = "tarnpair"
	maxPair   = 64 << 10
)

func pairPath(dir string) string { return filepath.Join(dir, "PAIR") }

// readPair reads the file of a folder, nil if there is none.
func readPair(fs vfs.FS, dir string) (*pair, error) {
	path := pairPath(dir)
	if there, err := fs.Exists(path); err != nil || !there {
		return nil, err
	}
	raw, err := vfs.ReadFile(fs, path, maxPair+1)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if len(raw) < 28 || len(raw) > maxPair || string(raw[:8]) != pairMagic ||
		checksum(raw[:len(raw)-4]) != binary.LittleEndian.Uint32(raw[len(raw)-4:]) {
		return nil, corrupt(path, 0, "not a pair of folders")
	}
	return &pair{[16]byte(raw[8:24]), string(raw[24 : len(raw)-4])}, nil
}

func (p *pair) write(fs vfs.FS, dir string) error {
	raw := append([]byte(pairMagic), p.number[:]...)
	raw = append(raw, p.other...)
	return vfs.WriteDurably(fs, pairPath(dir), binary.LittleEndian.AppendUint32(raw, checksum(raw)))
}

// Pair makes old the folder that finished segments of the history in dir are moved to: logs
// have folders of the same names in both. A folder belongs to one history: that of another
// is refused with [ErrOther].
func Pair(fs vfs.FS, dir, old string) error {
	if err := errors.Join(vfs.MkdirAll(fs, dir), vfs.MkdirAll(fs, old)); err != nil {
		return err
	}
	here, err := readPair(fs, dir)
	if err != nil {
		return err
	}
	there, err := readPair(fs, old)
	switch {
	case err != nil:
		return err
	case there != nil && (here == nil || here.number != there.number):
		return fmt.Errorf("move history from %s to %s: %w, whose folder was %s", dir, old, ErrOther, there.other)
	case here != nil && there == nil && here.other != old:
		return fmt.Errorf(
			"move history from %s to %s: some may have been moved to %s already: name that folder, or move all of it "+
				"with its file PAIR; if it is back in %s, remove %s",
			dir, old, here.other, dir, pairPath(dir))
	case here != nil && there != nil && here.other == old:
		return nil
	case here == nil:
		here = new(pair)
		if _, err := rand.Read(here.number[:]); err != nil {
			return err
		}
	}
	// The number is in dir before it is in old: a crash in between leaves an old folder that
	// is nobody's.
	here.other = old
	if err := here.write(fs, dir); err != nil {
		return err
	}
	return (&pair{here.number, dir}).write(fs, old)
}

// Paired returns the folder to which finished segments of the history in dir may have been
// moved, "" if there is none.
func Paired(fs vfs.FS, dir string) (string, error) {
	p, err := readPair(fs, dir)
	if err != nil || p == nil {
		return "", err
	}
	return p.other, nil
}

// Unpair gives old up, if it belongs to the history in dir and nothing was moved there, as
// where a history is made anew from its beginning.
func Unpair(fs vfs.FS, dir, old string) error {
	here, err := readPair(fs, dir)
	if err != nil || here == nil {
		return err
	}
	there, err := readPair(fs, old)
	if err != nil || there == nil || there.number != here.number {
		return err
	}
	return vfs.RemoveDurably(fs, pairPath(old))
}
