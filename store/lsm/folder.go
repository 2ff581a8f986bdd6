package lsm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"tarn/store"
	"tarn/store/vfs"
)

// Folder is the folder of a store on a library, locked: a LOCK file, and a folder
// of the library's name with the library's files and a SEAL among them. An
// adapter enters it before the library opens anything.
type Folder struct {
	fs       vfs.FS
	dir      string
	path     string // the library's folder
	file     sealFile
	readOnly bool
	lock     io.Closer

	mu     sync.Mutex
	log    string // see EndsIn
	end    int64
	sealed seal // the newest sound one
	at     time.Time
	closed bool
	list   func() (List, error) // see Lists
}

// Enter locks the store in dir and reads its seal. Without readOnly a folder that
// has no store of this kind yet becomes one whose seal says that nothing is
// durable, and all that the folder holds is made durable before anything stands on
// it: a process that was killed may have left it in the page cache only. kind is the
// library's name, of at most 8 bytes. The lock, the seal and names are reached by way of
// files; nil is vfs.OS.
//
// The errors are store.LockedError, store.VersionError, store.CorruptError, and
// fs.ErrNotExist where there is nothing to read.
func Enter(files vfs.FS, dir, kind string, readOnly bool) (*Folder, error) {
	if files == nil {
		files = vfs.OS
	}
	s := &Folder{fs: files, dir: dir, path: filepath.Join(dir, kind), readOnly: readOnly}
	s.file = sealFile{files, filepath.Join(s.path, sealName)}
	if readOnly {
		if _, err := os.Stat(s.path); err != nil {
			return nil, fmt.Errorf("open %s for reading: %w", dir, err)
		}
	} else if err := vfs.MkdirAll(s.fs, dir); err != nil {
		return nil, fmt.Errorf("make the store's folder: %w", err)
	}
	if err := s.takeLock(); err != nil {
		return nil, err
	}
	err := s.readSeal(kind)
	if err == nil && !readOnly {
		err = s.settle()
	}
	if err != nil {
		return nil, errors.Join(err, s.lock.Close())
	}
	return s, nil
}

// Inside enters a store's folder, opens its library there, and leaves the folder if that
// fails. The arguments are Enter's.
func Inside[B Base](files vfs.FS, dir, kind string, readOnly bool, open func(*Folder) (B, error)) (B, error) {
	var none B
	folder, err := Enter(files, dir, kind, readOnly)
	if err != nil {
		return none, err
	}
	b, err := open(folder)
	if err != nil {
		return none, errors.Join(err, folder.Leave())
	}
	return b, nil
}

// settle makes durable what the folder holds. Of the library's own files each
// library writes anew at its opening what it had not synced.
func (s *Folder) settle() error {
	if s.sealed.sequence > 0 {
		if err := s.file.settle(s.sealed); err != nil {
			return err
		}
		if err := s.keepTime(s.at); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(s.path)
	if err != nil {
		return fmt.Errorf("sync what is there: %w", err)
	}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		if err := s.syncFile(filepath.Join(s.path, e.Name())); err != nil {
			return fmt.Errorf("sync what is there: %w", err)
		}
	}
	if err := errors.Join(s.fs.SyncDir(s.path), s.fs.SyncDir(s.dir)); err != nil {
		return fmt.Errorf("sync the names that are there: %w", err)
	}
	return nil
}

func (s *Folder) syncFile(path string) error {
	f, err := s.fs.Open(path, false)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func (s *Folder) takeLock() error {
	path := filepath.Join(s.dir, "LOCK")
	lock, holder, err := s.fs.Lock(path, !s.readOnly)
	if errors.Is(err, vfs.ErrLocked) {
		pid, _ := strconv.Atoi(holder) //nolint:errcheck // the number is a courtesy
		return &store.LockedError{Path: path, PID: pid}
	}
	if err != nil {
		return fmt.Errorf("lock the store: %w", err)
	}
	s.lock = lock
	return nil
}

// readSeal finds the seal, or makes the first one in a new folder.
func (s *Folder) readSeal(kind string) error {
	path := s.file.path
	sealed, err := s.file.read()
	switch {
	case err == nil:
		if s.sealed = sealed; sealed.kind != kind {
			return &store.FormatError{Path: path, Detail: fmt.Sprintf("it seals a %q store in the folder of %q",
				sealed.kind, kind)}
		}
		if info, err := os.Stat(path); err == nil {
			s.at = info.ModTime()
		}
		if sealed.sequence > 0 {
			return nil
		}
		if s.readOnly {
			return fmt.Errorf("open %s for reading: its creation was interrupted: %w", s.dir, fs.ErrNotExist)
		}
		return s.wipe() // nothing was ever durable
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	entries, err := os.ReadDir(s.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look for a store: %w", err)
	}
	for _, e := range entries {
		if e.Name() != sealName+vfs.NewSuffix {
			return corrupt(path, "it is missing, and %s is not empty", s.path)
		}
	}
	if s.readOnly {
		return fmt.Errorf("open %s for reading: %w", path, fs.ErrNotExist)
	}
	s.sealed = seal{kind: kind}
	return s.firstSeal()
}

func (s *Folder) firstSeal() error {
	if err := vfs.MkdirAll(s.fs, s.path); err != nil {
		return fmt.Errorf("make the library's folder: %w", err)
	}
	return s.file.make(s.sealed)
}

// wipe removes what an interrupted creation left.
func (s *Folder) wipe() error {
	entries, err := os.ReadDir(s.path)
	if err != nil {
		return fmt.Errorf("clear an unfinished store: %w", err)
	}
	for _, e := range entries {
		if e.Name() == sealName {
			continue
		}
		if err := os.RemoveAll(filepath.Join(s.path, e.Name())); err != nil {
			return fmt.Errorf("clear an unfinished store: %w", err)
		}
	}
	return s.fs.SyncDir(s.path)
}

// Path is the library's folder.
func (s *Folder) Path() string { return s.path }

// Kind is the library's name.
func (s *Folder) Kind() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sealed.kind
}

// ReadOnly reports whether the folder was entered for reading.
func (s *Folder) ReadOnly() bool { return s.readOnly }

// New reports whether nothing is durable yet: the library is to be created.
func (s *Folder) New() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sealed.sequence == 0
}

