package page

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"unsafe"

	"tarn/store"
)

// The file format, version 1. docs/formats/page.md has it as byte tables.
const (
	pageSize   = 4096
	pageShift  = 12
	headerSize = 32

	magic         = "tarnpage"
	formatVersion = 1
	metaSize      = 128
	firstPage     = 2 // pages 0 and 1 are the meta pages

	fileName = "state.tarn"
	newName  = fileName + ".new" // while it is being created
	lockName = "LOCK"
)

// Kinds of pages. The pages of a run after its first have no header.
const (
	kindNode    = 1
	kindValue   = 2 // first page of a run with a large value
	kindCatalog = 3
	kindFree    = 4
	kindUndo    = 5
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// meta is what a meta page says: one durable image.
type meta struct {
	sequence     uint64 // of the checkpoint; its parity chooses the meta page
	head         uint64
	irreversible uint64
	generation   uint64 // of the image; later pages have higher ones
	end          uint32 // pages in use, free ones included
	catalog      runRef
	free         runRef
	undo         runRef
	at           int64 // when it was made, Unix nanoseconds; for people
	duration     int64 // of its making, nanoseconds; for people
	pages        int64 // written for it
	mode         Mode  // that wrote it
}

// runRef names a run of pages that holds one byte string. A zero page means none.
type runRef struct {
	ref
	size uint32
}

const runRefSize = 12

func encodeRunRef(b []byte, r runRef) []byte {
	b = binary.LittleEndian.AppendUint32(b, r.page)
	b = binary.LittleEndian.AppendUint32(b, r.generation)
	return binary.LittleEndian.AppendUint32(b, r.size)
}

func decodeRunRef(b []byte) runRef {
	if len(b) != runRefSize {
		return runRef{}
	}
	return runRef{
		ref{binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])},
		binary.LittleEndian.Uint32(b[8:]),
	}
}

func childBytes(r ref) []byte {
	b := binary.LittleEndian.AppendUint32(nil, r.page)
	return binary.LittleEndian.AppendUint32(b, r.generation)
}

// runPages is how many pages a run with size bytes takes.
func runPages(size int64) int64 { return (headerSize + size + pageSize - 1) >> pageShift }

func (m *meta) encode() []byte {
	le := binary.LittleEndian
	b := make([]byte, 0, pageSize)
	b = append(b, magic...)
	b = le.AppendUint32(b, formatVersion)
	b = le.AppendUint32(b, pageSize)
	b = le.AppendUint64(b, m.sequence)
	b = le.AppendUint64(b, m.head)
	b = le.AppendUint64(b, m.irreversible)
	b = le.AppendUint64(b, m.generation)
	b = le.AppendUint32(b, m.end)
	b = encodeRunRef(b, m.catalog)
	b = encodeRunRef(b, m.free)
	b = encodeRunRef(b, m.undo)
	b = le.AppendUint64(b, uint64(m.at))
	b = le.AppendUint64(b, uint64(m.duration))
	b = le.AppendUint64(b, uint64(m.pages))
	b = append(b, byte(m.mode))
	b = append(b, make([]byte, metaSize-len(b)-4)...)
	b = le.AppendUint32(b, crc32.Checksum(b, castagnoli))
	return b[:pageSize]
}

// decodeMeta reads a meta page. It tells a foreign file (FormatError), another
// version (VersionError) and damage (CorruptError) apart.
func decodeMeta(path string, page int64, b []byte) (*meta, error) {
	le := binary.LittleEndian
	if len(b) < metaSize || string(b[:8]) != magic {
		return nil, &store.FormatError{Path: path, Detail: fmt.Sprintf("no %q at offset %d", magic, page*pageSize)}
	}
	if sum := le.Uint32(b[metaSize-4:]); sum != crc32.Checksum(b[:metaSize-4], castagnoli) {
		return nil, corruptPage(path, page, -1, "meta page has a wrong checksum")
	}
	if v := le.Uint32(b[8:]); v != formatVersion {
		return nil, &store.VersionError{Path: path, Found: v, Known: formatVersion}
	}
	if s := le.Uint32(b[12:]); s != pageSize {
		return nil, &store.FormatError{Path: path,
			Detail: fmt.Sprintf("pages of %d bytes, this build has %d", s, pageSize)}
	}
	m := &meta{
		sequence:     le.Uint64(b[16:]),
		head:         le.Uint64(b[24:]),
		irreversible: le.Uint64(b[32:]),
		generation:   le.Uint64(b[40:]),
		end:          le.Uint32(b[48:]),
		catalog:      decodeRunRef(b[52:64]),
		free:         decodeRunRef(b[64:76]),
		undo:         decodeRunRef(b[76:88]),
		at:           int64(le.Uint64(b[88:])),
		duration:     int64(le.Uint64(b[96:])),
		pages:        int64(le.Uint64(b[104:])),
		mode:         Mode(b[112]),
	}
	if int64(m.sequence&1) != page || m.end < firstPage || m.irreversible > m.head {
		return nil, corruptPage(path, page, -1, "meta page contradicts itself")
	}
	return m, nil
}

// sum is the checksum of a page or of the first size bytes of a run, the checksum
// field left out.
func sum(p unsafe.Pointer, size int) uint32 {
	return crc32.Checksum(unsafe.Slice((*byte)(unsafe.Add(p, 4)), size-4), castagnoli)
}

func corruptPage(path string, page, table int64, detail string) error {
	return &store.CorruptError{Path: path, Table: int(table), Page: page, Offset: page << pageShift, Detail: detail}
}

// sound checks a node's checksum, its identity, and that all its offsets stay
// within the page, so that no search can leave it. It returns what is wrong.
func (n *node) sound(number uint32, generation uint32, table store.Table, level int) string {
	switch {
	case n.checksum != sum(unsafe.Pointer(n), pageSize):
		return "wrong checksum"
	case n.number != number:
		return fmt.Sprintf("is page %d, misplaced", n.number)
	case uint32(n.generation) != generation:
		return fmt.Sprintf("is of generation %d instead of %d: a lost write", uint32(n.generation), generation)
	case n.kind != kindNode:
		return fmt.Sprintf("is of kind %d, not a tree node", n.kind)
	case n.table != uint16(table):
		return fmt.Sprintf("belongs to table %d", n.table)
	case int(n.level) != level:
		return fmt.Sprintf("is of level %d instead of %d", n.level, level)
	}
	return n.soundLayout()
}

func (n *node) soundLayout() string {
	if int(n.prefixLen) > store.MaxKey || n.count == 0 {
		return "has no slots or too long a prefix"
	}
	slotsEnd := n.slotBase() + int(n.count)*slotSize
	if slotsEnd > pageSize || int(n.top) < slotsEnd || int(n.top) > pageSize {
		return "has overlapping slots and cells"
	}
	for i := range int(n.count) {
		s := n.slot(i)
		off, size := int(s.off), n.fixedSize()+int(s.size)
		if off < int(n.top) || off+size > pageSize {
			return fmt.Sprintf("slot %d points outside the page", i)
		}
		if n.level == 0 {
			stored := int(*(*uint16)(n.at(off)))
			length := stored &^ inRun
			if off+size+length > pageSize || length != stored && length != runRefSize {
				return fmt.Sprintf("value of slot %d reaches outside the page", i)
			}
		}
		if int(s.size)+int(n.prefixLen) > store.MaxKey {
			return fmt.Sprintf("key of slot %d is too long", i)
		}
	}
	return ""
}
