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
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/p2p/enode"

	"tarn/bench/record"
	"tarn/bench/subjectflag"
	"tarn/bench/suite"
	"tarn/internal/freeport"
	"tarn/opera/workload"
	"tarn/store/vfs"
)

const (
	chainFile    = "chain.json"
	eventsFile   = "events"
	shapeVersion = 2 // of what package workload makes, for the name of the folder
)

// Shape is what a chain is made of.
type Shape = workload.Shape

// Network is a chain of a shape, in a folder of made chains.
type Network struct {
	shape    Shape
	accounts *workload.Accounts
	made     workload.Contracts
	cache    string
	dir      string // of this chain
	chain    record.Chain
}

// New is the network of a chain, kept in the folder cache.
func New(cache string, s Shape) (*Network, error) {
	name := fmt.Sprintf("opera-%d-%d-%d-%d-%d-%d-%d", shapeVersion, s.Seed, s.Accounts, s.Transfers, s.PerEvent,
		s.Slots, s.Validators)
	n := &Network{shape: s, cache: cache, dir: filepath.Join(cache, name)}
	var err1, err2 error
	n.accounts, err1 = workload.NewAccounts(s.Seed, s.Accounts)
	n.made, err2 = workload.NewContracts()
	return n, errors.Join(err1, err2)
}

// Chain makes the chain, unless the folder has it whole.
func (n *Network) Chain(ctx context.Context, tell func(string)) (record.Chain, error) {
	if n.chain.SHA256 != "" {
		return n.chain, nil
	}
	about := fmt.Sprintf("%d accounts, %d transfers and calls, and %d fresh slots",
		n.shape.Accounts, n.shape.Transfers, n.shape.Slots*workload.SlotsEach)
	made, err := suite.Kept{Cache: n.cache, Dir: n.dir, About: about, Found: n.readChain, Make: n.make}.Chain(ctx, tell)
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
	made, err := workload.Make(ctx, path, part, n.shape)
	if err != nil {
		return err
	}
	c := record.Chain{Protocol: "opera", Seed: n.shape.Seed, ID: fmt.Sprintf("fakenet, validators: %d", max(1, n.shape.Validators)), Accounts: n.shape.Accounts,
		Transfers: n.shape.Transfers, Blocks: made.Blocks}
	if c.SHA256, c.Bytes, err = hashFile(path); err != nil {
		return err
	}
	text, err := json.MarshalIndent(c, "", "\t")
	if err != nil {
		return err
	}
	return vfs.WriteDurably(vfs.OS, filepath.Join(dir, chainFile), append(text, '\n'))
}

// readChain reads what is said of the chain in the folder, and holds its events against it.
func (n *Network) readChain() (c record.Chain, err error) {
	text, err := os.ReadFile(filepath.Join(n.dir, chainFile))
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return c, fmt.Errorf("read %s: %w", filepath.Join(n.dir, chainFile), err)
	}
	sum, _, err := hashFile(filepath.Join(n.dir, eventsFile))
	if err == nil && sum != c.SHA256 {
		err = errors.New("its events are not those that were made")
	}
	return c, err
}

