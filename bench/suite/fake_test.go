package suite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tarn/bench/load"
	"tarn/bench/record"
	"tarn/bench/subjectflag"
	"tarn/internal/freeport"
	"tarn/internal/scratch"
)

// The test's program is also the node that is measured.
const nodeArgument = "be-a-node" // ACTION FOLDER MODE [ADDRESS [SNAPSHOT [HISTORIES]]]

// What the node writes, in bytes.
const (
	importWrites   = 1 << 20
	largeWrites    = 80 << 20 // of mode "large"
	snapshotWrites = 2 << 20
	loadWrites     = 5 << 20
	endWrites      = 3 << 20
)

// What the node adds to its files in a load, in bytes, whatever it keeps, and of histories.
var (
	loadAdds    = map[string]int{"block": 1 << 20, "other": 3 << 20}
	historyAdds = map[string]int{"actions": 2 << 20, "rows": 4 << 20, "traces": 5 << 20, "index": 6 << 20}
)

const fakeBlocks = 12 // the node has one more with each question

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == nodeArgument {
		if err := node(os.Args[2:]); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	if err := scratch.OnDisk(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// write adds to the disk what a node would.
func write(dir, name string, size int) error {
	if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
		return err
	}
	return adds(dir, map[string]int{name: size})
}

// adds appends to files.
func adds(dir string, sizes map[string]int) error {
	for name, size := range sizes {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		for part := 4 << 20; size > 0 && err == nil; size -= part {
			part = min(part, size)
			if _, err = f.Write(make([]byte, part)); err == nil && size > part {
				err = f.Sync() // a group of little memory has room for few pages that are not written yet
			}
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// addsOf appends to the histories that are kept.
func addsOf(dir, keeps string) error {
	some := map[string]int{}
	for name, size := range historyAdds {
		traces := name == "traces" || name == "index"
		if keeps == string(KeepBoth) || keeps == string(KeepTraces) && traces ||
			keeps == string(KeepStates) && !traces {
			some[name] = size
		}
	}
	return adds(dir, some)
}

func node(args []string) error {
	action, dir, mode := args[0], args[1], args[2]
	if mode == "broken" {
		return errors.New("this mode is broken")
	}
	if action == "import" && (mode == "large" || mode == "greedy") {
		return adds(dir, map[string]int{"state": largeWrites})
	}
	if mode == "greedy" {
		for i := range greed {
			greed[i] = 1
		}
	}
	if action == "import" {
		return write(dir, "state", importWrites)
	}
	if args[4] != "" {
		if err := write(dir, "state", loadWrites); err != nil {
			return err
		}
	}
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM) // before it answers: whoever gets an answer may end it
	l, err := net.Listen("tcp", args[3])
	if err != nil {
		return err
	}
	head := int64(0)
	if _, err := os.Stat(filepath.Join(dir, "state")); err == nil && mode != "forgetful" {
		head = fakeBlocks
	}
	http.HandleFunc("/head", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, atomic.AddInt64(&head, 1)) //nolint:errcheck // whoever asked is gone
	})
	http.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "tarn_state_written_bytes_total{cause=\"growth\"} %d\n", atomic.AddInt64(&head, 1)) //nolint:errcheck // whoever asked is gone
	})
	http.HandleFunc("/snapshot", func(w http.ResponseWriter, _ *http.Request) {
		size := snapshotWrites
		if mode == "large" {
			size = largeWrites
		}
		if err := write(dir, "snapshot", size); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
		fmt.Fprint(w, "snapshot") //nolint:errcheck // whoever asked is gone
	})
	keeps := ""
	if len(args) > 5 {
		keeps = args[5]
	}
	http.HandleFunc("/load", func(w http.ResponseWriter, _ *http.Request) {
		for range 3 { // so that there is something to tell of
			runtime.GC()
			time.Sleep(50 * time.Millisecond)
		}
		if err := adds(dir, loadAdds); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
		if err := addsOf(dir, keeps); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	if err := addsOf(dir, keeps); err != nil {
		return err
	}
	var forgets atomic.Int64 // transfers, which mode "forgetting" keeps in memory alone
	http.HandleFunc("/transfer", func(w http.ResponseWriter, r *http.Request) {
		if mode == "refusing" {
			http.Error(w, "no", http.StatusForbidden)
		}
		if mode == "forgetting" {
			forgets.Add(1)
		} else if err := adds(dir, map[string]int{"transfers": 1}); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	http.HandleFunc("/transfers", func(w http.ResponseWriter, _ *http.Request) {
		count := forgets.Load()
		if info, err := os.Stat(filepath.Join(dir, "transfers")); err == nil {
			count += info.Size()
		}
		fmt.Fprint(w, count) //nolint:errcheck // whoever asked is gone
	})
	go http.Serve(l, nil) //nolint:errcheck // it ends with the program
	<-end
	return write(dir, "saved", endWrites)
}

// greed is more memory than there is for mode "greedy".
var greed [256 << 20]byte

// fake is the network of these nodes.
type fake struct {
	chains atomic.Int64
	pushed func() // is told of each portion of transfers
}

func (f *fake) Chain(context.Context, func(string)) (record.Chain, error) {
	f.chains.Add(1)
	return record.Chain{Protocol: "fake", SHA256: "of it", Blocks: fakeBlocks, Bytes: 14}, nil
}

func (f *fake) Version(context.Context, subjectflag.Subject) (string, error) { return "v1", nil }

func (f *fake) Install(dir string) error { return os.Mkdir(filepath.Join(dir, "blocks"), 0o755) }

func (f *fake) Import(s subjectflag.Subject, dir string) ([]string, error) {
	return []string{nodeArgument, "import", dir, s.Mode}, nil
}

func (f *fake) Serve(s subjectflag.Subject, dir, snapshot string) (Node, error) {
	addresses, err := freeport.Addresses(1)
	if err != nil {
		return Node{}, err
	}
	url := "http://" + addresses[0]
	return Node{Args: []string{nodeArgument, "serve", dir, s.Mode, addresses[0], snapshot}, URL: url, Peers: url,
		Metrics: url + "/metrics"}, nil
}

func (f *fake) Source(s subjectflag.Subject, dir string) (Node, error) { return f.Serve(s, dir, "") }

func (f *fake) Follow(s subjectflag.Subject, dir, peer string) (Node, error) {
	if _, err := f.ask(context.Background(), peer+"/head"); err != nil {
		return Node{}, err
	}
	return f.Serve(s, dir, "")
}

func (f *fake) Publish(n Node, servers []string) Node {
	if len(servers) == 0 {
		panic("no servers")
	}
	return n
}

func (f *fake) Published(context.Context, []string) (int64, error) { return 7, nil }

func (f *fake) Replica(s subjectflag.Subject, dir string, _ []string) (Node, error) {
	return f.Serve(s, dir, "")
}

func (f *fake) Finalizers() int { return 5 }

func (f *fake) Finalizer(s subjectflag.Subject, dir string, number, count int, peers []string) (Node, error) {
	if number != len(peers) || number >= count {
		return Node{}, fmt.Errorf("node %d of %d connects to %v", number, count, peers)
	}
	return f.Serve(s, dir, "")
}

func (f *fake) Final(ctx context.Context, url string) (uint64, error) { return f.Head(ctx, url) }

func (f *fake) Calls() []string { return []string{"one", "other"} }

func (f *fake) Questions(ctx context.Context, url string, seed uint64, _ string, count int) ([]load.Request, error) {
	transfers, err := f.Transfers(url, seed)
	if err != nil {
		return nil, err
	}
	return transfers(ctx, count, time.Minute)
}

func (f *fake) Answered(status int, body []byte) error { return f.Accepted(status, body) }

func (f *fake) Keep(n Node, what Choice) (Node, error) {
	n.Args, n.History = append(n.Args, string(what)), n.URL
	return n, nil
}

func (f *fake) Logs(dir string) LogBytes {
	size := func(name string) int64 {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			return 0
		}
		return info.Size()
	}
	return LogBytes{Blocks: size("block"), Actions: size("actions"), Rows: size("rows"), Traces: size("traces"),
		Index: size("index")}
}

func (f *fake) TraceQuestions(url string, seed uint64, count int) (blocks, transactions []load.Request, err error) {
	all := make([]load.Request, count)
	for i := range all {
		all[i] = load.Request{URL: url + "/head"}
	}
	return all, all, nil
}

func (f *fake) Traced(status int, body []byte) error { return f.Accepted(status, body) }

func (f *fake) Load(ctx context.Context, node Node, o Load) (Pace, error) {
	if err := o.Ready(); err != nil {
		return Pace{}, err
	}
	p := Pace{Sent: int(o.Rate * o.For.Seconds()), Blocks: 3, Longest: time.Second, Late: time.Second}
	p.Taken = p.Sent - 1
	p.Gaps.Add(time.Second)
	if f.pushed != nil {
		f.pushed()
	}
	if _, err := f.ask(ctx, node.URL+"/load"); err != nil {
		return p, err
	}
	return p, pause(ctx, o.For)
}

func (f *fake) Deployments(url string, seed uint64) (load.Source, error) {
	return f.Transfers(url, seed)
}

func (f *fake) Stream(ctx context.Context, node Node, last uint64, told func()) error {
	for range last {
		if _, err := f.ask(ctx, node.History+"/metrics"); err != nil {
			return err
		}
		told()
	}
	return nil
}

func (f *fake) Gossip(_ context.Context, _ Node, _ uint64, count int, ready func() error) (int, time.Duration, error) {
	return count - 1, time.Second, ready()
}

func (f *fake) Crowd(_ context.Context, _, _ Node, peers, fetching int) (Crowd, error) {
	return fakeCrowd{peers, fetching}, nil
}

func (f *fake) Subscribable(n Node, _ Subscriptions) (Node, error) { return n, nil }

func (f *fake) Subscribe(_ context.Context, _, _ Node, o Subscriptions) (Crowd, error) {
	return fakeCrowd{peers: o.Count}, nil
}

func (f *fake) Fetchable() bool { return true }

// fakeCrowd was sent a byte by each peer, and a chain by each that fetches.
type fakeCrowd struct{ peers, fetching int }

func (c fakeCrowd) Begin() {}
func (c fakeCrowd) Close() {}
func (c fakeCrowd) Seen() Sight {
	s := Sight{Bytes: int64(c.peers), Chains: int64(c.fetching), Failed: map[string]int{"sent away": 2}}
	s.Delays.Add(time.Millisecond)
	s.Last.Add(2 * time.Millisecond)
	return s
}

func (f *fake) ask(ctx context.Context, url string) (_ string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, res.Body.Close()) }()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", res.Status, text)
	}
	return string(text), err
}

