package clienttest_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"

	"tarn/internal/freeport"
	"tarn/internal/scratch"
	"tarn/opera/difftest"
	"tarn/opera/genesis/fakenet"
)

func TestMain(m *testing.M) {
	if err := scratch.OnDisk(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// limit is how long the clients may take in all, patience how long each of them may.
const (
	limit    = 8 * time.Minute
	patience = 2 * time.Minute
)

// side is a node with a chain of its own, a fakenet of one validator.
type side struct {
	name   string
	peer   *difftest.Peer
	config difftest.Config
	node   *difftest.Node
	ws     string
}

// sides are the two nodes.
type sides struct {
	ours, real *side
	asked      []exchange // of the real one
}

// namespaces are those that both serve.
var namespaces = []string{"eth", "ftm", "dag", "abft", "net", "web3", "txpool"}

// start starts a node that serves WebSocket too.
func start(t *testing.T, ctx context.Context, name string, p *difftest.Peer) (*side, error) {
	at := freeport.Address(t)
	s := &side{name: name, peer: p, ws: "ws://" + at}
	s.config = difftest.Config{Dir: t.TempDir(), Validators: 1, Validator: 1, Settings: fmt.Sprintf(
		"[Node]\nWSHost = \"127.0.0.1\"\nWSPort = %d\nWSModules = [\"%s\"]\nWSOrigins = [\"*\"]\nHTTPCors = "+
			"[\"http://example.com\"]\n",
		freeport.Port(at), strings.Join(namespaces, `", "`))}
	var err error
	if s.node, err = p.Start(ctx, s.config); err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		if err := s.node.Kill(); err != nil {
			t.Log(err)
		}
		if b, _ := os.ReadFile(filepath.Join(s.config.Dir, "log")); t.Failed() {
			t.Logf("%s: %s", name, b[max(0, len(b)-2000):])
		}
	})
	return s, nil
}

