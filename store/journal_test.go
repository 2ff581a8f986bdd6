package store

import (
	"encoding/binary"
	"testing"
)

// BenchmarkJournal reduces the journals of revisions with rows that are all new, and with few that change often.
func BenchmarkJournal(b *testing.B) {
	for name, rows := range map[string]int{"new": 100_000, "hot": 300} {
		b.Run(name, func(b *testing.B) {
			var recorded, j Journal
			for i := range 100_000 {
				recorded.Record(7, binary.BigEndian.AppendUint64([]byte("account"), uint64(i%rows)*0x9e3779b97f4a7c15), nil, false)
			}
			for b.Loop() {
				j.buf = append(j.buf[:0], recorded.buf...)
				j.CompactFrom(0)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100_000, "ns/record")
		})
	}
}