func (f *fake) Head(ctx context.Context, url string) (uint64, error) {
	text, err := f.ask(ctx, url+"/head")
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(text, 10, 64)
}

func (f *fake) Transfers(url string, seed uint64) (load.Source, error) {
	return func(_ context.Context, count int, _ time.Duration) ([]load.Request, error) {
		if f.pushed != nil {
			f.pushed()
		}
		all := make([]load.Request, count)
		for i := range all {
			all[i] = load.Request{URL: url + "/transfer", Body: fmt.Append(nil, seed, i)}
		}
		return all, nil
	}, nil
}

func (f *fake) Confirmed(ctx context.Context, url string, transfers []load.Request) (int, error) {
	text, err := f.ask(ctx, url+"/transfers")
	if err != nil {
		return 0, err
	}
	count, err := strconv.Atoi(text)
	return min(count, len(transfers)), err
}

func (f *fake) Accepted(status int, body []byte) error {
	if status != http.StatusOK {
		return fmt.Errorf("%d: %s", status, body)
	}
	return nil
}

func (f *fake) Snapshot(ctx context.Context, url, _ string) (string, time.Time, error) {
	path, err := f.ask(ctx, url+"/snapshot")
	return path, time.Now(), err
}

// config is a run of subjects in these modes.
func config(t *testing.T, f *fake, suites []string, rounds int, modes ...string) Config {
	t.Helper()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := Config{Source: subjectflag.Subject{Name: "the source", Program: subjectflag.Tarn, Path: own, Mode: "heap"},
		warm: time.Millisecond, quiet: 50 * time.Millisecond, speed: func() float64 { return 0.05 },
		Dir: filepath.Join(t.TempDir(), "nodes"), Network: f, Tell: func(line string) { t.Log(line) },
		Command: []string{"tarn", "bench"},
		Options: record.Options{Suites: suites, Rounds: rounds, Seed: 1, Accounts: 2, Work: 1, Push: 50, Connect: 4,
			Rate: 100, For: 0.1, Between: 3600,
			Rating: 600, AskFor: 0.1, AskRate: 100, Peers: 5, Subscribers: 7, Syncing: 2, PeerFor: 0.1, Window: 0.05, Load: 100,
			LoadFor: 0.1, Clients: 2, Deployments: 2, DeployEvery: 0.05, Memory: 384}}
	for _, mode := range modes {
		name := "tarn:" + mode
		c.Subjects = append(c.Subjects, subjectflag.Subject{Name: name, Program: subjectflag.Tarn, Path: own, Mode: mode})
		c.Options.Subjects = append(c.Options.Subjects, name)
	}
	return c
}

// nothingIsLeft fails if the run left its folder, or a node.
func nothingIsLeft(t *testing.T, c Config) {
	t.Helper()
	if _, err := os.Stat(c.Dir); !os.IsNotExist(err) {
		t.Errorf("the nodes' folder is left: %v", err)
	}
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range all {
		text, err := os.ReadFile(name) // it may have ended
		if err == nil && len(text) > 0 && containsAll(string(text), nodeArgument, c.Dir) {
			t.Errorf("%s is left: %q", name, text)
		}
	}
}

// again is a record that went through its file.
func again(t *testing.T, r *record.Run) *record.Run {
	t.Helper()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	read, _, err := record.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return read
}
