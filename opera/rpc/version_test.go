package rpc

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// Requests that do not say which version they are of get one; all else stays.
func TestRequestsWithoutAVersionGetOne(t *testing.T) {
	const v = `,"jsonrpc":"2.0"}`
	for body, want := range map[string]string{
		`{"id":1,"method":"a","params":[{"jsonrpc":1},"}"]}`: `{"id":1,"method":"a","params":[{"jsonrpc":1},"}"]` + v,
		`{"method":"jsonrpc" }`:                              `{"method":"jsonrpc" ` + v,
		`{"a":"\"","b":{"c":{}}}`:                            `{"a":"\"","b":{"c":{}}` + v,
		` [ {"id":1}, {"jsonrpc":"2.0"},{"id":[[{}]]} ,{}]`:  ` [ {"id":1` + v + `, {"jsonrpc":"2.0"},{"id":[[{}]]` + v + ` ,{}]`,
		`{"JsonRPC":"1.0","id":1}`:                           "", `{"id":1,"jsonrpc":null}`: "", `{}`: "", `[]`: "",
		`[1,[{"id":1}]]`: "", `"{"`: "", ``: "", `}`: "", `{`: "", `{"id":`: "", `[{}`: "",
	} {
		if want == "" {
			want = body
		}
		for name, in := range map[string]io.Reader{"whole": strings.NewReader(body),
			"byte by byte": iotest.OneByteReader(strings.NewReader(body))} {
			got, err := io.ReadAll(iotest.OneByteReader(&versioner{ReadCloser: io.NopCloser(in)}))
			if err != nil || string(got) != want {
				t.Errorf("%s, %s: %s, %v; want %s", body, name, got, err, want)
			}
		}
	}
}

// They are answered over HTTP as others are, alone and in a batch.
func TestRequestsWithoutAVersionAreAnswered(t *testing.T) {
	w := newWorld(t, recordedEvents, Options{})
	ask := asker(w.url)
	for _, method := range []string{"eth_chainId", "eth_blockNumber", "web3_clientVersion", "eth_nonsense"} {
		with := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":[]}`
		without := strings.Replace(with, `"jsonrpc":"2.0",`, "", 1)
		for _, batch := range []bool{false, true} {
			if batch {
				with, without = "["+with+"]", "["+without+"]"
			}
			want, err := ask(with)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := ask(without); err != nil || got != want {
				t.Errorf("%s is answered with %s, %v; want %s", without, got, err, want)
			}
		}
	}
}
