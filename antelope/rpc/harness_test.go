package rpc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"tarn/antelope/abi"
	"tarn/antelope/chain"
	"tarn/antelope/chain/chaintest"
	"tarn/antelope/execute"
	"tarn/antelope/feature"
	"tarn/antelope/replica"
	"tarn/antelope/rpc"
	"tarn/antelope/rpc/nodeoshttp"
	"tarn/antelope/state"
	"tarn/antelope/types"
	"tarn/fleet"
	"tarn/internal/recordedcalls"
	"tarn/store"
	"tarn/store/page"
	"tarn/store/revision"
)

// memoryLog is a block log in memory.
type memoryLog struct {
	mu     sync.Mutex
	blocks []*types.SignedBlock // from block 2 on
	last   types.Checksum256
	hurt   error // of reading, if not nil
}

func (l *memoryLog) Append(num uint32, id types.Checksum256, block []byte) error {
	b := new(types.SignedBlock)
	if err := types.Decode(block, b); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.blocks, l.last = append(l.blocks, b), id
	return nil
}

func (l *memoryLog) Head() (uint32, types.Checksum256, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return uint32(len(l.blocks)) + 1, l.last, len(l.blocks) > 0
}

func (l *memoryLog) First() uint32 { return 2 }

func (l *memoryLog) Read(num uint32) (*types.SignedBlock, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if num < 2 || int(num)-2 >= len(l.blocks) {
		return nil, nil
	}
	if l.hurt != nil {
		return nil, l.hurt
	}
	return l.blocks[num-2], nil
}

func (l *memoryLog) ReadHeader(num uint32) (*types.SignedBlockHeader, error) {
	b, err := l.Read(num)
	if b == nil {
		return nil, err
	}
	return &b.SignedBlockHeader, nil
}

