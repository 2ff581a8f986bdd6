package antelope

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"tarn/antelope/chain/chaintest"
	"tarn/antelope/types"
	"tarn/bench/subjectflag"
	"tarn/bench/suite"
	"tarn/internal/freeport"
)

// stateMB is the room that each node has for its state, unless a chain needs more.
const stateMB = 4096

// versionPatience is how long a program may take to say its version: some say it and
// hang at their exit.
const versionPatience = 5 * time.Second

// Version is what a program calls itself.
func (b *blocks) Version(ctx context.Context, s subjectflag.Subject) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, versionPatience)
	defer cancel()
	out, err := exec.CommandContext(ctx, s.Path, append(command(s), "--full-version")...).Output()
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if line == "" { // what said it and then did not end is as good
		return "", fmt.Errorf("ask %s for its version: %w", s.Path, cmp.Or(err, errors.New("it says nothing")))
	}
	return line, nil
}

// command are the arguments before nodeos' own.
func command(s subjectflag.Subject) []string {
	if s.Program == subjectflag.Tarn {
		return []string{"nodeos"}
	}
	return nil
}

// newNode makes a node of a folder, with the arguments that all nodes have. The chain plugin
// must be named first: nodeos initialises plugins in this order.
func (b *blocks) newNode(s subjectflag.Subject, dir string) (suite.Node, error) {
	addresses, err := freeport.Addresses(2)
	if err != nil {
		return suite.Node{}, err
	}
	n := suite.Node{URL: "http://" + addresses[0], Peers: addresses[1]}
	n.Args = append(command(s),
		"--data-dir", dir, "--config-dir", dir+"/config",
		"--plugin", "eosio::chain_plugin", "--plugin", "eosio::chain_api_plugin",
		"--plugin", "eosio::producer_plugin", "--plugin", "eosio::producer_api_plugin",
		"--http-server-address", addresses[0], "--p2p-listen-endpoint", addresses[1], "--http-validate-host", "0",
		"--http-max-response-time-ms", "10000", "--abi-serializer-max-time-ms", "10000",
		"--chain-state-db-size-mb", b.room(), "--resource-monitor-not-shutdown-on-threshold-exceeded")
	n.Args = append(n.Args, engineOf(s)...)
	return n, nil
}

// room is how large a node's state may become, in MiB.
func (b *blocks) room() string { return strconv.Itoa(stateMB + b.more) }

// engineOf are the arguments that choose what keeps the state.
func engineOf(s subjectflag.Subject) (args []string) {
	switch {
	case s.Program == subjectflag.Nodeos || slices.Contains(subjectflag.Modes(subjectflag.Nodeos), s.Mode):
		args = append(args, "--database-map-mode", s.Mode)
	default:
		kind, seeking := s.Engine()
		args = append(args, "--state-engine", kind)
		if seeking {
			args = append(args, "--state-seek-compaction")
		}
	}
	if s.Program == subjectflag.Tarn && slices.Contains(subjectflag.Modes(subjectflag.Nodeos), s.Mode) {
		args = append(args, "--state-engine", "page")
	}
	return args
}

// Import are the arguments of a node that makes the state of the blocks in its folder,
// makes it durable, and ends.
func (b *blocks) Import(s subjectflag.Subject, dir string) ([]string, error) {
	n, err := b.newNode(s, dir)
	n.Args = append(n.Args, "--terminate-at-block", strconv.FormatUint(b.chain.Blocks, 10))
	if b.AllChecks {
		n.Args = append(n.Args, "--force-all-checks")
	}
	return n.Args, err
}

// Peers that may connect, and how often it is seen to those that are gone.
const (
	clientsMost = "10050"
	cleanSecond = "1"
)

func crowdable(args []string) []string {
	return append(args, "--max-clients", clientsMost, "--p2p-max-nodes-per-host", clientsMost,
		"--connection-cleanup-period", cleanSecond)
}