func hashFile(name string) (sum string, size int64, err error) {
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
func (n *Network) Version(ctx context.Context, s subjectflag.Subject) (string, error) {
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
func command(s subjectflag.Subject) []string {
	if s.Program == subjectflag.Tarn {
		return []string{"opera"}
	}
	return nil
}

// arguments are those of every node. Validator 1 makes blocks, 0 is none.
func (n *Network) arguments(s subjectflag.Subject, dir string, validator int) []string {
	args := append(command(s), "--fakenet", fmt.Sprintf("%d/%d", validator, max(1, n.shape.Validators)), "--datadir", dir, "--nodiscover",
		"--ipcdisable",
		"--datadir.minfreedisk", "0")
	return append(args, engineOf(s)...)
}

// engineOf are the arguments that choose what keeps the state.
func engineOf(s subjectflag.Subject) (args []string) {
	switch {
	case s.Program == subjectflag.Opera:
		return append(args, "--db.preset", s.Mode)
	case slices.Contains(subjectflag.Modes(subjectflag.Nodeos), s.Mode):
		return append(args, "--db.engine", "page", "--db.mapmode", s.Mode)
	}
	kind, seeking := s.Engine()
	if seeking {
		args = append(args, "--db.seekcompaction")
	}
	return append(args, "--db.engine", kind)
}

// Import are the arguments of a node that makes the state of the chain's events, and ends.
func (n *Network) Import(s subjectflag.Subject, dir string) ([]string, error) {
	return append(n.arguments(s, dir, 1), "import", "events", filepath.Join(n.dir, eventsFile)), nil
}

// Serve is a validator that goes on with the chain in its folder.
func (n *Network) Serve(s subjectflag.Subject, dir, _ string) (suite.Node, error) {
	return n.node(s, dir, 1, "")
}

// Source is a node that gives the chain in its folder to peers, and makes no blocks.
func (n *Network) Source(s subjectflag.Subject, dir string) (suite.Node, error) {
	return n.node(s, dir, 0, "")
}

// Follow is a node that gets blocks from a peer.
func (n *Network) Follow(s subjectflag.Subject, dir, peer string) (suite.Node, error) {
	return n.node(s, dir, 0, peer)
}

// peersMost is how many peers may connect.
const peersMost = "10050"

// node is how a node is started that answers over HTTP, and waits for peers. Of its options only
// those in a file bind the peers' port to one address, and name a peer.
func (n *Network) node(s subjectflag.Subject, dir string, validator int, peer string) (suite.Node, error) {
	addresses, err := freeport.Addresses(3)
	if err != nil {
		return suite.Node{}, err
	}
	key, err := crypto.GenerateKey()
	if err != nil {
		return suite.Node{}, fmt.Errorf("make a node's key: %w", err)
	}
	options := fmt.Sprintf("[Node.P2P]\nListenAddr = %q\n", addresses[1])
	if peer != "" {
		options += fmt.Sprintf("StaticNodes = [%q]\n", peer)
	}
	file := filepath.Join(dir, "bench.toml")
	if err := os.WriteFile(file, []byte(options), 0o600); err != nil {
		return suite.Node{}, fmt.Errorf("write a node's options: %w", err)
	}
	web, err1 := netip.ParseAddrPort(addresses[0])
	peers, err2 := netip.ParseAddrPort(addresses[1])
	socket, err3 := netip.ParseAddrPort(addresses[2])
	if err := errors.Join(err1, err2, err3); err != nil {
		return suite.Node{}, err
	}
	args := append(n.arguments(s, dir, validator), "--config", file, "--nat", "none", "--lightkdf",
		"--nodekeyhex", hex.EncodeToString(crypto.FromECDSA(key)),
		"--http", "--http.addr", web.Addr().String(), "--http.port", strconv.Itoa(int(web.Port())),
		"--http.api", "eth,net,web3,txpool",
		"--ws", "--ws.addr", socket.Addr().String(), "--ws.port", strconv.Itoa(int(socket.Port())), "--ws.api", "eth",
		"--maxpeers", peersMost)
	return suite.Node{
		Args: args, URL: "http://" + addresses[0], Socket: "ws://" + addresses[2],
		Peers: enode.NewV4(&key.PublicKey, peers.Addr().AsSlice(), int(peers.Port()), int(peers.Port())).URLv4(),
	}, nil
}

// Idle tells that nodes make no blocks without transactions.
func (n *Network) Idle() bool { return true }

// Waiting is how many transactions of a node's pool can be executed.
func (n *Network) Waiting(ctx context.Context, url string) (uint64, error) {
	answers, err := call(ctx, url, "txpool_status", [][]any{{}})
	if err != nil {
		return 0, err
	}
	var status struct{ Pending hexutil.Uint64 }
	if err := json.Unmarshal(answers[0], &status); err != nil {
		return 0, fmt.Errorf("the answer of txpool_status is %s: %w", answers[0], err)
	}
	return uint64(status.Pending), nil
}

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
