package node

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"tarn/antelope/chain/chaintest"
	"tarn/antelope/config"
	"tarn/antelope/crypto"
	"tarn/antelope/types"
	"tarn/store/engine"
)

// joined is a node or a replica that runs in the test's process.
type joined struct {
	t     *testing.T
	args  []string
	out   *buffer
	end   context.CancelFunc
	ended chan error
	base  string // of its API
}

// startMember starts nodeos, or a replica, in a folder, and waits until it says where its API is.
func startMember(t *testing.T, dir string, replica bool, args ...string) *joined {
	t.Helper()
	m := &joined{t: t, out: new(buffer), ended: make(chan error, 1),
		args: append([]string{"--config-dir", filepath.Join(dir, "config"),
			"--data-dir", filepath.Join(dir, "data"), "--http-server-address", "127.0.0.1:0",
			"--p2p-listen-endpoint", "127.0.0.1:0",
			"--plugin", "eosio::chain_api_plugin", "--plugin", "eosio::producer_api_plugin"}, args...)}
	if err := os.MkdirAll(filepath.Join(dir, "config"), 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	m.end = end
	go func() { m.ended <- runAs(ctx, m.args, streams{m.out, m.out}, replica) }()
	t.Cleanup(m.stop)
	t.Cleanup(func() {
		if log := m.out.String(); t.Failed() {
			t.Logf("the end of the log of %s:\n%s", dir, log[max(0, len(log)-6000):])
		}
	})
	m.base = "http://" + m.line(`start listening on (127\.0\.0\.1:\d+) .*for API`)
	return m
}

// line waits for a line of the log, and returns what its pattern finds.
func (m *joined) line(pattern string) string {
	m.t.Helper()
	r := regexp.MustCompile(pattern)
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if found := r.FindStringSubmatch(m.out.String()); found != nil {
			return found[len(found)-1]
		}
		select {
		case err := <-m.ended:
			m.ended <- err
			m.t.Fatalf("it ended with %v:\n%s", err, m.out.String())
		default:
		}
	}
	m.t.Fatalf("no line %s in\n%s", pattern, m.out.String())
	return ""
}

// stop ends it, and waits for that.
func (m *joined) stop() {
	m.end()
	err := <-m.ended
	m.ended <- err
	if err != nil {
		m.t.Errorf("it ends with %v:\n%s", err, m.out.String())
	}
}

func (m *joined) ask(path, body string) (int, string) {
	m.t.Helper()
	res, err := http.Post(m.base+path, "application/json", strings.NewReader(body))
	if err != nil {
		m.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		m.t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

// ready waits until it says that it is.
func (m *joined) ready() {
	m.t.Helper()
	var said string
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var status int
		if status, said = m.ask("/readyz", ""); status == http.StatusOK {
			return
		}
	}
	m.t.Fatalf("not ready: %s", said)
}

// newAccount signs a transaction that makes an account.
func (m *joined) newAccount(name string) []byte {
	m.t.Helper()
	_, text := m.ask("/v1/chain/get_info", "")
	var info struct {
		ChainID     string `json:"chain_id"`
		HeadBlockID string `json:"head_block_id"`
	}
	if err := json.Unmarshal([]byte(text), &info); err != nil {
		m.t.Fatal(err)
	}
	_, wif, _ := strings.Cut(config.DevelopmentKey, "=KEY:")
	key, err := crypto.ParsePrivateKey(wif)
	if err != nil {
		m.t.Fatal(err)
	}
	x := &types.Transaction{Actions: []types.Action{(&chaintest.Maker{Key: key}).CreateAccount(types.N(name))}}
	x.Expiration = types.TimePoint(time.Now().Add(30 * time.Second).UnixMicro()).Sec()
	chain, err1 := types.ParseChecksum256(info.ChainID)
	head, err2 := types.ParseChecksum256(info.HeadBlockID)
	if err := errors.Join(err1, err2); err != nil {
		m.t.Fatal(err)
	}
	x.SetRefBlock(head)
	s, err := key.Sign(x.SigningDigest(chain, nil))
	if err != nil {
		m.t.Fatal(err)
	}
	return fmt.Appendf(nil, `{"signatures":["%s"],"compression":0,"packed_context_free_data":"","packed_trx":"%x"}`, s,
		x.Append(nil))
}

// same demands that two give the same answer, as soon as they stand at the same block.
func same(t *testing.T, a, b *joined, path, body string) {
	t.Helper()
	var of, to string
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		x, first := a.ask(path, body)
		y, second := b.ask(path, body)
		if of, to = fmt.Sprint(x, first), fmt.Sprint(y, second); of == to {
			return
		}
	}
	t.Errorf("%s %s: the node answers\n%s\nthe replica\n%s", path, body, of, to)
}

