package devnet

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"tarn/antelope/node"
	"tarn/antelope/serial"
	"tarn/antelope/types"
	"tarn/devnetrunner"
	"tarn/internal/freeport"
	"tarn/internal/scratch"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] { // a child of a devnet
		case "nodeos":
			child(node.Command(), os.Args[2:])
		case "replica":
			child(node.Replica(), os.Args[3:])
		}
	}
	if err := scratch.OnDisk(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// child is a node or a replica in a process of its own.
func child(c *cobra.Command, args []string) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	c.SetArgs(args)
	if err := c.ExecuteContext(ctx); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// text is written by one goroutine and read by others.
type text struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (w *text) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

func (w *text) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}

// patience is for how long a machine that is busy is waited for.
const patience = 2 * time.Minute

// devnet is a chain that runs in this process.
type devnet struct {
	t    *testing.T
	o    Options
	out  *text
	stop context.CancelFunc
	done chan error
}

func start(t *testing.T, dir string, args ...string) *devnet {
	t.Helper()
	d := &devnet{t: t, out: &text{}, done: make(chan error, 1)}
	savanna := len(args) > 0 && args[0] == "--savanna"
	if savanna {
		args = args[1:]
	}
	d.o = Options{devnetrunner.Options{Dir: dir, HTTP: freeport.Address(t), P2P: freeport.Address(t), Out: d.out,
		Tarn: "tarn", Args: args}, savanna}
	d.begin()
	return d
}

// begin runs the chain of the options, and waits until it is served.
func (d *devnet) begin() {
	t, dir := d.t, d.o.Dir
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	d.stop = stop
	go func() { d.done <- Run(ctx, d.o) }()
	t.Cleanup(stop)
	for deadline := time.Now().Add(patience); !strings.Contains(d.out.String(),
		"Ctrl-C"); time.Sleep(10 * time.Millisecond) {
		select {
		case err := <-d.done:
			log, _ := os.ReadFile(filepath.Join(dir, devnetrunner.LogFile))
			t.Fatalf("it has ended: %v\n%s", err, log)
		default:
		}
		if time.Now().After(deadline) {
			t.Fatal("it is not served")
		}
	}
}

func (d *devnet) end() {
	d.t.Helper()
	d.stop()
	if err := <-d.done; err != nil {
		d.t.Fatal(err)
	}
}

// ask posts a request and decodes the answer.
func (d *devnet) ask(path, body string, answer any) {
	d.t.Helper()
	res, err := http.Post("http://"+d.o.HTTP+path, "application/json", strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	if res.StatusCode/100 != 2 {
		d.t.Fatalf("%s %s: %d %s", path, body, res.StatusCode, b)
	}
	if err := json.Unmarshal(b, answer); err != nil {
		d.t.Fatalf("%s: %v in %s", path, err, b)
	}
}

type info struct {
	Chain   string `json:"chain_id"`
	Num     uint32 `json:"head_block_num"`
	ID      string `json:"head_block_id"`
	Final   uint32 `json:"last_irreversible_block_num"`
	Version string `json:"server_version_string"`
}

func (d *devnet) info() (i info) {
	d.t.Helper()
	d.ask("/v1/chain/get_info", "{}", &i)
	return i
}

func (d *devnet) balance(account string) string {
	d.t.Helper()
	var list []string
	d.ask("/v1/chain/get_currency_balance", `{"code":"eosio.token","account":"`+account+`","symbol":"SYS"}`, &list)
	return strings.Join(list, ",")
}

// awaits asks until the answer is as it must become.
func (d *devnet) awaits(account, balance string) {
	d.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if d.balance(account) == balance {
			return
		}
	}
	d.t.Fatalf("%s has %s, want %s", account, d.balance(account), balance)
}

// blocks waits until what is pending now is in a block.
func (d *devnet) blocks() {
	d.t.Helper()
	pending := d.info().Num + 1
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if d.info().Num >= pending {
			return
		}
	}
	d.t.Fatalf("there is no block %d", pending)
}

// has checks a balance, which must be so at once.
func (d *devnet) has(account, balance string) {
	d.t.Helper()
	if got := d.balance(account); got != balance {
		d.t.Errorf("%s has %s, want %s", account, got, balance)
	}
}

