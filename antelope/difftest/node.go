package difftest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"tarn/antelope/crypto"
	"tarn/antelope/types"
	"tarn/internal/freeport"
)

// patience is how long nodeos may take to answer at first, and to end.
const patience = 3 * time.Minute

// Config is how a node is started.
type Config struct {
	Dir       string // its data; made if it isn't there
	Genesis   *types.Genesis
	Producers map[types.Name]crypto.PrivateKey // who it produces for, with their keys
	Extra     []string                         // further options of nodeos
}

// Node is a running nodeos. Its methods are for one goroutine.
type Node struct {
	*Client
	dir  string
	p2p  string
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended
	err  error         // how, after done
}

// Executable is a program that takes nodeos' arguments: nodeos itself, or one in
// its place.
type Executable struct {
	Name string   // in reports
	Path string   // of the file
	Args []string // before nodeos' own
	Env  []string // nil for that of this process
}

// Nodeos is the package's own.
func (p *Peer) Nodeos() Executable {
	return Executable{Name: "nodeos", Path: p.Program(), Args: []string{"nodeos"}, Env: p.environment()}
}

// Start runs nodeos until [Node.Stop], or until ctx ends, and waits until it
// answers.
func (p *Peer) Start(ctx context.Context, c Config) (*Node, error) { return p.Nodeos().Start(ctx, c) }

