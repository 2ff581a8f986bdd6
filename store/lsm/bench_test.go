package lsm_test

import (
	"encoding/binary"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"tarn/store"
	"tarn/store/lsm"
	"tarn/store/lsm/badger"
	"tarn/store/lsm/leveldb"
	"tarn/store/lsm/pebble"
)

const benchRows = 300_000

var libraries = map[string]func(dir string) (lsm.Base, error){
	"leveldb": func(dir string) (lsm.Base, error) {
		return leveldb.Open(leveldb.Options{Dir: dir, CacheBytes: benchCache})
	},
	"pebble": func(dir string) (lsm.Base, error) {
		return pebble.Open(pebble.Options{Dir: dir, CacheBytes: benchCache})
	},
	"badger": func(dir string) (lsm.Base, error) {
		return badger.Open(badger.Options{Dir: dir, CacheBytes: benchCache})
	},
}

const benchCache = 256 << 20

// BenchmarkEngine measures the seam's calls on rows of 32-byte keys and 120-byte
// values that have all been flushed: half of them lie in the row cache.
func BenchmarkEngine(b *testing.B) {
	for _, name := range slices.Sorted(maps.Keys(libraries)) {
		b.Run(name, func(b *testing.B) {
			e, table := benchEngine(b, libraries[name])
			for _, c := range []struct {
				name string
				run  func(b *testing.B, e *lsm.Engine, t store.Table)
			}{
				{"get-cached", benchCached},
				{"get-missing", benchMissing},
				{"get-overlay", benchOverlay},
				{"update", benchUpdate},
				{"seek-100-next", benchSeek},
				{"view", benchView},
			} {
				b.Run(c.name, func(b *testing.B) {
					b.ReportAllocs()
					c.run(b, e, table)
				})
			}
			if err := e.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

func benchEngine(b *testing.B, open func(string) (lsm.Base, error)) (*lsm.Engine, store.Table) {
	b.Helper()
	base, err := open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	e, err := lsm.Open(base, lsm.Options{CacheBytes: benchCache})
	if err != nil {
		b.Fatal(err)
	}
	table, err := e.CreateTable("rows")
	if err != nil {
		b.Fatal(err)
	}
	var key []byte
	value := make([]byte, 120)
	for n := range benchRows {
		key = rowKey(key, n)
		if err := e.Put(table, key, value, nil); err != nil {
			b.Fatal(err)
		}
	}
	c, err := e.Checkpoint(store.Image{Head: 1, Irreversible: 1})
	if err == nil {
		err = c.Wait()
	}
	if err == nil {
		err = e.Publish(1)
	}
	if err != nil {
		b.Fatal(err)
	}
	return e, table
}

func rowKey(dst []byte, n int) []byte {
	dst = dst[:0]
	h := uint64(n) + 1
	for range 4 {
		h = (h ^ h>>31) * 0x9e3779b97f4a7c15
		dst = binary.BigEndian.AppendUint64(dst, h)
	}
	return dst
}

func benchCached(b *testing.B, e *lsm.Engine, t store.Table) {
	r := rand.New(rand.NewPCG(1, 1))
	var key []byte
	const hot = benchRows / 10
	for n := range hot {
		key = rowKey(key, n)
		if _, err := e.Get(t, key); err != nil {
			b.Fatal(err)
		}
	}
	if err := e.Publish(1); err != nil { // ends what was borrowed
		b.Fatal(err)
	}
	for n := 0; b.Loop(); n++ {
		key = rowKey(key, r.IntN(hot))
		if _, err := e.Get(t, key); err != nil {
			b.Fatal(err)
		}
		if n%1000 == 0 {
			if err := e.Put(t, []byte("change"), nil, nil); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func benchMissing(b *testing.B, e *lsm.Engine, t store.Table) {
	r := rand.New(rand.NewPCG(1, 1))
	var key []byte
	for b.Loop() {
		key = rowKey(key, benchRows+r.IntN(1<<40))
		if _, err := e.Get(t, key); err == nil {
			b.Fatal("there")
		}
	}
}

func benchOverlay(b *testing.B, e *lsm.Engine, t store.Table) {
	r := rand.New(rand.NewPCG(1, 1))
	var key []byte
	for n := range 30_000 {
		key = rowKey(key, n)
		if err := e.Put(t, key, make([]byte, 120), nil); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		key = rowKey(key, r.IntN(30_000))
		if _, err := e.Get(t, key); err != nil {
			b.Fatal(err)
		}
	}
}

func benchUpdate(b *testing.B, e *lsm.Engine, t store.Table) {
	r := rand.New(rand.NewPCG(1, 1))
	var key []byte
	value := make([]byte, 120)
	var undo store.Journal
	for b.Loop() {
		key = rowKey(key, r.IntN(benchRows))
		undo.Truncate(0, 1<<20)
		if err := e.Put(t, key, value, &undo); err != nil {
			b.Fatal(err)
		}
	}
}

func benchSeek(b *testing.B, e *lsm.Engine, t store.Table) {
	r := rand.New(rand.NewPCG(1, 1))
	c, err := e.Cursor(t)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	var key []byte
	for b.Loop() {
		key = rowKey(key, r.IntN(benchRows))
		ok := c.Seek(key)
		for i := 0; ok && i < 100; i++ {
			ok = c.Next()
		}
	}
}

func benchView(b *testing.B, e *lsm.Engine, _ store.Table) {
	for b.Loop() {
		v, err := e.View()
		if err != nil {
			b.Fatal(err)
		}
		if err := v.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
