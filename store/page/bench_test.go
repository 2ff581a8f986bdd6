package page

import (
	"encoding/binary"
	"flag"
	"math/rand/v2"
	"testing"

	"tarn/store"
)

var benchRows = flag.Int("rows", 1_000_000, "rows in the store that is measured")

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

// benchStore returns a store of -rows rows of 32-byte keys and 120-byte values.
func benchStore(b *testing.B, mode Mode) (*Engine, store.Table) {
	b.Helper()
	e, t := newRows(b, Options{Mode: mode, LimitBytes: 64 << 30, PrivateBytes: 16 << 30})
	key, value := make([]byte, 0, 32), make([]byte, 120)
	for i := range uint64(*benchRows) {
		binary.LittleEndian.PutUint64(value, i)
		if err := e.Put(t, benchKey(key, i), value, nil); err != nil {
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
