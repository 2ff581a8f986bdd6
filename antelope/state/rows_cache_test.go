package state

import (
	"testing"

	"tarn/antelope/types"
	"tarn/store/engine"
	"tarn/store/page"
)

// TestDecodedRowsHaveABound reads many more rows than are to be kept, a block's worth at a time.
func TestDecodedRowsHaveABound(t *testing.T) {
	const kept, rows, block = 100, 5000, 50
	st, err := engine.Open(t.TempDir(), engine.Options{Kind: engine.Page, Mode: page.Heap, LimitBytes: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	s, err := Open(st)
	if err != nil {
		t.Fatal(err)
	}
	s.CacheRows(kept)
	for i := range rows {
		if _, err := s.Metadata.Create(types.Name(i+1), AccountMetadata{Name: types.Name(i + 1)}); err != nil {
			t.Fatal(err)
		}
		if i%block != block-1 {
			continue
		}
		if err := s.Flush(); err != nil {
			t.Fatal(err)
		}
		if n := s.Metadata.recent.used + s.Metadata.older.used; n > 2*(kept+block) {
			t.Fatalf("%d rows are kept decoded after %d, where %d are asked for", n, i+1, kept)
		}
	}
	for i := range rows {
		if m, err := s.Metadata.Get(types.Name(i + 1)); err != nil || m == nil {
			t.Fatalf("row %d is not read again: %v", i, err)
		}
	}
}
