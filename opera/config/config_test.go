package config

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tarn/opera/difftest"
)

var home = Environment{Home: "/operator"}

func load(t *testing.T, args ...string) (*Config, []string) {
	t.Helper()
	c, words, err := Load(args, home)
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return c, words
}

// flagsOf reads "name kind default" lines.
func flagsOf(t *testing.T) [][3]string {
	t.Helper()
	raw, err := os.ReadFile("testdata/flags.txt")
	if err != nil {
		t.Fatal(err)
	}
	var list [][3]string
	for line := range strings.Lines(string(raw)) {
		f := strings.SplitN(strings.TrimSpace(line), " ", 3)
		list = append(list, [3]string(f))
	}
	return list
}

// Each flag of go-opera's --help is known, is a switch or takes a value as there, and has
// the default that is printed there.
func TestEveryFlagOfGoOperaIsKnownWithItsDefault(t *testing.T) {
	ours := map[string]Flag{}
	for _, g := range groups(defaults(home.Home), new(line)) {
		for _, f := range g.flags {
			ours[f.Name] = f
		}
	}
	theirs := flagsOf(t)
	if len(theirs) != 107 {
		t.Fatalf("%d flags", len(theirs))
	}
	for _, f := range theirs {
		got, ok := ours[f[0]]
		if !ok {
			t.Errorf("--%s is not known", f[0])
			continue
		}
		if got.value.bool != (f[1] == "switch") {
			t.Errorf("--%s: switch %v", f[0], got.value.bool)
		}
		want := f[2]
		if f[0] == "datadir.minfreedisk" {
			want = "8192" // which stands in the text there
		}
		if want == "-" {
			want = ""
		}
		if unquoted := strings.Trim(want, `"`); strings.Trim(got.value.show, `"`) != unquoted {
			t.Errorf("--%s: default %s, want %s", f[0], got.value.show, want)
		}
	}
}