// A replica answers as its node does, sends on what must reach the chain, shows it to who asks next, and comes back by
// itself when either of them was killed.
func TestAReplicaAnswersAsItsNode(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	produce := append(allHistories(), "--enable-stale-production", "--producer-name", "eosio",
		"--plugin", "eosio::producer_plugin",
		"--signature-provider", config.DevelopmentKey, "--fleet-embedded", "--fleet-listen", "127.0.0.1:0")
	n := startMember(t, filepath.Join(dir, "node"), false, produce...)
	at := n.line(`NATS server listens.*address=(\S+)`)
	follow := append(allHistories(), "--fleet-server", at, "--state-engine", "pebble")
	r := startMember(t, filepath.Join(dir, "replica"), true, follow...)
	r.ready()
	made := regexp.MustCompile(`"block_num":(\d+)`)
	create := func(name string) (block string) {
		t.Helper()
		status, answer := r.ask("/v1/chain/send_transaction", string(r.newAccount(name)))
		if status != http.StatusAccepted || !strings.Contains(answer, `"status":"executed"`) {
			t.Fatalf("the transaction gets %d %s", status, answer)
		}
		if status, answer := r.ask("/v1/chain/get_account", `{"account_name":"`+name+`"}`); status != http.StatusOK {
			t.Fatalf("the account is not there after the answer: %d %s", status, answer)
		}
		return made.FindStringSubmatch(answer)[1]
	}
	block := create("alice")
	for _, call := range []string{
		"get_account " + `{"account_name":"alice"}`, "get_account " + `{"account_name":"nobody"}`,
		"get_raw_abi " + `{"account_name":"eosio"}`, "get_producer_schedule {}", "get_activated_protocol_features {}",
		"get_consensus_parameters {}", "get_table_by_scope " + `{"code":"eosio"}`, "send_transaction {}",
		"push_block {}",
	} {
		path, body, _ := strings.Cut(call, " ")
		same(t, n, r, "/v1/chain/"+path, body)
	}
	_, info := r.ask("/v1/chain/get_info", "")
	num := regexp.MustCompile(`"last_irreversible_block_num":(\d+)`).FindStringSubmatch(info)
	if num == nil {
		t.Fatal(info)
	}
	same(t, n, r, "/v1/chain/get_block", `{"block_num_or_id":`+num[1]+`}`)
	same(t, n, r, "/v1/producer/get_integrity_hash", "")
	traced := func(block string) {
		t.Helper()
		body := `{"block_num":` + block + `}`
		same(t, n, r, "/v1/trace_api/get_block", body)
		if _, answer := r.ask("/v1/trace_api/get_block", body); !strings.Contains(answer, `"newaccount"`) {
			t.Errorf("the trace of block %s: %s", block, answer)
		}
	}
	traced(block)
	if status, answer := r.ask("/v1/chain/send_transaction",
		string(r.newAccount("alice"))); status != http.StatusInternalServerError ||
		!strings.Contains(answer, "account_name_exists_exception") {
		t.Errorf("an account that exists is made again: %d %s", status, answer)
	}

	r.stop()
	r = startMember(t, filepath.Join(dir, "replica"), true, follow...)
	r.ready()
	traced(create("bob"))
	traced(block)

	// One that was killed before its first image was durable begins again by itself.
	r.stop()
	if err := engine.MarkUnfinished(filepath.Join(dir, "replica", "data", "state"), []byte(fleetNote)); err != nil {
		t.Fatal(err)
	}
	r = startMember(t, filepath.Join(dir, "replica"), true, follow...)
	r.ready()
	traced(create("dave"))

	n.stop()
	if status, answer := r.ask("/v1/chain/get_account", `{"account_name":"bob"}`); status != http.StatusOK {
		t.Errorf("without its node the replica answers %d %s", status, answer)
	}
	produce[len(produce)-1] = strings.TrimPrefix(at, "nats://")
	n = startMember(t, filepath.Join(dir, "node"), false, produce...)
	n.ready()
	r.ready()
	create("carol")
	same(t, n, r, "/v1/chain/get_account", `{"account_name":"carol"}`)
}

