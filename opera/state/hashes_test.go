package state

import (
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// Hashes are right, remembered or not, and no more are remembered than the bound.
func TestRememberedHashesAreRightAndBounded(t *testing.T) {
	h := NewHashes()
	for range 2 {
		for i := range uint64(rememberedHashes + 10) {
			key := hashOf(i)
			address := common.BytesToAddress(key[:])
			want, wantAddress := crypto.Keccak256Hash(key[:]), crypto.Keccak256Hash(address[:])
			for _, h := range []*Hashes{h, nil} {
				if h.slot(key) != want || h.address(address) != wantAddress {
					t.Fatalf("wrong hashes of %x", key)
				}
			}
		}
		if len(h.slots) > rememberedHashes || len(h.addresses) > rememberedHashes {
			t.Fatalf("%d slots and %d addresses are remembered", len(h.slots), len(h.addresses))
		}
	}
}
