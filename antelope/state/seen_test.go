package state_test

import (
	"encoding/binary"
	"runtime"
	"testing"

	"tarn/antelope/types"
)

// What docs/operations.md says of the ids of transactions that have not expired: at most 100
// bytes of memory each, at any number of them, and none once they have expired.
func TestAnUnexpiredTransactionTakesLittleMemory(t *testing.T) {
	const most, block, blocks, expiration = 100, 1000, 200, 1_900_000_000
	d := databases[0].open(t)
	s := d.state()
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	none, n := heap(), uint64(0)
	for b := range blocks {
		for range block {
			n++
			var id types.Checksum256
			binary.BigEndian.PutUint64(id[:], n*0x9e3779b97f4a7c15)
			added, err := s.RecordTransaction(id, types.TimePointSec(expiration+b))
			d.must(err)
			if !added {
				t.Fatalf("transaction %d was known", n)
			}
		}
		d.must(s.Flush())
		if b%20 != 19 {
			continue
		}
		each := (float64(heap()) - float64(none)) / float64(n)
		t.Logf("%d transactions: %.1f bytes each", n, each)
		if each > most {
			t.Errorf("%d transactions take %.1f bytes each, at most %d are promised", n, each, most)
		}
	}
	forgotten, err := s.ForgetTransactions(expiration + blocks)
	d.must(err)
	if forgotten != int(n) {
		t.Errorf("%d of %d were forgotten", forgotten, n)
	}
	runtime.KeepAlive(s)
}
