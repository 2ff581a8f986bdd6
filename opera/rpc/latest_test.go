package rpc

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"tarn/opera/chain"
	"tarn/opera/chain/chaintest"
	"tarn/opera/eventfile"
	"tarn/opera/inter"
	"tarn/store"
)

// gate is a store that holds back whoever computes roots while its lock is held: nobody else reads
// in a view where the tries are.
type gate struct {
	store.Store
	sync.RWMutex
}

func (g *gate) View() (store.View, error) {
	v, err := g.Store.View()
	if err != nil {
		return nil, err
	}
	tables := v.Tables()
	at := slices.IndexFunc(tables, func(t store.TableInfo) bool { return t.Name == "opera.trie" })
	if at < 0 {
		return v, nil
	}
	return &gatedView{View: v, gate: g, tries: tables[at].ID}, nil
}

type gatedView struct {
	store.View
	gate  *gate
	tries store.Table
}

func (v *gatedView) Get(t store.Table, key []byte) ([]byte, error) {
	if t == v.tries {
		v.gate.RLock()
		defer v.gate.RUnlock()
	}
	return v.View.Get(t, key)
}

// event feeds the next event of a file.
func (w *world) event(t *testing.T, in *eventfile.Reader) {
	t.Helper()
	done := false
	fed, err := w.chain.Feed(t.Context(), func() ([]byte, error) {
		if done {
			return nil, io.EOF
		}
		done = true
		return in.Next()
	}, nil)
	if err != nil || fed.Events != 1 {
		t.Fatalf("%d events were fed: %v", fed.Events, err)
	}
}

// Requests about the latest block are answered while the root of the newest one is not there, from
// the block before, which is whole. A transaction of the newest one waits still.
func TestReadsOfTheLatestBlockDoNotWaitForRoots(t *testing.T) {
	var g *gate
	w := &world{}
	w.open(t, chaintest.Options{
		Store: func(s store.Store) store.Store {
			if g == nil {
				g = &gate{Store: s}
			}
			return g
		},
		Connected: func(*chain.Block) {
			if w.service != nil {
				w.service.Follow()
			}
		},
	})
	in, err := eventfile.Open(recordedEvents)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	head := func() inter.BlockNumber { return w.chain.Head().Number }
	for begun := head(); head() < begun+3; {
		w.event(t, in)
	}
	w.serve(t, Options{})
	c, whole := dial(t, w), head()
	number := func() inter.BlockNumber {
		var n hexutil.Uint64
		if err := c.Call(&n, "eth_blockNumber"); err != nil {
			t.Fatal(err)
		}
		return inter.BlockNumber(n)
	}
	until(t, "the last block", func() bool { return number() == whole })
	heads := make(chan inter.BlockNumber, 100)
	w.heads(t, func(text json.RawMessage) {
		var h struct{ Number hexutil.Uint64 }
		if err := json.Unmarshal(text, &h); err != nil {
			t.Error(err)
		}
		heads <- inter.BlockNumber(h.Number)
	})

	g.Lock()
	release := sync.OnceFunc(g.Unlock)
	defer release()
	for head() < whole+3 {
		w.event(t, in)
	}
	v, err := w.chain.View()
	if err != nil {
		t.Fatal(err)
	}
	newest, err := v.Block(head())
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	if err != nil || len(newest.Txs) == 0 {
		t.Fatalf("the newest block: %v, with %d transactions", err, len(newest.Txs))
	}
	hidden := newest.Txs[len(newest.Txs)-1]
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		w.readLatest(t, whole, newest, hidden)
	}()
	select {
	case <-asked:
	case <-time.After(time.Minute):
		release()
		<-asked
		t.Fatal("requests wait for a root")
	}
	select {
	case n := <-heads:
		t.Errorf("block %d was told, and is not whole", n)
	default:
	}
	release()
	until(t, "the newest block", func() bool { return number() == head() })
	for n := whole + 1; n <= head(); n++ {
		if told := <-heads; told != n {
			t.Errorf("block %d was told, want %d", told, n)
		}
	}
	var receipt ReceiptJSON
	if err := c.Call(&receipt, "eth_getTransactionReceipt", hidden.Hash()); err != nil ||
		receipt.BlockHash != common.Hash(newest.ID) {
		t.Errorf("the receipt is %+v, %v", receipt, err)
	}
}

// readLatest asks about the latest block, which is a whole one, while another one is newer.
func (w *world) readLatest(t *testing.T, whole inter.BlockNumber, newest *chain.Block, hidden *types.Transaction) {
	ask := asker(w.url)
	want := hexutil.EncodeUint64(uint64(whole))
	for _, q := range []struct{ method, params, has string }{
		{"eth_blockNumber", ``, `"result":"` + want + `"`},
		{"eth_getBlockByNumber", `"latest",true`, `"number":"` + want + `"`},
		{"eth_getBlockByNumber", `"latest",false`, `"number":"` + want + `"`},
		{"eth_getHeaderByNumber", `"latest"`, `"number":"` + want + `"`},
		{"eth_getBlockByNumber", `"` + hexutil.EncodeUint64(uint64(newest.Number)) + `",false`, `"result":null`},
		{"eth_getBlockByHash", `"` + common.Hash(newest.ID).String() + `",false`, `"result":null`},
		{"eth_getBalance", `"0x0000000000000000000000000000000000000001","latest"`, `"result":"0x`},
		{"eth_getTransactionCount", `"0x0000000000000000000000000000000000000001","latest"`, `"result":"0x`},
		{"eth_call", `{"to":"0x0000000000000000000000000000000000000004","data":"0x1234"},"latest"`, `"result":"0x1234"`},
		{"eth_getLogs", `{"fromBlock":"latest"}`, `"result":[`},
		{"ftm_getEpochStats", `"latest"`, `"result":{`},
		{"ftm_getRules", `"latest"`, `"result":{`},
		{"debug_printBlock", want[2:], `"result":"`},
		{"eth_getTransactionReceipt", `"` + hidden.Hash().String() + `"`, `"result":null`},
		{"eth_getTransactionByHash", `"` + hidden.Hash().String() + `"`, `"blockNumber":null`},
		{"eth_getRawTransactionByHash", `"` + hidden.Hash().String() + `"`, `"result":"0x`},
	} {
		answer, err := ask(`{"jsonrpc":"2.0","id":1,"method":"` + q.method + `","params":[` + q.params + `]}`)
		if err != nil || !strings.Contains(answer, q.has) {
			t.Errorf("%s(%s) is answered %.300s, %v; want %s", q.method, q.params, answer, err, q.has)
		}
	}
}

// heads has each told of new blocks until the test's end.
func (w *world) heads(t *testing.T, each func(json.RawMessage)) {
	t.Helper()
	s := w.service.hub.blocks
	at := s.begin()
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		defer s.end()
		for ; ; at++ {
			of, ok := s.wait(ctx, at)
			if !ok {
				return
			}
			each(of.(*toldBlock).head)
		}
	})
	t.Cleanup(func() {
		cancel()
		done.Wait()
	})
}
