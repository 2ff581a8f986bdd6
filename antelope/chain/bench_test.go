package chain_test

import (
	"context"
	"os"
	"testing"
	"time"

	"tarn/antelope/blocklog"
	"tarn/antelope/chain"
	"tarn/antelope/execute"
	"tarn/store/engine"
	"tarn/store/page"
)

// BenchmarkReplay replays the block log in the folder that TARN_CHAIN names
// (`tarn bench` keeps those that it made), the way a node does at its start. An operation is a
// transaction.
func BenchmarkReplay(b *testing.B) {
	dir := os.Getenv("TARN_CHAIN")
	if dir == "" {
		b.Skip("TARN_CHAIN names no block log")
	}
	for _, mode := range []struct {
		name string
		all  bool
	}{{"trusted", false}, {"all-checks", true}} {
		b.Run(mode.name, func(b *testing.B) {
			var transactions int
			var took time.Duration
			for b.Loop() {
				n, d := replayOnce(b, dir, mode.all)
				transactions += n
				took += d
			}
			b.ReportMetric(float64(took.Nanoseconds())/float64(transactions), "ns/transaction")
			b.ReportMetric(float64(transactions)/took.Seconds(), "transactions/s")
		})
	}
}

func replayOnce(b *testing.B, dir string, all bool) (transactions int, took time.Duration) {
	log, err := blocklog.Open(blocklog.Options{Dir: dir})
	if err != nil {
		b.Fatal(err)
	}
	defer log.Close()
	st, err := engine.Open(b.TempDir(),
		engine.Options{Kind: engine.Page, Mode: page.MappedPrivate, LimitBytes: 8 << 30})
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	c, err := chain.Open(st, chain.Options{Options: execute.Options{ForceAllChecks: all}, Blocks: log, Threads: 2})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	p, _, err := blocklog.Tool{Dir: dir}.Context("")
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Genesis(p.Genesis); err != nil {
		b.Fatal(err)
	}
	start := time.Now()
	err = c.Resume(context.Background(), nil, func(p chain.Progress) { transactions = p.Transactions })
	if err != nil {
		b.Fatal(err)
	}
	return transactions, time.Since(start)
}
