package replica

import (
	"fmt"
	"io"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tarn/internal/recordedcalls"
	"tarn/opera/chain"
	"tarn/opera/rpc"
	"tarn/store/engine"
)

// serve answers JSON-RPC for a chain; elder answers for what is older, unless it is nil.
func serve(t *testing.T, c *chain.Chain, elder *rpc.Elder) (ask func(body string) string, service *rpc.Service) {
	t.Helper()
	o := rpc.Options{Chain: c, Prices: prices{}, Now: func() time.Time { return time.Unix(0, 0) }}
	if elder != nil {
		o.Older = elder.Answer
	}
	service = rpc.New(o)
	post := listen(t, service, "eth", "ftm", "dag", "abft", "net", "web3", "txpool", "debug", "trace")
	return func(body string) string {
		t.Helper()
		status, text := post("application/json", body)
		return fmt.Sprint(status, " ", text)
	}, service
}

// listen serves namespaces until the test ends. A body of a type that is posted gets a status and an answer.
func listen(t *testing.T, service *rpc.Service, apis ...string) (post func(kind, body string) (int, string)) {
	t.Helper()
	h, err := service.Handler(&rpc.HTTPOptions{APIs: apis}, nil)
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
	return func(kind, body string) (int, string) {
		t.Helper()
		r, err := http.Post(server.URL, kind, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return r.StatusCode, strings.TrimSpace(string(text))
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
	n.feed(t, eventsAsked(t))
	n.settle(t)
	f.follow(t, n, 1<<20)
	f.same(t, n)
	node, service := serve(t, n.Chain.Chain, nil)
	replica, _ := serve(t, f.Follower.Chain, nil)
	askBoth(t, node, replica, otherwise)

	// One that begins with the head has the node answer for what is older, and for proofs.
	elder, err := service.Elder()
	if err != nil {
		t.Fatal(err)
	}
	defer elder.Close()
	less := maps.Clone(otherwise)
	delete(less, "eth_getProof")
	delete(less, "ftm_getProof")
	askBoth(t, node, lateReplica(t, n, snapshotBlocks, elder), less)
	less["debug_blocksTransactionTimes"] = "a replica tells of the blocks that it has"
	less["eth_call"] = "contracts ask for the ids of blocks that a snapshot brings"
	askBoth(t, node, lateReplica(t, n, 2, elder), less)
}

// lateReplica is a replica that begins with the node's head and so many blocks.
func lateReplica(t *testing.T, n *node, blocks int, elder *rpc.Elder) (ask func(body string) string) {
	t.Helper()
	ask, _ = serve(t, joinWith(t, image(t, n, blocks), engine.LevelDB).Follower.Chain, elder)
	return ask
}

const testdata = "../rpc/testdata"

// eventsAsked are those of the chain that the transcripts of requests are of.
func eventsAsked(t *testing.T) (list [][]byte) {
	t.Helper()
	return eventsOf(t, filepath.Join(testdata, "events.gz"))
}

// askBoth asks a node and a replica what the transcripts have, and demands the same answers but to some methods.
func askBoth(t *testing.T, node, replica func(body string) string, otherwise map[string]string) {
	t.Helper()
	asked := map[string]int{}
	for _, name := range []string{"answers.txt", "failures.txt"} {
		exchanges, err := recordedcalls.Read(filepath.Join(testdata, name))
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
