package node

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tarn/antelope/chain"
	"tarn/antelope/execute"
	"tarn/antelope/snapshot"
	"tarn/antelope/types"
	"tarn/internal/refdata"
	"tarn/store/engine"
)

// waxConfig has the options that WAX's guides and the operators' articles set.
const waxConfig = `
http-server-address = 127.0.0.1:0
p2p-listen-endpoint = 127.0.0.1:0
p2p-max-nodes-per-host = 100
max-clients = 200
chain-state-db-size-mb = 131072
chain-state-db-guard-size-mb = 1024
database-map-mode = mapped_private
wasm-runtime = eos-vm-jit
eos-vm-oc-enable = none
read-mode = head
max-transaction-time = 180
abi-serializer-max-time-ms = 3000
http-validate-host = false
verbose-http-errors = true
enable-account-queries = true
access-control-allow-origin = *
agent-name = a node of WAX
plugin = eosio::chain_plugin
plugin = eosio::chain_api_plugin
plugin = eosio::net_api_plugin
plugin = eosio::db_size_api_plugin
`

// runWAX starts a node with WAX's genesis and configuration, asks it for get_info, and stops it. It
// returns the answer and the log.
func runWAX(t *testing.T, dir string, args ...string) (info, log string) {
	t.Helper()
	conf := filepath.Join(dir, "config")
	if err := errors.Join(os.MkdirAll(conf, 0o755), os.WriteFile(filepath.Join(conf, "config.ini"), []byte(waxConfig),
		0o644)); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 3*time.Minute)
	defer stop()
	var out buffer
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, append([]string{"--config-dir", conf, "--data-dir", filepath.Join(dir, "data"),
			"--unix-socket-path", "api.sock"}, args...), streams{&out, &out})
	}()
	out.await(t, "Blockchain started")
	// Until the API listens, another server answers that the node is starting.
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(dir, "data", "api.sock"))
		}}}
	for ; info == "" && ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
		if len(ended) > 0 {
			t.Fatal(<-ended, out.String()) // such as for a disk that is nearly full
		}
		res, err := client.Get("http://node/v1/chain/get_info")
		if err != nil {
			continue
		}
		if body, err := io.ReadAll(res.Body); err == nil && res.StatusCode == http.StatusOK {
			info = string(body)
		}
		res.Body.Close()
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err, out.String())
	}
	return info, out.String()
}

// A node with WAX's genesis calls itself as WAX's nodes do, and so does its next start, unless its
// operator says another version.
func TestANodeOfWAXCallsItselfAsWAXsNodesDo(t *testing.T) {
	dir, genesis := t.TempDir(), refdata.Path(t, "wax/wax-genesis.json")
	const id = `"chain_id":"1064487b3cd1a897ce03ae5b6a865651747e2e152090f99c1d19d44e01aea5a4"`
	for i, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--genesis-json", genesis}, "v5.0.3wax01"},
		{nil, "v5.0.3wax01"},
		{[]string{"--reported-version", "v5.0.3wax02"}, "v5.0.3wax02"},
	} {
		info, log := runWAX(t, dir, c.args...)
		if !strings.Contains(info, `"server_version_string":"`+c.want+`"`) ||
			!strings.Contains(info, `"server_full_version_string":"`+c.want+`-tarn`) ||
			!strings.Contains(info, id) {
			t.Errorf("start %d: %s", i, info)
		}
		if told := strings.Contains(log, "the node reports the version of the program"); told != (i < 2) {
			t.Errorf("start %d: said in the log %v", i, told)
		}
	}
	var out buffer
	if err := run(t.Context(), []string{"--reported-version", "v9", "--version"}, streams{&out, &out}); err != nil ||
		out.String() != "v9\n" {
		t.Errorf("--version prints %q, %v", out.String(), err)
	}
}

// A snapshot that lists functions which this program lacks is refused before anything is loaded.
func TestASnapshotThatNeedsUnknownFunctionsIsNotLoaded(t *testing.T) {
	st, err := engine.Open(t.TempDir(), engine.Options{Kind: engine.Page})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	c, err := chain.Open(st,
		chain.Options{Options: execute.Options{GenesisIntrinsics: []string{"send_response"}, MissingIntrinsics: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	g := types.DefaultGenesis()
	if err := errors.Join(c.Genesis(&g), c.Publish()); err != nil {
		t.Fatal(err)
	}
	v, err := c.View()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	f, err := os.Create(filepath.Join(t.TempDir(), "snapshot.bin"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(snapshot.Write(f, v, c.Standing(), snapshot.Options{}), f.Close()); err != nil {
		t.Fatal(err)
	}
	o := options(t.TempDir(), engine.Options{})
	o.Snapshot = f.Name()
	n, err := Open(t.Context(), o)
	if err == nil {
		n.Close()
	}
	if err == nil || !strings.Contains(err.Error(), f.Name()) ||
		!strings.Contains(err.Error(), "this network needs send_response, which this program does not have") {
		t.Errorf("it is loaded: %v", err)
	}
	if _, err := engine.Unfinished(o.StateDir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the state is marked: %v", err)
	}
	o.Chain.MissingIntrinsics = true
	mustStart(t, o).Close()
}

func TestGenesisIntrinsicsMustBeKnown(t *testing.T) {
	if _, err := parseSettings(t, "genesis-intrinsic = verify_rsa_sha256_sig\n").options(); err != nil {
		t.Error(err)
	}
	_, err := parseSettings(t, "genesis-intrinsic = verify_rsa\ngenesis-intrinsic = sha256\n").options()
	if err == nil ||
		!strings.Contains(err.Error(),
			`genesis-intrinsic: "verify_rsa", "sha256" is no function of a fork that this program has; those are verify_rsa_sha256_sig`) {
		t.Errorf("%v", err)
	}
}
