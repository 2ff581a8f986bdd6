package chain

import "testing"

// One action may change thousands of rows: a batch of few blocks ends by what is kept for undoing it.
func TestABatchEndsByWhatItChanged(t *testing.T) {
	b := batch{open: true, blocks: make([]batched, 2), receipts: 2}
	if b.full(batchBytes-1) || !b.full(batchBytes) {
		t.Errorf("with %d bytes it is full: %t, with %d: %t", batchBytes-1, b.full(batchBytes-1), batchBytes, b.full(batchBytes))
	}
}
