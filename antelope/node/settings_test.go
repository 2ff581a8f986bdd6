package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tarn/antelope/admintypes"
	"tarn/antelope/config"
	"tarn/antelope/exception"
	"tarn/antelope/logging"
	"tarn/antelope/p2p"
	"tarn/antelope/producer"
	"tarn/antelope/rpc"
	"tarn/antelope/rpc/nodeoshttp"
	"tarn/antelope/rpc/trxretry"
	"tarn/antelope/rpc/trxstatus"
	"tarn/antelope/ship"
	"tarn/antelope/ship/shiplog"
	"tarn/antelope/types"
	"tarn/store"
	"tarn/store/engine"
)

// parseSettings are the settings of a config.ini.
func parseSettings(t *testing.T, ini string, args ...string) *settings {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "config.ini"), []byte(ini), 0o644); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(append([]string{"--config-dir", dir, "--data-dir", dir}, args...),
		config.Environment{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	logs := logging.New(logging.Options{Err: new(bytes.Buffer)})
	return &settings{Config: c, logs: logs, log: logs.Logger(""), stop: func(error) {}}
}

func TestWithoutOptionsANodeIsNodeos(t *testing.T) {
	s := parseSettings(t, "")
	o, err := s.options()
	if err != nil {
		t.Fatal(err)
	}
	if o.BlocksDir != filepath.Join(s.DataDir, "blocks") || o.StateDir != filepath.Join(s.DataDir, "state") ||
		o.Recovery != time.Minute ||
		o.Engine.LimitBytes != 1<<30 || o.Engine.GuardBytes != 128<<20 || o.Engine.Kind != engine.Page ||
		o.Engine.Mode != 0 ||
		o.Chain.SignatureCPUPercent != 5000 || o.Chain.Threads != 2 || o.Chain.MaxVariableSignature != 16384 ||
		o.Chain.IrreversibleMode || o.Chain.Speculative {
		t.Errorf("%+v", o)
	}
	v, err := s.services(&o, Version{})
	if err != nil {
		t.Fatal(err)
	}
	if v.HTTP != nil {
		t.Error("the API is served without its plugin")
	}
	network := p2p.DefaultOptions()
	v.P2P.Log = nil
	if !reflect.DeepEqual(*v.P2P, network) {
		t.Errorf("peers: %+v, want %+v", *v.P2P, network)
	}
	got, want := v.Producer, producer.Defaults()
	if len(got.Signers) != 1 {
		t.Errorf("%d signers", len(got.Signers))
	}
	got.Signers, got.Log, got.Logger, want.SnapshotsDir = nil, nil, nil, o.SnapshotsDir
	if !reflect.DeepEqual(got, want) {
		t.Errorf("producer: %+v, want %+v", got, want)
	}
}

func TestOptionsReachTheirParts(t *testing.T) {
	s := parseSettings(t, `
plugin = eosio::chain_api_plugin
plugin = eosio::net_api_plugin
plugin = eosio::producer_api_plugin
http-server-address = http-category-address
http-category-address = chain_ro,127.0.0.1:8080
http-category-address = net_ro,127.0.0.1:8080
http-category-address = snapshot,./admin.sock
http-validate-host = false
http-max-in-flight-requests = 7
http-max-bytes-in-flight-mb = 3
http-max-response-time-ms = -1
http-keep-alive = 0
http-alias = node.example.com
producer-name = alice
greylist-account = bob
max-transaction-time = -1
max-irreversible-block-age = 30
signature-provider = nonsense
p2p-max-nodes-per-host = 4
p2p-listen-endpoint = 0.0.0.0:9876:1MB/s
p2p-peer-address = a.example.com:9876:trx
block-log-retain-blocks = 100
state-engine = pebble
database-map-mode = heap
state-private-mb = 64
recovery-time-target = 5m
actor-blacklist = carol
action-blacklist = eosio.token::transfer
trusted-producer = dave
read-mode = speculative
validation-mode = light
checkpoint = [7,"0000000700000000000000000000000000000000000000000000000000000000"]
`, "--terminate-at-block", "12", "--genesis-timestamp", "now", "--genesis-json", genesisFile(t))
	o, err := s.options()
	if err != nil {
		t.Fatal(err)
	}
	if *o.Blocks.RetainBlocks != 100 || o.Engine.Kind != engine.Pebble || o.Engine.Mode.String() != "heap" ||
		o.Engine.PrivateBytes != 64<<20 ||
		o.Recovery != 5*time.Minute || !o.Chain.Lists.ActorBlacklist[types.N("carol")] ||
		len(o.Chain.Lists.ActionBlacklist) != 1 ||
		o.Chain.TrustedProducers[0] != types.N("dave") || !o.Chain.Speculative || !o.Chain.LightValidation ||
		o.Chain.Checkpoints[7][3] != 7 ||
		o.TerminateAt != 12 || time.Since(time.UnixMicro(int64(o.Genesis.InitialTimestamp))) > time.Minute {
		t.Errorf("%+v", o)
	}
	v, err := s.services(&o, Version{Short: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	listen := []Listen{{"127.0.0.1:8080", rpc.ChainRO | rpc.NetRO}, {"./admin.sock", rpc.Snapshot}}
	h := v.HTTP
	if !reflect.DeepEqual(h.Listen, listen) || !h.Server.AnyHost || h.Server.MaxConnections != 7 ||
		h.Server.MaxBytesInFlight != 3<<20 || !h.Server.NoReuse ||
		h.Server.Hosts[0] != "node.example.com" || h.API.MaxResponseTime >= 0 || h.API.ReadOnly ||
		h.Server.Server != "nodeos/v1" ||
		h.Plugins != rpc.ChainRO|rpc.ChainRW|rpc.NetRO|rpc.NetRW|rpc.ProducerRO|rpc.ProducerRW|rpc.Snapshot {
		t.Errorf("%+v", h)
	}
	p := v.Producer
	if p.Producers[0] != types.N("alice") || p.Greylist[0] != types.N("bob") || p.MaxTransactionTime >= 0 ||
		p.MaxIrreversibleAge != 30*time.Second || p.StopAt != 12 || len(p.Signers) != 0 {
		t.Errorf("%+v", p)
	}
	if v.P2P.MaxNodesPerHost != 4 || v.P2P.Listen[0] != "0.0.0.0:9876:1MB/s" ||
		v.P2P.Peers[0] != "a.example.com:9876:trx" {
		t.Errorf("%+v", v.P2P)
	}
}

func genesisFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "genesis.json")
	if err := os.WriteFile(path, types.DefaultGenesis().AppendJSON(nil), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestIrreversibleModeAndASocketAreSet(t *testing.T) {
	s := parseSettings(t, "read-mode = irreversible\nplugin = eosio::chain_api_plugin\nunix-socket-path = node.sock")
	o, err := s.options()
	if err != nil {
		t.Fatal(err)
	}
	v, err := s.services(&o, Version{})
	if err != nil {
		t.Fatal(err)
	}
	if !o.Chain.IrreversibleMode || !v.Producer.Irreversible || !v.HTTP.API.Irreversible || !v.HTTP.API.ReadOnly {
		t.Errorf("%+v", v)
	}
	if want := []Listen{{"127.0.0.1:8888", nodeoshttp.All},
		{"./node.sock", nodeoshttp.All}}; !reflect.DeepEqual(v.HTTP.Listen, want) {
		t.Errorf("%+v", v.HTTP.Listen)
	}
}

func TestCategoriesNeedTheirPluginAndOneHostForEachPort(t *testing.T) {
	for ini, want := range map[string]string{
		"http-category-address = net_ro,:80":                                          "--plugin=eosio::net_api_plugin is required",
		"http-category-address = chain_ro":                                            "required comma",
		"http-category-address = x,:80":                                               "invalid category name `x`",
		"http-category-address = chain_ro,a:80\nhttp-category-address = chain_rw,:80": "unable to listen to port 80",
		"checkpoint = [1,\"01\"]\ncheckpoint = [1,\"02\"]":                            "redefining existing checkpoint at block number 1",
		"checkpoint = 1":                            "is not [BLOCK_NUM,BLOCK_ID]",
		"chain-state-db-size-mb = 10":               "chain-state-db-guard-size-mb 128 must be less than chain-state-db-size-mb 10",
		"p2p-keepalive-interval-ms = 0":             "must be greater than 0",
		"greylist-limit = 0":                        "greylist-limit",
		"allowed-connection = specified":            "At least one peer-key",
		"max-block-cpu-usage-threshold-us = 500000": "max-block-cpu-usage-threshold-us",
	} {
		s := parseSettings(t, "plugin = eosio::chain_api_plugin\nhttp-server-address = http-category-address\n"+ini)
		o, err := s.options()
		if err == nil {
			_, err = s.services(&o, Version{})
		}
		if !exception.Is(throw(err), exception.PluginConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", ini, err)
		}
	}
}

func TestNoKeyReachesTheLogHoweverItIsWritten(t *testing.T) {
	const private = "5KQwrPbwdL6PhXujxW37FSSQZ1JiwsST4cqQzDeyXtP79zkvFD3"
	for _, spec := range []string{private, private + "=KEY:x",
		"EOS6MRyAjQq8ud7hVNYcfnVPJqcVpscN5So8BhtHuGYqET5GDW5CV=KEY:" + private + "x",
		"EOS6MRyAjQq8ud7hVNYcfnVPJqcVpscN5So8BhtHuGYqET5GDW5CV=" + private, "PUB_K1_x=KEY:" + private} {
		s := parseSettings(t, "signature-provider = "+spec)
		var log bytes.Buffer
		s.log = logging.New(logging.Options{Err: &log}).Logger("")
		p, malformed, err := s.producer(&Options{})
		said := log.String() + strings.Join((&Services{malformed: malformed}).mistakes(), "\n")
		if err != nil || len(p.Signers) != 0 || strings.Contains(said, private[:10]) ||
			!strings.Contains(said, "Malformed signature provider, ignoring!") {
			t.Errorf("%s: %v: %s", spec, err, said)
		}
	}
}

// What is wrong with the options of traces is said at once, in nodeos' words.
func TestOptionsOfTracesAreCheckedAsNodeosDoes(t *testing.T) {
	const on = "plugin = eosio::trace_api_plugin\n"
	good := filepath.Join(t.TempDir(), "token.abi")
	if err := os.WriteFile(good, []byte(`{"version":"eosio::abi/1.1"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		ini  string
		want []string
	}{
		{on + "trace-no-abis = true", nil},
		{on + "trace-rpc-abi = eosio.token=" + good, nil},
		{"trace-minimum-irreversible-history-blocks = -2", nil}, // without the plugin nobody asks
		{on, []string{"Trace API is not configured with ABIs and trace-no-abis is not set"}},
		{on + "trace-no-abis = true\ntrace-rpc-abi = a=" + good, []string{"Trace API is configured with ABIs however trace-no-abis is set"}},
		{on +
			"trace-rpc-abi = a\ntrace-rpc-abi = =x\ntrace-rpc-abi = b=\ntrace-rpc-abi = " +
			"c=/missing\ntrace-rpc-abi = C=" + good, []string{
			`Malformed trace-rpc-abi provider: "a": `, `Missing "="`, "Missing Key", "Missing Value",
			"/missing does not exist or is not a file", `"C=`,
		}},
		{on +
			"trace-no-abis = true\ntrace-minimum-irreversible-history-blocks = " +
			"-2\ntrace-minimum-uncompressed-irreversible-history-blocks = -3\ntrace-slice-stride = 0", []string{
			`"trace-minimum-irreversible-history-blocks" must be greater to or equal to -1.`,
			`"trace-minimum-uncompressed-irreversible-history-blocks" must be greater to or equal to -1.`,
			"trace-slice-stride must be 1 or more",
		}},
	} {
		s := parseSettings(t, c.ini)
		s.logs = logging.New(logging.Options{Err: io.Discard})
		o, err := s.traces()
		if o != nil {
			err = errors.Join(err, o.Files.Validate())
		}
		_, e := s.traceABIs()
		err = errors.Join(err, e)
		if len(c.want) == 0 && err != nil {
			t.Errorf("%s: %v", c.ini, err)
		}
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s\nsays %v\nnot %s", c.ini, err, want)
			}
		}
	}
}

