package rpc

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"tarn/httpserver"
	"tarn/internal/racedetector"
	"tarn/opera/chain"
)

// However many ask for a large block at once, few of them hold it and what is told of it.
func TestFewHoldAWholeBlockAtOnce(t *testing.T) {
	racedetector.SkipMeasure(t)
	w := newWorld(t, recordedEvents, Options{Limits: Limits{Tellings: 2, RequestTime: time.Minute}})
	head := w.chain.Head()
	large := &chain.Block{Number: head.Number, ID: head.Atropos, Senders: make([]common.Address, 8)}
	for nonce := range uint64(8) {
		large.Txs = append(large.Txs, types.NewTx(&types.LegacyTx{Nonce: nonce, Data: make([]byte, 120<<10)}))
		large.Receipts = append(large.Receipts, &types.Receipt{})
	}
	w.service.blocks.set(head.Number, &block{Block: large})
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"eth_getBlockByNumber","params":["pending",true]}`,          // quickly
		`{"jsonrpc":"2.0","id":1,"method":"eth_getBlockByNumber","params":["latest",true],"other":1}`, // by the server
	} {
		var wrong sync.Map
		grew := heldAtMost(func() {
			var all sync.WaitGroup
			for range 40 {
				all.Go(func() {
					res, err := http.Post(w.url, "application/json", strings.NewReader(body))
					if err != nil {
						wrong.Store(err.Error(), true)
						return
					}
					defer res.Body.Close()
					begin, err := io.ReadAll(io.LimitReader(res.Body, 100))
					if n, failed := io.Copy(io.Discard, res.Body); err != nil || failed != nil || n < 1<<20 {
						wrong.Store(string(begin), errors.Join(err, failed))
					}
				})
			}
			all.Wait()
		})
		wrong.Range(func(text, err any) bool {
			t.Errorf("%s: %s, %v", body, text, err)
			return true
		})
		t.Logf("%s: %d MiB", body, grew>>20)
		if grew > 110<<20 {
			t.Errorf("%s: %d MiB are held", body, grew>>20)
		}
	}
}

// A message of WebSocket, which counts, is not copied for each handler that wants it as a whole.
func TestAMessageIsNotCopiedToBeReadAsAWhole(t *testing.T) {
	w := newWorld(t, recordedEvents, Options{})
	message := []byte(strings.Repeat(" ", 1<<20) + `{}`)
	read, last := 0, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || string(body) != string(message) {
			t.Errorf("%d bytes, %v", len(body), err)
		}
	})
	var h http.Handler = last
	for range 2 {
		next := h
		h = w.service.readWhole(next, 2<<20,
			func(to http.ResponseWriter, r *http.Request, _ httpserver.Client, body []byte) {
				read++
				if &body[0] != &message[0] {
					t.Error("the message is copied")
				}
				next.ServeHTTP(to, r)
			})
	}
	r := httptest.NewRequest(http.MethodPost, "/", nil)
	r.ContentLength, r.Body = int64(len(message)), whole(message)
	if h.ServeHTTP(httptest.NewRecorder(), r); read != 2 {
		t.Errorf("it is read %d times", read)
	}
}