// Check compares a base with the seal: get returns the value at a key, or
// store.ErrNotFound. An adapter calls it while the library is open for reading
// only, so that a store that must be refused is refused unchanged.
func (s *Folder) Check(get func(key []byte) ([]byte, error)) error {
	_, err := s.head(get)
	return err
}

// CheckBase is Check of what a library shows.
func (s *Folder) CheckBase(b Base) error {
	shown, err := b.Snapshot()
	if err != nil {
		return err
	}
	err = s.Check(func(key []byte) ([]byte, error) { return shown.Get(nil, key) })
	return errors.Join(err, shown.Close())
}

// EndsIn says in which log the newest flush must be that is not in a table. Offset is behind the file's
// last whole record where it ends in another, and -1 where nothing tells: then a flush that is missing
// may be missing in the list of tables.
func (s *Folder) EndsIn(path string, offset int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log, s.end = path, offset
}

// lostFlush is the error of a flush that was durable, and is not there.
func (s *Folder) lostFlush(format string, args ...any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := &store.CorruptError{Path: s.path, Table: -1, Page: -1, Offset: -1, Detail: fmt.Sprintf(format, args...)}
	if s.log != "" {
		err.Path, err.Offset = s.log, s.end
		err.Detail = "it has lost its end: " + err.Detail
		if s.end < 0 && !strings.HasPrefix(filepath.Base(s.log), "MANIFEST") {
			err.Detail = "it, or the MANIFEST beside it, " + strings.TrimPrefix(err.Detail, "it ")
		}
	}
	return err
}

// head reads the base's format and head rows. Of a new store that has none it
// returns the zero head.
func (s *Folder) head(get func(key []byte) ([]byte, error)) (head, error) {
	s.mu.Lock()
	sealed := s.sealed
	s.mu.Unlock()
	v, err := get(headKey)
	if errors.Is(err, store.ErrNotFound) {
		if sealed.sequence == 0 {
			return head{}, nil
		}
		return head{}, s.lostFlush("flush %d (revision %d) was durable, and no flush is there",
			sealed.sequence, sealed.revision)
	}
	if err != nil {
		return head{}, fmt.Errorf("read the head row: %w", err)
	}
	h, err := decodeHead(v)
	if err != nil {
		return head{}, corrupt(s.path, "%v", err)
	}
	f, err := get(formatKey)
	if err != nil {
		return head{}, fmt.Errorf("read the format row: %w", err)
	}
	if len(f) != 4 {
		return head{}, corrupt(s.path, "format row of %d bytes", len(f))
	}
	if v := binary.LittleEndian.Uint32(f); v != formatVersion {
		return head{}, &store.VersionError{Path: s.path, Found: v, Known: formatVersion}
	}
	if h.sequence < sealed.sequence || h.sequence == sealed.sequence && h.revision != sealed.revision {
		return head{}, s.lostFlush(
			"flush %d (revision %d) was durable, and the newest that is there is %d (revision %d)",
			sealed.sequence, sealed.revision, h.sequence, h.revision)
	}
	return h, nil
}

// seal makes it durable that the base holds h.
func (s *Folder) seal(h head) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	list, err := s.listed()
	if err != nil {
		return err
	}
	return s.write(seal{kind: s.sealed.kind, head: h, list: list})
}