func TestMissingVotesAreForTheLoggerOfVotes(t *testing.T) {
	s, log := parseSettings(t, ""), new(bytes.Buffer)
	s.logs = logging.New(logging.Options{Err: log, JSON: true})
	v, err := s.services(new(Options), Version{})
	if err != nil {
		t.Fatal(err)
	}
	v.VoteLog.Info("a line")
	if !strings.Contains(log.String(), `"logger":"vote"`) {
		t.Errorf("a line is %s", log)
	}
}

// What the options of state history come to (Leap: state_history_plugin.cpp, plugin_initialize,
// and log_catalog's defaults).
func TestOptionsOfStateHistoryAreReadAsNodeosDoes(t *testing.T) {
	const on = "plugin = eosio::state_history_plugin\n"
	parts := func(change func(p *shiplog.Partition)) *shiplog.Partition {
		p := &shiplog.Partition{Retained: "/data/state-history/retained", Archive: "/data/state-history/archive",
			Stride: 1_000_000, MaxFiles: math.MaxUint32}
		change(p)
		return p
	}
	read := func(t *testing.T, ini string) (*History, error) {
		s := parseSettings(t, ini)
		s.logs, s.DataDir = logging.New(logging.Options{Err: io.Discard}), "/data"
		return s.history()
	}
	for ini, want := range map[string]History{
		"": {},
		"trace-history = true\nchain-state-history = true\ntrace-history-debug-mode = true": {Options: ship.Options{Traces: true, State: true, Debug: true}},
		"finality-data-history = true":            {Options: ship.Options{Finality: true, Spring: true}},
		"state-history-dir = /other":              {Options: ship.Options{Dir: "/other"}},
		"state-history-endpoint =":                {Server: ship.ServerOptions{Address: "none"}},
		"state-history-endpoint = 127.0.0.1:1":    {Server: ship.ServerOptions{Address: "127.0.0.1:1"}},
		"state-history-unix-socket-path = s.sock": {Server: ship.ServerOptions{Socket: "/data/s.sock"}},
		"state-history-log-retain-blocks = 1000":  {Options: ship.Options{Retain: 1000}},
		"state-history-stride = 5":                {Options: ship.Options{Partition: parts(func(p *shiplog.Partition) { p.Stride = 5 })}},
		"max-retained-history-files = 0":          {Options: ship.Options{Partition: parts(func(p *shiplog.Partition) { p.MaxFiles = 0 })}},
		"state-history-retained-dir = old": {Options: ship.Options{
			Partition: parts(func(p *shiplog.Partition) { p.Retained = "/data/state-history/old" })}},
		`state-history-archive-dir = ""`:   {Options: ship.Options{Partition: parts(func(p *shiplog.Partition) { p.Archive = "" })}},
		"state-history-archive-dir = /far": {Options: ship.Options{Partition: parts(func(p *shiplog.Partition) { p.Archive = "/far" })}},
		"state-history-dir = h\nstate-history-retained-dir = r": {Options: ship.Options{Dir: "/data/h",
			Partition: &shiplog.Partition{Retained: "/data/h/r", Archive: "/data/h/archive", Stride: 1_000_000,
				MaxFiles: math.MaxUint32}}},
	} {
		h, err := read(t, on+ini)
		if err != nil {
			t.Errorf("%q: %v", ini, err)
			continue
		}
		if want.Dir == "" {
			want.Dir = "/data/state-history"
		}
		want.Server.Limits = ship.DefaultLimits()
		switch want.Server.Address {
		case "":
			want.Server.Address = "127.0.0.1:8080"
		case "none":
			want.Server.Address = ""
		}
		h.Log = nil
		if !reflect.DeepEqual(*h, want) {
			t.Errorf("%q is\n%+v, want\n%+v", ini, *h, want)
		}
	}
	for ini, want := range map[string]string{
		"state-history-log-retain-blocks = 999": "state-history-log-retain-blocks must be 1000 blocks or greater",
		"state-history-log-retain-blocks = 2000\nstate-history-stride = 5": "state-history-log-retain-blocks " +
			"cannot be used together with state-history-retained-dir",
		"state-history-log-retain-blocks = 2000\nstate-history-archive-dir = far": "state-history-log-retain-blocks " +
			"cannot be used together with state-history-retained-dir",
		"state-history-log-retain-blocks = 2000\nmax-retained-history-files=1": "state-history-log-retain-blocks " +
			"cannot be used together with state-history-retained-dir",
		"state-history-stride = 0": "state-history-stride must be 1 or more",
	} {
		if _, err := read(t, on+ini); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", ini, err, want)
		}
		if h, err := read(t, ini); h != nil || err != nil {
			t.Errorf("%q without the plugin: %v, %v", ini, h, err)
		}
	}
}

