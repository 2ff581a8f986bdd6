package rpc_test

import (
	"fmt"
	"net/http"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tarn/antelope/chain/chaintest"
	"tarn/antelope/rpc/nodeoshttp"
	"tarn/antelope/types"
)

// peak is how much the heap grows while f runs, in bytes. What nobody holds counts as little
// as possible: the collector begins when a tenth is new, and not when twice as much is there.
func peak(f func()) uint64 {
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	runtime.GC()
	before, most := heap(), uint64(0)
	var ended atomic.Bool
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for !ended.Load() {
			most = max(most, heap())
			time.Sleep(5 * time.Millisecond)
		}
	}()
	f()
	ended.Store(true)
	<-watched
	return max(most, before) - before
}

// A byte of a body can become a value of 80: what bodies become is counted, and of a list
// that is too long no more is read than shows it.
func TestWhatBodiesBecomeIsBounded(t *testing.T) {
	const inFlight = 64 << 20
	n := newNode(t, nil)
	n.config.Transactions = &executor{m: n.maker}
	n.start(nodeoshttp.Options{MaxBytesInFlight: inFlight})
	values := "[" + strings.Repeat("{},", 600_000) + "{}]"
	for path, body := range map[string]string{
		"/v1/chain/push_transactions": values,
		"/v1/chain/push_transaction":  `{"signatures":` + values + `}`,
		"/v1/chain/get_account":       `{"account_name":` + values + `}`,
		"/v1/chain/get_raw_abi":       `{"account_name":{` + strings.Repeat(`"":{},`, 300_000) + `}}`,
	} {
		answers := map[int]int{}
		var mu sync.Mutex
		grown := peak(func() {
			var wg sync.WaitGroup
			for range 24 {
				wg.Go(func() {
					res, err := http.Post(n.base+path, "application/json", strings.NewReader(body))
					if err != nil {
						return // it may be closed before all is sent
					}
					defer res.Body.Close()
					mu.Lock()
					answers[res.StatusCode]++
					mu.Unlock()
				})
			}
			wg.Wait()
		})
		if grown > 4*inFlight {
			t.Errorf("%s took %d MiB", path, grown>>20)
		}
		if answers[http.StatusOK] > 0 || answers[http.StatusAccepted] > 0 {
			t.Errorf("%s: %v", path, answers)
		}
		t.Logf("%s: %d MiB, %v", path, grown>>20, answers)
	}
	n.contains("/v1/chain/get_info", "", http.StatusOK, `"head_block_num"`)
}

// Transactions that are small until they are inflated, in one call.
func TestManyTransactionsThatInflateAreRefused(t *testing.T) {
	n := executing(t, nil)
	trx := new(types.Transaction)
	trx.Expiration = types.TimePointSec(time.Now().Unix() + 60)
	trx.Actions = []types.Action{{Data: make([]byte, 1_000_000)}}
	bomb, err := types.Pack(trx, nil, [][]byte{make([]byte, 1_000_000)}, types.CompressionZlib)
	must(t, err)
	list := strings.Repeat(packedJSON(bomb)+",", 400)
	start := time.Now()
	code, answer := n.ask("/v1/chain/push_transactions", "["+list+"]")
	const refused = "Exceeded maximum decompressed transaction size"
	if got := strings.Count(answer, refused); code != http.StatusAccepted || got < 380 || got > 399 {
		t.Errorf("%d: %d of 400 are refused", code, got)
	}
	t.Logf("%d bytes in %v", len(list), time.Since(start))
	// Pieces of a byte take more than their bytes in memory.
	trx.Actions = nil
	pieces, err := types.Pack(trx, nil, make([][]byte, 1_000_000), types.CompressionZlib)
	must(t, err)
	_, answer = n.ask("/v1/chain/push_transactions", "["+strings.Repeat(packedJSON(pieces)+",", 400)+"]")
	if got := strings.Count(answer, refused); got != 399 {
		t.Errorf("%d of 400 with a million pieces are refused", got)
	}
	// Many that are as compressed as transactions are.
	var honest []string
	for i := range 300 {
		trx.Actions = []types.Action{chaintest.SetCode(types.N("eosio"), []byte(strings.Repeat(fmt.Sprint(i), 9000)))}
		p, err := types.Pack(trx, nil, nil, types.CompressionZlib)
		must(t, err)
		honest = append(honest, packedJSON(p))
	}
	if _, answer := n.ask("/v1/chain/push_transactions",
		"["+strings.Join(honest, ",")+"]"); strings.Contains(answer, refused) {
		t.Error("honest ones are refused too")
	}
}
