package difftest

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tarn/antelope/abi"
	"tarn/antelope/rpc"
	"tarn/antelope/rpc/nodeoshttp"
	"tarn/antelope/tracelog"
	"tarn/antelope/tracelog/clog"
	"tarn/antelope/tracelog/slicefile"
	"tarn/antelope/tracelog/wire"
	"tarn/antelope/types"
	"tarn/internal/freeport"
	"tarn/store/engine"
)

// traceStride is short, so that a case has many slices.
const traceStride = 50

// nodeosTraces replays a case with nodeos, which records traces, and returns its arguments.
func nodeosTraces(t *testing.T, p *Peer, from, work string) {
	t.Helper()
	if err := replayFolder(from, work); err != nil {
		t.Fatal(err)
	}
	ports, err := freeport.Addresses(2)
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(filepath.Join(work, "replay.out"))
	if err != nil {
		t.Fatal(err)
	}
	// The plugin of traces brings that of HTTP, whose own port may be another test's.
	args := append(replayArguments(work, ports[0]), "--replay-blockchain", "--http-server-address", ports[1])
	err = errors.Join(p.tellStart(t.Context(), out, filepath.Join(work, "replay.log"),
		append(args, traceArguments()...)...), out.Close())
	if err != nil {
		t.Fatal(err)
	}
}

func traceArguments() []string {
	return []string{"--plugin", "eosio::trace_api_plugin",
		"--trace-no-abis", "--trace-slice-stride", fmt.Sprint(traceStride)}
}

// ourTraces replays a case with our chain, which records traces in dir.
func ourTraces(t *testing.T, from, dir string, o tracelog.Options, e engine.Options) *tracelog.History {
	t.Helper()
	c := newChain(t, e)
	o.Files = slicefile.Options{Dir: dir, Stride: traceStride}
	h, err := tracelog.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	c.Subscribe(h.Hooks())
	err = blocks(from, c.Genesis, replaying(t.Context(), c))
	if err = errors.Join(err, h.Sync()); err != nil {
		t.Fatal(err)
	}
	return h
}

// ownTraces are the traces as the API reads them.
type ownTraces struct{ *tracelog.History }

func (x ownTraces) Block(num uint32, take func(int64) error) (*wire.Block, bool, error) {
	b, irreversible, err := x.History.Block(num, take)
	if errors.Is(err, tracelog.ErrNotFound) {
		return nil, false, nil
	}
	return b, irreversible, err
}

// traceAnswers asks our API.
func traceAnswers(h *tracelog.History) func(call, body string) string {
	calls := map[string]nodeoshttp.Handler{}
	for _, e := range rpc.New(rpc.Config{Traces: ownTraces{h}}).Calls() {
		calls[e.Path] = e.Handle
	}
	return func(call, body string) string {
		status, answer := calls[call](&nodeoshttp.Request{Context: context.Background(), Body: body}, nil)
		return fmt.Sprint(status, " ", string(answer))
	}
}

// The files of traces that we write in a replay are those that nodeos writes, byte for byte;
// nodeos answers from ours what it answers from its own, and we answer the same, of every
// block and every transaction, and of what is none.
func TestOurTracesAreThoseOfNodeos(t *testing.T) {
	t.Parallel()
	p := peer(t)
	for i, dir := range historyCases(t, p, "mix", "deferred") {
		t.Run(filepath.Base(dir), func(t *testing.T) { compareTraces(t, p, dir, enginesOf(i)) })
	}
}