// allHistories has a node keep all histories.
func allHistories() []string {
	return []string{"--plugin", "eosio::trace_api_plugin", "--trace-no-abis", "--plugin", "eosio::state_history_plugin",
		"--trace-history", "--chain-state-history", "--finality-data-history",
		"--state-history-endpoint", "127.0.0.1:0"}
}

// startProducer starts a node that produces, and publishes to a server of its own, and returns where that is.
func startProducer(t *testing.T, dir string, args ...string) (n *joined, at string) {
	t.Helper()
	n = startMember(t, dir, false, append(args, "--enable-stale-production", "--producer-name", "eosio", "--plugin",
		"eosio::producer_plugin", "--signature-provider", config.DevelopmentKey, "--fleet-embedded",
		"--fleet-listen", "127.0.0.1:0")...)
	return n, n.line(`NATS server listens.*address=(\S+)`)
}

// A state history that does not go on from the fleet's snapshot is given up if a replica has begun it, and is its
// owner's otherwise.
func TestAReplicaGivesUpItsOwnHistoryAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	node, replica := filepath.Join(dir, "node"), filepath.Join(dir, "replica")
	n, at := startProducer(t, node, allHistories()...)
	r := startMember(t, replica, true, append(allHistories(), "--fleet-server", at)...)
	r.ready()
	leaveBehind(t, node, n, r)
	n, at = startProducer(t, node, allHistories()...)
	follow := append(allHistories(), "--fleet-server", at, "--delete-all-blocks")
	mark := filepath.Join(replica, "data", "state-history", replicaMark)
	if err := os.Rename(mark, mark+".gone"); err != nil {
		t.Fatal(err)
	}
	ctx, done := context.WithTimeout(t.Context(), time.Minute)
	defer done()
	var out buffer
	args := append([]string{"--config-dir", filepath.Join(replica, "config"),
		"--data-dir", filepath.Join(replica, "data"),
		"--http-server-address", "127.0.0.1:0"}, follow...)
	if err := runAs(ctx, args, streams{&out, &out}, true); err == nil ||
		!strings.Contains(out.String(), "--delete-state-history") {
		t.Fatalf("with a node's history it ends with %v:\n%s", err, out.String())
	}
	if err := os.Rename(mark+".gone", mark); err != nil {
		t.Fatal(err)
	}
	r = startMember(t, replica, true, follow...)
	r.ready()
	if !strings.Contains(r.out.String(), "it is deleted, and begins again with the snapshot's block") {
		t.Errorf("nothing says that the history begins again:\n%s", r.out.String())
	}
	answersWhatIsOlder(t, n, r)
}

// leaveBehind ends a replica, and then its node, whose fleet begins anew at its next start: with a snapshot of the newest
// block alone, which is after what the replica has.
func leaveBehind(t *testing.T, dir string, n, r *joined) {
	t.Helper()
	end := r.head()
	r.stop()
	for until := time.Now().Add(time.Minute); n.head() < end+10 && time.Now().Before(until); {
		time.Sleep(50 * time.Millisecond)
	}
	n.stop()
	if err := os.RemoveAll(filepath.Join(dir, "data", "fleet")); err != nil {
		t.Fatal(err)
	}
}

// A replica gives its state and its blocks up by itself if no message goes on from them.
func TestAReplicaBeginsAgainByItself(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	node, replica := filepath.Join(dir, "node"), filepath.Join(dir, "replica")
	n, at := startProducer(t, node)
	r := startMember(t, replica, true, "--fleet-server", at)
	r.ready()
	leaveBehind(t, node, n, r)
	n, at = startProducer(t, node)
	r = startMember(t, replica, true, "--fleet-server", at)
	r.base = "http://" + r.line(`(?s)begins again with the newest snapshot.*gives its state and its blocks up.*`+
		`start listening on (127\.0\.0\.1:\d+) .*for API`)
	r.ready()
	same(t, n, r, "/v1/chain/get_account", `{"account_name":"eosio"}`)
}

