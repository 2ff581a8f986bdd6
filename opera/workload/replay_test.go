package workload

import (
	"flag"
	"math"
	"runtime/metrics"
	"testing"
	"time"

	"tarn/opera/chain/chaintest"
	"tarn/opera/eventfile"
	"tarn/store/engine"
)

var (
	eventsFile = flag.String("replay.events", "",
		"file of a one-validator fakenet's events that BenchmarkReplay replays")
	engineKind = flag.String("replay.engine", "page", "engine of the store that BenchmarkReplay replays into")
)

// BenchmarkReplay connects the events of a file, roots included, and makes the last block
// durable.
func BenchmarkReplay(b *testing.B) {
	if *eventsFile == "" {
		b.Skip("-replay.events names no file")
	}
	for b.Loop() {
		b.StopTimer()
		c, err := chaintest.New(b.TempDir(), 1,
			chaintest.Options{Engine: engine.Options{Kind: engine.Kind(*engineKind)}})
		if err != nil {
			b.Fatal(err)
		}
		in, err := eventfile.Open(*eventsFile)
		if err != nil {
			b.Fatal(err)
		}
		before := garbage()
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
		garbage().report(b, before, fed.Txs)
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

// counts are what the runtime has counted since the process began.
type counts struct {
	bytes, objects, cycles uint64
	pauses                 *metrics.Float64Histogram // seconds in which the world stood still for the collector
}

func garbage() counts {
	samples := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/allocs:objects"},
		{Name: "/gc/cycles/total:gc-cycles"}, {Name: "/sched/pauses/total/gc:seconds"}}
	metrics.Read(samples)
	return counts{samples[0].Value.Uint64(), samples[1].Value.Uint64(), samples[2].Value.Uint64(),
		samples[3].Value.Float64Histogram()}
}

// report tells what came since: garbage a transaction, collections, and their longest pause.
func (c counts) report(b *testing.B, before counts, txs int) {
	b.ReportMetric(float64(c.bytes-before.bytes)/float64(txs), "garbage-B/tx")
	b.ReportMetric(float64(c.objects-before.objects)/float64(txs), "objects/tx")
	b.ReportMetric(float64(c.cycles-before.cycles), "collections")
	longest := 0.0
	for i, n := range c.pauses.Counts {
		// The last bucket has no end.
		if end := c.pauses.Buckets[i+1]; n > before.pauses.Counts[i] && !math.IsInf(end, 1) {
			longest = max(longest, end)
		}
	}
	b.ReportMetric(longest*1e3, "longest-pause-ms")
}
