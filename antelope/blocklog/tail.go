package blocklog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"tarn/antelope/logcatalog"
	"tarn/store/vfs"
)

// The format of blocks.log has no checksums, and of what was not synced before a
// power cut any sector may be missing. So a file beside it, there only while a log
// is open, holds how far the log is durable and a checksum of each entry after
// that: opening after a crash keeps what is provably whole.

const (
	tailMagic       = "tarntail"
	tailVersion     = 1
	tailHeaderBytes = 40
	tailRecordBytes = 16
	tailRestart     = 1 << 16 // records after which a sync begins the file anew
	tailReadBytes   = 1 << 20
)

// tailMark is what the header says: entries of blocks.log are durable up to a
// position, at which the block of number next belongs.
type tailMark struct {
	first   uint32 // the log's, to tell it from an earlier one of the same name
	next    uint32
	durable int64
	record  uint32 // the first record that is about what follows
	kept    uint32 // the first block whose space was not given back
}

func (m tailMark) append(b []byte) []byte {
	from := len(b)
	b = append(b, tailMagic...)
	b = binary.LittleEndian.AppendUint32(b, tailVersion)
	b = binary.LittleEndian.AppendUint32(b, m.first)
	b = binary.LittleEndian.AppendUint32(b, m.next)
	b = binary.LittleEndian.AppendUint32(b, m.record)
	b = binary.LittleEndian.AppendUint64(b, uint64(m.durable))
	b = binary.LittleEndian.AppendUint32(b, m.kept)
	return logcatalog.Seal(b, from)
}

func decodeTailMark(b []byte) (m tailMark, ok bool) {
	if len(b) < tailHeaderBytes {
		return tailMark{}, false
	}
	b, ok = logcatalog.Unseal(b[:tailHeaderBytes])
	if !ok || string(b[:8]) != tailMagic || binary.LittleEndian.Uint32(b[8:]) != tailVersion {
		return tailMark{}, false
	}
	m.first = binary.LittleEndian.Uint32(b[12:])
	m.next = binary.LittleEndian.Uint32(b[16:])
	m.record = binary.LittleEndian.Uint32(b[20:])
	m.kept = binary.LittleEndian.Uint32(b[32:])
	m.durable = int64(binary.LittleEndian.Uint64(b[24:]))
	return m, m.durable > 0
}

// appendTailRecord appends the record of an entry.
func appendTailRecord(b []byte, position int64, entry []byte) []byte {
	from := len(b)
	b = binary.LittleEndian.AppendUint64(b, uint64(position))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(entry)))
	return binary.LittleEndian.AppendUint32(b, tailSum(b[from:], entry))
}

func tailSum(place, entry []byte) uint32 {
	return crc32.Update(crc32.Checksum(place, castagnoli), castagnoli, entry)
}

// tail is the open file. It is used by whoever holds the log's writer lock.
type tail struct {
	file    vfs.File
	path    string
	records uint32 // written since the file began
}

// createTail begins the file with a mark, durably but for its name.
func createTail(fs logcatalog.FS, path string, m tailMark) (*tail, error) {
	f, err := fs.Create(path)
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", path, err)
	}
	t := &tail{file: f, path: path}
	if err := t.mark(m); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return t, nil
}

// mark says durably how far the log is durable.
func (t *tail) mark(m tailMark) error {
	_, err := t.file.WriteAt(m.append(nil), 0)
	if err == nil {
		err = t.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("write mark of %s: %w", t.path, err)
	}
	if m.record == 0 {
		t.records = 0
	}
	return nil
}

// write appends records.
func (t *tail) write(records []byte) error {
	if _, err := t.file.WriteAt(records, tailHeaderBytes+int64(t.records)*tailRecordBytes); err != nil {
		return fmt.Errorf("write %s: %w", t.path, err)
	}
	t.records += uint32(len(records) / tailRecordBytes)
	return nil
}

// readTail reads what a crash left: the mark and the records from there on.
func readTail(fs logcatalog.FS, path string) (m tailMark, records []byte, ok bool, err error) {
	if ok, err := fs.Exists(path); err != nil || !ok {
		return tailMark{}, nil, false, err
	}
	f, err := fs.Open(path, false)
	if err != nil {
		return tailMark{}, nil, false, fmt.Errorf("open %s: %w", path, err)
	}
	defer f.Close()
	head := make([]byte, tailHeaderBytes)
	if _, err := f.ReadAt(head, 0); err != nil {
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return tailMark{}, nil, false, err
	}
	if m, ok = decodeTailMark(head); !ok {
		return tailMark{}, nil, false, nil
	}
	size, err := f.Size()
	if err != nil {
		return tailMark{}, nil, false, err
	}
	from := tailHeaderBytes + int64(m.record)*tailRecordBytes
	if n := (size - from) / tailRecordBytes * tailRecordBytes; n > 0 {
		records = make([]byte, n)
		err = readFull(f, path, records, from)
	}
	return m, records, err == nil, err
}

// followRecords follows the records from a mark, and whole blocks behind them, and tells how far the log
// is whole. ok is false if the mark does not fit the log: then somebody else has changed it.
func (s *source) followRecords(m tailMark, records []byte, stale int64) (e extent, ok bool, err error) {
	if m.first != s.preamble.First || m.durable < s.start || m.durable > s.size {
		return extent{}, false, nil
	}
	e.end, e.kept = m.durable, m.kept
	if m.next != m.first {
		start, ok, err := s.before(m.durable)
		if err != nil || !ok {
			return extent{}, false, err
		}
		if num, ok, err := s.numberAt(start); err != nil || !ok || num+1 != m.next {
			return extent{}, false, err
		}
		e.position, e.blocks = start, true
	}
	e.proved.from, e.proved.to = m.next, m.next
	for num := m.next; len(records) >= tailRecordBytes; num++ {
		r := records[:tailRecordBytes]
		records = records[tailRecordBytes:]
		good, err := s.proves(r, e.end, num)
		if err != nil {
			return extent{}, false, err
		}
		if !good {
			break
		}
		e.position, e.blocks = e.end, true
		e.end += int64(binary.LittleEndian.Uint32(r[8:]))
		e.proved.to = num + 1
	}
	if s.size-e.end > stale {
		return extent{}, false, nil
	}
	if e.blocks {
		e.head, ok, err = s.link(e.position, e.end)
		if err != nil || !ok {
			return extent{}, false, err
		}
	}
	told := e.end
	if e, err = s.beyond(e); err != nil {
		return extent{}, false, err
	}
	e.beyond = e.end > told
	e.doubtful = e.end - m.durable
	return e, true, nil
}

// proves tells whether a record is of the entry at a position and the entry whole.
func (s *source) proves(r []byte, at int64, num uint32) (bool, error) {
	position, size := binary.LittleEndian.Uint64(r), int64(binary.LittleEndian.Uint32(r[8:]))
	if position != uint64(at) || size < minBlockBytes+positionBytes || size > s.size-at {
		return false, nil
	}
	entry, err := s.read(at, int(size))
	if err != nil {
		return false, err
	}
	is, ok := blockNumber(entry)
	return ok && is == num && binary.LittleEndian.Uint32(r[12:]) == tailSum(r[:12], entry), nil
}
