package page

import (
	"bytes"
	"encoding/binary"
	"testing"
	"unsafe"

	"tarn/store"
)

// Whatever the bytes, decoding ends with an error or with something that encodes
// to the same again.

func FuzzMeta(f *testing.F) {
	m := meta{sequence: 5, head: 9, irreversible: 7, generation: 3, end: 40, catalog: runRef{ref{5, 3}, 70}, mode: Heap}
	f.Add(m.encode(), byte(1))
	f.Add([]byte(magic), byte(0))
	f.Fuzz(func(t *testing.T, b []byte, page byte) {
		page &= 1
		decodeMeta("f", int64(page), b) //nolint:errcheck // it must only not panic
		if len(b) < metaSize {
			return
		}
		file := make([]byte, 2*pageSize)
		fixed := file[int(page)*pageSize:]
		copy(fixed, b[:metaSize])
		Repair(file, int(page))
		m, err := decodeMeta("f", int64(page), fixed)
		if err != nil {
			return
		}
		again, err := decodeMeta("f", int64(page), m.encode())
		if err != nil || *again != *m {
			t.Errorf("%+v becomes %+v, %v", m, again, err)
		}
	})
}

func FuzzPage(f *testing.F) {
	n, spare := scratchNode(), scratchNode()
	n.kind, n.table, n.number, n.generation = kindNode, 1, 2, 1
	n.reset(0, []byte("key "))
	for i, k := range []string{"key a", "key b", "key c"} {
		n.insertValue(i, []byte(k), []byte("value"), false, spare)
	}
	f.Add(n.bytes()[:], []byte("key b"))
	n.reset(1, nil)
	for i, k := range []string{"", "m", "t"} {
		n.insertChild(i, []byte(k), ref{uint32(i + 3), 1}, spare)
	}
	f.Add(n.bytes()[:], []byte("n"))
	f.Fuzz(func(t *testing.T, b, key []byte) {
		// The node lies between two others, so that a read or write past its
		// ends is seen.
		three := new([3]node)
		n := &three[1]
		copy(n.bytes()[:], b)
		n.kind = kindNode
		n.checksum = sum(unsafe.Pointer(n), pageSize)
		if n.sound(n.number, uint32(n.generation), store.Table(n.table), int(n.level)) != "" {
			return
		}
		readNode(n, key)
		if three[0] != (node{}) || three[2] != (node{}) {
			t.Error("wrote outside the page")
		}
	})
}

// readNode does with a sound node what gets, cursors and Verify do.
func readNode(n *node, key []byte) {
	if len(key) > 0 && len(key) <= store.MaxKey {
		n.search(key, 0)
		if n.level > 0 {
			n.child(n.route(key))
		}
	}
	var buf []byte
	for i := range int(n.count) {
		buf = n.key(buf[:0], i)
		n.search(buf, 0)
		n.cellSize(i)
		if n.level > 0 {
			n.child(i)
		} else if v, run := n.value(i); run {
			decodeRunRef(v)
		}
	}
	n.usedSize()
	n.sharedPrefix(0, int(n.count))
}

func FuzzCatalog(f *testing.F) {
	f.Add(encodeCatalog([]table{{"store.ids", tree{}}, {"rows", tree{root: ref{7, 2}, height: 2, rows: 5, bytes: 99}}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		tables, err := decodeCatalog(b)
		if err == nil && !bytes.Equal(encodeCatalog(tables), b) {
			t.Errorf("%x becomes %x", b, encodeCatalog(tables))
		}
	})
}

func FuzzUndo(f *testing.F) {
	var j store.Journal
	j.Record(1, []byte("key"), []byte("old"), true)
	j.Record(2, []byte("new"), nil, false)
	f.Add(encodeUndo([][]byte{j.Bytes(), nil, j.Bytes()}))
	f.Fuzz(func(t *testing.T, b []byte) {
		journals, err := decodeUndo(b, 3)
		if err == nil && len(journals) > 0 && !bytes.Equal(encodeUndo(journals), b) {
			t.Errorf("%x becomes %x", b, encodeUndo(journals))
		}
		for _, j := range journals {
			// What was accepted can be undone.
			if err := store.Backward(j, func(store.Table, []byte, []byte, bool) error { return nil }); err != nil {
				t.Errorf("journal %x: %v", j, err)
			}
		}
	})
}

func FuzzFreeList(f *testing.F) {
	free := make(bitmap, 4)
	for _, p := range []uint32{2, 3, 9, 200} {
		free.set(p)
	}
	f.Add(encodeFree(free, 250), uint32(250))
	f.Add(binary.AppendUvarint(nil, 1<<63), uint32(5))
	f.Fuzz(func(t *testing.T, b []byte, end uint32) {
		end %= 1 << 16
		free := make(bitmap, end>>6+1)
		last := uint32(0)
		err := decodeFree(b, end, func(page, pages uint32) {
			if page < firstPage || page < last || uint64(page)+uint64(pages) > uint64(end) {
				t.Fatalf("run of %d pages at %d after %d, in a file of %d", pages, page, last, end)
			}
			last = page + pages
			for p := page; p < last; p++ {
				free.set(p)
			}
		})
		if err != nil {
			return
		}
		again := make(bitmap, end>>6+1)
		if err := decodeFree(encodeFree(free, end), end, func(page, pages uint32) {
			for p := page; p < page+pages; p++ {
				again.set(p)
			}
		}); err != nil {
			t.Fatal(err)
		}
		for i := range free {
			if free[i] != again[i] {
				t.Fatalf("%x becomes %x", free, again)
			}
		}
	})
}
