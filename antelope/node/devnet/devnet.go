// Package devnet runs a chain of one's own: one producer, all protocol features, a
// token, and two accounts that have some, in a folder, from one command.
//
// It owns what that chain begins with and the files around it. The node that then
// runs is nodeos with a config.ini; this package knows nothing of its insides.
package devnet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tarn/antelope/node"
	"tarn/antelope/types"
	"tarn/devnetrunner"
	"tarn/store/vfs"
)

// The files of a chain's folder.
const (
	keysFile     = "keys.json"
	genesisFile  = "genesis.json"
	transferFile = "transfer.mjs"
	configFile   = "config.ini"
	dataDir      = "data"
	stateDir     = "state" // in dataDir
)

// Options say where the chain is served and what it begins with.
type Options struct {
	devnetrunner.Options
	Savanna bool // the producer finalizes the blocks, too; of a chain that is there already its keys tell
}

// Command is the devnet subcommand.
func Command() *cobra.Command {
	savanna := false
	c := devnetrunner.Flags(&cobra.Command{
		Use:   "devnet [flags] [-- nodeos options]",
		Short: "Start a chain of your own: one producer, a token, two accounts that own tokens",
	}, devnetrunner.Options{Dir: "devnet", HTTP: "127.0.0.1:8888", P2P: "127.0.0.1:9876", Page: "127.0.0.1:8887"},
		"the API is served",
		func(ctx context.Context, o devnetrunner.Options) error { return Run(ctx, Options{o, savanna}) })
	c.Flags().BoolVar(&savanna, "savanna", false,
		"begin a chain with instant finality; a nodeos of Spring can follow it, one of Leap cannot")
	return c
}

// Run makes the folder's chain unless it is there, and runs its node until ctx ends,
// the process is told to stop, or the terminal that it was started from is closed.
func Run(ctx context.Context, o Options) error {
	if err := refuse(o.Args); err != nil {
		return err
	}
	replicas, err := o.Members()
	if err != nil {
		return err
	}
	var keys *keyring
	return devnetrunner.Run(ctx, devnetrunner.Chain{
		Dir: o.Dir, Log: o.Log, Reason: reason,
		Prepare: func(ctx context.Context) (err error) {
			keys, err = prepare(ctx, &o)
			return err
		},
		Node: func(ctx context.Context, log io.Writer) error {
			if len(replicas) == 0 {
				return devnetrunner.Execute(ctx, node.Command(), nodeosArgs(&o), log)
			}
			return devnetrunner.Together(ctx, devnetrunner.Child{Name: "the node", Log: log,
				Args: append([]string{"nodeos"}, nodeosArgs(&o)...)}, replicas, o.replicaArgs)
		},
		Served: func(ctx context.Context) error {
			err := awaitAPI(ctx, &o, o.HTTP)
			for _, r := range replicas {
				err = errors.Join(err, awaitAPI(ctx, &o, r.HTTP))
			}
			return err
		},
		Tell: func() error { return tell(&o, keys, o.FleetGuide(fleetName, replicas)) },
	})
}

// reason is what an error in the log says, without time and place.
func reason(line string) string {
	if _, message, ok := strings.Cut(line, "] "); ok && strings.HasPrefix(line, "error ") {
		return message
	}
	if strings.HasPrefix(line, "error ") || strings.Contains(line, `"level":"error"`) {
		return line
	}
	return ""
}

// refuse tells which of nodeos' options would take the node away from the chain of the
// folder.
func refuse(args []string) error {
	for _, a := range args {
		name, _, _ := strings.Cut(a, "=")
		if slices.Contains([]string{"--data-dir", "-d", "--config-dir", "--blocks-dir", "--genesis-json", "--snapshot",
			"--delete-all-blocks"}, name) {
			return fmt.Errorf(
				"%s is not for devnet: the folder that --dir names has the chain; delete it to begin another one", name)
		}
	}
	return nil
}

// nodeosArgs are nodeos' arguments. A chain to play with does not end because the disk
// is rather full.
func nodeosArgs(o *Options) []string {
	args := []string{
		"--config-dir", o.Dir, "--data-dir", filepath.Join(o.Dir, dataDir),
		"--http-server-address", o.HTTP, "--p2p-listen-endpoint", o.P2P,
	}
	if o.Page != "" {
		args = append(args, "--dashboard-address", o.Page)
	}
	if !slices.Contains(o.Args, fullDisk) {
		args = append(args, fullDisk)
	}
	if o.Replicas > 0 {
		args = append(args, anyHost, "--fleet-embedded", "--fleet-listen", o.Fleet, "--fleet-name", fleetName)
	}
	if !slices.ContainsFunc(o.Args, func(a string) bool { return strings.HasPrefix(a, perHost) }) {
		args = append(args, perHost, "100") // all nodes of such a chain are on one host
	}
	return append(args, o.Args...)
}

