package shiplog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"tarn/antelope/logcatalog"
	"tarn/antelope/types"
	"tarn/store/vfs"
)

// mark says how far a log is durable. nodeos does not know it, and its entries have no
// checksums but those of their streams, so only what follows the mark is looked at again
// after a crash.
type mark struct {
	first, end uint32 // of the blocks that can be read
	size       int64  // end of the last entry
	id         types.Checksum256
}

const markBytes = 4 + 4 + 8 + 32 // and its checksum

func (m *mark) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, m.first)
	b = binary.LittleEndian.AppendUint32(b, m.end)
	b = binary.LittleEndian.AppendUint64(b, uint64(m.size))
	return append(b, m.id[:]...)
}

// readMark reads the mark of a log: an error that is fs.ErrNotExist if there is none, one that is
// logcatalog.ErrMark if it is not whole.
func readMark(files vfs.FS, path string) (m mark, err error) {
	b, err := logcatalog.ReadMark(files, path, markBytes+crc32.Size)
	if err == nil && len(b) != markBytes {
		err = fmt.Errorf("%s: %w: it has %d bytes", path, logcatalog.ErrMark, len(b))
	}
	if err != nil {
		return mark{}, err
	}
	m.first, m.end = binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
	m.size = int64(binary.LittleEndian.Uint64(b[8:]))
	copy(m.id[:], b[16:])
	return m, nil
}

// write makes a mark durable.
func (m *mark) write(files vfs.FS, path string) error {
	_, err := logcatalog.WriteMark(files, path, m.append(nil))
	return err
}

// setMark makes a mark durable, and with it the names of the files in the folder.
func (l *Log) setMark(m mark) error {
	if err := m.write(l.fs, l.o.markPath()); err != nil {
		return err
	}
	l.mark = m
	return nil
}

// markAt is the mark of a log that ends before the entry of block num, at a position.
// Its last entry's id is left open: the file before it is trusted as it was.
func (l *Log) markAt(at int64, num uint32) (m mark, err error) {
	if at == 0 {
		return mark{}, nil
	}
	h, _, err := l.live.header(num - 1)
	return mark{first: l.live.first, end: num, size: at, id: h.id}, err
}

// Sync makes all entries durable.
func (l *Log) Sync() error {
	if l.failed != nil {
		return l.failed
	}
	f := l.live
	now := mark{first: f.first, end: f.end, size: f.size, id: l.last}
	if f.empty() {
		now = mark{}
	}
	if now == l.mark {
		return nil
	}
	if err := errors.Join(f.log.Sync(), f.index.Sync()); err != nil {
		return l.fail(fmt.Errorf("sync %s: %w", l.o.logPath(), err))
	}
	if err := l.setMark(now); err != nil {
		return l.fail(err)
	}
	l.mu.Lock()
	l.stats.Syncs++
	l.mu.Unlock()
	return nil
}
