package appendonly

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"tarn/store/vfs"
)

// A segment's file: a header, entries one behind the other, and when it is finished a
// mark, the entries' offsets, and a trailer. Integers are little-endian.
const (
	segmentMagic = "tarnhist"
	trailerMagic = "tarnend1"
	headerSize   = 8 + 4 + 8 + 4     // magic, version, first number, checksum
	entryHead    = 4 + 4             // length, checksum of number, length and bytes
	trailerSize  = 4 + 4 + 4 + 4 + 8 // entries, offset of the offsets, their checksum, checksum, magic
	finishMark   = uint32(1<<32 - 1) // in the place of a length, before the offsets
	version      = 1
)

// segment is one file of a log.
type segment struct {
	sequence uint64
	dir      string
	first    uint64 // number of its first entry
	count    uint64
	finished bool
	table    int64    // where the offsets begin, if it is finished
	offsets  []uint32 // of the entries, if it is not
	end      int64    // of the last entry
	size     int64    // of its file, when it was opened
}

// errHeader is wrapped by the damage of a segment's header.
var errHeader = errors.New("the header of a segment is not whole")

func (s *segment) path() string { return segmentPath(s.dir, s.sequence) }

func segmentPath(dir string, sequence uint64) string {
	return filepath.Join(dir, fmt.Sprintf("%010d.log", sequence))
}

func segmentHeader(first uint64) []byte {
	b := append([]byte(segmentMagic), 0, 0, 0, 0)
	binary.LittleEndian.PutUint32(b[8:], version)
	b = binary.LittleEndian.AppendUint64(b, first)
	return binary.LittleEndian.AppendUint32(b, checksum(b))
}

// appendEntry appends an entry as it lies in the file.
func appendEntry(b []byte, number uint64, entry []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(entry)))
	b = binary.LittleEndian.AppendUint32(b, entrySum(number, entry))
	return append(b, entry...)
}

// entrySum covers the number, so that an entry is only ever whole in its own place.
func entrySum(number uint64, entry []byte) uint32 {
	return checksum(sumHead(number, uint32(len(entry))), entry)
}

// sumHead is what the checksum of an entry covers before its bytes.
func sumHead(number uint64, length uint32) []byte {
	return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint64(make([]byte, 0, 12), number), length)
}

// appendFinish appends what follows the last entry of a finished segment, which ends at
// end.
func appendFinish(b []byte, end int64, offsets []uint32) []byte {
	b = binary.LittleEndian.AppendUint32(b, finishMark)
	from := len(b)
	for _, o := range offsets {
		b = binary.LittleEndian.AppendUint32(b, o)
	}
	table := checksum(b[from:])
	from = len(b)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(offsets)))
	b = binary.LittleEndian.AppendUint32(b, uint32(end)+4)
	b = binary.LittleEndian.AppendUint32(b, table)
	b = binary.LittleEndian.AppendUint32(b, checksum(b[from:]))
	return append(b, trailerMagic...)
}

// readSegment finds out what a file has. The last one of a log is read through, up to
// where it is whole: what its end looks like may be the doing of whoever wrote an entry.
// The others were finished before the next began. A CorruptError says that the header, or
// the end of one that must be finished, is not whole.
func readSegment(f vfs.File, s *segment, last bool) error {
	size, err := f.Size()
	if err != nil {
		return err
	}
	s.size = size
	head := make([]byte, headerSize)
	if size < headerSize {
		return fmt.Errorf("%w: %w", errHeader, corrupt(s.path(), 0, "%d bytes are no segment", size))
	}
	if err := vfs.ReadFull(f, head, 0); err != nil {
		return err
	}
	if string(head[:8]) != segmentMagic ||
		checksum(head[:headerSize-4]) != binary.LittleEndian.Uint32(head[headerSize-4:]) {
		return fmt.Errorf("%w: %w", errHeader, corrupt(s.path(), 0, "not a segment of a log"))
	}
	if v := binary.LittleEndian.Uint32(head[8:]); v != version {
		// Not damage: a segment of a newer program's is never taken for one half made.
		return fmt.Errorf("format version %d; this program knows %d", v, version)
	}
	s.first = binary.LittleEndian.Uint64(head[12:])
	return s.readEntries(f, last)
}

