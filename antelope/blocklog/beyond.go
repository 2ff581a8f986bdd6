package blocklog

import (
	"encoding/binary"
	"errors"

	"tarn/antelope/serial"
	"tarn/store/vfs"
)

// Another program may have gone on with a log whose tail's file a kill left. It writes no
// checksums there, and its blocks are as good as ours: what of them is provably whole stays.
//
// After a power cut such blocks may also be ours, written and not synced, so any sector of them may
// be missing. A block's header is whole if the next block names its id, its transactions if they
// have the root in its header, and the rest, which no hash covers, if it is shorter than a sector:
// behind it is the entry's position. The last block is named by none, so it does not count.

// beyond follows an extent by whole blocks that have no checksums.
func (s *source) beyond(e extent) (extent, error) {
	row := row{source: s, at: e.end, offset: e.end}
	x := inspectors.Get().(*inspector) //nolint:forcetypeassert // it holds nothing else
	defer inspectors.Put(x)
	for last := e; ; {
		is, ok, err := row.next(x)
		if err != nil || !ok {
			return e, err
		}
		if last.blocks && (is.num != last.head.num+1 || is.previous != last.head.id) || is.num < s.preamble.First {
			return e, nil
		}
		if e = last; is.unnamed >= vfs.Sector {
			return e, nil
		}
		last.position, last.head, last.blocks, last.end = last.end, is.link, true, row.at
	}
}

// row reads entries one behind the other.
type row struct {
	*source
	at     int64 // where the next entry begins
	buf    []byte
	offset int64 // of buf in the file
}

const rowBytes = 1 << 20 // read at once, but for larger entries

// next moves behind the next entry; ok is false if none is whole.
func (r *row) next(x *inspector) (is inspected, ok bool, err error) {
	for {
		b := r.buf[r.at-r.offset:]
		is, err := x.first(b)
		if err == nil && len(b) < is.size+positionBytes {
			err = serial.ErrShort
		}
		switch most := min(r.size-r.at, maxBlockBytes+positionBytes); {
		case err == nil && binary.LittleEndian.Uint64(b[is.size:]) == uint64(r.at):
			r.at += int64(is.size) + positionBytes
			return is, true, nil
		case !errors.Is(err, serial.ErrShort) || int64(len(b)) >= most:
			return inspected{}, false, nil
		default:
			if r.buf, err = r.read(r.at, int(min(most, max(rowBytes, 2*int64(len(b)))))); err != nil {
				return inspected{}, false, err
			}
			r.offset = r.at
		}
	}
}