// The list of flags is what a real go-opera prints.
func TestTheListOfFlagsIsGoOperas(t *testing.T) {
	peer, err := difftest.Judge(t.Context())
	if err != nil {
		t.Skip(err)
	}
	out, err := peer.Help(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^  --([\w.-]+)`).FindAllSubmatch(out, -1) {
		if name := string(m[1]); name != "help" {
			names = append(names, name)
		}
	}
	var listed []string
	for _, f := range flagsOf(t) {
		listed = append(listed, f[0])
	}
	if !slices.Equal(names, listed) {
		t.Errorf("it prints %v", names)
	}
}

// A file that go-opera dumped is read, what has no effect is said, and our defaults are
// those in it.
func TestAFileOfGoOperasDumpconfigIsRead(t *testing.T) {
	got, _ := load(t, "--config", "testdata/go-opera.toml")
	want := defaults(home.Home)
	want.Node.DataDir, want.Run.File = "/data/opera", "testdata/go-opera.toml"
	want.Notices = got.Notices
	if g, w := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want); g != w { // nil lists are as good as empty ones
		t.Errorf("read %s\nwant %s", g, w)
	}
	if got.Node.P2P.BootstrapNodes != nil {
		t.Errorf("the network's nodes are %q", got.Node.P2P.BootstrapNodes)
	}
	all := strings.Join(got.Notices, "\n")
	for _, part := range []string{"DBs in the file", "Opera.Protocol", "OperaStore", "VectorClock", "LachesisStore",
		"Opera.HeavyCheck"} {
		if strings.Count(all, part) != 1 {
			t.Errorf("%q is said %d times in\n%s", part, strings.Count(all, part), all)
		}
	}
}

// What dumpconfig writes says the same when it is read.
// peer is a key that a peer may have.
const peer = "969654fc30f10e45903ee2d107cfc165feaff6f9acbd2a9472120a3581f7c717ded76113aa116e35b8389dfcc9129ecfc85a409f6c46fc864ce077cb85316ac8"

func TestADumpedConfigurationIsReadBack(t *testing.T) {
	for _, args := range [][]string{
		nil, {"--fakenet", "2/3", "--http", "--db.engine", "leveldb"},
		{"--validator.id", "7", "--validator.pubkey", "0xc004ab", "--bootnodes", "enode://" + peer + "@1.2.3.4:5050",
			"--txpool.locals", "0x0000000000000000000000000000000000000001"},
	} {
		c, _ := load(t, args...)
		var first, second bytes.Buffer
		if err := c.Dump(&first); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "config.toml")
		if err := os.WriteFile(path, first.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		again, _ := load(t, "--config", path)
		if err := again.Dump(&second); err != nil {
			t.Fatal(err)
		}
		if first.String() != second.String() {
			t.Errorf("%v:\n%s\nthen\n%s", args, first.String(), second.String())
		}
		if len(again.Notices) != 0 {
			t.Errorf("%v: %v", args, again.Notices)
		}
	}
}

func TestFlagsStandAnywhereWithOneDashOrTwo(t *testing.T) {
	c, words := load(t, "-datadir", "/d", "export", "events", "--http", "out.gz", "-cache=4000", "2", "--",
		"--not-a-flag")
	if want := []string{"export", "events", "out.gz", "2", "--not-a-flag"}; !slices.Equal(words, want) {
		t.Errorf("words %q", words)
	}
	if c.Node.DataDir != "/d" || c.Tarn.CacheMB != 4000 || c.Node.HTTPHost != "127.0.0.1" {
		t.Errorf("%+v", c)
	}
}

// The command line is stronger than the file, but for the address of a server that the
// file opens (go-ethereum, cmd/utils).
func TestPrecedenceIsGoOperas(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.toml")
	if err := os.WriteFile(path,
		[]byte(
			"[Node]\nHTTPHost = \"0.0.0.0\"\nHTTPPort = 1\n[TxPool]\nPriceBump = 20\n[Node.P2P]\nListenAddr = "+
				"\"127.0.0.1:7\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	c, _ := load(t, "--config", path, "--http", "--http.addr", "10.0.0.1", "--http.port", "2",
		"--txpool.pricebump", "30")
	if c.Node.HTTPHost != "0.0.0.0" || c.Node.HTTPPort != 2 || c.TxPool.PriceBump != 30 ||
		c.Node.P2P.ListenAddr != "127.0.0.1:7" {
		t.Errorf("%+v", c.Node)
	}
	if c, _ := load(t, "--rpc", "--rpcaddr", "10.0.0.2", "--rpcport", "9", "--rpcapi",
		"eth, net"); c.Node.HTTPHost != "10.0.0.2" || c.Node.HTTPPort != 9 ||
		!slices.Equal(c.Node.HTTPModules, []string{"eth", "net"}) {
		t.Errorf("the old names: %+v", c.Node)
	}
	if c, _ := load(t, "--http.port", "8"); c.Node.HTTPHost != "" {
		t.Errorf("a port alone opens %q", c.Node.HTTPHost)
	}
}

func TestAFakenetHasItsOwnDefaults(t *testing.T) {
	c, _ := load(t, "--fakenet", "1/1")
	e := c.Emitter.EmitIntervals
	if c.Node.DataDir != "/operator/.opera/fakenet-1" || c.Emitter.Validator.ID != 1 || e.Max != 10*time.Second ||
		e.DoublesignProtection != 0 {
		t.Errorf("%+v, %+v", c.Node, c.Emitter)
	}
	if c.Node.P2P.BootstrapNodes == nil {
		t.Error("it asks the nodes of the network")
	}
	if c, _ := load(t, "--fakenet", "0/5", "--datadir", "/x"); c.Node.DataDir != "/x" || c.Emitter.Validator.ID != 0 ||
		c.Emitter.EmitIntervals.DoublesignProtection != 5*time.Second {
		t.Errorf("%+v", c)
	}
}

// The keys of a fakenet are go-opera's: its dumpconfig has this one.
func TestAFakenetsValidatorHasItsKey(t *testing.T) {
	c, _ := load(t, "--fakenet", "1/1")
	raw := c.Emitter.Validator.PubKey.Raw
	if c.Emitter.Validator.PubKey.Type != 192 || len(raw) != 65 || !bytes.Equal(raw[:5], []byte{4, 141, 80, 92, 53}) {
		t.Errorf("%+v", c.Emitter.Validator)
	}
}

func TestMistakesAreRefusedAllAtOnce(t *testing.T) {
	_, _, err := Load([]string{"--cache", "100", "--http.port", "70000", "--txpool.locals", "nobody", "--gcmode",
		"never", "--export.sections", "brs,xyz"}, home)
	if err == nil {
		t.Fatal("nothing is refused")
	}
	for _, part := range []string{"minimum cache size is 3600 MB", "no port 70000", "nobody", "--gcmode", "'xyz'"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is missing in %v", part, err)
		}
	}
	// Words, values, the file, and what is said of peers.
	_, _, err = Load([]string{"--datdir", "x", "--http.adr=1", "---y", "--cache", "many", "--fakenet", "3", "--config",
		"testdata/none.toml",
		"--bootnodes", "enode://1", "--nat", "no", "--netrestrict", "ten", "--p2p.listen", "5050", "--ipcdisable",
		"--ipcpath", "x", "--verbosity", "9"}, home)
	if err == nil {
		t.Fatal("nothing is refused")
	}
	for _, part := range []string{"-datdir (the nearest known one is --datadir)",
		"-http.adr (the nearest known one is --http.addr)", "bad flag syntax: ---y",
		`--cache: invalid value "many"`, "invalid fakenet flag", "TOML config file error", `bootnodes: "enode://1"`,
		"enode://KEY@HOST:PORT", "nat: ",
		"netrestrict: ", `p2p.listen: "5050" is no address: HOST:PORT`, "--ipcdisable, --ipcpath can't be used",
		"--verbosity: 9"} {
		if n := strings.Count(err.Error(), part); n != 1 {
			t.Errorf("%q is said %d times in %v", part, n, err)
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--unknown"}, "flag provided but not defined: -unknown"},
		{[]string{"--cache"}, "flag needs an argument: -cache"},
		{[]string{"--cache", "many"}, `invalid value "many"`},
		{[]string{"--fakenet", "3"}, "%d/%d"},
		{[]string{"--fakenet", "3/2"}, "in range"},
		{[]string{"--fakenet", "1/2", "--validator.id", "1"}, "both"},
		{[]string{"--fakenet", "1/2", "--genesis", "x.g"}, "different networks"},
		{[]string{"--validator.id", "1"}, "public key is not set"},
		{[]string{"--validator.id", "1", "--validator.pubkey", "zz"}, "no key"},
		{[]string{"--ipcdisable", "--ipcpath", "x"}, "same time"},
		{[]string{"--db.engine", "lmdb"}, "page or leveldb"},
		{[]string{"--db.engine", "pebble", "--db.mapmode", "heap"}, "page engine"},
		{[]string{"--db.preset", "pbl-2"}, "pbl-1 or ldb-1"},
		{[]string{"--config", "testdata/none.toml"}, "testdata/none.toml"},
	} {
		if _, _, err := Load(c.args, home); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.args, err, c.want)
		}
	}
}

func TestAFileIsRefusedWithItsNameAndPlace(t *testing.T) {
	for text, want := range map[string]string{
		"[Node]\nHTTPPrt = 1\n":            "field 'HTTPPrt' is not defined in Node",
		"[Nodes]\nX = 1\n":                 "field 'X' is not defined in Nodes",
		"[Node]\nHTTPPort = \"many\"\n":    "HTTPPort",
		"[Node\n":                          "line 2",
		"[Node]\nHTTPPort = 1\nHTTPPort=2": "line 3",
	} {
		path := filepath.Join(t.TempDir(), "c.toml")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Load([]string{"--config", path}, home); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), path) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestFlagsWithoutAnEffectSaySo(t *testing.T) {
	c, _ := load(t, "--db.preset", "pbl-1", "--usb", "--graphql", "--tracing", "--log.debug")
	if len(c.Notices) != 5 ||
		!strings.Contains(strings.Join(c.Notices, "\n"), "--db.preset has no effect: there is one layout") {
		t.Errorf("%q", c.Notices)
	}
	if c.Run.Preset != "pbl-1" {
		t.Errorf("preset %q", c.Run.Preset)
	}
}

func TestValuesWithoutAnEffectSaySo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.toml")
	text := "[Opera]\nTxIndex = false\nRPCBlockExt = false\n[Emitter.PrevBlockVotesFile]\nPath = " +
		"\"votes\"\n[Emitter.PrevEpochVoteFile]\nPath = \"vote\"\n[Emitter.PrevEmittedEventFile]\nSyncMode = true\n"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want []string // what is said has no effect
	}{
		{[]string{"--syncmode", "snap"}, nil},
		{[]string{"--export.evm.mode", "full"}, []string{"--export.evm.mode full"}},
		{[]string{"--config", path}, []string{"Opera.TxIndex = false", "Opera.RPCBlockExt = false",
			"Emitter.PrevBlockVotesFile.Path", "Emitter.PrevEpochVoteFile.Path",
			"Emitter.PrevEmittedEventFile.SyncMode"}},
	} {
		got, _ := load(t, c.args...)
		var said []string
		for _, n := range got.Notices {
			what, _, _ := strings.Cut(n, " has no effect: ")
			said = append(said, what)
		}
		if !slices.Equal(said, c.want) {
			t.Errorf("%v: %q", c.args, said)
		}
	}
}

// Whatever can be configured reaches the node, or a line says what holds instead.
func TestNoValueIsTakenWithoutAWord(t *testing.T) {
	// AllowSnapsync, Tarn.States; read here; a flag that says so itself
	here := []string{"SyncMode", "GCMode", "File", "Exclude"}
	used := map[string]bool{}
	files, err := filepath.Glob("../node/*.go")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	for _, file := range append(files, "inert.go", "member.go") {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				used[s.Sel.Name] = true
			}
			return true
		})
	}
	var look func(path string, of reflect.Type)
	look = func(path string, of reflect.Type) {
		for i := range of.NumField() {
			f := of.Field(i)
			if f.Type.Kind() == reflect.Struct {
				look(path+f.Name+".", f.Type)
			} else if !used[f.Name] && !slices.Contains(here, f.Name) {
				t.Errorf("%s%s has no effect, and nothing says so", path, f.Name)
			}
		}
	}
	look("", reflect.TypeFor[Config]())
}

func TestPruningKeepsTheLastStates(t *testing.T) {
	for mode, want := range map[string]uint64{"archive": 0, "full": prunedStates, "light": prunedStates} {
		if c, _ := load(t, "--gcmode", mode); c.Tarn.States != want {
			t.Errorf("%s keeps %d", mode, c.Tarn.States)
		}
	}
	if c, _ := load(t, "--gcmode", "full", "--history.states", "7"); c.Tarn.States != 7 {
		t.Errorf("%d", c.Tarn.States)
	}
}

func TestHelpNamesEveryFlag(t *testing.T) {
	var b bytes.Buffer
	Help(&b, home)
	for _, f := range flagsOf(t) {
		if !strings.Contains(b.String(), "--"+f[0]+" ") {
			t.Errorf("--%s is missing", f[0])
		}
	}
}

// The least tip that is suggested is the one that the pool takes, if the file names none, as in
// go-opera.
func TestTheLeastTipIsThePools(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tips.toml")
	if err := os.WriteFile(path, []byte("[Opera.GPO]\nMinGasTip = 5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want uint64
	}{
		{nil, 0}, {[]string{"--txpool.pricelimit", "7"}, 7}, {[]string{"--config", path}, 5},
		{[]string{"--config", path, "--txpool.pricelimit", "7"}, 5},
	} {
		if got, _ := load(t, c.args...); got.Opera.GPO.MinGasTip != c.want {
			t.Errorf("%v: the least tip is %d, not %d", c.args, got.Opera.GPO.MinGasTip, c.want)
		}
	}
}
