package clienttest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tarn/internal/recordedcalls"
	"tarn/opera/chain/chaintest"
	"tarn/opera/difftest"
	"tarn/opera/eventfile"
	"tarn/opera/rpc"
)

var recording = flag.Bool("clients.record", false,
	"write what clients asked, and what go-opera answered, into testdata")

// The chain of a round, and what go-opera said of it.
const (
	recordedEvents  = "testdata/events.gz"
	recordedAnswers = "testdata/answers.txt"

	recordedHead = "// What ethers, viem, web3.py and cast ask, and what go-opera v1.1.3-rc.5 answers of the " +
		"chain that\n" +
		"// events.gz make. TARN_CLIENTS=1 go test -clients.record writes it anew.\n\n"
)

// unrepeatable are methods whose answers depend on more than the chain: on keys, the pool, the
// clock, chance, or who asks.
var unrepeatable = regexp.MustCompile(
	`^(eth_(send\w*|sign\w*|\w*[fF]ilter\w*|(un)?subscribe|feeHistory|gasPrice|maxPriorityFeePerGas|accounts|syncing|` +
		`createAccessList)|web3_clientVersion|net_\w+|txpool_\w+|personal_\w+|rpc_modules)$`)

// questions are the distinct calls that clients made whose answers depend on the chain alone.
func questions(all []exchange) (list []string) {
	for _, e := range all {
		if e.told || e.method() == "" || unrepeatable.MatchString(e.method()) || better(e.step) != "" {
			continue
		}
		body := anyIDOf.ReplaceAllString(e.request, `"id":1`)
		if !slices.Contains(list, body) {
			list = append(list, body)
		}
	}
	return list
}

// again asks what the clients have asked once more of both nodes, ours with go-opera's chain.
// Nothing happens on it any more, so that the answers are equal to the letter.
func (s *sides) again(t *testing.T, ctx context.Context) {
	if len(s.asked) == 0 {
		t.Skip("no client has asked anything")
	}
	if err := s.real.node.Stop(); err != nil {
		t.Fatal(err)
	}
	events := filepath.Join(t.TempDir(), "events.gz")
	if err := s.real.peer.ExportEvents(ctx, s.real.config, events, 1); err != nil {
		t.Fatal(err)
	}
	theirs := s.real.config
	theirs.Validator = 0
	ours := difftest.Config{Dir: t.TempDir(), Validators: 1}
	if err := s.ours.peer.ImportEvents(ctx, ours, events); err != nil {
		t.Fatal(err)
	}
	var urls [2]string
	for i, of := range []struct {
		peer   *difftest.Peer
		config difftest.Config
	}{{s.ours.peer, ours}, {s.real.peer, theirs}} {
		n, err := of.peer.Start(ctx, of.config)
		if err != nil {
			t.Fatal(err)
		}
		defer n.Kill()
		urls[i] = n.URL()
	}
	list := questions(s.asked)
	said := compareAnswers(t, list, asker(urls[0]), asker(urls[1]))
	if *recording {
		write(t, list, said, events)
	}
}

// asker asks a node.
func asker(url string) func(body string) (string, error) {
	return func(body string) (string, error) {
		res, err := http.Post(url, "application/json", strings.NewReader(body))
		if err != nil {
			return "", err
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		return fmt.Sprintf("%d %s", res.StatusCode, bytes.TrimSpace(text)), err
	}
}

// compareAnswers asks both and returns what go-opera says.
func compareAnswers(t *testing.T, list []string, ours, theirs func(string) (string, error)) (said []string) {
	t.Helper()
	same := 0
	for _, body := range list {
		got, err := ours(body)
		want, err2 := theirs(body)
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		said = append(said, want)
		if got == want || strings.Contains(body, `"eth_getLogs"`) && sortAnswer(got) == sortAnswer(want) {
			same++
			continue
		}
		t.Errorf("%.600s\n  ours     %.1500s\n  go-opera %.1500s", body, got, want)
	}
	t.Logf("%d requests, %d answered alike", len(list), same)
	return said
}

// sortAnswer is a list of logs in an order of its own: go-opera has those of a block by the hashes
// of transactions, ours are by their indexes.
func sortAnswer(answer string) string {
	var a struct{ Result []json.RawMessage }
	if err := json.Unmarshal([]byte(answer[strings.Index(answer, " ")+1:]), &a); err != nil {
		return answer
	}
	slices.SortFunc(a.Result, func(x, y json.RawMessage) int { return bytes.Compare(x, y) })
	return fmt.Sprintf("%s", a.Result)
}

// keptEach is how many calls of a method are kept.
const keptEach = 25

// write keeps the chain, and what go-opera says of it.
func write(t *testing.T, list, said []string, events string) {
	t.Helper()
	raw, err := os.ReadFile(events)
	if err != nil {
		t.Fatal(err)
	}
	text := []byte(recordedHead)
	kept := map[string]int{}
	for i := range list {
		method := exchange{request: list[i]}.method()
		if kept[method]++; kept[method] > keptEach {
			continue // long answers that say the same again
		}
		e := recordedcalls.Exchange{Ask: list[i], Answers: []string{said[i]}}
		text = e.Append(text)
	}
	if err := errors.Join(os.WriteFile(recordedEvents, raw, 0o644),
		os.WriteFile(recordedAnswers, text, 0o644)); err != nil {
		t.Fatal(err)
	}
}

// What clients asked once is answered as go-opera answered it.
func TestClientsAreAnsweredAsTheyWere(t *testing.T) {
	exchanges, err := recordedcalls.Read(recordedAnswers)
	if err != nil {
		t.Fatal(err)
	}
	in, err := eventfile.Open(recordedEvents)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	c, err := chaintest.New(t.TempDir(), 1, chaintest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Feed(t.Context(), in.Next, nil); err != nil {
		t.Fatal(err)
	}
	service := rpc.New(rpc.Options{Chain: c.Chain, Version: "tarn"})
	defer service.Close()
	h, err := service.Handler(&rpc.HTTPOptions{APIs: append(slices.Clone(namespaces), "debug", "personal", "admin")},
		nil)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	server := httptest.NewServer(h)
	defer server.Close()
	said := map[string]string{}
	var list []string
	for _, e := range exchanges {
		said[e.Ask] = e.Answers[0]
		list = append(list, e.Ask)
	}
	compareAnswers(t, list, asker(server.URL), func(body string) (string, error) { return said[body], nil })
}
