package badger

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// The library makes its files sparse, maps them, and writes to the mappings. Where the disk has no
// block for a page the kernel ends the process. So whatever makes it write is refused before, while
// there is not room enough: opening, each transaction of a batch, closing.

// startRoom is what an opening writes in any case: lists of files, the first pages of logs.
const startRoom = 8 << 20

// roomToOpen checks that the library can be opened for writing: that it can write the logs out as
// tables, and compact what it has.
func (b *Base) roomToOpen() error {
	if b.options.ReadOnly {
		return nil
	}
	need := int64(startRoom)
	if !b.folder.New() {
		logs, err := b.logBytes()
		if err != nil {
			return err
		}
		need += logs + b.compaction()
	}
	if err := b.folder.Room(need); err != nil {
		return fmt.Errorf("open %s: %w", b.folder.Path(), err)
	}
	return nil
}

// roomToWrite checks that the library can take so many bytes of keys and values: once into the
// log and once into a table, with what it may be writing beside, and what it compacts for it.
func (b *Base) roomToWrite(size int64) error {
	return b.folder.Room(2*size + 3*b.options.MemTableSize + 2*b.options.BaseTableSize + b.compaction())
}

// roomToClose checks that the library can be closed: that it can write the last log out.
func (b *Base) roomToClose() error {
	if b.options.ReadOnly {
		return nil
	}
	logs, err := b.logBytes()
	if err != nil {
		return err
	}
	return b.folder.Room(logs + 2*b.options.BaseTableSize + 1<<20)
}

// logBytes is how many bytes of the disk the logs of memtables take. A table of their rows takes
// no more.
func (b *Base) logBytes() (bytes int64, err error) {
	names, err := logsIn(b.folder.Path())
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		var s unix.Stat_t
		switch err := unix.Stat(name, &s); {
		case err == nil:
			bytes += s.Blocks * 512
		case !errors.Is(err, unix.ENOENT):
			return 0, fmt.Errorf("look at a log: %w", &os.PathError{Op: "stat", Path: name, Err: err})
		}
	}
	return bytes, nil
}

// compaction bounds what compactions write before they remove what they have read: two at a time,
// of the tables of level 0 and the first level below them, or of a table with the ten or so that it
// overlaps on the next. It is never more than there is.
func (b *Base) compaction() int64 {
	most := 5*b.options.MemTableSize + b.options.BaseLevelSize + 22*b.options.BaseTableSize
	entries, err := os.ReadDir(b.folder.Path())
	if err != nil {
		return most
	}
	tables := int64(0)
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".sst" {
			continue
		}
		if info, err := e.Info(); err == nil {
			tables += info.Size()
		}
		if tables >= most {
			return most
		}
	}
	return tables
}

// allocate takes the blocks of the one file of a fixed size in which the library writes wherever
// it likes, at any time. Where the file system cannot do that, it stays sparse.
func (b *Base) allocate() error {
	if b.options.ReadOnly {
		return nil
	}
	path := filepath.Join(b.folder.Path(), "DISCARD")
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("take the blocks of a file: %w", err)
	}
	info, err := f.Stat()
	if err == nil {
		err = unix.Fallocate(int(f.Fd()), 0, 0, info.Size())
	}
	if err != nil && !errors.Is(err, unix.EOPNOTSUPP) {
		return errors.Join(fmt.Errorf("take the blocks of a file: %w",
			&os.PathError{Op: "fallocate", Path: path, Err: err}), f.Close())
	}
	return f.Close()
}
