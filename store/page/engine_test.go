package page

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"tarn/store"
)

var treeOps = flag.Int("tree.ops", 3000, "operations of each random tree")

// A tree must hold exactly what a map holds, through splits, merges, large
// values, checkpoints, spills and reopenings, with every view staying as it was.
func TestTreeEqualsMap(t *testing.T) {
	ops := *treeOps
	if testing.Short() {
		ops /= 2
	}
	for _, mode := range []Mode{Mapped, MappedPrivate, Heap} {
		for seed := range uint64(4) {
			t.Run(fmt.Sprintf("%s/seed=%d", mode, seed), func(t *testing.T) {
				modelRun(t, mode, seed, ops)
			})
		}
	}
}

type frozen struct {
	view store.View
	rows map[string]string
}

func modelRun(t *testing.T, mode Mode, seed uint64, ops int) {
	rng := rand.New(rand.NewPCG(seed, 1))
	o := Options{Dir: t.TempDir(), Mode: mode, LimitBytes: 256 << 20, GrowBytes: 2 << 20, PrivateBytes: 1 << 20}
	e, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	tb, err := e.CreateTable("rows")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	var durable map[string]string
	var views []frozen
	head := uint64(0)
	publish := func() {
		head++
		if err := e.Publish(head); err != nil {
			t.Fatal(err)
		}
		v, err := e.View()
		if err != nil {
			t.Fatal(err)
		}
		views = append(views, frozen{v, maps.Clone(rows)})
	}
	// get is what a writer does that is about to change the row, or is not.
	get := func(k []byte) {
		v, err := e.Get(tb, k)
		if want, ok := rows[string(k)]; ok != (err == nil) || err != nil && !errors.Is(err, store.ErrNotFound) ||
			string(v) != want {
			t.Fatalf("get %x: %x, %v; the model has %x, %t", k, v, err, want, ok)
		}
	}
	var next uint64 // of keys that come in a row, here and there in the table
	for i := range ops {
		switch r := rng.IntN(1000); {
		case r < 40:
			if rng.IntN(3) == 0 {
				next = uint64(rng.IntN(3000)) << 16
			}
			var row [][]byte
			for range 1 + rng.IntN(60) {
				next += uint64(1 + rng.IntN(1<<14))
				k := commonKey(next)
				for range 1 + rng.IntN(2) {
					v := randomValue(rng)
					if rng.IntN(3) == 0 {
						get(k)
					}
					if err := e.Put(tb, k, v, nil); err != nil {
						t.Fatal(err)
					}
					rows[string(k)] = string(v)
				}
				row = append(row, k)
				switch rng.IntN(60) {
				case 0:
					publish()
				case 1: // so many that leaves are merged
					for _, k := range slices.Backward(row) {
						if err := e.Delete(tb, k, nil); err != nil {
							t.Fatal(err)
						}
						delete(rows, string(k))
					}
					row = nil
				}
			}
		case r < 600:
			k, v := randomKey(rng), randomValue(rng)
			if rng.IntN(2) == 0 {
				get(k)
			}
			if old := rows[string(k)]; old != "" && rng.IntN(2) == 0 {
				v = bytes.Repeat([]byte{byte(i)}, len(old))
			}
			if rng.IntN(20) == 0 {
				publish()
			}
			if err := e.Put(tb, k, v, nil); err != nil {
				t.Fatal(err)
			}
			rows[string(k)] = string(v)
		case r < 960:
			k := randomKey(rng)
			if len(rows) > 0 && rng.IntN(2) == 0 {
				for s := range rows {
					k = []byte(s)
					break
				}
			}
			if rng.IntN(2) == 0 {
				get(k)
			}
			err := e.Delete(tb, k, nil)
			if _, ok := rows[string(k)]; ok != (err == nil) || err != nil && !errors.Is(err, store.ErrNotFound) {
				t.Fatalf("op %d: delete %x: %v, model has it: %v", i, k, err, ok)
			}
			delete(rows, string(k))
			if rng.IntN(4) == 0 {
				get(k)
			}
		case r < 975:
			publish()
		case r < 985 && len(views) > 0:
			j := rng.IntN(len(views))
			compare(t, views[j].view, tb, views[j].rows)
			views[j].view.Close()
			views = slices.Delete(views, j, j+1)
		case r < 995:
			head++
			c, err := e.Checkpoint(store.Image{Head: head, Irreversible: head})
			if err != nil {
				t.Fatal(err)
			}
			durable = maps.Clone(rows)
			if rng.IntN(2) == 0 {
				if err := c.Wait(); err != nil {
					t.Fatal(err)
				}
			}
		case r < 997:
			if durable == nil {
				continue
			}
			for _, f := range views {
				compare(t, f.view, tb, f.rows)
				f.view.Close()
			}
			views = nil
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			if e, err = Open(o); err != nil {
				t.Fatal(err)
			}
			rows = maps.Clone(durable)
			verify(t, e)
			compare(t, e, tb, rows)
		}
	}
	compare(t, e, tb, rows)
	c, err := e.Checkpoint(store.Image{Head: head + 1, Irreversible: head + 1})
	if err == nil {
		err = c.Wait()
	}
	if err != nil {
		t.Fatal(err)
	}
	verify(t, e)
	for _, f := range views {
		compare(t, f.view, tb, f.rows)
		f.view.Close()
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

func verify(t *testing.T, e *Engine) {
	t.Helper()
	if err := e.Verify(func(err error) { t.Error(err) }); err != nil {
		t.Fatal(err)
	}
}

func randomKey(rng *rand.Rand) []byte {
	switch rng.IntN(10) {
	case 0:
		return bytes.Repeat([]byte{byte(rng.IntN(4))}, 1+rng.IntN(store.MaxKey))
	case 1:
		return []byte{byte(rng.IntN(256))}
	case 2:
		return binary.BigEndian.AppendUint32(bytes.Repeat([]byte{7}, 200), uint32(rng.IntN(500)))
	}
	return commonKey(uint64(rng.IntN(3000)) << 16)
}

func commonKey(n uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte("a common front of the key"), n)
}

func randomValue(rng *rand.Rand) []byte {
	n := rng.IntN(200)
	switch rng.IntN(40) {
	case 0:
		n = rng.IntN(30000)
	case 1, 2, 3:
		n = rng.IntN(1500)
	}
	v := make([]byte, n)
	for i := range v {
		v[i] = byte(rng.Uint32())
	}
	return v
}

func compare(t *testing.T, r store.Reader, tb store.Table, rows map[string]string) {
	t.Helper()
	keys := slices.Sorted(maps.Keys(rows))
	c, err := r.Cursor(tb)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	i := 0
	for ok := c.First(); ok; ok = c.Next() {
		if i >= len(keys) || string(c.Key()) != keys[i] || string(c.Value()) != rows[keys[i]] {
			t.Fatalf("row %d: %x, expected %x of %d", i, c.Key(), keys[min(i, len(keys)-1)], len(keys))
		}
		i++
	}
	if err := c.Err(); err != nil || i != len(keys) {
		t.Fatalf("%d rows instead of %d: %v", i, len(keys), err)
	}
	for ok := c.Last(); ok; ok = c.Prev() {
		i--
		if i < 0 || string(c.Key()) != keys[i] {
			t.Fatalf("backward row %d differs", i)
		}
	}
	for range 50 {
		k := randomKey(rand.New(rand.NewPCG(uint64(i), 3)))
		i++
		at, found := slices.BinarySearch(keys, string(k))
		if ok := c.Seek(k); ok != (at < len(keys)) || ok && string(c.Key()) != keys[at] {
			t.Fatalf("seek %x", k)
		}
		if ok := c.SeekLT(k); ok != (at > 0) || ok && string(c.Key()) != keys[at-1] {
			t.Fatalf("seek before %x", k)
		}
		v, err := r.Get(tb, k)
		if found != (err == nil) || found && string(v) != rows[string(k)] {
			t.Fatalf("get %x: %v", k, err)
		}
	}
}
