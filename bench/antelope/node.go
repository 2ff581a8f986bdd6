package antelope

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"tarn/antelope/chain/chaintest"
	"tarn/antelope/crypto"
	"tarn/antelope/types"
	"tarn/bench/load"
	"tarn/bench/subject"
	"tarn/internal/loopback"
)

// stateMB is the room that each node has for its state.
const stateMB = 4096

// versionPatience is how long a program may take to say its version: some say it and
// hang at their exit.
const versionPatience = 5 * time.Second

// Version is what a program calls itself.
func (n *Network) Version(ctx context.Context, s subject.Subject) (string, error) {
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
func command(s subject.Subject) []string {
	if s.Program == subject.Tarn {
		return []string{"nodeos"}
	}
	return nil
}

// arguments are those of every node. The chain plugin must be named first: nodeos
// initialises plugins in this order.
func arguments(s subject.Subject, dir, http, p2p string) []string {
	args := append(command(s),
		"--data-dir", dir, "--config-dir", dir+"/config",
		"--plugin", "eosio::chain_plugin", "--plugin", "eosio::chain_api_plugin",
		"--plugin", "eosio::producer_plugin", "--plugin", "eosio::producer_api_plugin",
		"--http-server-address", http, "--p2p-listen-endpoint", p2p, "--http-validate-host", "0",
		"--http-max-response-time-ms", "10000", "--abi-serializer-max-time-ms", "10000",
		"--chain-state-db-size-mb", strconv.Itoa(stateMB), "--resource-monitor-not-shutdown-on-threshold-exceeded")
	switch {
	case s.Program == subject.Nodeos || slices.Contains(subject.Modes(subject.Nodeos), s.Mode):
		args = append(args, "--database-map-mode", s.Mode)
	default:
		args = append(args, "--state-engine", s.Mode)
	}
	if s.Program == subject.Tarn && slices.Contains(subject.Modes(subject.Nodeos), s.Mode) {
		args = append(args, "--state-engine", "page")
	}
	return args
}

// Import are the arguments of a node that makes the state of the blocks in its folder,
// makes it durable, and ends.
func (n *Network) Import(s subject.Subject, dir string) ([]string, error) {
	addresses, err := loopback.Addresses(2)
	if err != nil {
		return nil, err
	}
	return append(arguments(s, dir, addresses[0], addresses[1]), "--terminate-at-block", strconv.FormatUint(n.chain.Blocks, 10)), nil
}

// Serve are the arguments of a node that goes on producing on the chain in its folder, and
// its URL. With a snapshot, of a folder that is empty, it begins with that.
func (n *Network) Serve(s subject.Subject, dir, snapshot string) (args []string, url string, err error) {
	addresses, err := loopback.Addresses(2)
	if err != nil {
		return nil, "", err
	}
	key, err := chaintest.Key()
	if err != nil {
		return nil, "", err
	}
	args = append(arguments(s, dir, addresses[0], addresses[1]),
		"--enable-stale-production", "--producer-name", "eosio", "--signature-provider", fmt.Sprintf("%s=KEY:%s", key.Public(), key.Text()),
		"--max-transaction-time", "400", "--subjective-account-max-failures", "1000000")
	if snapshot != "" {
		args = append(args, "--snapshot", snapshot)
	}
	return args, "http://" + addresses[0], nil
}

// info is what get_info says, of that the bench wants.
type info struct {
	ChainID types.Checksum256 `json:"-"`
	HeadID  types.Checksum256 `json:"-"`
	Chain   string            `json:"chain_id"`
	Head    string            `json:"head_block_id"`
	Number  uint64            `json:"head_block_num"`
}

func getInfo(ctx context.Context, url string) (i info, err error) {
	if err := call(ctx, url+"/v1/chain/get_info", nil, &i); err != nil {
		return i, err
	}
	if i.ChainID, err = types.ParseChecksum256(i.Chain); err == nil {
		i.HeadID, err = types.ParseChecksum256(i.Head)
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
func (n *Network) Head(ctx context.Context, url string) (uint64, error) {
	i, err := getInfo(ctx, url)
	return i.Number, err
}

// Transfers makes requests that send a node transfers, one a transaction, signed, with
// the node's head of the moment. Of another seed they are others.
func (n *Network) Transfers(url string, seed uint64) (load.Source, error) {
	key, err := chaintest.Key()
	if err != nil {
		return nil, err
	}
	traffic, err := chaintest.NewTraffic(n.shape.Accounts, seed)
	if err != nil {
		return nil, err
	}
	made := uint32(0)
	return func(ctx context.Context, count int, good time.Duration) ([]load.Request, error) {
		i, err := getInfo(ctx, url)
		if err != nil {
			return nil, err
		}
		expiration := types.TimePointSec(time.Now().Add(good).Unix())
		all := make([]load.Request, count)
		for k := range all {
			made++
			packed, err := signed(key, i, traffic.Transfer(), expiration, made)
			if err != nil {
				return nil, fmt.Errorf("make transfers: %w", err)
			}
			all[k] = load.Request{URL: url + "/v1/chain/send_transaction2", Body: fmt.Appendf(nil,
				`{"return_failure_trace":false,"retry_trx":false,"transaction":{"signatures":["%s"],"compression":"none","packed_context_free_data":"","packed_trx":"%s"}}`,
				packed.Signatures[0], hex.EncodeToString(packed.PackedTrx))}
		}
		return all, nil
	}, nil
}

// signed is a transaction of one action. Of another number it is another one.
func signed(key crypto.PrivateKey, i info, action types.Action, expiration types.TimePointSec, number uint32) (*types.PackedTransaction, error) {
	t := &types.Transaction{Actions: []types.Action{action}, TransactionHeader: types.TransactionHeader{Expiration: expiration}}
	t.SetRefBlock(i.HeadID)
	t.MaxNetUsageWords = 1_000_000 + number
	signature, err := key.Sign(t.SigningDigest(i.ChainID, nil))
	if err != nil {
		return nil, err
	}
	return types.Pack(t, []types.Signature{signature}, nil, types.CompressionNone)
}

// Accepted tells whether an answer says that the transaction was taken.
func (n *Network) Accepted(status int, body []byte) error {
	if status/100 != 2 {
		return fmt.Errorf("refused with %d: %.300s", status, body)
	}
	return nil
}

// Snapshot has a node write a snapshot of its state, and returns its path once it is
// whole.
func (n *Network) Snapshot(ctx context.Context, url string) (path string, err error) {
	var answer struct {
		Name string `json:"snapshot_name"`
	}
	if err := call(ctx, url+"/v1/producer/create_snapshot", nil, &answer); err != nil {
		return "", fmt.Errorf("ask for a snapshot: %w", err)
	}
	return answer.Name, nil
}
