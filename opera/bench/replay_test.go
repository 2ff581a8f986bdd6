package bench

import (
	"flag"
	"path/filepath"
	"testing"
	"time"

	"tarn/opera/chain"
	"tarn/opera/eventfile"
	"tarn/opera/genesis/fakenet"
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
		dir := b.TempDir()
		h := chain.NewHistory(chain.HistoryOptions{Dir: filepath.Join(dir, "history")})
		s, err := engine.Open(filepath.Join(dir, "state"), engine.Options{Kind: engine.Kind(*engineKind), BeforeCheckpoint: h.Sync})
		if err != nil {
			b.Fatal(err)
		}
		g, err := fakenet.New(fakenet.Options{Validators: 1})
		if err != nil {
			b.Fatal(err)
		}
		o := chain.Options{Store: s, History: h}
		if err := chain.ApplyGenesis(o, g); err != nil {
			b.Fatal(err)
		}
		c, err := chain.Open(o)
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
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
