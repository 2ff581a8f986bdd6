// Package opera lets `tarn bench` measure nodes of Opera chains: it makes the events that all
// of them are given, knows their command lines, and speaks their JSON-RPC.
//
// It owns the chain's shape and the programs' options. It measures nothing: what it starts and
// asks is somebody else's to time.
package opera

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"tarn/bench/record"
	"tarn/bench/subject"
	"tarn/bench/suite"
	"tarn/internal/loopback"
	"tarn/opera/traffic"
	"tarn/store/vfs"
)

const (
	chainFile    = "chain.json"
	eventsFile   = "events"
	shapeVersion = 1 // of what package traffic makes, for the name of the folder
)

// Shape is what a chain is made of.
type Shape = traffic.Shape

// Network is a chain of a shape, in a folder of made chains.
type Network struct {
	shape    Shape
	accounts *traffic.Accounts
	cache    string
	dir      string // of this chain
	chain    record.Chain
}

// New is the network of a chain, kept in the folder cache.
func New(cache string, s Shape) (*Network, error) {
	a, err := traffic.NewAccounts(s.Seed, s.Accounts)
	name := fmt.Sprintf("opera-%d-%d-%d-%d", shapeVersion, s.Seed, s.Accounts, s.Transfers)
	return &Network{shape: s, accounts: a, cache: cache, dir: filepath.Join(cache, name)}, err
}

// Chain makes the chain, unless the folder has it whole.
func (n *Network) Chain(ctx context.Context, tell func(string)) (record.Chain, error) {
	if n.chain.SHA256 != "" {
		return n.chain, nil
	}
	about := fmt.Sprintf("%d accounts and %d transfers", n.shape.Accounts, n.shape.Transfers)
	made, err := suite.Kept{Cache: n.cache, Dir: n.dir, About: about, Found: n.found, Make: n.make}.Chain(ctx, tell)
	if err == nil {
		n.chain = made
	}
	return made, err
}

// make makes the chain in part/chain.
func (n *Network) make(ctx context.Context, part string) error {
	dir := filepath.Join(part, "chain")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	path := filepath.Join(dir, eventsFile)
	made, err := traffic.Make(ctx, path, part, n.shape)
	if err != nil {
		return err
	}
	c := record.Chain{Protocol: "opera", Seed: n.shape.Seed, ID: "fakenet of 1 validator", Accounts: n.shape.Accounts, Transfers: n.shape.Transfers, Blocks: made.Blocks}
	if c.SHA256, c.Bytes, err = hashed(path); err != nil {
		return err
	}
	text, err := json.MarshalIndent(c, "", "\t")
	if err != nil {
		return err
	}
	return vfs.WriteDurably(vfs.OS, filepath.Join(dir, chainFile), append(text, '\n'))
}

// found reads what is said of the chain in the folder, and holds its events against it.
func (n *Network) found() (c record.Chain, err error) {
	text, err := os.ReadFile(filepath.Join(n.dir, chainFile))
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return c, fmt.Errorf("read %s: %w", filepath.Join(n.dir, chainFile), err)
	}
	sum, _, err := hashed(filepath.Join(n.dir, eventsFile))
	if err == nil && sum != c.SHA256 {
		err = errors.New("its events are not those that were made")
	}
	return c, err
}

func hashed(name string) (sum string, size int64, err error) {
	f, err := os.Open(name)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	size, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), size, err
}

// Install does nothing: events are imported from where they are, by name.
func (n *Network) Install(string) error { return nil }

// versionPatience is how long a program may take to say its version.
const versionPatience = 30 * time.Second

// Version is what a program calls itself.
func (n *Network) Version(ctx context.Context, s subject.Subject) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, versionPatience)
	defer cancel()
	out, err := exec.CommandContext(ctx, s.Path, append(command(s), "version")...).Output()
	for line := range strings.Lines(string(out)) {
		if v, ok := strings.CutPrefix(line, "Version:"); ok && err == nil {
			return strings.TrimSpace(v), nil
		}
	}
	return "", fmt.Errorf("ask %s for its version: %w", s.Path, cmp.Or(err, fmt.Errorf("it says %.100q", out)))
}

// command are the arguments before opera's own.
func command(s subject.Subject) []string {
	if s.Program == subject.Tarn {
		return []string{"opera"}
	}
	return nil
}

// arguments are those of every node.
func arguments(s subject.Subject, dir string) []string {
	args := append(command(s), "--fakenet", "1/1", "--datadir", dir, "--nodiscover", "--maxpeers", "0", "--ipcdisable",
		"--datadir.minfreedisk", "0")
	switch {
	case s.Program == subject.Opera:
		return append(args, "--db.preset", s.Mode)
	case slices.Contains(subject.Modes(subject.Nodeos), s.Mode):
		return append(args, "--db.engine", "page", "--db.mapmode", s.Mode)
	}
	kind, seeking := s.Engine()
	if seeking {
		args = append(args, "--db.seekcompaction")
	}
	return append(args, "--db.engine", kind)
}

// Import are the arguments of a node that makes the state of the chain's events, and ends.
func (n *Network) Import(s subject.Subject, dir string) ([]string, error) {
	return append(arguments(s, dir), "import", "events", filepath.Join(n.dir, eventsFile)), nil
}

// Serve is a validator that goes on with the chain in its folder.
func (n *Network) Serve(s subject.Subject, dir, _ string) (suite.Node, error) {
	addresses, err := loopback.Addresses(2)
	if err != nil {
		return suite.Node{}, err
	}
	host, port, err1 := net.SplitHostPort(addresses[0])
	_, peers, err2 := net.SplitHostPort(addresses[1])
	return suite.Node{URL: "http://" + addresses[0], Peers: addresses[1], Args: append(arguments(s, dir), "--port", peers,
		"--http", "--http.addr", host, "--http.port", port, "--http.api", "eth,net,web3,txpool")}, errors.Join(err1, err2)
}

// Idle tells that nodes make no blocks without transactions.
func (n *Network) Idle() bool { return true }

// answerBytes is the most of an answer that is read.
const answerBytes = 64 << 20

// call asks a node: one question for each list of parameters, and as many answers.
func call(ctx context.Context, url, method string, params [][]any) (answers []json.RawMessage, err error) {
	type question struct {
		Version string `json:"jsonrpc"`
		ID      int    `json:"id"`
		Method  string `json:"method"`
		Params  []any  `json:"params"`
	}
	all := make([]question, len(params))
	for i, p := range params {
		all[i] = question{"2.0", i, method, p}
	}
	body, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, res.Body.Close()) }()
	var got []struct {
		ID     int
		Result json.RawMessage
		Error  *struct{ Message string }
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, answerBytes)).Decode(&got); err != nil {
		return nil, fmt.Errorf("%s answers %s: %w", url, res.Status, err)
	}
	answers = make([]json.RawMessage, len(params))
	for _, a := range got {
		if a.Error != nil {
			return nil, fmt.Errorf("%s: %s", method, a.Error.Message)
		}
		if a.ID >= 0 && a.ID < len(answers) {
			answers[a.ID] = a.Result
		}
	}
	return answers, nil
}

// number reads a number of JSON-RPC.
func number(raw json.RawMessage) (uint64, error) {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return 0, err
	}
	return strconv.ParseUint(strings.TrimPrefix(text, "0x"), 16, 64)
}

// Head is the number of a running node's newest block.
func (n *Network) Head(ctx context.Context, url string) (uint64, error) {
	answers, err := call(ctx, url, "eth_blockNumber", [][]any{{}})
	if err != nil {
		return 0, err
	}
	return number(answers[0])
}
