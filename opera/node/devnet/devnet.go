// Package devnet runs an EVM chain of one's own: a go-opera fakenet of one validator, in a
// folder, from one command.
//
// It owns the files around the chain: the key by which the node is known to others, the
// configuration of a node that follows, a first transfer. The node that runs is `tarn opera`
// with flags; this package knows nothing of its insides.
package devnet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/spf13/cobra"

	"tarn/devnetrunner"
	"tarn/opera/genesis/fakenet"
	"tarn/opera/node"
)

// The files of a chain's folder.
const (
	dataDir      = "data"
	keyFile      = "nodekey"
	followFile   = "follow.toml"
	transferFile = "transfer.mjs"
)

// Command is the opera subcommand of devnet. build says what the program was built from.
func Command(build string) *cobra.Command {
	return devnetrunner.Flags(&cobra.Command{
		Use:   "opera [flags] [-- opera options]",
		Short: "Start an EVM chain of your own: one validator, an unlocked account that owns all money",
	}, devnetrunner.Options{Dir: "fakenet", HTTP: "127.0.0.1:18545", P2P: "127.0.0.1:5050", Page: "127.0.0.1:18544"},
		"JSON-RPC is served, over HTTP and WebSocket",
		func(ctx context.Context, o devnetrunner.Options) error { return Run(ctx, build, o) })
}

// Run makes the folder's chain unless it is there, and runs its node until ctx ends, the
// process is told to stop, or the terminal that it was started from is closed.
func Run(ctx context.Context, build string, o devnetrunner.Options) error {
	if err := refuse(&o); err != nil {
		return err
	}
	replicas, err := o.Members()
	if err != nil {
		return err
	}
	var keys keyring
	return devnetrunner.Run(ctx, devnetrunner.Chain{
		Dir: o.Dir, Log: o.Log, Reason: reason,
		Prepare: func(context.Context) (err error) {
			keys, err = prepare(&o)
			return err
		},
		Node: func(ctx context.Context, log io.Writer) error {
			if len(replicas) == 0 {
				return devnetrunner.Execute(ctx, node.Command(build), operaArgs(&o), log)
			}
			return devnetrunner.Together(ctx, devnetrunner.Child{Name: "the node", Log: log,
				Args: append([]string{"opera"}, operaArgs(&o)...)}, replicas,
				func(r devnetrunner.Replica) []string { return replicaArgs(&o, r) })
		},
		Served: func(ctx context.Context) error {
			return devnetrunner.Wait(ctx, func() bool {
				return answers(ctx, o.HTTP) &&
					!slices.ContainsFunc(replicas, func(r devnetrunner.Replica) bool { return !answers(ctx, r.HTTP) })
			})
		},
		Tell: func() error { return tell(&o, &keys, o.FleetGuide(fleetName, replicas)) },
	})
}

// ours are options of opera that would take the node away from the chain of the folder.
var ours = []string{"datadir", "config", "genesis", "fakenet", "nodekey", "nodekeyhex", "http.addr", "http.port",
	"ws.addr", "ws.port", "p2p.listen", "port", "dashboard.addr"}

// refuse tells what is wrong with the options.
func refuse(o *devnetrunner.Options) error {
	for _, a := range o.Args {
		name, _, _ := strings.Cut(a, "=")
		if bare := strings.TrimLeft(name, "-"); bare != name && slices.Contains(ours, bare) {
			return fmt.Errorf(
				"%s is not for devnet: --dir, --http, --p2p and --dashboard say where the chain is; delete its "+
					"folder to begin another one", name)
		}
	}
	for name, address := range addresses(o) {
		if _, _, err := net.SplitHostPort(address); err != nil {
			return fmt.Errorf("--%s: want host:port: %w", name, err)
		}
	}
	return nil
}

// addresses are those that are listened at, by the names of their flags.
func addresses(o *devnetrunner.Options) map[string]string {
	list := map[string]string{"http": o.HTTP, "p2p": o.P2P}
	if o.Page != "" {
		list["dashboard"] = o.Page
	}
	if o.Replicas > 0 {
		list["fleet"] = o.Fleet
	}
	return list
}

// prepare makes what is missing in the folder, and what tells others how to follow. Another
// node at an address would be taken for this one: all such chains have one id.
func prepare(o *devnetrunner.Options) (keyring, error) {
	for name, address := range addresses(o) {
		l, err := net.Listen("tcp", address)
		if err != nil {
			return keyring{}, fmt.Errorf("choose another address with --%s: %w", name, err)
		}
		if err := l.Close(); err != nil {
			return keyring{}, err
		}
	}
	keys, err := openKeys(filepath.Join(o.Dir, keyFile))
	if err != nil {
		return keys, err
	}
	files := map[string]string{followFile: followText, transferFile: scriptText}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(o.Dir, name), []byte(fill(text, o, &keys)), 0o600); err != nil {
			return keys, err
		}
	}
	return keys, nil
}