// transfer sends tokens of alice's to bob.
func (d *devnet) transfer(amount int64) {
	d.t.Helper()
	keys, err := openKeys(filepath.Join(d.o.Dir, keysFile), false)
	if err != nil {
		d.t.Fatal(err)
	}
	i := d.info()
	id, err1 := types.ParseChecksum256(i.ID)
	chain, err2 := types.ParseChecksum256(i.Chain)
	symbol, err3 := types.ParseSymbol(tokenSymbol)
	if err1 != nil || err2 != nil || err3 != nil {
		d.t.Fatal(err1, err2, err3)
	}
	data := types.N(bobName).Append(types.N(aliceName).Append(nil))
	data = serial.AppendString(types.Asset{Amount: amount, Symbol: symbol}.Append(data), "test")
	trx := &types.Transaction{Actions: []types.Action{action(tokenName, "transfer", aliceName, data)}}
	trx.Expiration = types.TimePointSec(time.Now().Add(time.Minute).Unix())
	trx.SetRefBlock(id)
	signature, err := keys.of(aliceName).key.Sign(trx.SigningDigest(chain, nil))
	if err != nil {
		d.t.Fatal(err)
	}
	var sent struct {
		Processed struct {
			Receipt struct{ Status string }
		}
	}
	d.ask("/v1/chain/send_transaction2",
		fmt.Sprintf(
			`{"return_failure_trace":true,"retry_trx":false,"transaction":{"signatures":[%q],"compression":"none",`+
				`"packed_context_free_data":"","packed_trx":%q}}`, signature, hex.EncodeToString(trx.Append(nil))),
		&sent)
	if sent.Processed.Receipt.Status != "executed" {
		d.t.Fatalf("the transfer: %+v", sent)
	}
}

func TestAChainOfOnesOwnTakesATransferAndGoesOnAfterAStop(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "chain")
	d := start(t, dir)
	d.awaits("bob", "1000000.0000 SYS")
	d.transfer(1_2345)
	d.has("bob", "1000001.2345 SYS")
	d.has("alice", "999998.7655 SYS")
	d.blocks()
	var features struct {
		List []struct {
			Block uint32 `json:"activation_block_num"`
		} `json:"activated_protocol_features"`
	}
	d.ask("/v1/chain/get_activated_protocol_features", `{"limit":1000}`, &features)
	if n := len(features.List); n < 20 || features.List[n-1].Block > 3 {
		t.Errorf("protocol features: %+v", features)
	}
	before := d.info()
	d.end()

	d = start(t, dir)
	after := d.info()
	if after.Chain != before.Chain || after.Num < before.Num {
		t.Errorf("before the stop %+v, after it %+v", before, after)
	}
	var block struct{ ID string }
	d.ask("/v1/chain/get_block", fmt.Sprintf(`{"block_num_or_id":%d}`, before.Num), &block)
	if block.ID != before.ID {
		t.Errorf("block %d was %s and is %s", before.Num, before.ID, block.ID)
	}
	d.has("bob", "1000001.2345 SYS")
	d.transfer(1)
	d.has("bob", "1000001.2346 SYS")
	d.end()
}

// final waits until what is in a block now is final, with so many blocks after it.
func (d *devnet) final(after uint32) {
	d.t.Helper()
	pending := d.info().Num + 1
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		i := d.info()
		if i.Final >= pending && i.Num <= i.Final+after {
			return
		}
		if time.Now().After(end) {
			d.t.Fatalf("block %d is not final, or not soon: %+v", pending, i)
		}
	}
}

// The only finalizer's votes make a transfer final within two blocks; the next start goes on voting,
// also without being told.
func TestAChainWithInstantFinality(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; not with -short")
	}
	dir := filepath.Join(t.TempDir(), "chain")
	for _, args := range [][]string{{"--savanna"}, {"--savanna"}, nil} {
		d := start(t, dir, args...)
		d.final(2) // after the switch
		d.transfer(1)
		d.final(2)
		var finality struct {
			Policy struct{ Generation uint32 } `json:"active_finalizer_policy"`
		}
		if d.ask("/v1/chain/get_finalizer_info", "{}", &finality); finality.Policy.Generation != 1 ||
			d.info().Version != "v1.2.2" {
			t.Errorf("%+v, %+v", finality, d.info())
		}
		for _, num := range []uint32{2, d.info().Final, d.info().Num} { // of any block, as Spring does
			var state struct {
				Num    uint32 `json:"block_num"`
				Header struct {
					Producer string `json:"producer"`
				} `json:"header"`
				Features *struct{} `json:"activated_protocol_features"`
			}
			if d.ask("/v1/chain/get_block_header_state", fmt.Sprintf(`{"block_num_or_id":%d}`, num),
				&state); state.Num != num || state.Header.Producer != producerName || state.Features != nil {
				t.Errorf("block %d: %+v", num, state)
			}
		}
		d.end()
	}
}

