package node

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/big"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"tarn/nodeupkeep"
	"tarn/opera/genesis/fakenet"
	"tarn/opera/inter"
)

// said is what a command has printed so far.
type said struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// running is a node or a replica that runs in the test's process.
type running struct {
	t     *testing.T
	out   *said
	end   context.CancelFunc
	ended chan error
	base  string // of its API
}

// start starts a node, or a replica, in a folder, and waits until it says where its API is.
func start(t *testing.T, dir string, replica bool, args ...string) *running {
	t.Helper()
	m := &running{t: t, out: new(said), ended: make(chan error, 1)}
	args = append([]string{"--datadir", dir, "--ipcdisable", "--datadir.minfreedisk", "0", "--http", "--http.port", "0",
		"--http.api", "eth,ftm,txpool,debug,trace,dag,net,web3"}, args...)
	l := &invocation{in: strings.NewReader(""), out: m.out, err: m.out,
		services: services{build: "test", replica: replica}}
	ctx, end := context.WithCancel(t.Context())
	m.end = end
	go func() { m.ended <- l.run(ctx, args) }()
	t.Cleanup(m.stop)
	t.Cleanup(func() {
		if log := m.out.String(); t.Failed() {
			t.Logf("the end of the log of %s:\n%s", dir, log[max(0, len(log)-6000):])
		}
	})
	m.base = "http://" + m.line(`served over HTTP +endpoint=(127\.0\.0\.1:\d+)`)
	return m
}

// line waits for a line of the log, and returns what its pattern finds.
func (m *running) line(pattern string) string {
	m.t.Helper()
	r := regexp.MustCompile(pattern)
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if found := r.FindStringSubmatch(m.out.String()); found != nil {
			return found[len(found)-1]
		}
		select {
		case err := <-m.ended:
			m.ended <- err
			m.t.Fatalf("it ended with %v:\n%s", err, m.out)
		default:
		}
	}
	m.t.Fatalf("no line %s in\n%s", pattern, m.out)
	return ""
}

// stop ends it, and waits for that.
func (m *running) stop() {
	m.end()
	err := <-m.ended
	m.ended <- err
	if err != nil {
		m.t.Errorf("it ends with %v:\n%s", err, m.out)
	}
}

// ready waits until it says that it is.
func (m *running) ready() {
	m.t.Helper()
	var last string
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		r, err := http.Get(m.base + "/readyz")
		if err != nil {
			m.t.Fatal(err)
		}
		text, err := io.ReadAll(r.Body)
		r.Body.Close()
		if last = fmt.Sprint(string(text), err); r.StatusCode == http.StatusOK {
			return
		}
	}
	m.t.Fatalf("not ready: %s", last)
}

