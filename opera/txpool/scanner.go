package txpool

import (
	"fmt"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"

	"tarn/opera/inter"
	"tarn/store/vfs"
)

const (
	mostHead = 9 // bytes before the content of an encoded value
	// searchRatio is how many bytes may be decoded for each of the file to find transactions behind what
	// is none.
	searchRatio = 16
)

// scanner finds transactions in a file.
type scanner struct {
	file   vfs.File
	size   int64
	buf    []byte // of the file from an offset on
	from   int64
	budget int64
}

// peek returns what a transaction at an offset may have at most, valid until the next call.
func (s *scanner) peek(at int64) ([]byte, error) {
	n := min(mostHead+most, s.size-at)
	if at < s.from || at+n > s.from+int64(len(s.buf)) {
		if s.buf == nil {
			s.buf = make([]byte, 4*(mostHead+most))
		}
		s.from = at
		s.buf = s.buf[:min(int64(cap(s.buf)), s.size-at)]
		if err := vfs.ReadFull(s.file, s.buf, at); err != nil {
			s.buf = s.buf[:0]
			return nil, fmt.Errorf("read at %d: %w", at, err)
		}
	}
	return s.buf[at-s.from:][:n], nil
}

// transaction returns the one that begins at an offset, nil if none does, and where it ends. Its
// form is looked at before there is memory for it.
func (s *scanner) transaction(at int64) (tx *types.Transaction, end int64, err error) {
	b, err := s.peek(at)
	if err != nil {
		return nil, 0, err
	}
	n := span(b)
	if n == 0 {
		return nil, 0, nil
	}
	tx = new(types.Transaction)
	if rlp.DecodeBytes(b[:n], tx) != nil || !inter.Supported(tx) {
		return nil, 0, nil
	}
	return tx, at + int64(n), nil
}

// fields is how many values transactions of each type have.
var fields = map[byte]int{types.LegacyTxType: 9, types.AccessListTxType: 11, types.DynamicFeeTxType: 12}

// span returns how many bytes a transaction has that some bytes begin with, 0 if they begin otherwise.
func span(b []byte) int {
	kind, content, rest, err := rlp.Split(b)
	if err != nil || len(content) > most || kind == rlp.Byte {
		return 0
	}
	form := byte(types.LegacyTxType)
	if kind == rlp.String {
		if len(content) == 0 {
			return 0
		}
		var behind []byte
		form = content[0]
		if kind, content, behind, err = rlp.Split(content[1:]); err != nil || kind != rlp.List || len(behind) > 0 ||
			form == types.LegacyTxType {
			return 0
		}
	}
	want, ok := fields[form]
	if !ok {
		return 0
	}
	for ; want > 0; want-- {
		if _, _, content, err = rlp.Split(content); err != nil {
			return 0
		}
	}
	if len(content) > 0 {
		return 0
	}
	return len(b) - len(rest)
}

// next returns where the next transaction behind an offset begins at which none does, the end of the file if
// there is none. Where the lengths are whole the next one is found by them.
func (s *scanner) next(at int64) (int64, error) {
	b, err := s.peek(at)
	if err != nil {
		return 0, err
	}
	if _, content, rest, err := rlp.Split(b); err == nil && len(content) > 0 && len(content) <= most {
		behind := at + int64(len(b)-len(rest))
		if behind == s.size {
			return behind, nil
		}
		if tx, _, err := s.transaction(behind); tx != nil || err != nil {
			return behind, err
		}
	}
	for at++; at < s.size && s.budget > 0; at++ {
		if b, err = s.peek(at); err != nil {
			return 0, err
		}
		// A transaction has two numbers of 32 bytes for its signature, so its head says its length.
		if b[0] < 0xf8 && (b[0] < 0xb8 || b[0] > 0xbf) {
			continue
		}
		n := span(b)
		if n == 0 {
			continue
		}
		s.budget -= int64(n)
		if tx, _, err := s.transaction(at); tx != nil || err != nil {
			return at, err
		}
	}
	return s.size, nil
}