// What a chain begins with is not changed later.
func TestAChainWithoutFinalizersStaysSo(t *testing.T) {
	dir := t.TempDir()
	if _, err := openKeys(filepath.Join(dir, keysFile), false); err != nil {
		t.Fatal(err)
	}
	o := Options{devnetrunner.Options{Dir: dir, Out: &text{}}, true}
	if err := Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), "was made without --savanna") {
		t.Error(err)
	}
}

// A start that was killed leaves no half of a chain.
func TestAnUnfinishedChainIsMadeAnew(t *testing.T) {
	dir := t.TempDir()
	if _, err := openKeys(filepath.Join(dir, keysFile), false); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"state/pages", "blocks/blocks.log"} {
		path := filepath.Join(dir, dataDir+".part", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("the half of something"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	first, err := os.ReadFile(filepath.Join(dir, keysFile))
	if err != nil {
		t.Fatal(err)
	}
	d := start(t, dir)
	d.awaits("alice", "1000000.0000 SYS")
	d.end()
	if again, err := os.ReadFile(filepath.Join(dir, keysFile)); err != nil || !bytes.Equal(first, again) {
		t.Errorf("other keys, %v", err)
	}
}

func TestTheGuideIsOfThisChain(t *testing.T) {
	keys, err := openKeys(filepath.Join(t.TempDir(), keysFile), false)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Options: devnetrunner.Options{Dir: "somewhere", HTTP: "0.0.0.0:1", P2P: ":2", Page: ":3", Tarn: "tarn"}}
	for _, text := range []string{guide(&o, keys, ""), transferScript(&o, keys), config(keys)} {
		for _, left := range []string{"{final", "{http", "{p2p", "{dir", "{keys", "{genesis", "{transfer", "{log",
			"{alice", "{bob", "{eosio", "{tarn", "{second", "{disk", "{page", "0.0.0.0"} {
			if strings.Contains(text, left) {
				t.Errorf("%s is left in %s", left, text)
			}
		}
	}
	for _, at := range []string{"API: http://127.0.0.1:1\n", "Live page (disk, memory, processor): http://127.0.0.1:3/\n",
		"--p2p-peer-address 127.0.0.1:2 "} {
		if s := guide(&o, keys, ""); !strings.Contains(s, at) {
			t.Errorf("%q is not in %s", at, s)
		}
	}
	if s := guide(&o, keys, ""); !strings.Contains(s, keys.of(aliceName).Private) ||
		strings.Contains(s, keys.of(producerName).Private) {
		t.Error("the guide must say alice's key, and not eosio's")
	}
}

// The guide of a chain is not said because another one is served where it should be.
func TestAnAddressThatIsTakenIsAnError(t *testing.T) {
	d := start(t, t.TempDir())
	o := Options{Options: devnetrunner.Options{Dir: t.TempDir(), HTTP: d.o.HTTP, P2P: freeport.Address(t), Out: &text{}}}
	err := Run(context.Background(), o)
	if err == nil || !strings.Contains(err.Error(), devnetrunner.LogFile) ||
		!strings.Contains(err.Error(), "address already in use") {
		t.Errorf("the second node on one address: %v", err)
	}
	if said := o.Out.(*text).String(); said != "" {
		t.Errorf("it said %s", said)
	}
	d.end()
}

// The state is of whatever engine the node's options say.
func TestAChainMayBeOfAnotherEngine(t *testing.T) {
	dir := t.TempDir()
	d := start(t, dir, "--state-engine", "pebble")
	d.has("bob", "1000000.0000 SYS")
	d.end()
	d = start(t, dir, "--state-engine=pebble", "--log-format", "json")
	d.has("bob", "1000000.0000 SYS")
	d.end()
	err := Run(context.Background(), Options{Options: devnetrunner.Options{Dir: dir, HTTP: freeport.Address(t),
		P2P: freeport.Address(t), Out: &text{}, Args: []string{"--state-engine", "leveldb"}}})
	if err == nil || !strings.Contains(err.Error(), "holds a pebble store, not leveldb") {
		t.Errorf("the state of one engine, asked for with another: %v", err)
	}
}

func TestOptionsThatWouldLeaveTheChainAreRefused(t *testing.T) {
	for _, args := range [][]string{{"--data-dir", "x"}, {"-d", "x"}, {"--blocks-dir=x"}, {"--delete-all-blocks"}} {
		dir := filepath.Join(t.TempDir(), "none")
		err := Run(context.Background(), Options{Options: devnetrunner.Options{Dir: dir, Out: &text{}, Args: args}})
		if err == nil || !strings.Contains(err.Error(), "is not for devnet") {
			t.Errorf("%q: %v", args, err)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%q: the folder was made", args)
		}
	}
}

func TestASecondDevnetLeavesTheFirstOnesFilesAlone(t *testing.T) {
	dir := t.TempDir()
	d := start(t, dir)
	o := Options{Options: devnetrunner.Options{Dir: dir, HTTP: freeport.Address(t), P2P: freeport.Address(t),
		Out: &text{}, Args: []string{"--agent-name", "the-second-one"}}}
	err := Run(context.Background(), o)
	if err == nil || !strings.Contains(err.Error(), "another devnet runs in this folder") {
		t.Errorf("the second devnet: %v", err)
	}
	if log, err := os.ReadFile(filepath.Join(dir, devnetrunner.LogFile)); err != nil ||
		bytes.Contains(log, []byte("the-second-one")) {
		t.Errorf("the first one's log has lines of the second: %v", err)
	}
	d.end()
}

// A terminal that is closed sends SIGHUP.
func TestAClosedTerminalEndsIt(t *testing.T) {
	d := start(t, t.TempDir())
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-d.done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Error("it goes on")
	}
}