// fleetName is that of the node and its replicas.
const fleetName = "devnet"

// replicaArgs are the arguments of a replica.
func (o *Options) replicaArgs(r devnetrunner.Replica) []string {
	return []string{
		"replica", "nodeos", "--config-dir", r.Dir, "--data-dir", filepath.Join(r.Dir, dataDir),
		"--http-server-address", r.HTTP,
		"--plugin", "eosio::chain_api_plugin", anyHost, "--fleet-server", "nats://" + devnetrunner.Reachable(o.Fleet),
		"--fleet-name", fleetName,
		fullDisk,
	}
}

// anyHost lets requests come by way of a proxy, whose name they have.
const anyHost = "--http-validate-host=false"

const perHost = "--p2p-max-nodes-per-host"

const fullDisk = "--resource-monitor-not-shutdown-on-threshold-exceeded"

// tell says how to use the chain.
func tell(o *Options, keys *keyring, replicas string) error {
	script := filepath.Join(o.Dir, transferFile)
	if err := os.WriteFile(script, []byte(transferScript(o, keys)), 0o600); err != nil {
		return err
	}
	_, err := io.WriteString(o.Out, guide(o, keys, replicas))
	return err
}

// awaitAPI waits until an API answers for this chain: another node may have the address.
func awaitAPI(ctx context.Context, o *Options, address string) error {
	text, err := os.ReadFile(filepath.Join(o.Dir, genesisFile))
	if err != nil {
		return err
	}
	g, err := types.ParseGenesis(string(text))
	if err != nil {
		return err
	}
	return devnetrunner.Wait(ctx, func() bool {
		id, err := chainAt(ctx, address)
		return err == nil && id == g.ChainID().String()
	})
}

// chainAt asks for the id of the chain that is served at an address.
func chainAt(ctx context.Context, address string) (id string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/v1/chain/get_info", nil)
	if err != nil {
		return "", err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, res.Body.Close()) }()
	var info struct {
		ID string `json:"chain_id"`
	}
	err = json.NewDecoder(io.LimitReader(res.Body, 1<<20)).Decode(&info)
	return info.ID, err
}

// prepare makes what is missing in the folder. The chain is made beside its place and
// moved there, so that there is a whole one or none.
func prepare(ctx context.Context, o *Options) (*keyring, error) {
	keys, err := openKeys(filepath.Join(o.Dir, keysFile), o.Savanna)
	if err != nil {
		return nil, err
	}
	if err := devnetrunner.Keep(filepath.Join(o.Dir, configFile), config(keys)); err != nil {
		return nil, err
	}
	data := filepath.Join(o.Dir, dataDir)
	if _, err := os.Stat(data); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return keys, err
	}
	part := data + ".part"
	if err := os.RemoveAll(part); err != nil {
		return nil, err
	}
	g := genesis(keys, time.Now())
	if err := os.WriteFile(filepath.Join(o.Dir, genesisFile), append(g.AppendJSON(nil), '\n'), 0o644); err != nil {
		return nil, err
	}
	if err := makeChain(ctx, part, &g, keys); err != nil {
		return nil, err
	}
	// The node has options of its own for the state, its engine among them, and makes
	// it from the blocks.
	if err := os.RemoveAll(filepath.Join(part, stateDir)); err != nil {
		return nil, err
	}
	return keys, vfs.RenameDurably(vfs.OS, part, data)
}

// config is the node's config.ini.
func config(keys *keyring) string {
	k := keys.of(producerName)
	votes := []string{}
	if f := keys.finalizer(); f != nil {
		votes = append(votes, "# This key votes for blocks, which makes them final.",
			"signature-provider = "+f.Public+"=KEY:"+f.Private)
	}
	return strings.Join(slices.Concat([]string{
		"# The node of a chain of one's own. `tarn devnet` adds the addresses.",
		"producer-name = " + producerName,
		"signature-provider = " + k.Public + "=KEY:" + k.Private,
		"enable-stale-production = true",
	}, votes, []string{
		"",
		"plugin = eosio::chain_api_plugin",
		"# Others that may be useful, for whoever can reach the API:",
		"# plugin = eosio::producer_api_plugin",
		"# plugin = eosio::net_api_plugin",
		"# plugin = eosio::db_size_api_plugin",
		"",
		"# Pages of any origin may ask, and contracts may print.",
		"access-control-allow-origin = *",
		"access-control-allow-headers = *",
		"http-alias = localhost",
		"contracts-console = true",
		"",
	}), "\n")
}
