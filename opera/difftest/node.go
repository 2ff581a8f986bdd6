package difftest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"tarn/internal/freeport"
)

// patience is how long a node may take to answer at first, and to end.
const patience = time.Minute

// Config is how a go-opera is started.
type Config struct {
	// Dir is its folder, made if it isn't there. It has the data and the log.
	Dir string
	// Validators is the size of the fakenet, Validator who of it the node is, 0 for
	// none.
	Validators, Validator int
	// Genesis names a file to begin with, in place of a fakenet.
	Genesis string
	// Preset of the databases; empty is go-opera's own choice.
	Preset string
	// Settings are appended to the node's TOML file.
	Settings string
	// Discovers has it look for peers by both versions of discovery, and answer those who look.
	Discovers bool
}

// data is where the node keeps its databases.
func (c *Config) data() string { return filepath.Join(c.Dir, "data") }

// arguments are those that every use of the folder needs, before a command.
func (c *Config) arguments() []string {
	list := []string{"--datadir", c.data(), "--datadir.minfreedisk", "0", "--ipcdisable"}
	if c.Preset != "" {
		list = append(list, "--db.preset", c.Preset)
	}
	if c.Genesis != "" {
		return append(list, "--genesis", c.Genesis, "--genesis.allowExperimental")
	}
	return append(list, "--fakenet", fmt.Sprintf("%d/%d", c.Validator, c.Validators))
}

// Node is a running go-opera. It listens on this machine only. Its methods are for
// one goroutine, those of Client for any.
type Node struct {
	*Client
	config Config
	cmd    *exec.Cmd
	done   chan struct{} // closed when the process has ended
	err    error         // how, after done
}

// Start runs a go-opera until [Node.Stop], or until ctx ends, and waits until it
// answers.
func (p *Peer) Start(ctx context.Context, c Config) (*Node, error) {
	n, err := p.launch(ctx, c)
	if err == nil {
		if err = n.await(ctx); err != nil {
			err = errors.Join(err, n.Kill())
		}
	}
	if err != nil {
		return nil, fmt.Errorf("start go-opera in %s: %w", c.Dir, err)
	}
	return n, nil
}

func (p *Peer) launch(ctx context.Context, c Config) (*Node, error) {
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return nil, err
	}
	at, err := freeport.Addresses(2)
	if err != nil {
		return nil, err
	}
	// Nothing but the TOML file can bind the peers' port to one address.
	toml := filepath.Join(c.Dir, "node.toml")
	text := fmt.Sprintf("%s\n[Node.P2P]\nListenAddr = \"%s\"\n", c.Settings, at[0])
	if err := os.WriteFile(toml, []byte(text), 0o644); err != nil {
		return nil, err
	}
	log, err := os.OpenFile(filepath.Join(c.Dir, "log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	args := append([]string{"--config", toml, "--nat", "none", "--lightkdf",
		"--http", "--http.addr", "127.0.0.1", "--http.port", strconv.Itoa(freeport.Port(at[1])),
		"--http.api", "eth,ftm,dag,abft,net,web3,txpool,debug,personal,admin"}, c.arguments()...)
	if c.Discovers {
		args = append(args, "--v5disc")
	} else {
		args = append(args, "--nodiscover")
	}
	n := &Node{
		Client: &Client{url: "http://" + at[1]},
		config: c,
		cmd:    exec.CommandContext(ctx, p.program, args...),
		done:   make(chan struct{}),
	}
	n.cmd.Stdout, n.cmd.Stderr = log, log
	if err := n.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		n.err = n.cmd.Wait()
		close(n.done)
	}()
	return n, nil
}

// EndedError is that a node ended instead of answering.
type EndedError struct {
	Log  string // its file
	Said string // why, as its log has it
	Err  error
}

func (e *EndedError) Error() string {
	return fmt.Sprintf("it ended, and said %q: %v; its log is %s", e.Said, e.Err, e.Log)
}

func (e *EndedError) Unwrap() error { return e.Err }

// await waits for the first answer.
func (n *Node) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		var number string
		err := n.Call(ctx, &number, "eth_blockNumber")
		if err == nil {
			return nil
		}
		select {
		case <-n.done:
			log := filepath.Join(n.config.Dir, "log")
			said, _ := os.ReadFile(log)
			return &EndedError{Log: log, Said: reason(said), Err: errors.Join(n.err, err)}
		case <-ctx.Done():
			return fmt.Errorf("it does not answer: %w; its log is %s", err, filepath.Join(n.config.Dir, "log"))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Stop ends the node in order.
func (n *Node) Stop() error {
	if err := n.cmd.Process.Signal(syscall.SIGINT); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop go-opera in %s: %w", n.config.Dir, err)
	}
	select {
	case <-n.done:
	case <-time.After(patience):
		return errors.Join(fmt.Errorf("go-opera in %s does not stop", n.config.Dir), n.Kill())
	}
	if n.err != nil {
		return fmt.Errorf("stop go-opera in %s: %w", n.config.Dir, n.err)
	}
	return nil
}

// Kill ends the node as a crash does.
func (n *Node) Kill() error {
	if err := n.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill go-opera in %s: %w", n.config.Dir, err)
	}
	<-n.done
	return nil
}
