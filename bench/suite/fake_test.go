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
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tarn/bench/load"
	"tarn/bench/record"
	"tarn/bench/subject"
	"tarn/internal/loopback"
	"tarn/internal/scratch"
)

// The test's program is also the node that is measured.
const nodeArgument = "be-a-node" // ACTION FOLDER MODE [ADDRESS [SNAPSHOT]]

// What the node writes, in bytes.
const (
	importWrites   = 1 << 20
	snapshotWrites = 2 << 20
	loadWrites     = 5 << 20
	endWrites      = 3 << 20
)

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
	return os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o644)
}

func node(args []string) error {
	action, dir, mode := args[0], args[1], args[2]
	if mode == "broken" {
		return errors.New("this mode is broken")
	}
	if action == "import" {
		return write(dir, "state", importWrites)
	}
	if args[4] != "" {
		if err := write(dir, "state", loadWrites); err != nil {
			return err
		}
	}
	l, err := net.Listen("tcp", args[3])
	if err != nil {
		return err
	}
	head := int64(0)
	http.HandleFunc("/head", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, atomic.AddInt64(&head, 1)) //nolint:errcheck // whoever asked is gone
	})
	http.HandleFunc("/snapshot", func(w http.ResponseWriter, _ *http.Request) {
		if err := write(dir, "snapshot", snapshotWrites); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
		fmt.Fprint(w, "snapshot") //nolint:errcheck // whoever asked is gone
	})
	http.HandleFunc("/transfer", func(w http.ResponseWriter, r *http.Request) {
		if mode == "refusing" {
			http.Error(w, "no", http.StatusForbidden)
		}
	})
	go http.Serve(l, nil) //nolint:errcheck // it ends with the program
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM)
	<-end
	return write(dir, "saved", endWrites)
}

// fake is the network of these nodes.
type fake struct {
	chains atomic.Int64
	pushed func() // is told of each portion of transfers
}

func (f *fake) Chain(context.Context, func(string)) (record.Chain, error) {
	f.chains.Add(1)
	return record.Chain{Protocol: "fake", SHA256: "of it"}, nil
}

func (f *fake) Version(context.Context, subject.Subject) (string, error) { return "v1", nil }

func (f *fake) Install(dir string) error { return os.Mkdir(filepath.Join(dir, "blocks"), 0o755) }

func (f *fake) Import(s subject.Subject, dir string) ([]string, error) {
	return []string{nodeArgument, "import", dir, s.Mode}, nil
}

func (f *fake) Serve(s subject.Subject, dir, snapshot string) (args []string, url string, err error) {
	addresses, err := loopback.Addresses(1)
	if err != nil {
		return nil, "", err
	}
	return []string{nodeArgument, "serve", dir, s.Mode, addresses[0], snapshot}, "http://" + addresses[0], nil
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

func (f *fake) Accepted(status int, body []byte) error {
	if status != http.StatusOK {
		return fmt.Errorf("%d: %s", status, body)
	}
	return nil
}

func (f *fake) Snapshot(ctx context.Context, url string) (string, error) {
	return f.ask(ctx, url+"/snapshot")
}

// config is a run of subjects in these modes.
func config(t *testing.T, f *fake, suites []string, rounds int, modes ...string) Config {
	t.Helper()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := Config{speed: func() float64 { return 0.05 }, Dir: filepath.Join(t.TempDir(), "nodes"), Network: f, Tell: func(line string) { t.Log(line) }, Command: []string{"tarn", "bench"},
		Options: record.Options{Suites: suites, Rounds: rounds, Seed: 1, Accounts: 2, Work: 1, Push: 50, Connect: 4, Rate: 100, For: 0.1, Between: 3600}}
	for _, mode := range modes {
		name := "tarn:" + mode
		c.Subjects = append(c.Subjects, subject.Subject{Name: name, Program: subject.Tarn, Path: own, Mode: mode})
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
