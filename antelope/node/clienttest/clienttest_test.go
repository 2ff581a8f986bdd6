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
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tarn/antelope/difftest"
	"tarn/antelope/node"
	"tarn/contracts/wat"
	"tarn/internal/scratch"
)

// asNodeos makes this program the node that is tested.
const asNodeos = "TARN_CLIENTS_NODE"

func TestMain(m *testing.M) {
	if err := scratch.OnDisk(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if os.Getenv(asNodeos) != "" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		cmd := node.Command()
		cmd.SetArgs(os.Args[2:]) // after nodeos
		if err := cmd.ExecuteContext(ctx); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// seed is of the keys: fixed, so that both chains and all runs have the same.
const seed = 7

// limit is how long the clients of a test may take in all.
const limit = 5 * time.Minute

// sides are the two nodes, each with a chain of eosio.system on which users have
// tokens.
type sides struct {
	peer       *difftest.Peer
	ours, real *difftest.Node
	exhibit    string // a folder with exhibit.wasm and exhibit.abi
}

// programs returns a nodeos, and this program. Without TARN_CLIENTS the test is skipped.
func programs(t *testing.T, ctx context.Context) (p *difftest.Peer, self string) {
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
	self, err = os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return p, self
}

// start makes both chains at once, with further options of nodeos. Without
// TARN_CLIENTS the test is skipped.
func start(t *testing.T, ctx context.Context, extra ...string) *sides {
	t.Helper()
	p, self := programs(t, ctx)
	s := &sides{peer: p, exhibit: assemble(t)}
	var wg sync.WaitGroup
	var errOurs, errReal error
	wg.Go(func() {
		s.ours, errOurs = startChain(t, ctx, p, difftest.Executable{Name: "tarn", Path: self, Args: []string{"nodeos"},
			Env: append(os.Environ(), asNodeos+"=1")}, extra)
	})
	wg.Go(func() { s.real, errReal = startChain(t, ctx, p, p.Nodeos(), extra) })
	wg.Wait()
	if err := errors.Join(errOurs, errReal); err != nil {
		t.Fatal(err)
	}
	return s
}

// startChain starts a node and gives it the system contract, users and tokens.
func startChain(
	t *testing.T, ctx context.Context, p *difftest.Peer, program difftest.Executable, extra []string,
) (*difftest.Node, error) {
	list := difftest.Workloads()
	w := list[slices.IndexFunc(list, func(w difftest.Workload) bool { return w.Name == "system-all" })]
	g, keys := difftest.Genesis(w, seed)
	c := difftest.Config{Dir: t.TempDir(), Genesis: &g, Producers: keys,
		Extra: append(extra, "--plugin", "eosio::net_api_plugin", "--read-only-read-window-time-us", "500000")}
	n, err := program.Start(ctx, c)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		if err := n.Stop(); err != nil {
			t.Log(err)
		}
		if b, _ := os.ReadFile(c.Dir + "/nodeos.log"); t.Failed() {
			t.Logf("%s", b[max(0, len(b)-3000):])
		}
	})
	_, _, err = p.Drive(ctx, n, w, seed, g.ChainID(), 0, t.Output())
	return n, err
}

// assemble makes the contract that the clients put on an account.
func assemble(t *testing.T) string {
	t.Helper()
	source, err := os.ReadFile("exhibit/exhibit.wat")
	if err != nil {
		t.Fatal(err)
	}
	code, err := wat.Assemble(string(source))
	if err != nil {
		t.Fatal(err)
	}
	abi, err := os.ReadFile("exhibit/exhibit.abi")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "exhibit")
	if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "exhibit.wasm"), code, 0o644),
		os.WriteFile(filepath.Join(dir, "exhibit.abi"), abi, 0o644)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// environment is what a script is told.
func (s *sides) environment(r *recorder) []string {
	user := difftest.NewKey(seed, "user")
	return append(os.Environ(), "NODE_URL="+r.URL, "EOSIO_KEY="+difftest.NewKey(seed, "eosio").Text(),
		"USER_KEY="+user.Text(),
		"USER_PUBLIC="+user.Public().String(), "EXHIBIT="+filepath.Join(s.exhibit, "exhibit"),
		"TOKEN="+filepath.Join(s.peer.ContractDir("eosio.token"), "eosio.token"))
}

// cache is a folder that is kept for what files, such as a list of packages, say.
func cache(t *testing.T, name string, files ...string) string {
	t.Helper()
	dir, err := os.UserCacheDir()
	if err != nil {
		t.Skip("no folder for packages: ", err)
	}
	h := sha256.New()
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		h.Write(b)
	}
	return filepath.Join(dir, "tarn", name+"-"+hex.EncodeToString(h.Sum(nil)[:6]))
}