func TestOptionsOfAnotherEngineOrModeAreSaidToBeIdle(t *testing.T) {
	const given = "database-map-mode = heap\nstate-private-mb = 64\nchain-state-db-size-mb = " +
		"2048\nchain-state-db-guard-size-mb = 64"
	for _, c := range []struct {
		ini   string
		state store.Stats
		want  int
	}{
		{"", store.Stats{Engine: "leveldb"}, 0},
		{given, store.Stats{Engine: "leveldb"}, 4},
		{given, store.Stats{Engine: "page", Mode: "heap"}, 1},
		{given, store.Stats{Engine: "page", Mode: "mapped_private"}, 0},
	} {
		got := parseSettings(t, c.ini).idle(c.state)
		if len(got) != c.want ||
			slices.ContainsFunc(got, func(s string) bool { return !strings.Contains(s, " has no effect: ") }) {
			t.Errorf("%q of %q is idle in %+v", got, c.ini, c.state)
		}
	}
}

func TestTrackingIsOffUnlessItIsAskedFor(t *testing.T) {
	const api = "plugin = eosio::chain_api_plugin\n"
	for ini, want := range map[string]Tracking{
		"": {},
		"enable-account-queries = false\ntransaction-retry-max-storage-size-gb = 0\ntransaction-finality-status-max-storage-size-gb = 0": {},
		"enable-account-queries = true": {Authorizers: true},
		"transaction-finality-status-max-storage-size-gb = 2\ntransaction-finality-status-success-duration-sec = 7": {
			Finality: &trxstatus.Options{MaxBytes: 2 << 30, Success: 7 * time.Second, Failure: 3 * time.Minute}},
		"transaction-retry-max-storage-size-gb = 1\ntransaction-retry-interval-sec = 30": {
			Retry: &trxretry.Options{MaxBytes: 1 << 30, Interval: 30 * time.Second, MaxExpiration: 2 * time.Minute}},
	} {
		s := parseSettings(t, api+ini)
		v, err := s.services(&Options{}, Version{})
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(v.HTTP.Track, want) {
			t.Errorf("%s: %+v", ini, v.HTTP.Track)
		}
	}
}

