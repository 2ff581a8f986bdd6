package rpc_test

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tarn/antelope/execute"
	"tarn/antelope/rpc"
	"tarn/antelope/rpc/nodeoshttp"
	"tarn/antelope/state"
	"tarn/antelope/types"
)

// slowChain is one whose state is looked at only when release is closed.
type slowChain struct {
	rpc.Chain
	looking atomic.Int64
	release chan struct{}
}

func (c *slowChain) View() (*state.View, error) {
	c.looking.Add(1)
	<-c.release
	return c.Chain.View()
}

// fullWriter is a writer that takes no transaction before release is closed.
type fullWriter struct {
	waiting atomic.Int64
	release chan struct{}
}

func (w *fullWriter) Transaction(
	context.Context, *types.PackedTransaction, execute.TransactionOptions,
) (*types.TransactionTrace, error) {
	w.waiting.Add(1)
	<-w.release
	return nil, errors.New("not taken")
}

func (w *fullWriter) RefusesTransactions() bool { return false }

func (w *fullWriter) Block(context.Context, *types.SignedBlock, types.Checksum256) error { return nil }

// becomes waits until a count is there.
func becomes(t *testing.T, count *atomic.Int64, want int64) {
	t.Helper()
	for end := time.Now().Add(time.Minute / 2); count.Load() < want && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if got := count.Load(); got != want {
		t.Errorf("%d, want %d", got, want)
	}
}

// Transactions are read by few calls at once, however many come; a call that waits for the writer keeps no other from
// being read.
func TestFewTransactionsAreReadAtOnce(t *testing.T) {
	n := newNode(t, nil)
	c := &slowChain{Chain: n.maker.Chain, release: make(chan struct{})}
	w := &fullWriter{release: make(chan struct{})}
	n.config.Chain, n.config.Transactions = c, w
	n.start(nodeoshttp.Options{})
	trx := new(types.Transaction)
	p, err := types.Pack(trx, nil, nil, types.CompressionNone)
	must(t, err)
	few, all := int64(2*runtime.GOMAXPROCS(0)), int64(16*runtime.GOMAXPROCS(0))
	var asking sync.WaitGroup
	for range all {
		asking.Go(func() {
			res, err := http.Post(n.base+"/v1/chain/send_transaction", "application/json", strings.NewReader(packedJSON(p)))
			if err == nil {
				res.Body.Close()
			}
		})
	}
	becomes(t, &c.looking, few)
	time.Sleep(100 * time.Millisecond)
	becomes(t, &c.looking, few)
	close(c.release)
	becomes(t, &w.waiting, all)
	close(w.release)
	asking.Wait()
}