// install runs a command that fills a new folder, unless one is there already. The
// folder appears as a whole or not at all. What cannot be installed is skipped.
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
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	cmd := command(ctx, part)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("%v: %v: %.600s", cmd.Args, err, out)
	}
	if err := os.Rename(part, dir); err != nil && !errors.Is(err, os.ErrExist) {
		t.Fatal(err)
	}
}

// beside runs a client on both nodes at once and compares. The client's own words are
// lines of JSON.
func (s *sides) beside(t *testing.T, client func(r *recorder) *exec.Cmd) {
	t.Helper()
	ours, real := record(t, s.ours), record(t, s.real)
	var out [2]bytes.Buffer
	var wg sync.WaitGroup
	for i, r := range []*recorder{ours, real} {
		wg.Go(func() {
			cmd := client(r)
			var errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out[i], &errs
			if err := cmd.Run(); err != nil {
				t.Errorf("%s: %v\n%.3000s", []string{"tarn", "nodeos"}[i], err, errs.String())
			}
		})
	}
	wg.Wait()
	ours.keep(t, "tarn")
	real.keep(t, "nodeos")
	compareCalls(t, ours.exchanges(), real.exchanges())
	got, want := strings.Split(out[0].String(), "\n"), strings.Split(out[1].String(), "\n")
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) {
			t.Errorf("the client says %d things, of nodeos %d", len(got)-1, len(want)-1)
			break
		}
		compareWords(t, got[i], want[i])
	}
	t.Logf("%d calls in %d steps", len(real.exchanges()), len(want)-1)
}

// npm lets a script of js/ run with its packages.
func npm(t *testing.T, ctx context.Context, script string) func(env []string) *exec.Cmd {
	t.Helper()
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("no npm: ", err)
	}
	dir := cache(t, "clients-js", "js/package.json")
	install(t, ctx, dir, func(ctx context.Context, into string) *exec.Cmd {
		if err := os.CopyFS(into, os.DirFS("js")); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(ctx, "npm", "install", "--no-package-lock", "--ignore-scripts",
			"--no-audit", "--no-fund")
		cmd.Dir = into
		return cmd
	})
	// Modules are looked for beside the script.
	work := t.TempDir()
	if err := errors.Join(os.Symlink(filepath.Join(dir, "node_modules"), filepath.Join(work, "node_modules")),
		os.CopyFS(work, os.DirFS("js"))); err != nil {
		t.Fatal(err)
	}
	return func(env []string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, "node", filepath.Join(work, script))
		cmd.Env = env
		return cmd
	}
}

// pip lets the script of py/ run with its packages.
func pip(t *testing.T, ctx context.Context) func(env []string) *exec.Cmd {
	t.Helper()
	dir := cache(t, "clients-py", "py/requirements.txt")
	install(t, ctx, dir, func(ctx context.Context, into string) *exec.Cmd {
		return exec.CommandContext(ctx, "python3", "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
			"--target", into, "-r", "py/requirements.txt")
	})
	return func(env []string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, "python3", "py/round.py")
		cmd.Env = append(env, "PYTHONPATH="+dir, "PYTHONDONTWRITEBYTECODE=1")
		return cmd
	}
}

// golang builds the program of go/, a module of its own, with the library it names.
func golang(t *testing.T, ctx context.Context) func(env []string) *exec.Cmd {
	t.Helper()
	dir := cache(t, "clients-go", "go/go.mod", "go/main.go")
	install(t, ctx, dir, func(ctx context.Context, into string) *exec.Cmd {
		source := t.TempDir()
		if err := os.CopyFS(source, os.DirFS("go")); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(ctx, "go", "build", "-mod=mod", "-o", filepath.Join(into, "round"), ".")
		cmd.Dir = source
		return cmd
	})
	return func(env []string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, filepath.Join(dir, "round"))
		cmd.Env = env
		return cmd
	}
}

func TestClientsSeeWhatNodeosShows(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	s := start(t, ctx, "--verbose-http-errors")
	for _, script := range []string{"eosjs.mjs", "wharfkit.mjs"} {
		t.Run(script, func(t *testing.T) {
			run := npm(t, ctx, script)
			s.beside(t, func(r *recorder) *exec.Cmd { return run(s.environment(r)) })
		})
	}
	t.Run("pyntelope", func(t *testing.T) {
		run := pip(t, ctx)
		s.beside(t, func(r *recorder) *exec.Cmd { return run(s.environment(r)) })
	})
	t.Run("eos-go", func(t *testing.T) {
		run := golang(t, ctx)
		s.beside(t, func(r *recorder) *exec.Cmd { return run(s.environment(r)) })
	})
	t.Run("cleos", func(t *testing.T) { s.cleos(t, ctx) })
}

// Most nodes say less of errors.
func TestErrorsAreBriefByDefault(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	s := start(t, ctx)
	run := npm(t, ctx, "eosjs.mjs")
	s.beside(t, func(r *recorder) *exec.Cmd { return run(s.environment(r)) })
}
