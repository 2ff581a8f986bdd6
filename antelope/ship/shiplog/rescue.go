package shiplog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"tarn/antelope/logfinding"
	"tarn/antelope/types"
	"tarn/store/vfs"
)

// scanWindow is how much is looked through at once for the next entry, in bytes.
const scanWindow = 1 << 20

// magicTail are the bytes that all magic numbers end with.
var magicTail = []byte{0x50, 0x5d, 0xc3}

// whole finds the first entry from a position on that has a header and says at its end
// where it begins. Its block comes after num.
func (s *scanner) whole(from int64, num uint32) (at int64, found uint32, ok bool, err error) {
	buf := make([]byte, scanWindow)
	const lead = 8 - 3 // bytes of the magic number before its tail
	for from < s.size {
		n := min(int64(len(buf)), s.size-from)
		if _, err := s.log.ReadAt(buf[:n], from); err != nil {
			return 0, 0, false, err
		}
		for i := 0; ; i++ {
			j := bytes.Index(buf[i:n], magicTail)
			if j < 0 {
				break
			}
			i += j
			at := from + int64(i) - lead
			if i < lead {
				continue
			}
			h, back, err := readEnds(s.log, at, s.size)
			if errors.Is(err, ErrCorrupt) {
				continue
			}
			if err != nil {
				return 0, 0, false, err
			}
			if back == at && number(h.id) > num {
				return at, number(h.id), true, nil
			}
		}
		if n < int64(len(buf)) {
			break
		}
		from += n - int64(headerBytes)
	}
	return 0, 0, false, nil
}

// derive tells what an entry must be that ends at end, and what makes it so; nil if its
// content is not whole, or nothing tells that it is of the block that is next.
func (s *scanner) derive(end int64) (header, *logfinding.Mend, error) {
	var b [headerBytes]byte
	if end-s.at < smallest {
		return header{}, nil, nil
	}
	if _, err := s.log.ReadAt(b[:], s.at); err != nil {
		return header{}, nil, err
	}
	h := header{pruned: s.at == 0 && s.pruned, payload: uint64(end - s.at - headerBytes - trailerBytes)}
	copy(h.id[:], b[8:])
	var list []write
	if number(h.id) != s.num {
		id, ok, err := s.known(end)
		if err != nil || !ok {
			return h, nil, err
		}
		h.id = id
		list = append(list, writeID(s.at, &id))
	}
	if err := s.unpack(s.at, h); errors.Is(err, ErrCorrupt) {
		return h, nil, nil
	} else if err != nil {
		return h, nil, err
	}
	if more, err := s.longer(h); err != nil || more {
		return h, nil, err
	}
	back, err := readTrailer(s.log, end)
	if err != nil {
		return h, nil, err
	}
	// An old payload that is empty has nothing that tells that it is one.
	if h.payload <= 4 {
		return h, nil, nil
	}
	head := h.append(nil)
	if s.at == 0 && s.magic {
		copy(head, b[:8])
	}
	if _, err := decodeHeader(head, end-s.at); err != nil { // no header says that
		return h, nil, nil
	}
	// not the id: only another mend may touch that
	if !bytes.Equal(head[:8], b[:8]) || !bytes.Equal(head[40:], b[40:]) {
		list = append(list, write{"header", []piece{{s.at, head[:8]}, {s.at + 40, head[40:]}}})
	}
	if back != s.at {
		list = append(list,
			write{"last 8 bytes", []piece{{end - trailerBytes, binary.LittleEndian.AppendUint64(nil, uint64(s.at))}}})
	}
	return h, s.mendBytes(list), nil
}

// longer tells whether the payload of the entry that is next goes on behind its stream, which
// is whole: then it is not of the length that it was taken for.
func (s *scanner) longer(h header) (bool, error) {
	u, err := openPayload(s.log, s.at+headerBytes, h.payload, &s.idle)
	if err != nil {
		return false, err
	}
	defer u.Close() //nolint:errcheck // it was only read
	if _, err := io.Copy(io.Discard, u); err != nil || u.inflater == nil {
		return false, err
	}
	_, err = u.in.ReadByte()
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	return true, err
}

// write is a part of an entry that is written anew: pieces, each durable before the next.
type write struct {
	what   string
	pieces []piece
}

type piece struct {
	at    int64
	bytes []byte
}

// writeID writes an id in the header at a position. The block's number, by which the next
// repair sees that the id is wrong, is right only when the rest is.
func writeID(at int64, id *types.Checksum256) write {
	return write{"id", []piece{{at + 12, id[4:]}, {at + 8, id[:4]}}}
}

func (s *scanner) mendBytes(list []write) *logfinding.Mend {
	if len(list) != 1 { // of two wrong pieces neither tells what the other was
		return nil
	}
	w, path, files := list[0], s.path(), s.o.FS
	return &logfinding.Mend{What: fmt.Sprintf("write the %s of the entry of block %d, at offset %d of %s, anew",
		w.what, s.num, w.pieces[0].at, path), Do: func() error {
		f, err := files.Open(path, true)
		if err != nil {
			return err
		}
		for _, p := range w.pieces {
			if err == nil {
				err = p.write(f)
			}
		}
		return errors.Join(err, f.Close())
	}}
}

// write makes a piece durable. What is right stays untouched: a power cut may leave anything
// of bytes that are being written.
func (p *piece) write(f vfs.File) error {
	was := make([]byte, len(p.bytes))
	if _, err := f.ReadAt(was, p.at); err != nil {
		return err
	}
	if bytes.Equal(was, p.bytes) {
		return nil
	}
	if _, err := f.WriteAt(p.bytes, p.at); err != nil {
		return err
	}
	return f.Sync()
}
