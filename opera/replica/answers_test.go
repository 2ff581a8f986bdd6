package replica

import (
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tarn/internal/transcript"
	"tarn/opera/chain"
	"tarn/opera/eventfile"
	"tarn/opera/rpc"
	"tarn/store/engine"
)

// serve answers JSON-RPC for a chain.
func serve(t *testing.T, c *chain.Chain) (ask func(body string) string) {
	t.Helper()
	service := rpc.New(rpc.Options{Chain: c, Prices: prices{}, Now: func() time.Time { return time.Unix(0, 0) }})
	h, err := service.Handler(&rpc.HTTPOptions{APIs: []string{"eth", "ftm", "dag", "abft", "net", "web3", "txpool",
		"debug", "trace"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	t.Cleanup(func() {
		h.Close()
		server.Close()
		if err := service.Close(); err != nil {
			t.Error(err)
		}
	})
	return func(body string) string {
		t.Helper()
		r, err := http.Post(server.URL, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(r.StatusCode, " ", strings.TrimSpace(string(text)))
	}
}

// prices are the same everywhere: a node counts events that are in no block yet, which a replica does not have.
type prices struct{}

func (prices) Tip(*chain.View, uint64) *big.Int { return big.NewInt(7e9) }

func (prices) Effective(*chain.View) *big.Int { return big.NewInt(105e9) }

// What a replica cannot answer as the node does, and why.
var otherwise = map[string]string{
	"eth_getProof": "a replica has no tries", "ftm_getProof": "a replica has no tries",
	"dag_getEvent": "a replica has no events but those of its blocks", "dag_getEventPayload": "the same",
	"dag_getHeads": "the same", "dag_getEpochStats": "the same",
	"eth_newFilter": "a name by chance", "eth_newBlockFilter": "a name by chance",
	"eth_newPendingTransactionFilter": "a name by chance",
	"ftm_newFilter":                   "a name by chance", "ftm_newBlockFilter": "a name by chance",
	"ftm_newPendingTransactionFilter": "a name by chance",
}

// What clients have asked a node, and were answered, is answered by a replica that began before the first block with
// the same bytes.
func TestAnswersAreTheNodes(t *testing.T) {
	n := newNode(t)
	f := join(t, n, engine.Page)
	testdata := filepath.Join("..", "rpc", "testdata")
	in, err := eventfile.Open(filepath.Join(testdata, "events.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if _, err := n.Feed(t.Context(), in.Next, nil); err != nil {
		t.Fatal(err)
	}
	n.settle(t)
	f.follow(t, n, 1<<20)
	f.same(t, n)
	node, replica := serve(t, n.Chain.Chain), serve(t, f.Follower.Chain)
	asked := map[string]int{}
	for _, name := range []string{"answers.txt", "failures.txt"} {
		exchanges, err := transcript.Read(filepath.Join(testdata, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range exchanges {
			if e.Ask == "" {
				continue
			}
			want, got := node(e.Ask), replica(e.Ask)
			method := methodOf(e.Ask)
			asked[method]++
			if want != got && otherwise[method] == "" {
				t.Errorf("%.300s\n  replica %.600s\n  node    %.600s", e.Ask, got, want)
			}
		}
	}
	if len(asked) < 40 {
		t.Errorf("only %d methods are asked", len(asked))
	}
	methods := make([]string, 0, len(asked))
	for m := range asked {
		methods = append(methods, m)
	}
	slices.Sort(methods)
	t.Logf("%d methods: %v", len(methods), methods)
}

// methodOf is the method of a request, "" of a batch and of what is none.
func methodOf(body string) string {
	_, rest, _ := strings.Cut(body, `"method":"`)
	method, _, _ := strings.Cut(rest, `"`)
	return method
}
