package page

import (
	"fmt"
	"unsafe"

	"tarn/store"
)

// A run is a row of pages that holds one byte string: a large value, or a part of
// an image (its tables, its free list, its undo data). It is written once and
// never changed.

// runHeader is the front of a run's first page; it mirrors node's fields.
type runHeader struct {
	checksum   uint32 // of the header and the bytes
	kind       uint8
	_          uint8
	table      uint16
	number     uint32
	size       uint32 // of the bytes
	generation uint64
	_          uint64
}

// writeRun stores b. The caller has reserved the pages.
func (ps *pages) writeRun(kind uint8, t store.Table, b []byte) runRef {
	page := ps.allocRun(uint32(runPages(int64(len(b)))))
	r := runRef{ref{page, uint32(ps.generation)}, uint32(len(b))}
	ps.fillRun(r, kind, t, b)
	return r
}

// fillRun writes b, which may be shorter than the run was made for, and returns
// the reference to what was written.
func (ps *pages) fillRun(r runRef, kind uint8, t store.Table, b []byte) runRef {
	at := ps.mem.at(r.page)
	*(*runHeader)(at) = runHeader{
		kind: kind, table: uint16(t), number: r.page, size: uint32(len(b)), generation: ps.generation,
	}
	copy(unsafe.Slice((*byte)(unsafe.Add(at, headerSize)), len(b)), b)
	(*runHeader)(at).checksum = sum(at, headerSize+len(b))
	r.size = uint32(len(b))
	return r
}

// readRun returns the bytes of a run in place, verified on first touch.
func (ps *pages) readRun(r runRef, t store.Table) ([]byte, error) {
	at := ps.mem.at(r.page)
	if !ps.isChecked(r.page) || uint32((*runHeader)(at).generation) != r.generation {
		end := int64(r.page) + runPages(int64(r.size))
		if r.page < firstPage || end > int64(ps.end.Load()) {
			return nil, corruptPage(ps.path, int64(r.page), int64(t), "run reaches outside the file")
		}
		if what := soundRun(at, r, kindValue, t); what != "" && planted != skipChecksum {
			return nil, corruptPage(ps.path, int64(r.page), int64(t), what)
		}
		ps.setChecked(r.page)
	}
	return unsafe.Slice((*byte)(unsafe.Add(at, headerSize)), r.size), nil
}

// soundRun returns what is wrong with the run at at, or "". All its pages must be
// readable there.
func soundRun(at unsafe.Pointer, r runRef, kind uint8, t store.Table) string {
	h := (*runHeader)(at)
	switch {
	case h.size != r.size:
		return fmt.Sprintf("run has %d bytes instead of %d", h.size, r.size)
	case h.checksum != sum(at, headerSize+int(r.size)):
		return "run has a wrong checksum"
	case h.number != r.page:
		return fmt.Sprintf("run is page %d, misplaced", h.number)
	case uint32(h.generation) != r.generation:
		return fmt.Sprintf("run is of generation %d instead of %d: a lost write", uint32(h.generation), r.generation)
	case h.kind != kind:
		return fmt.Sprintf("run is of kind %d instead of %d", h.kind, kind)
	case h.table != uint16(t):
		return fmt.Sprintf("run belongs to table %d", h.table)
	}
	return ""
}