// readEntries reads where the entries are that follow the header.
func (s *segment) readEntries(f vfs.File, last bool) error {
	if !last {
		return s.readTrailer(f, s.size)
	}
	if err := s.scan(f, s.size); err != nil {
		return err
	}
	return s.readEnd(f, s.size)
}

// readEnd finds out whether what follows the entries that were read is the end of a
// finished segment.
func (s *segment) readEnd(f vfs.File, size int64) error {
	want := appendFinish(nil, s.end, s.offsets)
	if size-s.end != int64(len(want)) {
		return nil
	}
	got := make([]byte, len(want))
	if err := vfs.ReadFull(f, got, s.end); err != nil {
		return err
	}
	if bytes.Equal(got, want) {
		s.finished, s.table, s.offsets = true, s.end+4, nil
	}
	return nil
}

// readTrailer finds out what a finished segment has.
func (s *segment) readTrailer(f vfs.File, size int64) error {
	if size < headerSize+4+trailerSize {
		return corrupt(s.path(), size, "the segment is not finished, and another follows")
	}
	t := make([]byte, trailerSize)
	if err := vfs.ReadFull(f, t, size-trailerSize); err != nil {
		return err
	}
	count, table := int64(binary.LittleEndian.Uint32(t)), int64(binary.LittleEndian.Uint32(t[4:]))
	if !isTrailer(t) || table+4*count+trailerSize != size {
		return corrupt(s.path(), size-trailerSize, "the segment is not finished, and another follows")
	}
	s.finished, s.count, s.table, s.end = true, uint64(count), table, table-4
	return nil
}

// isTrailer tells whether bytes are the last of a finished segment.
func isTrailer(t []byte) bool {
	return string(t[16:]) == trailerMagic && checksum(t[:12]) == binary.LittleEndian.Uint32(t[12:])
}

// scanBuffer is how much of a segment is read at once, in bytes: a start scans hundreds of MB of small entries.
const scanBuffer = 1 << 20

// scan reads entries until one is not whole.
func (s *segment) scan(f vfs.File, size int64) error {
	s.end = headerSize
	var head [entryHead]byte
	var entry []byte
	in := bufio.NewReaderSize(io.NewSectionReader(f, headerSize, size-headerSize), scanBuffer)
	for s.end+entryHead <= size {
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return err
		}
		length := int64(binary.LittleEndian.Uint32(head[:]))
		if length > MaxEntry || s.end+entryHead+length > size {
			return nil
		}
		if int64(cap(entry)) < length {
			entry = make([]byte, length)
		}
		entry = entry[:length]
		if _, err := io.ReadFull(in, entry); err != nil {
			return err
		}
		if entrySum(s.first+s.count, entry) != binary.LittleEndian.Uint32(head[4:]) {
			return nil
		}
		s.offsets = append(s.offsets, uint32(s.end))
		s.count++
		s.end += entryHead + length
	}
	return nil
}

// place is where an entry lies: where it begins, and where the next begins.
func (s *segment) place(f vfs.File, number uint64) (from, to int64, err error) {
	i := int64(number - s.first)
	if !s.finished {
		from, to = int64(s.offsets[i]), s.end
		if i+1 < int64(len(s.offsets)) {
			to = int64(s.offsets[i+1])
		}
		return from, to, nil
	}
	b, n := make([]byte, 8), 8
	if number == s.first+s.count-1 {
		n = 4
	}
	if err := vfs.ReadFull(f, b[:n], s.table+4*i); err != nil {
		return 0, 0, err
	}
	from, to = int64(binary.LittleEndian.Uint32(b)), s.end
	if n == 8 {
		to = int64(binary.LittleEndian.Uint32(b[4:]))
	}
	if from < headerSize || to > s.end || to-from < entryHead {
		return 0, 0, corrupt(s.path(), s.table+4*i, "entry %d from %d to %d", number, from, to)
	}
	return from, to, nil
}

// checkEntry returns the bytes of an entry as it lies in a file.
func checkEntry(path string, offset int64, number uint64, b []byte) ([]byte, error) {
	if len(b) < entryHead || int64(binary.LittleEndian.Uint32(b)) != int64(len(b)-entryHead) {
		return nil, corrupt(path, offset, "length of entry %d", number)
	}
	if entrySum(number, b[entryHead:]) != binary.LittleEndian.Uint32(b[4:]) {
		return nil, corrupt(path, offset, "checksum of entry %d", number)
	}
	return b[entryHead:], nil
}
