package bench

import (
	"bytes"
	"math/rand/v2"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tarn/opera/chain/chaintest"
	"tarn/opera/rpc"
)

// served is a readable chain that answers within this process.
func served(t testing.TB, w *Readable) (*readable, string) {
	dir := t.TempDir()
	r, err := w.make(dir)
	if err != nil {
		t.Fatal(err)
	}
	c, err := chaintest.Open(filepath.Join(dir, "made"), chaintest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	service := rpc.New(rpc.Options{Chain: c.Chain})
	t.Cleanup(func() { service.Close() })
	h, err := service.Handler(&rpc.HTTPOptions{APIs: []string{"eth"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	t.Cleanup(func() { h.Close(); server.Close() })
	return r, strings.TrimPrefix(server.URL, "http://")
}

// All that is asked about is there.
func TestAReadableChainAnswersEachKindOfRequest(t *testing.T) {
	r, address := served(t, &Readable{Seed: 1, Blocks: 30, Accounts: 20})
	random := rand.New(rand.NewPCG(1, 1))
	for _, k := range kinds() {
		logs := 0
		l := loop{address: address, connections: 2, good: func(answer []byte) error {
			logs += bytes.Count(answer, []byte(`"topics":`))
			return hasResult(answer)
		}}
		for range 50 {
			l.questions = append(l.questions, k.ask(r, random))
		}
		a, err := l.run(t.Context(), 100*time.Millisecond)
		if err != nil || a.count == 0 {
			t.Errorf("%s: %+v, %v", k.name, a, err)
		}
		if logs == 0 && (k.name == "eth_getLogs" || k.name == "eth_getTransactionReceipt") {
			t.Errorf("%s: no answer has a log", k.name)
		}
	}
	if len(r.txs) != 30*(2*eachBlock+1) || r.last-r.first < 25 {
		t.Errorf("%d transactions in blocks %d to %d", len(r.txs), r.first, r.last)
	}
}

// BenchmarkRequests answers within this process, to be profiled.
func BenchmarkRequests(b *testing.B) {
	r, address := served(b, &Readable{Seed: 1, Blocks: 1200, Accounts: 200})
	for _, k := range kinds() {
		b.Run(k.name, func(b *testing.B) {
			random := rand.New(rand.NewPCG(1, 1))
			l := loop{address: address, connections: clientConnections, good: hasResult}
			for range 2000 {
				l.questions = append(l.questions, k.ask(r, random))
			}
			total, answers := time.Duration(0), 0
			for b.Loop() {
				a, err := l.run(b.Context(), time.Second)
				if err != nil {
					b.Fatal(err)
				}
				total, answers = total+a.took, answers+a.count
			}
			b.ReportMetric(float64(answers)/total.Seconds(), "answers/s")
		})
	}
}