// ask sends a request, and returns the answer's text.
func (m *running) ask(method string, params ...any) string {
	m.t.Helper()
	if params == nil {
		params = []any{}
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		m.t.Fatal(err)
	}
	r, err := http.Post(m.base, "application/json", bytes.NewReader(body))
	if err != nil {
		m.t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		m.t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// payer sends payments of the only validator of a fakenet.
type payer struct {
	t     *testing.T
	nonce uint64
	to    common.Address
}

func (p *payer) address() common.Address {
	key, err := fakenet.Key(1)
	if err != nil {
		p.t.Fatal(err)
	}
	return crypto.PubkeyToAddress(key.PublicKey)
}

// send sends a payment to a member of a fleet.
func (p *payer) send(at *running) *types.Transaction {
	p.t.Helper()
	key, err := fakenet.Key(1)
	if err != nil {
		p.t.Fatal(err)
	}
	signer := types.NewLondonSigner(new(big.Int).SetUint64(inter.FakeNetwork))
	tx := types.MustSignNewTx(key, signer,
		&types.LegacyTx{Nonce: p.nonce, To: &p.to, Value: big.NewInt(7), Gas: 21000, GasPrice: big.NewInt(5000e9)})
	raw, err := tx.MarshalBinary()
	if err != nil {
		p.t.Fatal(err)
	}
	p.nonce++
	if got := at.ask("eth_sendRawTransaction", hexutil.Encode(raw)); !strings.Contains(got, tx.Hash().Hex()) {
		p.t.Fatalf("the payment gets %s", got)
	}
	return tx
}

// pay sends a payment to one member of a fleet, and waits until all have its receipt, which must be the same.
func (p *payer) pay(at *running, all ...*running) common.Hash {
	p.t.Helper()
	tx := p.send(at)
	if got := at.ask("eth_getTransactionByHash", tx.Hash()); !strings.Contains(got, tx.Hash().Hex()) {
		p.t.Errorf("the payment is not found after it was sent: %s", got)
	}
	var want string
	for i, m := range all {
		var got string
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			if got = m.ask("eth_getTransactionReceipt", tx.Hash()); strings.Contains(got, `"status":"0x1"`) {
				break
			}
		}
		if i == 0 {
			want = got
		}
		if got != want || !strings.Contains(got, `"status":"0x1"`) {
			p.t.Fatalf("the receipts:\n%s\n%s", want, got)
		}
	}
	return tx.Hash()
}

// A replica answers as its node does, sends on what must reach the chain, and comes back by itself when either of them
// ended.
func TestAReplicaAnswersAsItsNode(t *testing.T) {
	at, of := t.TempDir(), t.TempDir()
	validate := []string{"--fakenet", "1/1", "--maxpeers", "0", "--fleet.embedded", "--fleet.listen", "127.0.0.1:0"}
	n := start(t, at, false, validate...)
	server := n.line(`NATS server listens +address=(\S+)`)
	follow := []string{"--fleet.server", server, "--db.engine", "pebble"}
	p := &payer{t: t, to: common.Address{1, 2, 3}}
	first := p.pay(n, n)
	r := start(t, of, true, follow...)
	r.ready()
	same := func(method string, params ...any) {
		t.Helper()
		if want, got := n.ask(method, params...), r.ask(method, params...); want != got {
			t.Errorf("%s %v: the node answers\n%s\nthe replica\n%s", method, params, want, got)
		}
	}
	all := func() {
		t.Helper()
		same("eth_getBlockByNumber", "latest", true)
		same("eth_getBalance", p.to, "latest")
		same("eth_getTransactionCount", p.address(), "pending")
		same("eth_getTransactionCount", p.address(), "latest")
		same("eth_call", map[string]any{"from": p.address(), "to": p.to, "value": "0x1"}, "latest")
		same("eth_estimateGas", map[string]any{"from": p.address(), "to": p.to, "value": "0x1"})
		same("eth_getLogs", map[string]any{"fromBlock": "0x1"})
		same("eth_sendRawTransaction", "0x01")
		same("ftm_currentEpoch")
		same("txpool_status")
		same("txpool_content")
		// What is from before the replica's snapshot, and proofs, a node answers.
		same("eth_getBalance", p.to, "0x1")
		same("ftm_call", map[string]any{"from": p.address(), "to": p.to, "value": "0x1"}, "0x1")
		same("eth_getTransactionByHash", first)
		same("debug_traceTransaction", first, map[string]any{"tracer": "callTracer"})
		same("trace_transaction", first)
		same("eth_getProof", p.to, []string{}, "0x2")
		same("eth_getProof", p.to, []string{}, "latest")
		same("eth_getTransactionReceipt", common.Hash{1})
		same("eth_getBlockByNumber", "0xffffff", false)
	}
	for range 3 {
		p.pay(r, n, r)
		p.pay(n, n, r)
	}
	all()
	r.stop()
	p.pay(n, n)
	r = start(t, of, true, follow...)
	r.ready()
	p.pay(r, n, r)
	all()
	p.send(n) // its block may be the last one, which the servers get before the node ends
	n.stop()
	if got := r.ask("eth_getBalance", p.to, "latest"); !strings.Contains(got, `"result":"0x`) {
		t.Errorf("without a node the replica answers %s", got)
	}
	validate[len(validate)-1] = strings.TrimPrefix(server, "nats://")
	n = start(t, at, false, validate...)
	r.ready()
	p.pay(r, n, r)
	all()
	if strings.Contains(r.out.String(), "begins again") {
		t.Error("the replica has begun again, though its node went on")
	}
}

// A folder is a node's or a replica's, and options of the one mean nothing for the other.
func TestAReplicaIsNoNode(t *testing.T) {
	for _, args := range [][]string{
		{"--fakenet", "1/1"}, {"--fleet.embedded"}, {},
	} {
		l := &invocation{in: strings.NewReader(""), out: io.Discard, err: io.Discard,
			services: services{build: "test", replica: true}}
		err := l.run(t.Context(), append([]string{"--datadir", t.TempDir()}, args...))
		if err == nil {
			t.Errorf("a replica starts with %v", args)
		} else {
			t.Log(err)
		}
	}
}

// A replica's clients hear of a node's files no more than its own do.
func TestAnswersToReplicasTellNoPath(t *testing.T) {
	full := &waiting{room: func() error { return &fs.PathError{Op: "write", Path: "/data/journal", Err: syscall.ENOSPC} }}
	none := func(error) bool { return false }
	n := &Node{damage: &nodeupkeep.Damage{Log: slog.New(slog.DiscardHandler), Is: none}}
	err := answering{full, n}.Add(types.NewTx(&types.LegacyTx{}))
	if err == nil || strings.Contains(err.Error(), "/data") {
		t.Errorf("a replica's client gets: %v", err)
	}
}
