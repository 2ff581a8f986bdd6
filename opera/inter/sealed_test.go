package inter

import (
	"bytes"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/ethereum/go-ethereum/rlp"
)

// What is known of a record before it is decoded is what is known of it afterwards.
func TestASealedRecordHasTheHashOfTheOpenOne(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		b := randomBlock(random)
		raw, err := rlp.EncodeToBytes(b)
		if err != nil {
			t.Fatal(err)
		}
		var sealed SealedBlockRecord
		if err := rlp.DecodeBytes(raw, &sealed); err != nil {
			t.Fatal(err)
		}
		if hash, err := sealed.Hash(); err != nil || hash != b.Block.Hash() {
			t.Fatalf("the hash is %x, want %x: %v", hash, b.Block.Hash(), err)
		}
		open, err := sealed.Open()
		if err != nil {
			t.Fatal(err)
		}
		if again, err := rlp.EncodeToBytes(open); err != nil || !bytes.Equal(again, raw) {
			t.Fatalf("the open record is another one: %v", err)
		}
	}
}

// Millions of transactions and receipts that are hardly there are refused before they are made.
func TestASealedRecordCostsWhatItWeighs(t *testing.T) {
	long := func(n int, item []byte) rlp.RawValue {
		size := n * len(item)
		return slices.Concat([]byte{0xfa, byte(size >> 16), byte(size >> 8), byte(size)}, bytes.Repeat(item, n))
	}
	var sealed SealedBlockRecord
	sealed.Block.Txs, sealed.Block.Receipts = long(4<<20, []byte{0x80}), long(1<<20, []byte{0xc3, 0x80, 0x80, 0xc0})
	var before, later runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := sealed.Hash(); err == nil {
		t.Error("empty transactions are allowed")
	}
	sealed.Block.Txs = rlp.RawValue{0xc0}
	if _, err := sealed.Hash(); err != nil {
		t.Error(err)
	}
	runtime.ReadMemStats(&later)
	if took := later.TotalAlloc - before.TotalAlloc; took > 1<<20 {
		t.Errorf("it took %d bytes", took)
	}
}
