package emitter

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"iter"
	"math"

	"tarn/opera/inter"
	"tarn/store/vfs"
	"tarn/store/vfs/torntail"
)

// The journal's file: a header, then two halves with records, each at a multiple of a sector.
// Integers are little-endian.
const (
	// Behind the id, where no event of an older file begins so.
	journalMagic = "tarnown3"
	secondMagic  = "tarnown2" // whose records have an id, and then one event up to their end
	headerSize   = vfs.Sector
	headerUsed   = idSize + 8 + 8 + 4 + 4 // id, magic, salt, bytes of a half, checksum of these three
	recordHead   = 8 + 4 + 4              // sequence, length, checksum of salt, both, and the content
	idSize       = len(inter.EventID{})
	// halfBytes is how much a half has. Larger ones have the log of events synced more
	// seldom, and are written when the file is made.
	halfBytes = 32 << 10
	mostHalf  = 2 * (inter.MaxEventSize + mostOthers + 4<<10)
	// mostOthers is how many bytes of others' events a record may have: a sync of the log, which
	// writes a page or two again and what the file system notes of the file's end, costs as much.
	mostOthers = 4 << 10
)

// entry is where a record lies in the file, and what it has.
type entry struct {
	content    []byte // an id, and mostly the event and events of others
	sequence   uint64
	half, size int64 // where its half begins, and the bytes of each half
	from, end  int64
}

// noEvent is an id that no event has, of the last epoch that there can be. go-opera, which
// knows nothing of the records, ends rather than going on from it.
func noEvent() (id inter.EventID) {
	binary.BigEndian.PutUint32(id[:], math.MaxUint32)
	copy(id[8:], "see the records below it")
	return id
}

// newContent returns what a record has: the id of an own event, that event, and events of others that
// it follows from, each behind its length, as they travel.
func newContent(id inter.EventID, raw []byte, others [][]byte) []byte {
	b := append([]byte(nil), id[:]...)
	for _, event := range append([][]byte{raw}, others...) {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(event)))
		b = append(b, event...)
	}
	return b
}

// eventsOf returns the own event of what a record has, and those of others; nothing if that is only
// an id, as go-opera writes it.
func eventsOf(content []byte) (raw []byte, others [][]byte, err error) {
	for rest := content[idSize:]; len(rest) > 0; {
		if len(rest) < 4 || uint64(binary.LittleEndian.Uint32(rest)) > uint64(len(rest)-4) {
			return nil, nil, fmt.Errorf("the record of event %v ends within an event", idOf(content))
		}
		end := 4 + int(binary.LittleEndian.Uint32(rest))
		if raw == nil {
			raw = rest[4:end]
		} else {
			others = append(others, rest[4:end])
		}
		rest = rest[end:]
	}
	return raw, others, nil
}

func (j *journal) header(id inter.EventID, half int64) []byte {
	b := append(make([]byte, 0, headerSize), id[:]...)
	b = append(b, journalMagic...)
	b = binary.LittleEndian.AppendUint64(b, j.salt)
	b = binary.LittleEndian.AppendUint32(b, uint32(half))
	b = binary.LittleEndian.AppendUint32(b, checksum(b[idSize:]))
	return b[:headerSize]
}

// recordSize is how many bytes a record has, which fills whole sectors.
func recordSize(content []byte) int64 {
	return (recordHead + int64(len(content)) + vfs.Sector - 1) &^ (vfs.Sector - 1)
}

// appendRecord appends a record.
func appendRecord(b []byte, salt, sequence uint64, content []byte) []byte {
	end := len(b) + int(recordSize(content))
	head := binary.LittleEndian.AppendUint64(nil, sequence)
	head = binary.LittleEndian.AppendUint32(head, uint32(len(content)))
	head = binary.LittleEndian.AppendUint32(head, recordSum(salt, head, content))
	b = append(append(b, head...), content...)
	return append(b, make([]byte, end-len(b))...)
}

// recordSum covers the salt, which nobody else knows: what others have put into an event never
// looks like a record.
func recordSum(salt uint64, head, content []byte) uint32 {
	return checksum(binary.LittleEndian.AppendUint64(nil, salt), head, content)
}

func checksum(parts ...[]byte) (sum uint32) {
	table := crc32.MakeTable(crc32.Castagnoli)
	for _, p := range parts {
		sum = crc32.Update(sum, table, p)
	}
	return sum
}

// read finds the last record, and what the file keeps.
func (j *journal) read(f vfs.File) error {
	size, err := f.Size()
	if err != nil || size == 0 {
		return err
	}
	if size < int64(idSize) || size > headerSize+2*mostHalf {
		return fmt.Errorf("%d bytes are no events and no id", size)
	}
	file := make([]byte, size)
	if _, err := f.ReadAt(file, 0); err != nil {
		return err
	}
	magic := string(file[idSize:min(int64(idSize+8), size)])
	if size < int64(headerUsed) || magic != journalMagic && magic != secondMagic {
		if size > inter.MaxEventSize+int64(idSize) || inter.EventID(file) == noEvent() {
			return fmt.Errorf("%d bytes are no event and no id, and offset %d is no header's", size, idSize)
		}
		j.keep(entry{content: renewRecord(file)})
		return nil
	}
	if checksum(file[idSize:headerUsed-4]) != binary.LittleEndian.Uint32(file[headerUsed-4:]) {
		return fmt.Errorf("offset %d: the header is damaged", idSize)
	}
	j.salt = binary.LittleEndian.Uint64(file[idSize+8:])
	half := int64(binary.LittleEndian.Uint32(file[idSize+16:]))
	if half%vfs.Sector != 0 || headerSize+2*half != size {
		return fmt.Errorf("%d bytes are not a header and twice %d", size, half)
	}
	if err := j.readRecords(file, half); err != nil || magic == journalMagic {
		return err
	}
	for i, content := range j.kept {
		j.kept[i] = renewRecord(content)
	}
	// without room: the next event begins the file anew
	j.last = entry{content: renewRecord(j.last.content), sequence: j.last.sequence}
	return nil
}

