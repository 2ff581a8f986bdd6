package bench

import (
	"flag"
	"testing"
	"time"

	"tarn/opera/chain/chaintest"
	"tarn/opera/eventfile"
	"tarn/store/engine"
)

var (
	eventsFile = flag.String("bench.events", "", "file of a one-validator fakenet's events that BenchmarkReplay replays")
	engineKind = flag.String("bench.engine", "page", "engine of the store that BenchmarkReplay replays into")
)

// BenchmarkReplay connects the events of a file, roots included, and makes the last block
// durable.
func BenchmarkReplay(b *testing.B) {
	if *eventsFile == "" {
		b.Skip("-bench.events names no file")
	}
	for b.Loop() {
		b.StopTimer()
		c, err := chaintest.New(b.TempDir(), 1, chaintest.Options{Engine: engine.Options{Kind: engine.Kind(*engineKind)}})
		if err != nil {
			b.Fatal(err)
		}
		in, err := eventfile.Open(*eventsFile)
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		begun := time.Now()
		fed, err := c.Feed(b.Context(), in.Next, nil)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := c.Root(c.Head().Number); err != nil {
			b.Fatal(err)
		}
		connected := time.Since(begun)
		done, err := c.Checkpoint()
		if err == nil {
			err = done.Wait()
		}
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		b.ReportMetric(float64(connected.Microseconds())/float64(fed.Txs), "us/tx")
		b.ReportMetric(float64(fed.Txs)/time.Since(begun).Seconds(), "tx/s")
		if err := in.Close(); err != nil {
			b.Fatal(err)
		}
		if err := c.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
