package rpc_test

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tarn/antelope/difftest"
)

// load asks over connections at once for a while, and returns how many answers came
// in a second, and the time under which 99 of 100 came.
func load(connections int, length time.Duration, ask func() error) (rate float64, p99 time.Duration, err error) {
	var wg sync.WaitGroup
	var failure atomic.Pointer[error]
	took := make([][]time.Duration, connections)
	end := time.Now().Add(length)
	for i := range connections {
		wg.Go(func() {
			for time.Now().Before(end) && failure.Load() == nil {
				start := time.Now()
				if err := ask(); err != nil {
					failure.Store(&err)
				}
				took[i] = append(took[i], time.Since(start))
			}
		})
	}
	wg.Wait()
	all := slices.Concat(took...)
	slices.Sort(all)
	if e := failure.Load(); e != nil {
		return 0, 0, *e
	}
	return float64(len(all)) / length.Seconds(), all[len(all)*99/100], nil
}

// With TARN_BESIDE_NODEOS the same questions are put to nodeos and to us, over 30
// connections, on one state. Both share the machine with whoever asks.
func TestReadsPerSecondBesideNodeos(t *testing.T) {
	length, err := time.ParseDuration(os.Getenv("TARN_BESIDE_NODEOS"))
	if err != nil {
		t.Skip("TARN_BESIDE_NODEOS is not a duration, such as 3s")
	}
	ctx := context.Background()
	peer, err := difftest.Find(ctx)
	if errors.Is(err, difftest.ErrNoPeer) {
		t.Skip(err)
	}
	must(t, err)
	for _, w := range difftest.Workloads() {
		if w.Name != "system-all" {
			continue
		}
		run := w.Run
		w.Run = func(d *difftest.Driver, until time.Time) error {
			return errors.Join(run(d, until), standing(t, d, func(n *node) error {
				ours := difftest.NewClient(n.base[len("http://"):])
				for _, q := range [][2]string{
					{"/v1/chain/get_info", ``}, {"/v1/chain/get_account", `{"account_name":"eosio.stake"}`},
					{"/v1/chain/get_table_rows", `{"json":true,"code":"eosio","scope":"eosio","table":"voters","limit":10}`},
					{"/v1/chain/get_table_rows",
						`{"json":true,"code":"eosio","scope":"eosio","table":"producers","limit":10,"index_position":2,"key_type":"float64"}`},
				} {
					for name, c := range map[string]*difftest.Client{"nodeos": d.Client, "ours": ours} {
						rate, p99, err := load(30, length, func() error {
							status, b, err := c.Ask(ctx, q[0], q[1])
							if err == nil && status != 200 {
								err = errors.New(string(b))
							}
							return err
						})
						if err != nil {
							return err
						}
						t.Logf("%-7s %8.0f/s p99 %8v  %s %s", name, rate, p99.Round(10*time.Microsecond), q[0], q[1])
					}
				}
				return nil
			}))
		}
		_, err := peer.Record(ctx, w, 1, 4*time.Second, t.TempDir(), io.Discard)
		must(t, err)
	}
}