// Source is a node that gives the blocks in its folder to peers.
func (b *blocks) Source(s subjectflag.Subject, dir string) (suite.Node, error) {
	n, err := b.newNode(s, dir)
	n.Args = crowdable(n.Args)
	return n, err
}

// Follow is a node that gets blocks from a peer, after those in its folder, or from the first.
func (b *blocks) Follow(s subjectflag.Subject, dir, peer string) (suite.Node, error) {
	n, err := b.newNode(s, dir)
	if err != nil {
		return n, err
	}
	n.Args = append(crowdable(n.Args), "--p2p-peer-address", peer)
	if _, err := os.Stat(filepath.Join(dir, "blocks")); errors.Is(err, fs.ErrNotExist) {
		g, err := b.genesis()
		if err != nil {
			return n, err
		}
		name := filepath.Join(dir, "genesis.json")
		if err := os.WriteFile(name, g.AppendJSON(nil), 0o644); err != nil {
			return n, err
		}
		n.Args = append(n.Args, "--genesis-json", name)
	}
	return n, nil
}

// Serve is a node that goes on producing on the chain in its folder, and votes for all finalizers. With a
// snapshot, of a folder that is empty, it begins with that.
func (n *Network) Serve(s subjectflag.Subject, dir, snapshot string) (suite.Node, error) {
	node, err := n.newNode(s, dir)
	if err == nil {
		node.Args, err = producing(crowdable(node.Args))
	}
	if err != nil {
		return node, err
	}
	node.Args = append(node.Args, n.voting(0, 1)...)
	if s.Program == subjectflag.Tarn {
		node.Args = append(node.Args, "--plugin", "eosio::prometheus_plugin")
		node.Metrics = node.URL
	}
	if snapshot != "" {
		node.Args = append(node.Args, "--snapshot", snapshot)
	}
	return node, nil
}

// producing adds the arguments of a node that makes blocks.
func producing(args []string) ([]string, error) {
	key, err := chaintest.Key()
	if err != nil {
		return nil, err
	}
	return append(args, "--enable-stale-production", "--producer-name", "eosio",
		"--signature-provider", fmt.Sprintf("%s=KEY:%s", key.Public(), key.Text()),
		"--max-transaction-time", "400", "--subjective-account-max-failures", "1000000"), nil
}

// info is what get_info says, of that the bench wants.
type info struct {
	ChainID types.Checksum256 `json:"-"`
	HeadID  types.Checksum256 `json:"-"`
	LIBID   types.Checksum256 `json:"-"`
	Chain   string            `json:"chain_id"`
	Head    string            `json:"head_block_id"`
	Number  uint64            `json:"head_block_num"`
	LIB     string            `json:"last_irreversible_block_id"`

	LIBNumber uint32 `json:"last_irreversible_block_num"`
}

func getInfo(ctx context.Context, url string) (i info, err error) {
	if err := call(ctx, url+"/v1/chain/get_info", nil, &i); err != nil {
		return i, err
	}
	if i.ChainID, err = types.ParseChecksum256(i.Chain); err == nil {
		i.HeadID, err = types.ParseChecksum256(i.Head)
	}
	if err == nil {
		i.LIBID, err = types.ParseChecksum256(i.LIB)
	}
	return i, err
}

// answerBytes is the most of an answer that is read.
const answerBytes = 16 << 20

func call(ctx context.Context, url string, body []byte, into any) (err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, res.Body.Close()) }()
	text, err := io.ReadAll(io.LimitReader(res.Body, answerBytes))
	if err != nil {
		return err
	}
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("%s answers %s: %.300s", url, res.Status, text)
	}
	return json.Unmarshal(text, into)
}

// Head is the number of a running node's newest block.
func (b *blocks) Head(ctx context.Context, url string) (uint64, error) {
	i, err := getInfo(ctx, url)
	return i.Number, err
}