// nodeos may end with 0 without having served.
func TestANodeThatEndsBeforeItServesIsAFailure(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, devnetrunner.LogFile), []byte("of a node that runs\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	o := Options{Options: devnetrunner.Options{Dir: dir, HTTP: freeport.Address(t), P2P: freeport.Address(t),
		Out: &text{}, Args: []string{"--version"}}}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	err := Run(ctx, o)
	var coded interface{ ExitCode() int }
	if !errors.As(err, &coded) || coded.ExitCode() == 0 ||
		!strings.Contains(err.Error(), filepath.Join(dir, devnetrunner.LogFile)) {
		t.Errorf("it ended with %v", err)
	}
	log, err := os.ReadFile(filepath.Join(dir, devnetrunner.LogFile))
	if err != nil || !strings.HasPrefix(string(log), "of a node that runs\n") ||
		!strings.HasSuffix(string(log), "v5.0.3\n") {
		t.Errorf("%v, the log is %s", err, log)
	}
	stop()
	if err := Run(ctx, o); err != nil {
		t.Errorf("told to stop before it served: %v", err)
	}
}

func TestANodeOfOnesOwnDoesNotEndForAFullDisk(t *testing.T) {
	for _, args := range [][]string{nil, {"--resource-monitor-space-threshold", "6"}, {fullDisk}} {
		n := 0
		for _, a := range nodeosArgs(&Options{Options: devnetrunner.Options{Args: args}}) {
			if a == fullDisk {
				n++
			}
		}
		if n != 1 {
			t.Errorf("with %q it is said %d times", args, n)
		}
	}
}

// All nodes of such a chain are on one host, unless its owner says how many may be.
func TestManyNodesOfOneHostMayFollow(t *testing.T) {
	for want, args := range map[string][]string{
		perHost + " 100": nil,
		perHost + " 3":   {perHost, "3"},
		perHost + "=3":   {perHost + "=3"},
	} {
		all := strings.Join(nodeosArgs(&Options{Options: devnetrunner.Options{Args: args}}), " ")
		if strings.Count(all, perHost) != 1 || !strings.Contains(all, want) {
			t.Errorf("with %q: %s", args, all)
		}
	}
}