// Getters read an option of another kind as nothing, or fail with invariants on.
func TestSettingsReadOptionsAsWhatTheyAre(t *testing.T) {
	kinds := map[string]string{}
	for _, g := range config.Groups() {
		for _, o := range g.Options {
			switch o.Kind {
			case config.Flag, config.Switch, config.Bool:
				kinds[o.Name] = "Bool accepts"
			case config.Text, config.Choice:
				kinds[o.Name] = "Text"
			case config.Path:
				kinds[o.Name] = "Text Under extract"
			case config.Texts:
				kinds[o.Name] = "Texts names"
			case config.Uint16, config.Uint32, config.Uint64:
				kinds[o.Name] = "Uint unsigned given mb"
			case config.Int32, config.Int64:
				kinds[o.Name] = "Int signed"
			case config.Duration:
				kinds[o.Name] = "Duration"
			}
		}
	}
	read := regexp.MustCompile(
		`\b(?:s|l|c)\.(Bool|Text|Texts|Uint|Int|Duration|names|unsigned|signed|given|accepts)\("([a-z0-9-]+)"`)
	count := 0
	for _, file := range []string{"settings.go", "settings_services.go", "genesis.go", "run.go", "idle.go"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range read.FindAllStringSubmatch(string(text), -1) {
			count++
			if !strings.Contains(" "+kinds[m[2]]+" ", " "+m[1]+" ") {
				t.Errorf("%s reads %s with %s, not %s", file, m[2], m[1], kinds[m[2]])
			}
		}
	}
	if count < 80 {
		t.Errorf("only %d reads found", count)
	}
}

