package torntail

import (
	"fmt"
	"io"
	"iter"

	"tarn/store/vfs"
)

// Records are those of one file of a log whose records have a head of fixed size, then their content, and
// in the head a CRC-32C of something and the content. One goroutine at a time may use them.
type Records struct {
	// Align is what the offsets of records are multiples of; 0 is 1.
	Align int64
	// Head is how many bytes a head has.
	Head int64
	// Parse returns how many bytes of content a head announces, and the checksum; false if no
	// record begins so. It is asked at each place where a record may begin, so it is quick.
	Parse func(head []byte) (content int64, sum uint32, ok bool)
	// Prefixes are what the checksum of a record at an offset may cover before the content.
	Prefixes func(offset int64, head []byte) iter.Seq[[]byte]

	sums *sums // what a search before has found out of the file
}

// windowBytes is how much of a file is looked through at once.
const windowBytes = 256 << 10

// Next finds the first whole record that begins behind an offset and ends before another one. It
// takes time that grows as the bytes between them do, however long the records seem to be that
// begin there, and 2 MiB of memory for each GiB. The file must be the same each time, and unchanged; searches
// one behind the other take no more time than one.
func (r *Records) Next(file io.ReaderAt, from, end int64) (at int64, found bool, err error) {
	align := max(r.Align, 1)
	if r.sums == nil || from < r.sums.from {
		r.sums = &sums{file: file, from: from, shifts: newShifts()}
	}
	buf := make([]byte, min(windowBytes, max(0, end-from)))
	for at := (from/align + 1) * align; at+r.Head <= end; {
		window := buf[:min(int64(len(buf)), end-at)]
		if err := vfs.ReadFull(file, window, at); err != nil {
			return 0, false, fmt.Errorf("look for a whole record at %d: %w", at, err)
		}
		i := int64(0)
		for ; i+r.Head <= int64(len(window)); i += align {
			head := window[i : i+r.Head]
			content, sum, ok := r.Parse(head)
			if !ok || content < 0 || content > end-at-i-r.Head {
				continue
			}
			if ok, err := r.whole(at+i, head, content, sum); err != nil || ok {
				return at + i, ok, err
			}
		}
		at += i
	}
	return 0, false, nil
}

// whole tells whether a record is.
func (r *Records) whole(at int64, head []byte, content int64, sum uint32) (bool, error) {
	s := r.sums
	have, err := s.of(at+r.Head, at+r.Head+content)
	if err != nil {
		return false, fmt.Errorf("look for a whole record at %d: %w", at, err)
	}
	shift := s.shifts.by(content)
	for prefix := range r.Prefixes(at, head) {
		if multiply(shift, checksum(prefix))^have == sum {
			return true, nil
		}
	}
	return false, nil
}
