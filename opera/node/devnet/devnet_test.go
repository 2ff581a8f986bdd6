package devnet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"
	"github.com/spf13/cobra"

	"tarn/devnetrunner"
	"tarn/internal/freeport"
	"tarn/internal/scratch"
	"tarn/opera/config"
	"tarn/opera/node"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] { // a child of a devnet
		case "opera":
			child(node.Command(""), os.Args[2:])
		case "replica":
			child(node.Replica(""), os.Args[3:])
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

// devnet is a chain that runs in this process.
type devnet struct {
	t    *testing.T
	o    devnetrunner.Options
	stop context.CancelFunc
	done chan error
	*rpc.Client
}

func start(t *testing.T, dir string, change ...func(*devnetrunner.Options)) *devnet {
	t.Helper()
	d := &devnet{t: t, done: make(chan error, 1)}
	out := &text{}
	d.o = devnetrunner.Options{Dir: dir, HTTP: freeport.Address(t), P2P: freeport.Address(t), Page: freeport.Address(t),
		Out: out, Tarn: "tarn", Args: []string{"--ipcdisable"}}
	for _, f := range change {
		f(&d.o)
	}
	ctx, stop := context.WithCancel(context.Background())
	d.stop = stop
	go func() { d.done <- Run(ctx, "", d.o) }()
	t.Cleanup(stop)
	for deadline := time.Now().Add(time.Minute); !strings.Contains(out.String(),
		"Ctrl-C"); time.Sleep(10 * time.Millisecond) {
		select {
		case err := <-d.done:
			log, _ := os.ReadFile(filepath.Join(dir, "node.log")) //nolint:errcheck // there is none, then
			t.Fatalf("%v:\n%s", err, log[max(0, len(log)-2000):])
		default:
		}
		if time.Now().After(deadline) {
			t.Fatal("it is not served")
		}
	}
	var err error
	if d.Client, err = rpc.Dial("ws://" + d.o.HTTP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

func (d *devnet) awaitEnd() {
	d.t.Helper()
	select {
	case err := <-d.done:
		if err != nil {
			d.t.Fatal(err)
		}
	case <-time.After(2 * time.Minute):
		d.t.Fatal("it goes on")
	}
}

const receiver = "0x1111111111111111111111111111111111111111"

// transfer sends as the guide says, and waits until it is in a block.
func (d *devnet) transfer() {
	d.t.Helper()
	var hash common.Hash
	tx := map[string]string{"from": "0x239fA7623354eC26520dE878B52f13Fe84b06971",
		"to": receiver, "value": "0xde0b6b3a7640000"}
	if err := d.Call(&hash, "eth_sendTransaction", tx); err != nil {
		d.t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(25 * time.Millisecond) {
		var receipt *struct{ Status hexutil.Uint64 }
		if err := d.Call(&receipt, "eth_getTransactionReceipt", hash); err != nil {
			d.t.Fatal(err)
		}
		if receipt != nil {
			if receipt.Status != 1 {
				d.t.Error("the transfer has failed")
			}
			return
		}
	}
	d.t.Fatal("the transfer is in no block")
}

func (d *devnet) has(want string) {
	d.t.Helper()
	var got string
	if err := d.Call(&got, "eth_getBalance", receiver, "latest"); err != nil || got != want {
		d.t.Errorf("it has %s, %v; want %s", got, err, want)
	}
}

// A terminal that is closed sends SIGHUP.
func TestAChainOfOnesOwnTakesATransferAndGoesOnAfterAClosedTerminal(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "chain")
	d := start(t, dir)
	d.transfer()
	d.has("0xde0b6b3a7640000")
	page, err := http.Get("http://" + d.o.Page + "/")
	if err != nil {
		t.Fatal(err)
	}
	if err := page.Body.Close(); err != nil || page.StatusCode != http.StatusOK {
		t.Errorf("the page that shows what the node does: %s, %v", page.Status, err)
	}
	follow, err := os.ReadFile(filepath.Join(dir, followFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	d.awaitEnd()

	d = start(t, dir)
	d.has("0xde0b6b3a7640000")
	d.transfer()
	d.has("0x1bc16d674ec80000")
	again, err := os.ReadFile(filepath.Join(dir, followFile))
	if _, key, _ := strings.Cut(string(follow), "enode://"); err != nil || len(key) < 128 ||
		!strings.Contains(string(again), key[:128]) {
		t.Errorf("the node has another key: %s, %v", again, err)
	}
	d.stop()
	d.awaitEnd()
}

func TestAStartThatFailsSaysWhy(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for name, c := range map[string]struct {
		o    devnetrunner.Options
		want string
	}{
		"taken": {devnetrunner.Options{HTTP: taken.Addr().String(), P2P: freeport.Address(t)}, "another address with --http"},
		"unknown": {devnetrunner.Options{HTTP: freeport.Address(t), P2P: freeport.Address(t),
			Args: []string{"--db.engine", "nonsense"}}, devnetrunner.LogFile + ", and says:\n"},
		"version": {devnetrunner.Options{HTTP: freeport.Address(t), P2P: freeport.Address(t), Args: []string{"version"}}, "its log is"},
		"page":    {devnetrunner.Options{HTTP: freeport.Address(t), P2P: freeport.Address(t), Page: taken.Addr().String()}, "another address with --dashboard"},
		"address": {devnetrunner.Options{HTTP: "nowhere", P2P: freeport.Address(t)}, "--http: want host:port"},
		"folder":  {devnetrunner.Options{HTTP: freeport.Address(t), P2P: freeport.Address(t), Args: []string{"-datadir=x"}}, "is not for devnet"},
	} {
		t.Run(name, func(t *testing.T) {
			out := &text{}
			c.o.Dir, c.o.Out = t.TempDir(), out
			err := Run(t.Context(), "", c.o)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			var coded interface{ ExitCode() int }
			if errors.As(err, &coded) && coded.ExitCode() == 0 {
				t.Error("it ends with 0")
			}
			if out.String() != "" {
				t.Errorf("it said %s", out)
			}
		})
	}
}

func TestReasonsAreErrorsOfTheLogAndWhatIsNoLineOfIt(t *testing.T) {
	for line, want := range map[string]string{
		"INFO [11-24|00:41:13.439] IPC endpoint opened":                   "",
		"ERROR[11-24|00:41:13.439] A checkpoint has failed  err=\"disk\"": "A checkpoint has failed  err=\"disk\"",
		"listen for JSON-RPC: address already in use":                     "listen for JSON-RPC: address already in use",
		`{"t":"x","lvl":"info","msg":"y"}`:                                "",
		`{"t":"x","lvl":"error","msg":"y"}`:                               `{"t":"x","lvl":"error","msg":"y"}`,
	} {
		if got := reason(line); got != want {
			t.Errorf("%q: %q", line, got)
		}
	}
}

// All that the guide tells a second node is understood.
func TestTheGuideIsOfThisChain(t *testing.T) {
	keys, err := openKeys(filepath.Join(t.TempDir(), keyFile))
	if err != nil {
		t.Fatal(err)
	}
	o := devnetrunner.Options{Dir: "somewhere", HTTP: "0.0.0.0:1", P2P: ":2", Page: ":3", Tarn: "tarn"}
	for _, text := range []string{guide(&o, &keys, ""), fill(followText, &o, &keys), fill(scriptText, &o, &keys)} {
		for _, left := range []string{"{http", "{dir", "{key", "{follow", "{transfer", "{log", "{address", "{tarn",
			"{second", "{url", "{page"} {
			if strings.Contains(text, left) {
				t.Errorf("%s is left in %s", left, text)
			}
		}
	}
	if with := guide(&o, &keys, ""); !strings.Contains(with, "Live page (disk, memory, processor): http://127.0.0.1:3/\n") {
		t.Errorf("the page is not in %s", with)
	}
	o.Page = ""
	if without := guide(&o, &keys, ""); strings.Contains(without, "live:") {
		t.Errorf("a page that there is not is in %s", without)
	}
	path := filepath.Join(t.TempDir(), followFile)
	if err := os.WriteFile(path, []byte(fill(followText, &o, &keys)), 0o600); err != nil {
		t.Fatal(err)
	}
	c, _, err := config.Load([]string{"--fakenet", "0/1", "--config", path, "--datadir", "x"}, config.Environment{})
	if err != nil || len(c.Node.P2P.StaticNodes) != 1 ||
		!strings.HasSuffix(c.Node.P2P.StaticNodes[0], "@127.0.0.1:2") || c.Node.P2P.ListenAddr != "127.0.0.1:5051" {
		t.Errorf("%v %+v", err, c)
	}
}