// write writes a seal that follows. The caller holds mu.
func (s *Folder) write(next seal) error {
	if s.closed {
		return fmt.Errorf("write the seal: %w", store.ErrClosed)
	}
	next.slot = sealSlot - s.sealed.slot
	if err := s.file.write(next); err != nil {
		return err
	}
	s.sealed = next
	return nil
}

// Lists says what tells how far the library's list is durable. It is asked from any goroutine, while mu is held.
func (s *Folder) Lists(durable func() (List, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = durable
}

// listed is how far the list is durable; if that is not known, what was sealed still holds of the list that it names.
// The caller holds mu.
func (s *Folder) listed() (List, error) {
	if s.list == nil {
		return s.sealed.list, nil
	}
	list, err := s.list()
	if list.Size == 0 {
		list = s.sealed.list
	}
	return list, err
}

// SealList makes it durable how far the list is. A base calls it before a log or a table goes that the list says is not
// needed: up to then nothing is missing if the list has lost its end.
func (s *Folder) SealList() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.readOnly || s.sealed.sequence == 0 {
		return nil // nothing was ever reported durable
	}
	list, err := s.listed()
	if err != nil || list == s.sealed.list {
		return err
	}
	info, err := os.Stat(s.file.path)
	if err != nil {
		return fmt.Errorf("keep the seal's time: %w", err)
	}
	next := seal{kind: s.sealed.kind, head: s.sealed.head, list: list}
	again := list.Number < s.sealed.list.Number // of two slots with the same flush the higher number counts
	if err := s.write(next); err != nil {
		return err
	}
	if again {
		if err := s.write(next); err != nil {
			return err
		}
	}
	return s.keepTime(info.ModTime())
}

// keepTime keeps the seal's time, which tells when the newest flush was.
func (s *Folder) keepTime(at time.Time) error {
	if err := os.Chtimes(s.file.path, at, at); err != nil {
		return fmt.Errorf("keep the seal's time: %w", err)
	}
	return nil
}

// CheckList refuses a list, read from path, whose whole changes end before where it was durable.
func (s *Folder) CheckList(path string, whole List) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if was := s.sealed.list; was.Number == whole.Number && was.Size > whole.Size {
		return &store.CorruptError{Path: path, Table: -1, Page: -1, Offset: int64(whole.Size),
			Detail: fmt.Sprintf("it is not whole from here on, and %d bytes of it were durable", was.Size)}
	}
	return nil
}

// behind reports whether the base holds a flush that no seal tells of: its process
// ended between the two.
func (s *Folder) behind(h head) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.readOnly && s.sealed.sequence < h.sequence
}

// Failed is store.ErrFailed for what has broken a library, and nil if nothing has.
func (s *Folder) Failed(broken error) error {
	if broken == nil {
		return nil
	}
	return fmt.Errorf("%s: %w: %w", s.path, store.ErrFailed, broken)
}

// Abandon keeps the lock until the process ends: the library could not be closed, and may go on
// writing.
func (s *Folder) Abandon() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

// Leave gives the lock back. The library is closed before.
func (s *Folder) Leave() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	return s.lock.Close()
}

// Room reports whether need bytes can be written beside what there is: a
// store.FullError if not. A library that runs out of space in the middle of
// things may need to be opened anew; one that has not begun does not.
func (s *Folder) Room(need int64) error {
	var st unix.Statfs_t
	if err := unix.Statfs(s.path, &st); err != nil {
		return fmt.Errorf("ask for free space: %w", &os.PathError{Op: "statfs", Path: s.path, Err: err})
	}
	if free := int64(st.Bavail) * st.Bsize; free < need {
		return &store.FullError{Path: s.dir, Of: store.RoomOnDisk, Need: need, Free: free,
			Limit: int64(st.Blocks) * st.Bsize}
	}
	return nil
}

// RoomForBatch is Room for what a library writes of a batch, and for what it may need
// beside: for its lists, and for tables of a compaction, which it can put off.
func (s *Folder) RoomForBatch(need int64) error { return s.Room(need + 4<<20) }

// RoomToOpen is Room for what a library writes when it is opened for writing: its logs,
// as tables, and its lists. One that runs out of space there may try for ever.
func (s *Folder) RoomToOpen() error {
	if s.readOnly {
		return nil
	}
	logs, err := filepath.Glob(filepath.Join(s.path, "*.log"))
	if err != nil {
		return err
	}
	need := int64(8 << 20)
	for _, name := range logs {
		var st unix.Stat_t
		if unix.Lstat(name, &st) == nil {
			need += st.Size
		}
	}
	return s.Room(need)
}

// Size is what the library's files take on the disk, in bytes; holes in them do
// not count.
func (s *Folder) Size() int64 {
	entries, err := os.ReadDir(s.path)
	if err != nil {
		return 0
	}
	total := int64(0)
	for _, e := range entries {
		var st unix.Stat_t
		if unix.Lstat(filepath.Join(s.path, e.Name()), &st) == nil {
			total += st.Blocks * 512
		}
	}
	return total
}