func compareTraces(t *testing.T, p *Peer, dir string, engines []engine.Options) {
	work, ours := t.TempDir(), t.TempDir()
	nodeosTraces(t, p, dir, work)
	theirs := filepath.Join(work, "traces")
	h := ourTraces(t, dir, ours, tracelog.Options{}, deepMindEngine())
	sameFiles(t, ours, theirs)
	for _, e := range engines {
		again := t.TempDir()
		ourTraces(t, dir, again, tracelog.Options{}, e)
		sameFiles(t, again, theirs)
	}
	// nodeos goes on with compressed files of ours.
	packed := t.TempDir()
	closed := ourTraces(t, dir, packed, tracelog.Options{Plain: new(uint32(0))}, deepMindEngine())
	if err := errors.Join(closed.Close(), os.RemoveAll(theirs), os.CopyFS(theirs, os.DirFS(packed))); err != nil {
		t.Fatal(err)
	}
	withPoints(t, theirs)
	n, err := p.Start(t.Context(),
		Config{Dir: work, Extra: append(traceArguments(), "--disable-replay-opts", "--read-only-threads", "0")})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Kill()
	ask := traceAnswers(h)
	last := h.Stats().Head
	asked, delayed := 0, 0
	compare := func(call, body string) {
		t.Helper()
		asked++
		want, got := askTraces(t, n, call, body), ask(call, body)
		if want != got && strings.Contains(want, "404") && strings.Contains(want, "transaction trace missing") &&
			strings.HasPrefix(got, "200 ") {
			// It was executed in a later block, where nodeos does not look, but has it.
			var x struct {
				BlockNum uint32 `json:"block_num"`
			}
			trace := strings.TrimPrefix(got, "200 ")
			if err := json.Unmarshal([]byte(trace), &x); err != nil {
				t.Fatal(err)
			}
			if block := askTraces(t, n, "/v1/trace_api/get_block",
				fmt.Sprintf(`{"block_num":%d}`, x.BlockNum)); !strings.Contains(block, trace) {
				t.Fatalf("%s: nodeos' block %d does not have\n%s", body, x.BlockNum, trace)
			}
			delayed++
			return
		}
		if want != got {
			t.Fatalf("%s %s\nnodeos %s\n  ours %s", call, body, want, got)
		}
	}
	for num := uint32(0); num <= last; num++ {
		compare("/v1/trace_api/get_block", fmt.Sprintf(`{"block_num":%d}`, num))
	}
	for num := uint32(2); num <= last; num++ {
		b, _, err := h.Block(num, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.Transactions {
			compare("/v1/trace_api/get_transaction_trace", fmt.Sprintf(`{"id":"%s"}`, b.Transactions[i].ID))
		}
	}
	err = blocks(dir, func(*types.Genesis) error { return nil }, func(b *types.SignedBlock) error {
		for i := range b.Transactions {
			id := b.Transactions[i].ID
			if packed := b.Transactions[i].Packed; packed != nil {
				trx, _, err := packed.Unpack()
				if err != nil {
					return err
				}
				id = trx.ID()
			}
			compare("/v1/trace_api/get_transaction_trace", fmt.Sprintf(`{"id":"%s"}`, id))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{
		"", "{}", "[]", "null", "7", `{"block_num":"5"}`, `{"block_num":"x"}`, `{"block_num":-1}`,
		`{"block_num":4294967296}`, `{"block_num":1.5}`, `{"block_num":true}`, `{"block_num":null}`, `{"block_num":{}}`,
		`{"block_num":4294967295}`, `{"block_num":5}x`, `{`, `{"id":"12345678"}`, `{"id":"1234567"}`, `{"id":12345678}`,
		`{"id":"123456789"}`, `{"id":"x2345678"}`, `{"id":null}`, `{"id":[]}`, `{"id":"` + strings.Repeat("0", 64) +
			`"}`, `{"id":"` + strings.Repeat("0", 65) + `"}`,
	} {
		compare("/v1/trace_api/get_block", body)
		compare("/v1/trace_api/get_transaction_trace", body)
	}
	t.Logf("%d answers about %d blocks; %d transactions that nodeos does not find", asked, last, delayed)
}

// withPoints compresses the slices of a folder, but for the newest, with many points at which
// reading can begin: those that are compressed already, and those that a close came before.
func withPoints(t *testing.T, dir string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "trace_[0-9]*log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names[:len(names)-1] {
		plain, err := inflateFile(name)
		var out bytes.Buffer
		size := int64(len(plain))
		if err == nil {
			err = clog.Compress(&out, bytes.NewReader(plain), size, clog.Stride(512, size))
		}
		if err == nil {
			err = os.Remove(name)
		}
		if err == nil {
			err = os.WriteFile(strings.TrimSuffix(name, filepath.Ext(name))+".clog", out.Bytes(), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// inflateFile is what a file of traces has, compressed or not.
func inflateFile(name string) ([]byte, error) {
	b, err := os.ReadFile(name)
	if err != nil || filepath.Ext(name) != ".clog" {
		return b, err
	}
	return io.ReadAll(flate.NewReader(bytes.NewReader(b)))
}

func askTraces(t *testing.T, n *Node, call, body string) string {
	t.Helper()
	r, err := http.Post(n.URL()+call, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	answer, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(r.StatusCode, " ", string(answer))
}

// sameFiles compares the files of two folders of traces, inflated.
func sameFiles(t *testing.T, ours, theirs string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(theirs, "trace_*log"))
	if err != nil || len(names) < 3 {
		t.Fatalf("nodeos has %d files: %v", len(names), err)
	}
	for _, name := range names {
		want, err := inflateFile(name)
		if err != nil {
			t.Fatal(err)
		}
		name = strings.TrimSuffix(name, filepath.Ext(name)) + ".log"
		got, err := os.ReadFile(filepath.Join(ours, filepath.Base(name)))
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%s has %d bytes, nodeos' %d: %v", filepath.Base(name), len(got), len(want), err)
		}
	}
}

// With an ABI of the operator's both show what actions were called with, of each block.
func TestTracesAreDecodedByABIsAsNodeosDoes(t *testing.T) {
	t.Parallel()
	p := peer(t)
	path, err := filepath.Abs("../../contracts/bios/bios.abi")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	def, err := abi.Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	codec, err := abi.New(def, nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := historyCases(t, p, "mix")[0]
	work := t.TempDir()
	nodeosTraces(t, p, dir, work)
	h := ourTraces(t, dir, t.TempDir(), tracelog.Options{}, deepMindEngine())
	n, err := p.Start(t.Context(), Config{Dir: work, Extra: []string{
		"--plugin", "eosio::trace_api_plugin",
		"--trace-rpc-abi", "eosio=" + path, "--trace-slice-stride", fmt.Sprint(traceStride), "--disable-replay-opts",
		"--read-only-threads", "0",
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Kill()
	calls := map[string]nodeoshttp.Handler{}
	for _, e := range rpc.New(rpc.Config{Traces: ownTraces{h},
		TraceABIs: map[types.Name]*abi.Codec{types.N("eosio"): codec}}).Calls() {
		calls[e.Path] = e.Handle
	}
	decoded := 0
	compare := func(call, body string) {
		want := askTraces(t, n, call, body)
		// of a later block, where nodeos does not look
		if strings.HasPrefix(want, "404") && strings.Contains(want, "transaction trace missing") {
			return
		}
		status, answer := calls[call](&nodeoshttp.Request{Context: context.Background(), Body: body}, nil)
		if got := fmt.Sprint(status, " ", string(answer)); got != want {
			t.Fatalf("%s %s\nnodeos %s\n  ours %s", call, body, want, got)
		}
		decoded += strings.Count(want, `"params":{`)
	}
	for num := uint32(2); num <= h.Stats().Head; num++ {
		compare("/v1/trace_api/get_block", fmt.Sprintf(`{"block_num":%d}`, num))
		b, _, err := h.Block(num, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.Transactions {
			compare("/v1/trace_api/get_transaction_trace", fmt.Sprintf(`{"id":"%s"}`, b.Transactions[i].ID))
		}
	}
	if decoded < 10 {
		t.Errorf("only %d actions are shown with what they were called with", decoded)
	}
	t.Logf("%d actions are shown with what they were called with", decoded)
}