// node is a chain with an API that is asked over HTTP.
type node struct {
	t      testing.TB
	store  store.Store
	maker  *chaintest.Maker
	log    *memoryLog
	config rpc.Config
	api    *rpc.API
	server *nodeoshttp.Server
	base   string

	options nodeoshttp.Options
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func volatile(t testing.TB) store.Store {
	t.Helper()
	rows, err := page.OpenVolatile(256 << 20)
	must(t, err)
	st, err := revision.Open(rows)
	must(t, err)
	t.Cleanup(func() { st.Close() })
	return st
}

// newNode makes a chain of two blocks on the rows that fill writes.
func newNode(t testing.TB, fill func(*state.State)) *node {
	t.Helper()
	n := &node{t: t, store: volatile(t), log: &memoryLog{}}
	features, err := feature.Builtins()
	must(t, err)
	n.maker, err = chaintest.New(n.store, chain.Options{Options: execute.Options{Features: features}, Blocks: n.log})
	must(t, err)
	t.Cleanup(func() { n.maker.Chain.Close() })
	if fill != nil {
		fill(n.maker.Chain.State())
	}
	for range 2 {
		_, err := n.maker.Block()
		must(t, err)
	}
	must(t, n.maker.Chain.Publish())
	n.config = rpc.Config{Chain: n.maker.Chain, Blocks: n.log, Features: features, MaxResponseTime: -1,
		Version: 0x12345678, VersionString: "v5.0.3", FullVersion: "v5.0.3-test"}
	return n
}

// start serves the node's API.
func (n *node) start(o nodeoshttp.Options) *node {
	n.t.Helper()
	if o.MaxBody == 0 {
		o.MaxBody = 2 << 20
	}
	if o.MaxBytesInFlight == 0 {
		o.MaxBytesInFlight = -1
	}
	if o.MaxConnections == 0 {
		o.MaxConnections = -1
	}
	n.options = o
	n.server = nodeoshttp.New(o, rpc.Faults)
	n.api = rpc.New(n.config)
	must(n.t, n.api.Register(n.server))
	n.base = n.listen(nodeoshttp.All)
	n.t.Cleanup(func() { n.server.Stop(context.Background()) })
	return n
}

func (n *node) listen(c nodeoshttp.Category) string {
	n.t.Helper()
	addrs, err := n.server.Listen(context.Background(), "127.0.0.1:0", "", c)
	must(n.t, err)
	return "http://" + addrs[0].String()
}

// ask posts a body and returns the answer.
func (n *node) ask(path, body string) (int, string) {
	n.t.Helper()
	return n.askAs(http.MethodPost, n.base+path, body, "application/json")
}

func (n *node) askAs(method, url, body, contentType string) (int, string) {
	n.t.Helper()
	var r io.Reader
	if body != "" {
		r = strings.NewReader(body)
	}
	req, err := http.NewRequest(method, url, r)
	must(n.t, err)
	if body != "" {
		req.Header.Set("Content-Type", contentType)
	}
	res, err := http.DefaultClient.Do(req)
	must(n.t, err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	must(n.t, err)
	return res.StatusCode, string(b)
}

// somewhere is the place in the source that an error comes from; noPlace is instead.
var somewhere = regexp.MustCompile(`"file":"[^"]*","line_number":\d+,"method":"[^"]*"`)

const noPlace = `"file":"","line_number":0,"method":""`

// expect compares an answer.
func (n *node) expect(path, body string, status int, want string) {
	n.t.Helper()
	code, got := n.ask(path, body)
	if got = somewhere.ReplaceAllString(got, noPlace); code != status || got != want {
		n.t.Errorf("%s %s\n got %d %s\nwant %d %s", path, body, code, got, status, want)
	}
}

// play asks what a file of testdata says, and compares the answers: those of the node, and of a replica.
func (n *node) play(file string) {
	n.t.Helper()
	n.playOwn(file)
	if n.maker != nil {
		n.twin().playOwn(file)
	}
}

// twin is a replica with the same API, whose state is what the node's views show.
func (n *node) twin() *node {
	n.t.Helper()
	v, err := n.store.View()
	must(n.t, err)
	head := n.maker.Chain.Head().HeaderState
	var file bytes.Buffer
	_, err = fleet.WriteImage(&file, fleet.ImageHeader{Ledger: replica.Ledger, Point: replica.PointOf(head)}, v,
		func(int64) error { return nil })
	must(n.t, errors.Join(err, v.Close()))
	im, err := fleet.ReadImage(&file)
	must(n.t, err)
	defer im.Close()
	x := &node{t: n.t, store: volatile(n.t), log: n.log, config: n.config}
	c, err := chain.Open(x.store, chain.Options{Options: execute.Options{Features: n.config.Features}})
	must(n.t, err)
	n.t.Cleanup(func() { c.Close() })
	must(n.t, replica.Load(c, x.store, im, func(int64) error { return nil }))
	x.config.Chain = c
	return x.start(n.options)
}

func (n *node) playOwn(file string) {
	n.t.Helper()
	file = filepath.Join("testdata", file)
	list, err := recordedcalls.Read(file)
	must(n.t, err)
	for _, e := range list {
		method, call, _ := strings.Cut(e.Ask, " ")
		path, body, _ := strings.Cut(call, " ")
		status, answer := n.askAs(method, n.base+path, body, "application/json")
		if got := fmt.Sprint(status, " ", answer); !recordedcalls.Matches(e.Answers[0], got) {
			n.t.Errorf("%s:%d: %s\n got %s\nwant %s", file, e.Line, e.Ask, got, e.Answers[0])
		}
	}
}

// packedABI is an ABI as accounts hold it.
func packedABI(t testing.TB, json string) []byte {
	t.Helper()
	d, err := abi.Parse(json)
	must(t, err)
	return d.Append(nil)
}

func table(code, scope, name string) state.TableKey {
	return state.TableKey{Code: types.N(code), Scope: types.N(scope), Table: types.N(name)}
}

// contains fails unless an answer has a part.
func (n *node) contains(path, body string, status int, part string) {
	n.t.Helper()
	code, got := n.ask(path, body)
	if code != status || !bytes.Contains([]byte(got), []byte(part)) {
		n.t.Errorf("%s %s\n got %d %s\nwant %d ...%s...", path, body, code, got, status, part)
	}
}

func (l *memoryLog) Where(uint32) string { return "in memory" }

func (l *memoryLog) ReadRaw(num uint32) ([]byte, error) {
	b, err := l.Read(num)
	if err != nil {
		return nil, err
	}
	return b.Append(nil), nil
}

func (l *memoryLog) ReadToExecute(num uint32) ([]byte, error) { return l.ReadRaw(num) }
