package shiplog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"tarn/antelope/survey"
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
	for from < s.limit {
		n := min(int64(len(buf)), s.limit-from)
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
			h, back, err := readEnds(s.log, at, s.limit)
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
// content is not whole, or it is not of the block that is next.
func (s *scanner) derive(end int64) (header, *survey.Mend, error) {
	var b [headerBytes]byte
	if end-s.at < smallest {
		return header{}, nil, nil
	}
	if _, err := s.log.ReadAt(b[:], s.at); err != nil {
		return header{}, nil, err
	}
	h := header{pruned: s.at == 0 && s.pruned, payload: uint64(end - s.at - headerBytes - trailerBytes)}
	copy(h.id[:], b[8:])
	if number(h.id) != s.num {
		return h, nil, nil
	}
	if err := s.unpack(s.at, h); errors.Is(err, ErrCorrupt) {
		return h, nil, nil
	} else if err != nil {
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
	var writes []write
	if !bytes.Equal(head, b[:]) {
		writes = append(writes, write{s.at, head, "header"})
	}
	if back != s.at {
		writes = append(writes, write{end - trailerBytes, binary.LittleEndian.AppendUint64(nil, uint64(s.at)), "last 8 bytes"})
	}
	return h, s.mendBytes(writes), nil
}

// write is a piece of an entry that is written anew.
type write struct {
	at    int64
	bytes []byte
	what  string
}

func (s *scanner) mendBytes(list []write) *survey.Mend {
	if len(list) != 1 { // of two wrong pieces neither tells what the other was
		return nil
	}
	w, path, files := list[0], s.path(), s.o.FS
	return &survey.Mend{What: fmt.Sprintf("write the %s of the entry of block %d in %s anew: %d bytes at offset %d", w.what, s.num, path, len(w.bytes), w.at), Do: func() error {
		f, err := files.Open(path, true)
		if err != nil {
			return err
		}
		_, err = f.WriteAt(w.bytes, w.at)
		if err == nil {
			err = f.Sync()
		}
		return errors.Join(err, f.Close())
	}}
}