// answersWhatIsOlder demands of a replica that has no block from before its snapshot that its node answers for it.
func answersWhatIsOlder(t *testing.T, n, r *joined) {
	t.Helper()
	const unknown = "Could not find block: 2"
	_, text := n.ask("/v1/chain/get_block_info", `{"block_num":2}`)
	id := regexp.MustCompile(`"id":"(\w+)"`).FindStringSubmatch(text)
	if id == nil {
		t.Fatal(text)
	}
	calls := []string{
		`/v1/chain/get_block {"block_num_or_id":2}`, `/v1/chain/get_block {"block_num_or_id":"` + id[1] + `"}`,
		`/v1/chain/get_raw_block {"block_num_or_id":2}`, `/v1/chain/get_block_info {"block_num":2}`,
		`/v1/chain/get_block_header {"block_num_or_id":2}`,
		`/v1/chain/get_block_header {"block_num_or_id":2,"include_extensions":true}`,
		`/v1/trace_api/get_block {"block_num":2}`,
		`/v1/trace_api/get_transaction_trace {"id":"` + id[1] + `"}`, // which nobody has
		`/v1/chain/get_block {"block_num_or_id":999999999}`,
		`/v1/chain/get_block {"block_num_or_id":"` + strings.Replace(id[1], id[1][8:], strings.Repeat("ab", 28), 1) + `"}`,
	}
	for _, call := range calls {
		path, body, _ := strings.Cut(call, " ")
		same(t, n, r, path, body)
	}
	if _, answer := r.ask("/v1/chain/get_block", `{"block_num_or_id":2}`); strings.Contains(answer, unknown) {
		t.Error(answer)
	}
	const most = 40
	older, theirs := r.history(2, most), n.history(2, most)
	for i := range theirs {
		if !bytes.Equal(older[i], theirs[i]) {
			t.Errorf("state history: block %d has %d bytes, and %d from the node", i+2, len(older[i]), len(theirs[i]))
		}
	}
	n.stop()
	if list := r.history(2, most); len(list) > 0 {
		t.Errorf("without a node, state history has %d older blocks", len(list))
	}
	if _, answer := r.ask("/v1/chain/get_block", `{"block_num_or_id":2}`); !strings.Contains(answer, unknown) {
		t.Errorf("without a node: %s", answer)
	}
}

// history is what a client of the state history is sent of blocks, without where the history stands; less if it is
// ended before.
func (m *joined) history(start, end uint32) (list [][]byte) {
	m.t.Helper()
	at := m.line(`tellHistory +\] start listening on (127\.0\.0\.1:\d+)`)
	c, _, err := websocket.DefaultDialer.DialContext(m.t.Context(), "ws://"+at, nil)
	if err != nil {
		m.t.Fatal(err)
	}
	defer c.Close()
	if _, _, err := c.ReadMessage(); err != nil {
		m.t.Fatal(err)
	}
	b := []byte{1}
	for _, n := range []uint32{start, end, end} {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	if err := c.WriteMessage(websocket.BinaryMessage, append(b, 0, 1, 1, 1, 1)); err != nil {
		m.t.Fatal(err)
	}
	for range end - start {
		_, b, err := c.ReadMessage()
		if err != nil {
			return list
		}
		list = append(list, b[1+36+36:])
	}
	return list
}

// head is the number of the newest block.
func (m *joined) head() int {
	m.t.Helper()
	_, text := m.ask("/v1/chain/get_info", "")
	var info struct {
		Head int `json:"head_block_num"`
	}
	if err := json.Unmarshal([]byte(text), &info); err != nil {
		m.t.Fatal(err)
	}
	return info.Head
}

// What makes no sense for a replica is refused, all at once.
func TestOptionsOfAReplicaAreChecked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var out buffer
	err := runAs(t.Context(), []string{"--config-dir", dir, "--data-dir", dir, "--producer-name", "eosio", "--plugin",
		"eosio::trace_api_plugin", "--fleet-name", "a b", "--fleet-cert", "c"}, streams{&out, &out}, true)
	if err == nil {
		t.Fatal("it starts")
	}
	for _, want := range []string{"producer-name has no meaning for a replica", "trace-no-abis is not set",
		"no NATS server is named",
		`the fleet's name "a b"`, "needs its key"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, out.String())
		}
	}
	out = buffer{}
	err = run(t.Context(), []string{"--config-dir", dir, "--data-dir", dir, "--fleet-user", "me"}, streams{&out, &out})
	if err == nil ||
		!strings.Contains(out.String(), "fleet-user has no meaning without fleet-server or fleet-embedded") {
		t.Errorf("%v:\n%s", err, out.String())
	}
}
