package blocklog

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
)

// samples of about 4 KiB, made once.
func benchBlocks(n int) []sample {
	c := newChain(rand.New(rand.NewPCG(1, 1)), 2)
	list := make([]sample, n)
	for i := range list {
		list[i] = c.next(4000)
	}
	return list
}

func BenchmarkAppend(b *testing.B) {
	blocks := benchBlocks(2000)
	for _, buffer := range []int{0, 256 << 10} {
		b.Run(fmt.Sprintf("buffer=%d", buffer), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				l := mustOpen(b, Options{Dir: b.TempDir(), BufferBytes: buffer})
				must(b, l.Reset(testChainID, 2))
				b.StartTimer()
				for _, s := range blocks {
					must(b, l.Append(s.num, s.id, s.data))
				}
				b.StopTimer()
				must(b, l.Close())
				b.StartTimer()
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(blocks)), "us/block")
		})
	}
}

func BenchmarkRead(b *testing.B) {
	blocks := benchBlocks(4000)
	l := mustOpen(b, Options{Dir: b.TempDir()})
	must(b, l.Reset(testChainID, 2))
	for _, s := range blocks {
		must(b, l.Append(s.num, s.id, s.data))
	}
	defer l.Close()
	b.Run("in order", func(b *testing.B) {
		for b.Loop() {
			it := l.Blocks(context.Background(), 2, 4001)
			for it.Next() {
			}
			must(b, it.Err())
			it.Close()
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(blocks)), "ns/block")
	})
	b.Run("anywhere", func(b *testing.B) {
		n := uint32(0)
		for b.Loop() {
			n = (n*1103515245 + 12345) % 4000
			if _, err := l.ReadRaw(2 + n); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkServe is what peers, clients of state history and get_block cost a log, by how large
// blocks are: each block again and again, and all of them one after the other by a log that was just
// opened.
func BenchmarkServe(b *testing.B) {
	for _, size := range []int{0, 4000, 100_000} {
		c := newChain(rand.New(rand.NewPCG(1, 1)), 2)
		n := uint32(2000)
		if size > 10_000 {
			n = 200
		}
		o := Options{Dir: b.TempDir()}
		l := mustOpen(b, o)
		must(b, l.Reset(testChainID, 2))
		for range n {
			s := c.next(size)
			must(b, l.Append(s.num, s.id, s.data))
		}
		must(b, l.Close())
		serve := func(name string, read func(l *Log, num uint32) error) {
			b.Run(fmt.Sprintf("%s/size=%d/again", name, size), func(b *testing.B) {
				l := mustOpen(b, o)
				defer l.Close()
				for num := range n {
					must(b, read(l, 2+num))
				}
				i := uint32(0)
				for b.Loop() {
					must(b, read(l, 2+i%n))
					i++
				}
			})
			b.Run(fmt.Sprintf("%s/size=%d/first", name, size), func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					l := mustOpen(b, o)
					b.StartTimer()
					for num := range n {
						must(b, read(l, 2+num))
					}
					b.StopTimer()
					must(b, l.Close())
					b.StartTimer()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/block")
			})
		}
		serve("raw", func(l *Log, num uint32) error {
			_, err := l.ReadRaw(num)
			return err
		})
		serve("block", func(l *Log, num uint32) error {
			_, err := l.Read(num)
			return err
		})
		serve("header", func(l *Log, num uint32) error {
			_, err := l.ReadHeader(num)
			return err
		})
	}
}

func BenchmarkReversible(b *testing.B) {
	blocks := benchBlocks(500)
	r, err := OpenReversible(ReversibleOptions{Dir: b.TempDir()})
	must(b, err)
	defer r.Close()
	i := 0
	for b.Loop() {
		s := blocks[i%len(blocks)]
		must(b, r.Append(s.data))
		if i++; i%len(blocks) == 0 {
			must(b, r.Obsolete(1<<32-1))
		}
	}
}
