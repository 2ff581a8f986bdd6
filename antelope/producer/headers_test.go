package producer

import (
	"encoding/binary"
	"testing"

	"tarn/antelope/chain"
	"tarn/antelope/consensus"
	"tarn/antelope/types"
)

// uncounted counts no votes.
type uncounted struct{}

func (uncounted) ExpectVotes(*consensus.BlockState) {}
func (uncounted) ForgetVotes(types.Checksum256)     {}
func (uncounted) Withdraw(types.Checksum256)        {}

// States of headers that were checked have a bound in bytes, however many they are.
func TestCheckedHeadersAreBoundedInBytes(t *testing.T) {
	h := headers{votes: uncounted{}}
	l := chain.Limits{CheckedHeaders: 100, CheckedBytes: 1 << 20}
	put := func(num uint32, bytes int) types.Checksum256 {
		s := &consensus.HeaderState{Progress: consensus.Progress{BlockNum: num}}
		binary.BigEndian.PutUint32(s.ID[:], num)
		h.put(&consensus.BlockState{HeaderState: s, Block: &types.SignedBlock{
			Extensions: types.Extensions{{Data: make([]byte, bytes)}}}}, l)
		return s.ID
	}
	for i := range uint32(300) {
		id := put(i+1, 100<<10)
		if h.held.Bytes() > l.CheckedBytes || h.get(id) == nil {
			t.Fatalf("%d bytes are held, the last one is there: %t", h.held.Bytes(), h.get(id) != nil)
		}
	}
	if len(h.known) < 8 {
		t.Errorf("%d headers are held, and there is room for more", len(h.known))
	}
	for i := range uint32(300) {
		put(i+1000, 0)
	}
	if len(h.known) != l.CheckedHeaders {
		t.Errorf("%d headers are held", len(h.known))
	}
	for id := range h.known {
		h.drop(id)
	}
	if h.held.Bytes() != 0 || len(h.order) > 0 {
		t.Errorf("%d bytes are held of %d headers", h.held.Bytes(), len(h.order))
	}
}