// openKeys reads the node's key, which is made if it is not there, and that of the account.
func openKeys(path string) (k keyring, err error) {
	account, err := fakenet.Key(1)
	if err != nil {
		return k, err
	}
	k.account, k.address = hexutil.Encode(crypto.FromECDSA(account)), crypto.PubkeyToAddress(account.PublicKey).Hex()
	key, err := crypto.LoadECDSA(path)
	if errors.Is(err, fs.ErrNotExist) {
		if key, err = crypto.GenerateKey(); err == nil {
			err = crypto.SaveECDSA(path, key)
		}
	}
	if err != nil {
		return k, fmt.Errorf("the node's key in %s: %w", path, err)
	}
	k.node = &key.PublicKey
	return k, nil
}

// operaArgs are opera's arguments. A chain to play with does not end because the disk is
// rather full, and its one key, which everybody knows, needs no slow lock. Pages of any
// origin may ask.
func operaArgs(o *devnetrunner.Options) []string {
	host, port, _ := net.SplitHostPort(o.HTTP)
	const apis = "eth,ftm,dag,abft,net,web3,txpool,trace,debug"
	args := []string{
		"--fakenet", "1/1", "--datadir", filepath.Join(o.Dir, dataDir), "--datadir.minfreedisk", "0", "--lightkdf",
		"--nodekey", filepath.Join(o.Dir, keyFile), "--p2p.listen", o.P2P, "--nodiscover", "--nat", "none",
		"--http", "--http.addr", host, "--http.port", port, "--http.api", apis, "--http.corsdomain", "*",
		"--ws", "--ws.addr", host, "--ws.port", port, "--ws.api", apis, "--ws.origins", "*",
	}
	if o.Page != "" {
		args = append(args, "--dashboard.addr", o.Page)
	}
	if o.Replicas > 0 {
		args = append(args, "--fleet.embedded", "--fleet.listen", o.Fleet, "--fleet.name", fleetName)
	}
	return append(args, o.Args...)
}

// fleetName is that of the node and its replicas.
const fleetName = "devnet"

// replicaArgs are the arguments of a replica.
func replicaArgs(o *devnetrunner.Options, r devnetrunner.Replica) []string {
	host, port, _ := net.SplitHostPort(r.HTTP)
	const apis = "eth,ftm,dag,abft,net,web3,txpool,trace,debug"
	return []string{
		"replica", "opera", "--datadir", r.Dir, "--datadir.minfreedisk", "0", "--ipcdisable",
		"--http", "--http.addr", host, "--http.port", port, "--http.api", apis, "--http.corsdomain", "*",
		"--ws", "--ws.addr", host, "--ws.port", port, "--ws.api", apis, "--ws.origins", "*",
		"--fleet.server", "nats://" + devnetrunner.Reachable(o.Fleet), "--fleet.name", fleetName,
	}
}

// reason is what an error in the log says, without time; what is no line of the log is an
// error with which the node ended.
func reason(line string) string {
	if strings.HasPrefix(line, "{") {
		if strings.Contains(line, `"lvl":"error"`) || strings.Contains(line, `"lvl":"crit"`) {
			return line
		}
		return ""
	}
	for level, bad := range map[string]bool{"TRACE": false, "DEBUG": false, "INFO": false, "WARN": false, "ERROR": true,
		"CRIT": true} {
		rest, ok := strings.CutPrefix(line, level)
		if !ok || !strings.HasPrefix(strings.TrimLeft(rest, " "), "[") {
			continue
		}
		if _, message, ok := strings.Cut(rest, "] "); ok && bad {
			return message
		}
		return ""
	}
	return line
}

// tell says how to use the chain.
func tell(o *devnetrunner.Options, keys *keyring, replicas string) error {
	_, err := io.WriteString(o.Out, guide(o, keys, replicas))
	return err
}

// answers tells whether a chain is served at an address.
func answers(ctx context.Context, address string) bool {
	body := bytes.NewBufferString(`{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}`)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address, body)
	if err != nil {
		return false
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	var answer struct{ Result string }
	return json.NewDecoder(io.LimitReader(res.Body, 1<<20)).Decode(&answer) == nil && answer.Result == chainID
}