// Start runs the program until [Node.Stop], or until ctx ends, and waits until it
// answers.
func (x Executable) Start(ctx context.Context, c Config) (*Node, error) {
	n, err := x.Launch(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := n.Await(ctx); err != nil {
		n.Kill()
		return nil, fmt.Errorf("%s in %s: %w", x.Name, c.Dir, err)
	}
	return n, nil
}

// Launch is Start without the waiting. What the program writes is appended to
// nodeos.log in its folder.
func (x Executable) Launch(ctx context.Context, c Config) (*Node, error) {
	if err := os.MkdirAll(filepath.Join(c.Dir, "config"), 0o755); err != nil {
		return nil, err
	}
	ports, err := freeport.Addresses(2)
	if err != nil {
		return nil, err
	}
	args, err := arguments(c, ports)
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(filepath.Join(c.Dir, "nodeos.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.CommandContext(ctx, x.Path, slices.Concat(x.Args, args)...)
	cmd.Env, cmd.Stdout, cmd.Stderr = x.Env, log, log
	// It ends with us, even if we are killed.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	n := &Node{Client: NewClient(ports[0]), dir: c.Dir, p2p: ports[1], cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The kernel takes the end of the thread that started a process for ours.
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			n.err = cmd.Wait()
			close(n.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", x.Name, err)
	}
	return n, nil
}

// arguments of nodeos. The chain plugin must be named first: the plugins are
// initialised in this order.
func arguments(c Config, ports []string) ([]string, error) {
	args := []string{
		"--data-dir", c.Dir, "--config-dir", filepath.Join(c.Dir, "config"),
		"--plugin", "eosio::chain_plugin", "--plugin", "eosio::chain_api_plugin",
		"--plugin", "eosio::producer_plugin", "--plugin", "eosio::producer_api_plugin",
		"--http-server-address", ports[0], "--p2p-listen-endpoint", ports[1],
		"--http-max-response-time-ms", "10000", "--abi-serializer-max-time-ms", "10000",
		"--max-body-size", "33554432", "--http-validate-host", "0",
		"--contracts-console", "--chain-state-db-size-mb", "2048",
		"--max-transaction-time", "400", "--subjective-account-max-failures", "1000000",
		"--resource-monitor-not-shutdown-on-threshold-exceeded"}
	if c.Genesis != nil {
		name := filepath.Join(c.Dir, "genesis.json")
		if err := os.WriteFile(name, genesisJSON(c.Genesis), 0o644); err != nil {
			return nil, err
		}
		args = append(args, "--genesis-json", name)
	}
	if len(c.Producers) > 0 {
		args = append(args, "--enable-stale-production")
	}
	for name, key := range c.Producers {
		args = append(args, "--producer-name", name.String(),
			"--signature-provider", fmt.Sprintf("%s=KEY:%s", key.Public(), key.Text()))
	}
	return append(args, c.Extra...), nil
}

// genesisJSON is the genesis as nodeos reads it.
func genesisJSON(g *types.Genesis) []byte {
	c := &g.InitialConfiguration
	out, _ := json.MarshalIndent(map[string]any{ // numbers and strings: cannot fail
		"initial_timestamp": g.InitialTimestamp.String(),
		"initial_key":       g.InitialKey.String(),
		"initial_configuration": map[string]any{
			"max_block_net_usage":                 c.MaxBlockNetUsage,
			"target_block_net_usage_pct":          c.TargetBlockNetUsagePct,
			"max_transaction_net_usage":           c.MaxTransactionNetUsage,
			"base_per_transaction_net_usage":      c.BasePerTransactionNetUsage,
			"net_usage_leeway":                    c.NetUsageLeeway,
			"context_free_discount_net_usage_num": c.ContextFreeDiscountNetUsageNum,
			"context_free_discount_net_usage_den": c.ContextFreeDiscountNetUsageDen,
			"max_block_cpu_usage":                 c.MaxBlockCPUUsage,
			"target_block_cpu_usage_pct":          c.TargetBlockCPUUsagePct,
			"max_transaction_cpu_usage":           c.MaxTransactionCPUUsage,
			"min_transaction_cpu_usage":           c.MinTransactionCPUUsage,
			"max_transaction_lifetime":            c.MaxTransactionLifetime,
			"deferred_trx_expiration_window":      c.DeferredTrxExpirationWindow,
			"max_transaction_delay":               c.MaxTransactionDelay,
			"max_inline_action_size":              c.MaxInlineActionSize,
			"max_inline_action_depth":             c.MaxInlineActionDepth,
			"max_authority_depth":                 c.MaxAuthorityDepth,
		},
	}, "", "  ")
	return out
}

// Await waits until the node answers, or says why it never will. nodeos listens before
// its plugins have named what they answer, so the last of them is asked.
func (n *Node) Await(ctx context.Context) error {
	var last error
	var paused bool
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if last = n.Call(ctx, "/v1/producer/paused", struct{}{}, &paused); last == nil {
			if _, last = n.Info(ctx); last == nil {
				return nil
			}
		}
		select {
		case <-n.done:
			return fmt.Errorf("ended at once (%w): %s", n.err, n.LogEnd())
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
	return fmt.Errorf("no answer in %v: %w", patience, last)
}

// LogEnd is the last lines of the log.
func (n *Node) LogEnd() string {
	b, _ := os.ReadFile(filepath.Join(n.dir, "nodeos.log"))
	return strings.TrimSpace(string(b[max(0, len(b)-2000):]))
}

// Stop ends the process the way an operator does, and waits for it. A process
// that hangs at its exit, after it closed its files, is killed.
func (n *Node) Stop() error {
	if err := n.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-n.done:
		return nil
	case <-time.After(patience):
		n.Kill()
		return fmt.Errorf("nodeos did not end in %v: %s", patience, n.LogEnd())
	}
}

// Kill ends the process, and the compiler processes that it made, at once.
func (n *Node) Kill() {
	_ = syscall.Kill(-n.cmd.Process.Pid, syscall.SIGKILL) // its own group; it may have ended
	<-n.done
}

// Ended tells whether the process has ended.
func (n *Node) Ended() bool {
	select {
	case <-n.done:
		return true
	default:
		return false
	}
}

// PID is the process's.
func (n *Node) PID() int { return n.cmd.Process.Pid }

// LogFile is the path of what the process says.
func (n *Node) LogFile() string { return filepath.Join(n.dir, "nodeos.log") }

// Dir is the node's data folder.
func (n *Node) Dir() string { return n.dir }

// P2P is the address that it listens on for peers.
func (n *Node) P2P() string { return n.p2p }
