package page

import (
	"bytes"
	"encoding/binary"
	"flag"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"tarn/store"
)

var (
	benchRows   = flag.Int("rows", 1_000_000, "rows in the store that is measured")
	benchSorted = flag.Bool("sorted", false, "put rows in the order of their keys: their pages are full")
)

func benchKey(buf []byte, i uint64) []byte {
	buf = buf[:0]
	for range 4 {
		i = (i ^ i>>30) * 0xbf58476d1ce4e5b9
		i = (i ^ i>>27) * 0x94d049bb133111eb
		i ^= i >> 31
		buf = binary.BigEndian.AppendUint64(buf, i)
	}
	return buf
}

// benchKeys are the keys of -rows rows, in the order in which they are put.
func benchKeys() [][32]byte {
	keys := make([][32]byte, *benchRows)
	for i := range keys {
		benchKey(keys[i][:0], uint64(i))
	}
	if *benchSorted {
		slices.SortFunc(keys, func(x, y [32]byte) int { return bytes.Compare(x[:], y[:]) })
	}
	return keys
}

// BenchmarkGet measures reads of random rows of a store that was closed and opened again.
func BenchmarkGet(b *testing.B) {
	e, t := benchStore(b, MappedPrivate)
	dir := e.opts.Dir
	if err := e.Close(); err != nil {
		b.Fatal(err)
	}
	e, err := Open(Options{Dir: dir, Mode: MappedPrivate, LimitBytes: 64 << 30})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	rng, key := rand.New(rand.NewPCG(1, 1)), make([]byte, 0, 32)
	b.Run("rows", func(b *testing.B) {
		for b.Loop() {
			if _, err := e.Get(t, benchKey(key, rng.Uint64N(uint64(*benchRows)))); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// benchStore returns a store of -rows rows of 32-byte keys and 120-byte values.
func benchStore(b *testing.B, mode Mode) (*Engine, store.Table) {
	b.Helper()
	e, t := newRows(b, Options{Mode: mode, LimitBytes: 64 << 30, PrivateBytes: 16 << 30})
	value := make([]byte, 120)
	for i, key := range benchKeys() {
		binary.LittleEndian.PutUint64(value, uint64(i))
		if err := e.Put(t, key[:], value, nil); err != nil {
			b.Fatal(err)
		}
	}
	c, err := e.Checkpoint(store.Image{})
	if err == nil {
		err = c.Wait()
	}
	if err != nil {
		b.Fatal(err)
	}
	return e, t
}

func BenchmarkRows(b *testing.B) {
	for _, mode := range []Mode{Mapped, MappedPrivate, Heap} {
		b.Run(mode.String(), func(b *testing.B) {
			e, t := benchStore(b, mode)
			rng := rand.New(rand.NewPCG(1, 1))
			key, value := make([]byte, 0, 32), make([]byte, 120)
			pick := func() []byte { return benchKey(key, rng.Uint64N(uint64(*benchRows))) }
			for i := range *benchRows { // touch every page once
				e.Get(t, benchKey(key, uint64(i)))
			}
			b.Run("key", func(b *testing.B) {
				for b.Loop() {
					pick()
				}
			})
			b.Run("get", func(b *testing.B) {
				for b.Loop() {
					if _, err := e.Get(t, pick()); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run("seek100", func(b *testing.B) {
				c, _ := e.Cursor(t)
				for b.Loop() {
					ok := c.Seek(pick())
					for i := 0; ok && i < 100; i++ {
						ok = c.Next()
					}
				}
			})
			b.Run("view", func(b *testing.B) {
				for b.Loop() {
					v, _ := e.View()
					v.Close()
				}
			})
			var j store.Journal
			update := func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := e.Put(t, pick(), value, &j); err != nil {
						b.Fatal(err)
					}
					if j.Len() > 1<<20 {
						j.Truncate(0, 1<<30)
					}
				}
			}
			for i := range *benchRows { // copy every page once
				e.Put(t, benchKey(key, uint64(i)), value, nil)
			}
			b.Run("update", update)
			b.Run("update-published", func(b *testing.B) {
				n := 0
				for b.Loop() {
					if n++; n%1000 == 0 {
						e.Publish(uint64(n))
					}
					if err := e.Put(t, pick(), value, &j); err != nil {
						b.Fatal(err)
					}
					if j.Len() > 1<<20 {
						j.Truncate(0, 1<<30)
					}
				}
			})
		})
	}
}

// BenchmarkCheckpoint measures how many bytes a checkpoint writes for each update, after so many of random rows,
// and how many a log of the changed rows would have.
func BenchmarkCheckpoint(b *testing.B) {
	keys := benchKeys()
	const value, headOfRow = 96, 6 // bytes
	e, t := newRows(b, Options{Mode: MappedPrivate, LimitBytes: 64 << 30, PrivateBytes: 16 << 30})
	put := func(key []byte, n uint64) {
		v := binary.LittleEndian.AppendUint64(make([]byte, 0, value), n)[:value]
		if err := e.Put(t, key, v, nil); err != nil {
			b.Fatal(err)
		}
	}
	save := func() float64 {
		c, err := e.Checkpoint(store.Image{})
		if err == nil {
			err = c.Wait()
		}
		if err != nil {
			b.Fatal(err)
		}
		return float64(e.counters.last.Pages)
	}
	for i := range keys {
		put(keys[i][:], uint64(i))
	}
	filled := float64(len(keys)*(value+len(keys[0])+slotSize+2)) / (save() * pageSize)
	rng := rand.New(rand.NewPCG(1, 1))
	for _, updates := range []int{60_000, 250_000, 1_000_000, 4_000_000} {
		b.Run(strconv.Itoa(updates), func(b *testing.B) {
			changed := make(map[int]struct{}, updates)
			for b.Loop() {
				clear(changed)
				for range updates {
					i := rng.IntN(len(keys))
					changed[i] = struct{}{}
					put(keys[i][:], rng.Uint64())
				}
				b.ReportMetric(save()*pageSize/float64(updates), "B/update")
			}
			b.ReportMetric(float64(len(changed)*(headOfRow+len(keys[0])+value))/float64(updates), "row-B/update")
			b.ReportMetric(100*filled, "%full")
		})
	}
}