// await waits for a block.
func (s *side) await(ctx context.Context, block hexutil.Uint64) error {
	for {
		var head hexutil.Uint64
		if err := s.node.Call(ctx, &head, "eth_blockNumber"); err != nil || head >= block {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// begin starts both. Without TARN_CLIENTS, or a go-opera, the test is skipped.
func begin(t *testing.T, ctx context.Context) *sides {
	t.Helper()
	if os.Getenv("TARN_CLIENTS") == "" {
		t.Skip("TARN_CLIENTS is not set")
	}
	p, err := difftest.Find(ctx)
	if errors.Is(err, difftest.ErrNoPeer) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "opera") // tarn is one under this name
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", program, "tarn/cmd/tarn").
		CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s := &sides{}
	if s.ours, err = start(t, ctx, "tarn", difftest.At(program)); err != nil {
		t.Fatal(err)
	}
	if s.real, err = start(t, ctx, "go-opera", p); err != nil {
		t.Fatal(err)
	}
	// The first epoch ends at once, with transactions of the chain's own.
	if err := errors.Join(s.ours.await(ctx, 4), s.real.await(ctx, 4)); err != nil {
		t.Fatal(err)
	}
	return s
}

// environment is what a script is told.
func environment(t *testing.T, r *recorder) []string {
	t.Helper()
	key, err := fakenet.Key(1)
	if err != nil {
		t.Fatal(err)
	}
	exhibit, err := filepath.Abs("exhibit/exhibit.json")
	if err != nil {
		t.Fatal(err)
	}
	return append(os.Environ(), "NODE_URL="+r.URL, "WS_URL="+r.websocketURL(),
		"RICH_KEY="+hexutil.Encode(crypto.FromECDSA(key)), "EXHIBIT="+exhibit, "NO_PROXY=127.0.0.1")
}

// beside runs a client on both nodes at once and compares. The client's own words are lines of
// JSON.
func (s *sides) beside(t *testing.T, client func(t *testing.T, r *recorder) *exec.Cmd) {
	t.Helper()
	list := []*side{s.ours, s.real}
	var recorders [2]*recorder
	var out [2]bytes.Buffer
	var wg sync.WaitGroup
	for i, of := range list {
		recorders[i] = record(t, of)
		cmd := client(t, recorders[i])
		wg.Go(func() {
			var errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out[i], &errs
			if err := cmd.Run(); err != nil {
				t.Errorf("%s: %v\n%.5000s", of.name, err, errs.String())
			}
		})
	}
	wg.Wait()
	ours, real := recorders[0].exchanges(t), recorders[1].exchanges(t)
	compared := compareCalls(t, ours, real)
	got, want := strings.Split(out[0].String(), "\n"), strings.Split(out[1].String(), "\n")
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) {
			t.Errorf("the client says %d things of tarn, %d of go-opera", len(got)-1, len(want)-1)
			break
		}
		compareWords(t, got[i], want[i])
	}
	t.Logf("%d exchanges with go-opera in %d steps, %d compared", len(real), len(want)-1, compared)
	s.asked = append(s.asked, real...)
	if folder := os.Getenv("TARN_CLIENTS_RECORD"); folder != "" {
		for i, r := range recorders {
			if err := keep(folder, t.Name()+"-"+list[i].name, r.exchanges(t), out[i].String()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// keep writes what was said into a folder, to be read.
func keep(folder, name string, all []exchange, words string) error {
	var b strings.Builder
	for _, e := range all {
		arrow := "-->"
		if e.told {
			arrow = "..."
		}
		fmt.Fprintf(&b, "// %s over %s\n%s %s\n<-- %s\n\n", e.step, e.over, arrow, e.request,
			strings.TrimSpace(e.answer))
	}
	name = strings.NewReplacer("/", "-", " ", "-").Replace(name)
	return errors.Join(os.MkdirAll(folder, 0o755),
		os.WriteFile(filepath.Join(folder, name+".txt"), []byte(b.String()), 0o644),
		os.WriteFile(filepath.Join(folder, name+".words"), []byte(words), 0o644))
}

// cache is a folder that is kept for what a file, a list of packages, says.
func cache(t *testing.T, name, file string) string {
	t.Helper()
	dir, err := os.UserCacheDir()
	if err != nil {
		t.Skip("no folder for packages: ", err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(b)
	return filepath.Join(dir, "tarn", name+"-"+hex.EncodeToString(sum[:6]))
}

// install runs a command that fills a new folder, unless one is there already. The folder
// appears as a whole or not at all. What cannot be installed is skipped.
func install(t *testing.T, ctx context.Context, dir string, command func(ctx context.Context, into string) *exec.Cmd) {
	t.Helper()
	if _, err := os.Stat(dir); err == nil {
		return
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		t.Skip("no folder for packages: ", err)
	}
	part, err := os.MkdirTemp(filepath.Dir(dir), ".installing-")
	if err != nil {
		t.Skip("no folder for packages: ", err)
	}
	defer os.RemoveAll(part)
	ctx, cancel := context.WithTimeout(ctx, 4*time.Minute)
	defer cancel()
	cmd := command(ctx, part)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("%v: %v: %.600s", cmd.Args, err, out)
	}
	if err := os.Rename(part, dir); err != nil && !errors.Is(err, os.ErrExist) {
		t.Fatal(err)
	}
}

// npm installs the packages of js/ and returns where.
func npm(t *testing.T, ctx context.Context) string {
	t.Helper()
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("no npm: ", err)
	}
	dir := cache(t, "opera-clients-js", "js/package.json")
	install(t, ctx, dir, func(ctx context.Context, into string) *exec.Cmd {
		if err := os.CopyFS(into, os.DirFS("js")); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(ctx, "npm", "install", "--no-package-lock", "--ignore-scripts",
			"--no-audit", "--no-fund")
		cmd.Dir = into
		return cmd
	})
	return filepath.Join(dir, "node_modules")
}

// javascript lets a script of js/ run with its packages.
func javascript(t *testing.T, ctx context.Context, script string, args ...string) *exec.Cmd {
	t.Helper()
	packages := npm(t, ctx)
	work := t.TempDir() // modules are looked for beside the script
	if err := errors.Join(os.Symlink(packages, filepath.Join(work, "node_modules")),
		os.CopyFS(work, os.DirFS("js"))); err != nil {
		t.Fatal(err)
	}
	return exec.CommandContext(ctx, "node", append([]string{filepath.Join(work, script)}, args...)...)
}

// python lets the script of py/ run with its packages.
func python(t *testing.T, ctx context.Context) *exec.Cmd {
	t.Helper()
	dir := cache(t, "opera-clients-py", "py/requirements.txt")
	install(t, ctx, dir, func(ctx context.Context, into string) *exec.Cmd {
		return exec.CommandContext(ctx, "python3", "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
			"--target", into, "-r", "py/requirements.txt")
	})
	cmd := exec.CommandContext(ctx, "python3", "py/round.py")
	cmd.Env = []string{"PYTHONPATH=" + dir, "PYTHONDONTWRITEBYTECODE=1"}
	return cmd
}

// script is a client that is a script.
func script(ctx context.Context, of *exec.Cmd) func(t *testing.T, r *recorder) *exec.Cmd {
	return func(t *testing.T, r *recorder) *exec.Cmd {
		ctx, cancel := context.WithTimeout(ctx, patience)
		t.Cleanup(cancel)
		cmd := exec.CommandContext(ctx, of.Path, of.Args[1:]...)
		cmd.Env = append(environment(t, r), of.Env...)
		return cmd
	}
}

func TestClientsSeeWhatGoOperaShows(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	s := begin(t, ctx)
	for _, name := range []string{"ethers.mjs", "viem.mjs"} {
		t.Run(name, func(t *testing.T) { s.beside(t, script(ctx, javascript(t, ctx, name))) })
	}
	t.Run("web3.py", func(t *testing.T) { s.beside(t, script(ctx, python(t, ctx))) })
	t.Run("cast", func(t *testing.T) { s.cast(t, ctx) })
	t.Run("once more", func(t *testing.T) { s.again(t, ctx) })
}

// The contract is what its source says.
func TestTheContractIsOfItsSource(t *testing.T) {
	if os.Getenv("TARN_CLIENTS") == "" {
		t.Skip("TARN_CLIENTS is not set")
	}
	source, err := filepath.Abs("exhibit/exhibit.sol")
	if err != nil {
		t.Fatal(err)
	}
	made := filepath.Join(t.TempDir(), "exhibit.json")
	if out, err := javascript(t, t.Context(), "compile.mjs", source, made).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	got, err := os.ReadFile(made)
	want, err2 := os.ReadFile("exhibit/exhibit.json")
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("exhibit.json is not what the compiler makes of exhibit.sol: write it anew with js/compile.mjs %s",
			strconv.Quote(source))
	}
}
