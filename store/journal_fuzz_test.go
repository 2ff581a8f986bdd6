package store_test

import (
	"bytes"
	"testing"

	"tarn/store"
)

type record struct {
	table    store.Table
	key, old string
	existed  bool
}

func collect(list *[]record) func(store.Table, []byte, []byte, bool) error {
	return func(t store.Table, key, old []byte, existed bool) error {
		*list = append(*list, record{t, string(key), string(old), existed})
		return nil
	}
}

// FuzzJournal: whatever the bytes, both directions refuse them, or tell the same
// records in opposite order, which encode to the same bytes again.
func FuzzJournal(f *testing.F) {
	var j store.Journal
	j.Record(1, []byte("key"), []byte("old value"), true)
	j.Record(2, []byte("new"), nil, false)
	j.Record(2, []byte("empty"), nil, true)
	f.Add(j.Bytes())
	f.Add([]byte{0, 0, 0, 0, 1, 0, 1, 0, 'k', 13, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		var forward, backward []record
		errF := store.Changed(b, collect(&forward))
		errB := store.Backward(b, collect(&backward))
		if (errF == nil) != (errB == nil) {
			t.Fatalf("forward: %v, backward: %v", errF, errB)
		}
		if errF != nil {
			return
		}
		var again store.Journal
		for i, r := range forward {
			if r != backward[len(backward)-1-i] {
				t.Fatalf("record %d is %v forward and %v backward", i, r, backward[len(backward)-1-i])
			}
			again.Record(r.table, []byte(r.key), []byte(r.old), r.existed)
		}
		if len(forward) != len(backward) || !bytes.Equal(again.Bytes(), b) {
			t.Fatalf("%x becomes %x", b, again.Bytes())
		}
		checkCompact(t, &again, forward)
	})
}

// checkCompact: what is left is the first record of each row, in order.
func checkCompact(t *testing.T, j *store.Journal, all []record) {
	type row struct {
		table store.Table
		key   string
	}
	seen := map[row]bool{}
	var want, got []record
	for _, r := range all {
		if !seen[row{r.table, r.key}] {
			seen[row{r.table, r.key}] = true
			want = append(want, r)
		}
	}
	if err := store.Changed(j.Compact(), collect(&got)); err != nil || len(got) != len(want) {
		t.Fatalf("compacted to %d records, expected %d: %v", len(got), len(want), err)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("compacted record %d is %v, expected %v", i, got[i], want[i])
		}
	}
}
