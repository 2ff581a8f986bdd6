package rpc

import (
	"bytes"
	"errors"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"tarn/opera/state"
)

// codeSource is a state of one code that counts who reads it.
type codeSource struct {
	state.Source
	hash  common.Hash
	code  []byte
	reads int
}

var errUnread = errors.New("it cannot be read")

func (s *codeSource) Code(hash common.Hash) ([]byte, error) {
	s.reads++
	if hash != s.hash {
		return nil, errUnread
	}
	return s.code, nil
}

// Code is read once, and what cannot be read is asked for again.
func TestCodeIsReadOnce(t *testing.T) {
	of := &codeSource{hash: common.Hash{1}, code: []byte{2, 3}}
	c := coded{of, newCodes(1 << 20)}
	for range 3 {
		if code, err := c.Code(of.hash); err != nil || !bytes.Equal(code, of.code) {
			t.Fatal(code, err)
		}
	}
	if of.reads != 1 {
		t.Errorf("it was read %d times", of.reads)
	}
	for range 2 {
		if code, err := c.Code(common.Hash{4}); !errors.Is(err, errUnread) || code != nil {
			t.Fatal(code, err)
		}
	}
	if of.reads != 3 {
		t.Errorf("what cannot be read was asked for %d times", of.reads-1)
	}
}