func TestGenesisTimesAreThoseOfBlocks(t *testing.T) {
	now := time.Date(2026, 11, 21, 3, 0, 0, 1000, time.UTC)
	for text, want := range map[string]string{
		"now": "2026-11-21T03:00:00.500", "NOW": "2026-11-21T03:00:00.500",
		"2020-01-01T00:00:00.000": "2020-01-01T00:00:00.000", "2020-01-01T00:00:00.501": "2020-01-01T00:00:01.000",
	} {
		if got, err := genesisTime(text, now); err != nil || got.String() != want {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
}

// buffer is a stream that may be read while it is written.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// await waits until a text has been written.
func (b *buffer) await(t *testing.T, text string) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !strings.Contains(b.String(),
		text); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%q is not said: %s", text, b.String())
		}
	}
}

func TestSignalsStopANodeAndHUPReadsTheLogsConfiguration(t *testing.T) {
	dir := t.TempDir()
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	t.Setenv("NOTIFY_SOCKET", filepath.Join(dir, "notify"))
	var log buffer
	ended := make(chan error, 1)
	go func() {
		ended <- run(context.Background(), []string{"--config-dir", dir, "--data-dir", dir, "--p2p-listen-endpoint",
			"127.0.0.1:0", "-e", "-p", "eosio",
			"--resource-monitor-not-shutdown-on-threshold-exceeded"}, streams{&log, &log})
	}()
	log.await(t, "Produced block")
	say := func(s syscall.Signal) {
		if err := syscall.Kill(os.Getpid(), s); err != nil {
			t.Fatal(err)
		}
	}
	say(syscall.SIGHUP)
	log.await(t, "Received HUP.  Reloading logging configuration")
	if err := os.WriteFile(filepath.Join(dir, "logging.json"),
		[]byte(`{"loggers": [{"name": "default", "level": "loud"}]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	say(syscall.SIGHUP)
	log.await(t, "Error reloading logging.json")
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	text := fmt.Sprintf(`{"appenders": [{"name": "e", "type": "console"}, {"name": "net", "type": "gelf", "args": {"endpoint": "%s", "host": "h"}}],
		"loggers": [{"name": "default", "level": "info", "appenders": ["e", "net"]}]}`, server.LocalAddr())
	if err := os.WriteFile(filepath.Join(dir, "logging.json"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	say(syscall.SIGHUP)
	if err := server.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	if n, _, err := server.ReadFrom(make([]byte, 1<<12)); err != nil || n == 0 {
		t.Errorf("nothing reaches the server that logging.json names now: %v", err)
	}
	say(syscall.SIGTERM)
	log.await(t, "Received terminated: stopping")
	select {
	case err := <-ended:
		if err != nil {
			t.Fatal(err, log.String())
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("the node does not end")
	}
	log.await(t, "nodeos successfully exiting")
	var heard []string
	for len(heard) < 4 {
		b := make([]byte, 100)
		n, err := manager.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		heard = append(heard, string(b[:n]))
	}
	if want := []string{"STATUS=replaying", "READY=1", "STATUS=serving", "STOPPING=1"}; !slices.Equal(heard, want) {
		t.Errorf("the service manager hears %q, not %q", heard, want)
	}
}

// A socket whose other end is gone brings SIGPIPE too, and strangers can close as
// they like.
func TestABrokenPipeStopsANodeOnlyIfItIsItsOutput(t *testing.T) {
	dir := t.TempDir()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	defer write.Close()
	var log buffer
	ended := make(chan error, 1)
	go func() {
		ended <- run(context.Background(), []string{"--config-dir", dir, "--data-dir", dir,
			"--p2p-listen-endpoint", "127.0.0.1:0", "-e", "-p", "eosio",
			"--resource-monitor-not-shutdown-on-threshold-exceeded"}, streams{write, &log})
	}()
	log.await(t, "Produced block")
	pipe := func() {
		if err := syscall.Kill(os.Getpid(), syscall.SIGPIPE); err != nil {
			t.Fatal(err)
		}
	}
	pipe()
	// signals of different kinds may overtake each other once
	for _, text := range []string{"Received HUP.", "Error reloading logging.json"} {
		if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		log.await(t, text)
		if err := os.WriteFile(filepath.Join(dir, "logging.json"), []byte("{"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if strings.Contains(log.String(), "stopping") {
		t.Fatal("the node stops because a connection broke")
	}
	if err := read.Close(); err != nil {
		t.Fatal(err)
	}
	pipe()
	log.await(t, "Received broken pipe: stopping")
	select {
	case err := <-ended:
		if err != nil {
			t.Fatal(err, log.String())
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("the node does not end")
	}
}

// Codes of nodeos: 254 for what is thrown, 255 for a start that fails, 1 for no
// memory, 5 for what was only reported; stopping in time is success.
func TestExitCodesAreThoseOfNodeos(t *testing.T) {
	for _, c := range []struct {
		err  error
		code int
		want string
	}{
		{nil, 0, "nodeos successfully exiting"},
		{remedy(fmt.Errorf("block 5: %w", store.ErrGuard)), 0, "Please increase the value set for \"chain-state-db-size-mb\""},
		{remedy(&store.FullError{Path: "state", Of: store.RoomOnDisk}), 254, "free space on the disk of state"},
		{remedy(&store.FullError{Path: "state", Of: store.RoomInMemory}), 1, "Give the node more memory"},
		{remedy(&store.FullError{Path: "state"}), 1, "Please increase the value set for \"chain-state-db-size-mb\""},
		{fmt.Errorf("open: %w", store.ErrMemory), 1, "not enough memory"},
		{store.ErrCorrupt, 254, "store is damaged"},
		{admintypes.NewBadOption("no"), 254, "nodeos ends with plugin_config_exception: "},
		{errReported, 5, ""},
		{&config.Error{Text: "no", Code: config.ExitInitialize}, 255, ""},
	} {
		var b bytes.Buffer
		l := new(invocation)
		l.log = logging.New(logging.Options{Err: &b}).Logger("")
		err := l.end(l.log, c.err)
		code := 0
		var coded interface{ ExitCode() int }
		if errors.As(err, &coded) {
			code = coded.ExitCode()
		}
		if code != c.code || !strings.Contains(b.String(), c.want) {
			t.Errorf("%v: %d, want %d: %s", c.err, code, c.code, b.String())
		}
	}
}

func TestANodeWhoseStateIsNearlyFullStopsSafely(t *testing.T) {
	s := parseSettings(t, "producer-name = eosio\nenable-stale-production = true\np2p-listen-endpoint =")
	var log buffer
	s.log = logging.New(logging.Options{Err: &log}).Logger("")
	o, err := s.options()
	if err != nil {
		t.Fatal(err)
	}
	o.Engine.LimitBytes, o.Engine.GuardBytes = 1<<20, 0
	n, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	o.Engine.GuardBytes = n.store.Stats().Free - 8<<10
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	services, err := s.services(&o, Version{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 2*time.Minute, errors.New("it does not stop by itself"))
	defer cancel()
	l := &invocation{settings: *s, cause: func(error) {}}
	if n, err = Open(ctx, o); err != nil {
		t.Fatal(err)
	}
	err = errors.Join(l.stopError(ctx, remedy(l.serve(ctx, n, &o, services))), l.close(n))
	t.Log(err)
	if err := l.end(s.log, err); err != nil ||
		!strings.Contains(log.String(), "Please increase the value set for \"chain-state-db-size-mb\"") {
		t.Error(err, log.String())
	}
}

// The end of a context is not the reason; what ended it is.
func TestANodeThatWasToldToStopHasNotFailed(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct{ cause, err, want error }{
		{nil, nil, nil},
		{nil, broken, broken},
		{errStopped, context.Canceled, nil},
		{errStopped, errStopped, nil},
		{errStopped, broken, broken},
		{diskFull{errors.New("full")}, context.Canceled, nil},
		{broken, context.Canceled, broken},
		{broken, nil, broken},
		{context.Canceled, nil, nil},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		if c.cause != nil {
			cancel(c.cause)
		}
		l := &invocation{settings: settings{log: slog.New(slog.DiscardHandler)}}
		if got := l.stopError(ctx, c.err); !errors.Is(got, c.want) || (got == nil) != (c.want == nil) {
			t.Errorf("%v, %v: %v, want %v", c.cause, c.err, got, c.want)
		}
		cancel(nil)
	}
}

func TestAFullDiskIsNamedWithWhatHelps(t *testing.T) {
	disk := fmt.Errorf("checkpoint: %w: %w", store.ErrFull,
		&fs.PathError{Op: "write", Path: "/data/state/state.tarn", Err: syscall.ENOSPC})
	for err, want := range map[error]string{
		disk:           "free space on the disk of /data/state: ",
		store.ErrFull:  `increase the value set for "chain-state-db-size-mb"`,
		store.ErrGuard: `increase the value set for "chain-state-db-size-mb"`,
	} {
		if got := remedy(err); !errors.Is(got, err) || strings.Contains(got.Error(),
			"increase") != strings.Contains(want, "increase") || !strings.Contains(got.Error(), want) {
			t.Errorf("%v", got)
		}
	}
}

func TestAllMistakesInValuesAreToldAtOnce(t *testing.T) {
	s := parseSettings(t,
		"actor-blacklist = A\nactor-blacklist = B\nkey-blacklist = C\ncheckpoint = D\nproducer-name = E\ngreylist-limit = 0\nsync-fetch-span = 0\n"+
			"plugin = eosio::http_plugin\nplugin = eosio::trace_api_plugin\nhttp-server-address = http-category-address\nhttp-category-address = F",
		"--snapshot", "/nowhere")
	o, err := s.options()
	_, e := s.services(&o, Version{})
	err = errors.Join(err, e)
	if err == nil {
		t.Fatal("accepted")
	}
	lines := strings.Split(err.Error(), "\n")
	for _, want := range []string{"Trace API is not configured", "/nowhere does not exist",
		"actor-blacklist: ", "key-blacklist: ", "checkpoint D", "producer-name: ",
		"greylist-limit 0", "sync-fetch-span", "http-category-address 'F'"} {
		if !slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, want) }) {
			t.Errorf("nothing is said of %q:\n%v", want, err)
		}
	}
	if len(lines) != 10 { // two names are on the list
		t.Errorf("%d lines:\n%v", len(lines), err)
	}
}