// renewRecord returns what an older record has, an id and then an event, in the form of one of today: the
// id alone if the event has another one, for go-opera writes over the id.
func renewRecord(content []byte) []byte {
	id, raw := idOf(content), content[idSize:]
	if p, err := inter.DecodePayload(raw); err != nil || p.ID() != id {
		return content[:idSize]
	}
	return newContent(id, raw, nil)
}

// keep has a record for the last one.
func (j *journal) keep(p entry) { j.kept, j.last = append(j.kept, p.content), p }

// readRecords reads both halves. The one that is written to has the higher numbers.
func (j *journal) readRecords(file []byte, half int64) error {
	first, second := j.readHalf(file, headerSize, half), j.readHalf(file, headerSize+half, half)
	if len(first) > 0 && len(second) > 0 && first[0].sequence > second[0].sequence {
		first, second = second, first
	}
	if len(first) > 0 && len(second) > 0 && first[len(first)-1].sequence+1 != second[0].sequence {
		// A crash came while its first record was written over: the ledger has what it had.
		first = nil
	}
	j.last = entry{half: headerSize, size: half, from: headerSize, end: headerSize}
	for _, p := range append(first, second...) {
		j.keep(p)
	}
	if err := j.isLast(file); err != nil {
		return err
	}
	j.tornFrom, j.tornTo = j.tornRecord(file)
	id := inter.EventID(file)
	if j.marked = id == noEvent(); !j.marked && id != j.id() {
		// go-opera has written over the id: its event is later than the records.
		j.kept = nil
		j.keep(entry{content: bytes.Clone(file[:idSize])})
	}
	return nil
}

// readHalf reads records from the beginning of a half until one is not whole, or older.
func (j *journal) readHalf(file []byte, from, size int64) (all []entry) {
	end := from + size
	for at := from; at < end; at = all[len(all)-1].end {
		p, ok := j.readRecord(file[at:end])
		if !ok || len(all) > 0 && p.sequence != all[len(all)-1].sequence+1 {
			break
		}
		p.half, p.size, p.from, p.end = from, size, at, at+recordSize(p.content)
		all = append(all, p)
	}
	return all
}

// isLast checks that there is no record later than the last one that was read. Each is durable
// before the next is written, so a crash tears only the last one.
func (j *journal) isLast(file []byte) error {
	later := torntail.Records{
		Align: vfs.Sector,
		Head:  recordHead,
		Parse: func(head []byte) (int64, uint32, bool) {
			length := binary.LittleEndian.Uint32(head[8:])
			return int64(length), binary.LittleEndian.Uint32(head[12:]), binary.LittleEndian.Uint64(
				head) > j.last.sequence && length >= uint32(idSize)
		},
		Prefixes: func(_ int64, head []byte) iter.Seq[[]byte] {
			return func(yield func([]byte) bool) {
				yield(append(binary.LittleEndian.AppendUint64(nil, j.salt), head[:12]...))
			}
		},
	}
	end := torntail.End{
		Path: j.path, Whole: j.last.end, Size: max(int64(len(file)), j.last.end+1), Durable: torntail.Unnoted,
		Remedy: "put the file back from a copy; without one, run the node without the validator until it is at the " +
			"head and has its own last event from its peers, then rename the file",
		Behind: func(int64) (at int64, found bool, err error) { // in either half
			for half := int64(headerSize); half < int64(len(file)) && !found && err == nil; half += j.last.size {
				at, found, err = later.Next(bytes.NewReader(file), half-1, half+j.last.size)
			}
			return at, found, err
		},
	}
	return end.Judge()
}

// tornRecord returns from where to where the file has a record that was being written when a crash came.
func (j *journal) tornRecord(file []byte) (from, to int64) {
	from = j.last.end
	if from >= j.last.half+j.last.size {
		from = 2*headerSize + j.last.size - j.last.half
	}
	head := file[min(from, int64(len(file))):]
	if len(head) < recordHead || binary.LittleEndian.Uint64(head) != j.last.sequence+1 {
		return 0, 0
	}
	return from, min(int64(len(file)), from+recordHead+int64(binary.LittleEndian.Uint32(head[8:])))
}

// readRecord reads the record that some bytes begin with.
func (j *journal) readRecord(b []byte) (p entry, ok bool) {
	p.sequence = binary.LittleEndian.Uint64(b)
	length := int64(binary.LittleEndian.Uint32(b[8:]))
	if p.sequence == 0 || length < int64(idSize) || length > int64(len(b))-recordHead {
		return p, false
	}
	p.content = b[recordHead : recordHead+length]
	return p, recordSum(j.salt, b[:12], p.content) == binary.LittleEndian.Uint32(b[12:])
}
