package config

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tarn/antelope/admintypes"
	"tarn/antelope/difftest"
	"tarn/internal/recordedcalls"
)

// load loads a command line with a config.ini.
func load(t *testing.T, ini string, args ...string) (*Config, error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "config.ini"), []byte(ini), 0o644); err != nil {
		t.Fatal(err)
	}
	return Load(append([]string{"--config-dir", dir}, args...),
		Environment{Home: dir, Dir: dir, Version: "v0", Full: "v0-full"})
}

func TestTheCommandLineIsOverTheFileAndListsAreJoined(t *testing.T) {
	for _, c := range []struct {
		name, ini string
		args      []string
		option    string
		want      any
	}{
		{"default", "", nil, "chain-threads", uint64(2)},
		{"file", "chain-threads = 4", nil, "chain-threads", uint64(4)},
		{"file without spaces", "chain-threads=4", nil, "chain-threads", uint64(4)},
		{"comment", "# chain-threads = 3\nchain-threads = 4 # four", nil, "chain-threads", uint64(4)},
		{"carriage returns", "chain-threads = 4\r\n\r\n", nil, "chain-threads", uint64(4)},
		{"command line", "chain-threads = 4", []string{"--chain-threads", "5"}, "chain-threads", uint64(5)},
		{"equals", "", []string{"--chain-threads=5"}, "chain-threads", uint64(5)},
		{"cut short", "", []string{"--chain-th", "5"}, "chain-threads", uint64(5)},
		{"negative wraps", "", []string{"--chain-threads", "-1"}, "chain-threads", uint64(65535)},
		{"plus", "", []string{"--chain-threads", "+7"}, "chain-threads", uint64(7)},
		{"signed", "", []string{"--max-transaction-time", "-1"}, "max-transaction-time", int64(-1)},
		{"switch", "", []string{"--contracts-console"}, "contracts-console", true},
		{"switch in the file", "contracts-console = on", nil, "contracts-console", true},
		{"switch off in the file", "contracts-console = No", nil, "contracts-console", false},
		{"switch with nothing in the file", "contracts-console =", nil, "contracts-console", true},
		{"switch over the file", "contracts-console = false", []string{"--contracts-console"}, "contracts-console", true},
		{"bool", "", []string{"--http-validate-host", "off"}, "http-validate-host", false},
		{"bool adjacent", "", []string{"--http-validate-host=0"}, "http-validate-host", false},
		{"flag in the file is set whatever it says", "trace-no-abis = false", nil, "trace-no-abis", true},
		{"short", "", []string{"-e"}, "enable-stale-production", true},
		{"short together", "", []string{"-ex"}, "pause-on-startup", true},
		{"short with its value", "", []string{"-peosio"}, "producer-name", []string{"eosio"}},
		{"short together with a value", "", []string{"-exp", "eosio"}, "producer-name", []string{"eosio"}},
		{"short equals is part of the value", "", []string{"-p=eosio"}, "producer-name", []string{"=eosio"}},
		{"many words", "", []string{"-p", "a", "b", "-e", "-p", "c"}, "producer-name", []string{"a", "b", "c"}},
		{"joined", "p2p-peer-address = c:1\np2p-peer-address = d:1",
			[]string{"--p2p-peer-address", "a:1", "--p2p-peer-address=b:1"},
			"p2p-peer-address", []string{"a:1", "b:1", "c:1", "d:1"}},
		{"not joined", "p2p-listen-endpoint = c:1\np2p-listen-endpoint = d:1", []string{"--p2p-listen-endpoint", "a:1"},
			"p2p-listen-endpoint", []string{"a:1"}},
		{"many in the file", "p2p-listen-endpoint = c:1\np2p-listen-endpoint = d:1", nil, "p2p-listen-endpoint", []string{"c:1", "d:1"}},
		{"list's default", "", nil, "p2p-listen-endpoint", []string{"0.0.0.0:9876:0"}},
		{"value that looks like an option", "", []string{"--agent-name", "--help"}, "agent-name", "--help"},
		{"empty text", "http-server-address =", nil, "http-server-address", ""},
		{"text with spaces", "agent-name = my own node", nil, "agent-name", "my own node"},
		{"path", "", []string{"--blocks-dir", "b"}, "blocks-dir", "b"},
		{"path in quotes", `blocks-dir = "a b \"c\""`, nil, "blocks-dir", `a b "c"`},
		{"choice", "read-mode = irreversible", nil, "read-mode", "irreversible"},
		{"section", "[trace]\nno-abis = 1\n", nil, "trace-no-abis", nil},
		{"duration", "", []string{"--recovery-time-target", "90"}, "recovery-time-target", 90 * time.Second},
		{"duration with a unit", "", []string{"--recovery-time-target", "5m"}, "recovery-time-target", 5 * time.Minute},
		{"map mode", "", nil, "database-map-mode", "mapped_private"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := load(t, c.ini, c.args...)
			if c.want == nil {
				if err == nil {
					t.Fatal("it is accepted")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var value any
			switch c.want.(type) {
			case bool:
				value = got.Bool(c.option)
			case uint64:
				value = got.Uint(c.option)
			case int64:
				value = got.Int(c.option)
			case string:
				value = got.Text(c.option)
			case []string:
				value = got.Texts(c.option)
			case time.Duration:
				value = got.Duration(c.option)
			}
			if !reflect.DeepEqual(value, c.want) {
				t.Errorf("%v, want %v", value, c.want)
			}
		})
	}
}

// refusal is a command line with a config.ini, and what is said of it.
type refusal struct {
	ini  string
	args []string
	want string
}

var argument = regexp.MustCompile(`'[^']*'|\S+`)

// refusals are those of a file of testdata. Arguments with blanks have quotes.
func refusals(t testing.TB, file string) []refusal {
	t.Helper()
	said, err := recordedcalls.Read(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	list := make([]refusal, len(said))
	for i, e := range said {
		line, ini, _ := strings.Cut(e.Ask, "\n")
		list[i] = refusal{ini: ini, want: e.Answers[0]}
		for _, a := range argument.FindAllString(line, -1)[1:] {
			list[i].args = append(list[i].args, strings.Trim(a, "'"))
		}
	}
	return list
}

const accepted = "accepted"

func TestWhatIsNotUnderstoodIsRefusedAsNodeosDoes(t *testing.T) {
	for _, c := range refusals(t, "syntax.txt") {
		_, err := load(t, c.ini, c.args...)
		if c.want == accepted {
			if err != nil {
				t.Errorf("%q %q: %v", c.args, c.ini, err)
			}
			continue
		}
		var refused *Error
		if !errors.As(err, &refused) || refused.Code != ExitOther || !recordedcalls.Matches(c.want, refused.Text) {
			t.Errorf("%q %q: %v, want %s", c.args, c.ini, err, c.want)
		}
	}
}

func TestValuesThatMakeNoSenseAreBadOptions(t *testing.T) {
	for _, c := range refusals(t, "values.txt") {
		_, err := load(t, c.ini, c.args...)
		var bad *admintypes.BadOption
		if !errors.As(err, &bad) || !recordedcalls.Matches(c.want, err.Error()) {
			t.Errorf("%q %q: %v, want %s", c.args, c.ini, err, c.want)
		}
	}
	// What is not enabled is not checked.
	if _, err := load(t, "http-max-response-time-ms = -2"); err != nil {
		t.Error(err)
	}
}

func TestUnknownOptionsNameTheNearestKnownOne(t *testing.T) {
	for word, want := range map[string]string{
		"--chain-sate-db-size-mb":  "--chain-state-db-size-mb",
		"--http_server_address":    "--http-server-address",
		"--p2p-peer-adress=a:9876": "--p2p-peer-address",
		"--prodcuer-name":          "--producer-name",
		"version":                  "--version",
		"--completely-different":   "",
	} {
		_, err := load(t, "", word, "1")
		if err == nil {
			t.Errorf("%s is accepted", word)
		} else if _, near, _ := strings.Cut(err.Error(), "the nearest known one is '"); strings.TrimSuffix(near,
			"')") != want {
			t.Errorf("%s: %v, want %q", word, err, want)
		}
	}
	_, err := load(t, "max_clients = 5")
	if err == nil || !strings.Contains(err.Error(), "is 'max-clients'") {
		t.Error(err)
	}
}

func TestPluginsBringWhatTheyRequire(t *testing.T) {
	c, err := load(t, "plugin = eosio::producer_api_plugin eosio::db_size_api_plugin",
		"--plugin", "eosio::net_api_plugin")
	if err != nil {
		t.Fatal(err)
	}
	want := Plugins{"eosio::chain_plugin", "eosio::net_plugin", "eosio::http_plugin", "eosio::net_api_plugin",
		"eosio::http_client_plugin",
		"eosio::signature_provider_plugin", "eosio::producer_plugin", "eosio::producer_api_plugin",
		"eosio::db_size_api_plugin", "eosio::resource_monitor_plugin"}
	if !slices.Equal(c.Plugins, want) {
		t.Errorf("%v, want %v", c.Plugins, want)
	}
	if c.Plugins.Enabled("eosio::chain_api_plugin") {
		t.Error("chain_api_plugin is enabled by nobody")
	}
}

func TestTheConfigurationFileIsMadeOnce(t *testing.T) {
	home := t.TempDir()
	env := Environment{Home: home, Dir: home}
	c, err := Load(nil, env)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(home, ".local/share/eosio/nodeos")
	if c.DataDir != filepath.Join(dir, "data") || c.File != filepath.Join(dir, "config", "config.ini") {
		t.Error(c.DataDir, c.File)
	}
	text, err := os.ReadFile(c.File)
	if err != nil || !strings.Contains(string(text), "\n# plugin = \n") {
		t.Error(err)
	}
	// It says nothing.
	if again, err := Load(nil, env); err != nil || len(again.Said) != 0 {
		t.Error(again.Said, err)
	}
	for _, args := range [][]string{{"-c", "other.ini"}, {"-l", "other.json"}} {
		_, err := Load(args, env)
		var refused *Error
		if !errors.As(err, &refused) || refused.Code != ExitInitialize {
			t.Error(args, err)
		}
	}
}

func TestFoldersOnTheCommandLineAreWhereItWasTyped(t *testing.T) {
	dir := t.TempDir()
	c, err := Load([]string{"-d", "data", "--config-dir", "conf"}, Environment{Home: "home", Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if c.DataDir != filepath.Join(dir, "data") || c.ConfigDir != filepath.Join(dir, "conf") ||
		c.LogConf != filepath.Join(dir, "conf/logging.json") {
		t.Errorf("%+v", c)
	}
	if got := c.Under(c.DataDir, "blocks-dir"); got != filepath.Join(dir, "data/blocks") {
		t.Error(got)
	}
}

func TestSecretsAreNotLoggedAndWhatHasNoEffectIsSaid(t *testing.T) {
	c, err := load(t,
		"signature-provider = A=KEY:B\nmax-clients = 25\nnet-threads = 4\nwasm-runtime = "+
			"eos-vm-oc\nmax-cleanup-time-msec = 5", "-p", "a", "b")
	if err != nil {
		t.Fatal(err)
	}
	if s := c.Summary(); strings.Contains(s, "KEY:B") || !strings.Contains(s, "signature-provider = ***") ||
		!strings.Contains(s, "producer-name = a, b") {
		t.Error(s)
	}
	if len(c.Notices) != 2 || !strings.HasPrefix(c.Notices[0], "wasm-runtime = eos-vm-oc has no effect: ") {
		t.Errorf("%q", c.Notices)
	}
}

// Who carries a file from nodeos, with every option at its default there, hears of
// nothing.
func TestDefaultsOfNodeosInAFileDrawNoWarning(t *testing.T) {
	c, err := load(t, fileOfDefaults())
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Said) < 80 || len(c.Notices) != 0 {
		t.Errorf("%d options were said: %q", len(c.Said), c.Notices)
	}
}

// fileOfDefaults says every option that has a default.
func fileOfDefaults() string {
	var b strings.Builder
	for _, m := range key.FindAllStringSubmatch(newTable().defaults(), -1) {
		if m[2] != "" {
			b.WriteString(m[1] + " = " + m[2] + "\n")
		}
	}
	return b.String()
}

func TestAllMistakesAreToldAtOnce(t *testing.T) {
	_, err := load(t,
		"nonsense\nchain-threads = x\nfoo = 1\nplugin = eosio::nope eosio::history_plugin\nmax-clients = "+
			"1\nmax-clients = 2\nread-mode = read-only\n"+
			"signature-cpu-billable-pct = 101\nresource-monitor-interval-seconds = 301",
		"--producr-name", "eosio", "--read-only-threads", "200", "--blocks-dir=", "--chain-state-db-size-mb", "-1x")
	if err == nil {
		t.Fatal("accepted")
	}
	want := []string{
		"Unknown option '--producr-name'", "the argument for option '--blocks-dir' should follow",
		"the argument ('-1x') for option '--chain-state-db-size-mb' is invalid", "an invalid line 'nonsense'",
		"Unknown option 'foo'", "the argument ('x') for option 'chain-threads' is invalid",
		"option 'max-clients' cannot be specified more than once",
		"'read-only' is none of head, irreversible, speculative: removed", "unable to find plugin: eosio::nope",
		"unable to find plugin: eosio::history_plugin: removed", "signature-cpu-billable-pct must be",
		"\"resource-monitor-interval-seconds\" must be", "read-only-threads (200) greater",
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != len(want) {
		t.Fatalf("%d mistakes, want %d:\n%v", len(lines), len(want), err)
	}
	for i, line := range lines {
		if !strings.Contains(line, want[i]) {
			t.Errorf("mistake %d is %q, want %q", i, line, want[i])
		}
	}
}

// Folders that a mistaken command line means are not made.
func TestAMistakenCommandLineLeavesNothingBehind(t *testing.T) {
	home := t.TempDir()
	if _, err := Load([]string{"--config-dri", "elsewhere"}, Environment{Home: home, Dir: home}); err == nil {
		t.Error("accepted")
	}
	if list, err := os.ReadDir(home); err != nil || len(list) != 0 {
		t.Error(list, err)
	}
}

// Who gave a value that is none is told what is expected.
func TestWhatIsExpectedIsSaid(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"chain-state-db-size-mb = 1GB", "a whole number of MiB is expected"},
		{"transaction-retry-max-storage-size-gb = x", "a whole number of GiB is expected"},
		{"http-threads = 70000", "a whole number, 0 to 65535, is expected"},
		{"p2p-keepalive-interval-ms = 10s", "a whole number of milliseconds, -2147483648 to 2147483647, is expected"},
		{"recovery-time-target = soon", "a whole number of seconds, or a number with a unit, such as 90s or 5m is expected"},
		{"blocks-dir = a b", "a path, in double quotes if it has spaces is expected"},
		{"plugin = eosio::chain_api_plugins", "(the nearest known one is 'eosio::chain_api_plugin')"},
		{"plugin = chain_api_plugin", "(the nearest known one is 'eosio::chain_api_plugin')"},
		{"plugin = eosio::chain_api", "(the nearest known one is 'eosio::chain_api_plugin')"},
		{"plugin = sysio::net_api_plugin", "(the nearest known one is 'eosio::net_api_plugin')"},
	} {
		if _, err := load(t, c.line); err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%s: %v", c.line, err)
		}
	}
	if _, err := load(t, "plugin = eosio::xyzzy"); err == nil || strings.Contains(err.Error(), "nearest") {
		t.Errorf("a plugin that is like no other: %v", err)
	}
	if _, err := load(t, "", "--chain-state-db-size-mb"); err == nil ||
		!strings.HasSuffix(err.Error(), "is missing: a whole number of MiB is expected") {
		t.Errorf("a value that is missing: %v", err)
	}
}

func TestRemovedOptionsNameTheirSuccessors(t *testing.T) {
	known := newTable()
	for name, now := range removedOptions() {
		if known.options[name] != nil {
			t.Errorf("%s is an option", name)
		}
		for _, args := range [][]string{{"--" + name, "1"}, {"--" + name + "=SECRET"}} {
			if _, err := load(t, "", args...); err == nil || !strings.HasSuffix(err.Error(),
				"passed as command line argument: "+now) || strings.Contains(err.Error(), "SECRET") {
				t.Errorf("%q: %v", args, err)
			}
		}
		if _, err := load(t, name+" = 1"); err == nil || !strings.HasSuffix(err.Error(), "config.ini: "+now) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name := range removedPlugins() {
		if _, known := requirements()[name]; known {
			t.Errorf("%s is a plugin", name)
		}
	}
}

// Old files say true or 1, with capital letters or without.
func TestEOSVMOCMayBeEnabledInEveryWay(t *testing.T) {
	for _, value := range []string{"auto", "ALL", "none", "true", "On", "1", "false", "off", "no", "0"} {
		c, err := load(t, "eos-vm-oc-enable = "+value)
		if err != nil || (len(c.Notices) != 1) != (value == "auto") {
			t.Errorf("%s: %v", value, err)
		}
	}
	if _, err := load(t, "eos-vm-oc-enable = some"); err == nil {
		t.Error("some is taken")
	}
}

func TestSecretsOfMisspeltOptionsAreNotLogged(t *testing.T) {
	for _, args := range [][]string{{"--signature-provder=EOS1=KEY:5K"}, {"--signature-provder", "EOS1=KEY:5K"},
		{"--peer-privat-key=[\"EOS1\",\"5K\"]"}} {
		if _, err := load(t, "", args...); err == nil || strings.Contains(err.Error(), "5K") {
			t.Errorf("%q: %v", args, err)
		}
	}
}

func TestHelpAndVersionComeBeforeEverythingElse(t *testing.T) {
	for _, arg := range []string{"-h", "-v", "--full-version", "--print-default-config"} {
		c, err := Load([]string{arg, "--config-dir", "/nowhere/at/all"}, Environment{Version: "v", Full: "f"})
		if err != nil || c.Print == "" {
			t.Error(arg, err)
		}
		for line := range strings.Lines(c.Print) {
			if arg == "-h" && len(line) > helpWidth+1 && strings.Contains(strings.TrimSpace(line), " ") &&
				!strings.Contains(line, " (=") {
				t.Errorf("a long line: %s", line)
			}
		}
	}
}

// ask returns what a real nodeos prints, however it ends.
func ask(t *testing.T, args ...string) string {
	t.Helper()
	p, err := difftest.Find(t.Context())
	if err != nil {
		t.Skip(err)
	}
	args = append([]string{"--data-dir", filepath.Join(t.TempDir(), "data")}, args...)
	// This build of nodeos does not end by itself after printing. On a machine with other work it is
	// slow to begin.
	for _, patience := range []time.Duration{2 * time.Second, 10 * time.Second} {
		if text := printedBy(t, p, patience, args); text != "" {
			return text
		}
	}
	return printedBy(t, p, 30*time.Second, args)
}

// printedBy is what nodeos prints in a time.
func printedBy(t *testing.T, p *difftest.Peer, patience time.Duration, args []string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := p.Command(ctx, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil && ctx.Err() == nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			t.Fatal(err)
		}
	}
	return out.String()
}

var key = regexp.MustCompile(`(?m)^# ([a-z0-9-]+) = (.*)$`)

func keys(text string) map[string]string {
	out := map[string]string{}
	for _, m := range key.FindAllStringSubmatch(text, -1) {
		out[m[1]] = m[2]
	}
	return out
}

// Each difference is one between nodeos 4.1 and 5.0.3, or meant.
func TestDefaultsAreThoseOfNodeos(t *testing.T) {
	theirs, ours := keys(ask(t, "--print-default-config")), keys(newTable().defaults())
	if len(theirs) < 100 {
		t.Fatalf("nodeos prints %d options", len(theirs))
	}
	differ := map[string]string{
		"p2p-listen-endpoint":  "5.0: with a rate",
		"max-transaction-time": "5.0: 499",
		"database-map-mode":    "meant",
	}
	gone := []string{"cpu-effort-percent", "incoming-defer-ratio", "max-scheduled-transaction-time-per-block-ms",
		"max-nonprivileged-inline-action-size",
		"wallet-dir", "unlock-timeout"} // until 4.1; the last two are keosd's
	added := []string{"produce-block-offset-ms", "disable-replay-opts", // 5.0
		"state-engine", "recovery-time-target", "state-seek-compaction", "state-private-mb", "log-format",
		"dashboard-address", "trusted-address", "genesis-intrinsic", "allow-missing-intrinsics", "reported-version",
		"finalizers-dir", "vote-threads", "p2p-disable-block-nack", "p2p-bp-gossip-endpoint", "eos-vm-oc-whitelist",
		"production-pause-vote-timeout-ms", "max-reversible-blocks", "finality-data-history"}
	for name, value := range theirs {
		got, ok := ours[name]
		switch {
		case slices.Contains(gone, name):
			if ok || removedOptions()[name] == "" {
				t.Errorf("%s is not in 5.0, and must be said to be gone", name)
			}
		case !ok:
			t.Errorf("%s is missing", name)
		case (got != value) != (differ[name] != ""):
			t.Errorf("%s = %q, nodeos has %q", name, got, value)
		}
		delete(ours, name)
	}
	for name := range ours {
		if !slices.Contains(added, name) && !strings.HasPrefix(name, "fleet-") {
			t.Errorf("%s is not in nodeos", name)
		}
	}
}

var helpLine = regexp.MustCompile(`(?m)^  (?:-(\w) \[ )?--([a-z0-9-]+)(?: \])?( arg| runtime)?`)

// The command line's options, their short forms, and whether they take a value.
func TestHelpNamesTheOptionsOfNodeos(t *testing.T) {
	list := func(text string) map[string]string {
		out := map[string]string{}
		for _, m := range helpLine.FindAllStringSubmatch(text, -1) {
			out[m[2]] = m[1] + strings.Replace(m[3], " runtime", " arg", 1)
		}
		return out
	}
	theirs, ours := list(ask(t, "--help")), list(newTable().help())
	for _, name := range []string{"cpu-effort-percent", "incoming-defer-ratio",
		"max-scheduled-transaction-time-per-block-ms",
		"max-nonprivileged-inline-action-size", "wallet-dir", "unlock-timeout"} {
		delete(theirs, name)
	}
	for _, name := range []string{"produce-block-offset-ms", "state-engine", "recovery-time-target",
		"state-seek-compaction", "state-private-mb", "log-format", "dashboard-address", "trusted-address",
		"genesis-intrinsic", "allow-missing-intrinsics", "reported-version", "finalizers-dir", "vote-threads",
		"p2p-disable-block-nack", "p2p-bp-gossip-endpoint", "eos-vm-oc-whitelist",
		"production-pause-vote-timeout-ms", "max-reversible-blocks", "finality-data-history"} {
		delete(ours, name)
	}
	for name, form := range theirs {
		if got, ok := ours[name]; !ok || got != form {
			t.Errorf("%s has the form %q (there: %v), nodeos' %q", name, got, ok, form)
		}
		delete(ours, name)
	}
	for name := range ours {
		if !strings.HasPrefix(name, "fleet-") {
			t.Errorf("%s is not in nodeos", name)
		}
	}
}

func TestNodeosRefusesWithTheSameWords(t *testing.T) {
	if testing.Short() {
		t.Skip("starts nodeos many times")
	}
	for _, c := range refusals(t, "syntax.txt") {
		if c.want == accepted {
			continue
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "config.ini"), []byte(c.ini), 0o644); err != nil {
			t.Fatal(err)
		}
		args := append([]string{"--config-dir", dir}, c.args...)
		if got := ask(t, args...); !recordedcalls.Matches("…"+c.want, got) {
			t.Errorf("%q %q: nodeos says %.600s, want %s", c.args, c.ini, got, c.want)
		}
	}
}

func FuzzCommandLine(f *testing.F) {
	for _, c := range refusals(f, "syntax.txt") {
		f.Add(strings.Join(c.args, "\n"), c.ini)
	}
	t := newTable()
	f.Fuzz(func(_ *testing.T, line, ini string) {
		v := Values{values: map[string]*value{}}
		if a, err := t.commandLine(strings.Split(line, "\n")); err == nil {
			_ = v.store(t, a, "--")
		}
		if a, err := t.file(ini, "config.ini"); err == nil {
			_ = v.store(t, a, "")
		}
		_ = v.fill(t)
	})
}
