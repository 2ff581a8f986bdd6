package lint

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// rule says what of ours the packages of importer may import. A pattern is a
// package, or with a final /... a package and all below it.
type rule struct {
	importer string
	may      []string
}

// The first rule that fits a package decides. Sub-packages of an engine and of
// a ledger may import each other; cycles are the compiler's business.
var rules = []rule{
	{"store", nil},
	{"store/vfs/...", []string{"store/vfs/...", "internal/..."}},
	{"store/revision/...", []string{"store", "store/revision/...", "internal/..."}},
	{"store/page/...", []string{"store", "store/vfs/...", "store/page/...", "internal/..."}},
	{"store/mergecursor", []string{"store", "internal/..."}},
	{"store/mergecursor/mergecursortest", nil},
	// Its overlay is a page tree in memory.
	{"store/lsm/...", []string{"store", "store/vfs/...", "store/lsm/...", "store/mergecursor", "store/page", "internal/..."}},
	{"store/viewoverlay", []string{"store", "store/mergecursor", "store/page", "store/revision", "internal/..."}},
	{"store/engine", []string{"store/...", "internal/..."}},
	{"store/storetest/...", []string{"store/...", "internal/..."}},
	{"store/bench/...", []string{"store/...", "procusage", "internal/..."}},

	// Values and encodings are leaves.
	{"antelope/serial", []string{"internal/..."}},
	{"antelope/exception", []string{"internal/..."}},
	{"antelope/softfloat", []string{"internal/..."}},
	{"antelope/variant", []string{"antelope/exception", "internal/..."}},
	{"antelope/types", []string{"antelope/variant", "antelope/serial", "antelope/exception", "internal/..."}},
	{"secp256k1", []string{"internal/..."}},
	{"antelope/crypto/...", []string{"antelope/crypto/...", "secp256k1", "antelope/types", "antelope/exception", "internal/..."}},
	{"antelope/admintypes", []string{"antelope/types", "antelope/variant", "internal/..."}},
	{"antelope/abi", []string{"antelope/types", "antelope/variant", "antelope/serial", "antelope/exception", "internal/..."}},
	// The virtual machine knows modules, not chains.
	{"antelope/wasm/intrinsic", []string{"antelope/wasm", "antelope/crypto", "antelope/types", "antelope/serial",
		"antelope/exception", "antelope/softfloat", "internal/..."}},
	{"antelope/wasm/...", []string{"antelope/wasm/...", "antelope/types", "antelope/exception", "internal/..."}},
	// Parts know their names, and nothing of what is in them.
	{"antelope/logcatalog", []string{"store/vfs", "store/vfs/filecache", "internal/..."}},
	// Their files are written through the layer that tests can break.
	{"antelope/tracelog/clog", []string{"internal/..."}},
	{"antelope/tracelog/slicefile", []string{"antelope/logcatalog", "antelope/serial", "antelope/logfinding",
		"antelope/tracelog/clog", "antelope/tracelog/wire", "antelope/types", "store/vfs", "store/vfs/torntail",
		"internal/..."}},
	{"antelope/tracelog", []string{"antelope/chain", "antelope/consensus", "antelope/execute", "antelope/serial",
		"antelope/writebehind", "antelope/tracelog/slicefile", "antelope/tracelog/wire", "antelope/types", "appendonly",
		"internal/..."}},
	{"antelope/tracelog/wire", []string{"antelope/chain", "antelope/execute", "antelope/serial", "antelope/types", "internal/..."}},
	{"antelope/replica", []string{"antelope/chain", "antelope/consensus", "antelope/types", "fleet", "fleet/parquet", "fleet/stream", "store", "internal/..."}},
	{"antelope/logfinding", []string{}},
	{"antelope/logfinding/logrepairtest", []string{"antelope/logfinding", "store/vfs/..."}},
	{"antelope/ship/shiplog", []string{"antelope/logcatalog", "antelope/logfinding", "antelope/types", "store/vfs", "store/vfs/torntail", "internal/..."}},
	{"antelope/ship", []string{"antelope/chain", "antelope/consensus", "antelope/execute", "antelope/writebehind",
		"antelope/ship/...", "antelope/state", "antelope/logfinding", "antelope/types", "httpserver", "internal/..."}},
	{"antelope/ship/wire", []string{"antelope/abi", "antelope/exception", "antelope/execute", "antelope/serial",
		"antelope/state", "antelope/types", "antelope/wasm/intrinsic", "internal/..."}},
	// What nodeos throws for their errors is the node's to say.
	{"antelope/blocklog", []string{"antelope/consensus", "antelope/finality", "antelope/logcatalog", "antelope/types",
		"antelope/serial", "store/vfs", "store/vfs/torntail", "internal/..."}},
	{"antelope/resourcemonitor", []string{"procusage", "internal/..."}},
	{"antelope/config", []string{"antelope/admintypes", "store/engine", "store/vfs", "internal/..."}},
	{"antelope/feature", []string{"antelope/exception", "antelope/serial", "antelope/types", "antelope/variant", "store/vfs", "internal/..."}},
	{"antelope/finality", []string{"antelope/crypto", "antelope/exception", "antelope/feature", "antelope/serial",
		"antelope/types", "store/vfs", "internal/..."}},
	{"antelope/finalizer", []string{"antelope/crypto", "antelope/finality", "antelope/types", "store/vfs", "internal/..."}},
	{"antelope/consensus", []string{"antelope/...", "store/vfs", "internal/..."}},
	{"antelope/producer", []string{"antelope/...", "store/vfs", "writerloop", "internal/..."}},
	// What executes knows no forks and no logs. Transactions that leave nothing run above a view.
	{"antelope/execute", []string{"antelope/abi", "antelope/authority", "antelope/consensus", "antelope/crypto",
		"antelope/deepmind", "antelope/exception",
		"antelope/feature", "antelope/finality", "antelope/resource", "antelope/state", "antelope/types",
		"antelope/wasm", "antelope/wasm/intrinsic", "store", "store/viewoverlay", "internal/..."}},
	{"antelope/chain", []string{"antelope/...", "store", "internal/..."}},
	{"antelope/chain/chaintest/...", []string{"antelope/...", "store", "store/engine", "store/page", "internal/..."}},
	{"antelope/difftest/...", []string{"antelope/...", "contracts", "store/engine", "procusage", "internal/..."}},
	{"antelope/rpc/...", []string{"antelope/...", "httpserver/...", "internal/..."}},
	{"antelope/p2p/...", []string{"antelope/...", "internal/..."}},
	{"antelope/node/...", []string{"antelope/...", "fleet/...", "contracts", "store", "store/engine", "store/vfs",
		"store/vfs/torntail", "httpserver/...", "nodemetrics", "devnetrunner", "livepage/...", "writerloop", "nodeupkeep",
		"internal/..."}},
	{"antelope/...", []string{"antelope/...", "store", "internal/..."}},

	// What both protocols use knows neither.
	{"nodeupkeep", []string{"store", "internal/sdnotify", "procusage", "internal/..."}},
	{"writerloop", []string{"internal/..."}},
	// What is written once: it knows the disk, and no protocol.
	{"appendonly/...", []string{"appendonly/...", "store/vfs", "store/vfs/filecache", "store/vfs/torntail", "internal/..."}},

	{"opera/inter/...", []string{"opera/inter/...", "internal/..."}},
	{"opera/dag/...", []string{"opera/inter", "opera/dag/...", "internal/..."}},
	{"opera/evm", []string{"opera/inter", "internal/..."}},
	{"opera/eventfile", []string{"opera/inter", "internal/..."}},
	{"opera/senderrecovery", []string{"secp256k1", "internal/..."}},
	{"opera/eventcheck", []string{"opera/inter", "opera/senderrecovery", "secp256k1", "internal/..."}},
	{"opera/epoch", []string{"opera/inter", "internal/..."}},
	{"opera/genesis", []string{"opera/inter", "internal/..."}},
	{"opera/genesis/fakenet", []string{"opera/inter", "opera/genesis", "opera/epoch", "opera/evm", "opera/state", "internal/..."}},
	{"opera/genesis/genesistest", []string{"opera/genesis"}},
	{"opera/gooperadir", []string{"opera/inter", "store/vfs", "internal/..."}},
	{"opera/eventlog", []string{"opera/inter", "store/vfs", "appendonly", "internal/..."}},
	{"opera/blocklog", []string{"opera/inter", "store/vfs", "appendonly", "internal/..."}},
	{"opera/state", []string{"store", "appendonly", "internal/..."}},
	{"opera/statesync", []string{"opera/state", "internal/..."}},
	{"opera/chain/chaintest", []string{"opera/chain", "opera/genesis/fakenet", "opera/inter", "store", "store/engine"}},
	{"opera/chain/...", []string{"opera/...", "store", "store/vfs", "appendonly", "internal/..."}},
	{"opera/llr", []string{"opera/inter", "store", "internal/..."}},
	{"opera/piecewise", nil},
	{"opera/gasprice", []string{"opera/chain", "opera/piecewise", "opera/eventcheck", "opera/inter", "internal/..."}},
	// Their journals are written through the layer that tests can break.
	{"opera/txpool", []string{"opera/chain", "opera/inter", "opera/senderrecovery", "store/vfs", "store/vfs/torntail", "internal/..."}},
	{"opera/emitter", []string{"opera/chain", "opera/piecewise", "opera/dag", "opera/eventcheck", "opera/inter",
		"store/vfs", "store/vfs/torntail", "internal/..."}},
	{"opera/console", []string{"opera/prompt", "store/vfs", "internal/..."}},
	{"opera/workload", []string{"opera/chain", "opera/eventfile", "opera/genesis/fakenet", "opera/inter", "opera/senderrecovery",
		"store/engine"}},
	{"opera/prompt", []string{"internal/..."}},
	{"opera/keyfiles", []string{"opera/inter", "store/vfs", "internal/..."}},
	{"opera/difftest/...", []string{"opera/...", "internal/..."}},
	{"opera/rpc/...", []string{"opera/...", "httpserver/...", "internal/..."}},
	{"opera/p2p/...", []string{"opera/...", "internal/..."}},
	{"opera/node/...", []string{"opera/...", "fleet/...", "store", "store/engine", "store/vfs", "httpserver/...", "nodemetrics",
		"devnetrunner", "livepage/...", "nodeupkeep", "writerloop", "internal/..."}},
	{"opera/replica", []string{"opera/chain", "opera/inter", "opera/state", "fleet", "fleet/parquet", "fleet/stream", "store", "internal/..."}},
	{"opera/config", []string{"opera/...", "fleet/fleetnode", "fleet/natsserver", "fleet/stream", "store/engine", "internal/..."}},
	{"opera/...", []string{"opera/...", "internal/..."}},

	{"contracts", nil},
	{"contracts/wat", nil},
	{"httpserver/...", []string{"httpserver/...", "internal/..."}},
	{"procusage", []string{"internal/..."}},
	{"devnetrunner", []string{"store", "store/engine", "store/vfs", "internal/..."}},
	// It knows no ledger.
	{"fleet", []string{"store", "internal/..."}},
	{"fleet/natsserver", []string{"procusage"}},
	{"fleet/fleettest", []string{"store"}},
	{"fleet/stream", []string{"fleet", "store", "store/vfs", "internal/..."}},
	{"fleet/parquet", []string{"fleet", "fleet/stream", "store/vfs", "internal/..."}},
	{"fleet/parquet/parquettest", []string{"fleet", "fleet/natsserver", "fleet/stream", "internal/..."}},
	{"fleet/fleetnode", []string{"fleet", "fleet/natsserver", "fleet/stream", "httpserver/exposition", "internal/..."}},
	{"fleet/fleettool", []string{"fleet", "fleet/parquet", "fleet/stream", "internal/..."}},
	{"nodemetrics", []string{"store", "httpserver/exposition", "procusage", "livepage", "internal/..."}},
	{"livepage/...", []string{"livepage/...", "httpserver/...", "internal/..."}},
	// Of a ledger the bench has what makes a chain; nodes it meets as processes.
	{"bench/antelope", []string{"antelope/abi", "antelope/blocklog", "antelope/chain", "antelope/chain/chaintest",
		"antelope/p2p", "antelope/p2p/lightpeer", "antelope/serial", "antelope/types", "contracts", "contracts/wat",
		"bench/...", "fleet/stream", "store/engine", "store/vfs", "internal/..."}},
	{"bench/opera", []string{"opera/inter", "opera/p2p/lightpeer", "opera/workload", "bench/...", "fleet/stream", "store/vfs", "internal/..."}},
	{"bench/subjectflag", []string{"store/engine", "store/page", "internal/..."}},
	{"bench/suite", []string{"bench/...", "fleet/natsserver", "store/vfs", "procusage", "internal/..."}},
	{"bench/...", []string{"bench/...", "store/bench", "store/vfs", "procusage", "internal/..."}},
	{"dbtool/...", []string{"dbtool/...", "store/...", "appendonly", "internal/..."}},
	{"internal/...", []string{"internal/..."}},
	{"cmd/tarn/commandtree", []string{"dbtool", "fleet/fleettool", "antelope/node", "antelope/node/devnet", "antelope/replica",
		"opera/node", "opera/node/devnet", "opera/replica", "bench"}},
	{"cmd/tarn", []string{"cmd/tarn/commandtree"}},
	{"deploy/packaging", []string{"cmd/tarn/commandtree"}},
	// What it attacks it meets as test programs.
	{"soak", []string{"internal/..."}},
}

func fits(pattern, pkg string) bool {
	tree, below := strings.CutSuffix(pattern, "/...")
	return pkg == tree || below && strings.HasPrefix(pkg, tree+"/")
}

// mayImport tells whether the rules let one of our packages import another, and
// whether there is a rule for it at all.
func mayImport(importer, imported string) (ok, ruled bool) {
	i := slices.IndexFunc(rules, func(r rule) bool { return fits(r.importer, importer) })
	if i < 0 {
		return false, false
	}
	return slices.ContainsFunc(rules[i].may, func(p string) bool { return fits(p, imported) }), true
}

func TestImportRulesSayWhatTheArchitectureSays(t *testing.T) {
	for _, c := range []struct {
		importer, imported string
		want               bool
	}{
		{"store", "internal/invariants", false},
		{"store/page", "store/vfs", true},
		{"store/page", "store/revision", false},
		{"store/revision", "store/page", false},
		{"store/lsm", "store/page", true},
		{"store/lsm/pebble", "store/lsm", true},
		{"store/engine", "store/lsm/badger", true},
		{"dbtool", "store/engine", true},
		{"antelope/chain", "store", true},
		{"antelope/chain", "store/viewoverlay", false},
		{"antelope/execute", "antelope/chain", false},
		{"antelope/execute", "antelope/blocklog", false},
		{"antelope/chain", "store/engine", false},
		{"antelope/chain", "store/page", false},
		{"antelope/node", "store/engine", true},
		{"antelope/node", "store/page", false},
		{"antelope/rpc", "store", false},
		{"antelope/p2p/net", "store", false},
		{"antelope/types", "antelope/chain", false},
		{"antelope/chain", "opera/inter", false},
		{"opera/chain", "antelope/types", false},
		{"opera/rpc", "store", false},
		{"bench", "antelope/chain", false},
		{"bench/suite", "antelope/chain", false},
		{"bench/antelope", "antelope/difftest", false},
		{"cmd/tarn", "store/engine", false},
		{"antelope/blocklog", "antelope/exception", false},
		{"antelope/logcatalog", "antelope/types", false},
		{"antelope/ship/shiplog", "antelope/blocklog", false},
		{"antelope/tracelog/slicefile", "antelope/blocklog", false},
		{"antelope/config", "antelope/exception", false},
		{"antelope/admintypes", "antelope/exception", false},
		{"antelope/resourcemonitor", "antelope/exception", false},
		{"antelope/logfinding", "antelope/exception", false},
		{"antelope/ship/shiplog", "antelope/exception", false},
		{"antelope/tracelog/slicefile", "antelope/exception", false},
		{"writerloop", "store", false},
		{"nodeupkeep", "antelope/types", false},
		{"appendonly", "store/page", false},
		{"fleet", "antelope/types", false},
		{"fleet/stream", "store/engine", false},
		{"fleet/parquet", "antelope/types", false},
		{"antelope/replica", "store/engine", false},
		{"httpserver", "antelope/rpc", false},
		{"opera/node", "antelope/node", false},
		{"cmd/tarn", "antelope/difftest", false},
		{"internal/lint", "store", false},
		{"soak", "store", false},
	} {
		if got, ruled := mayImport(c.importer, c.imported); !ruled || got != c.want {
			t.Errorf("%s imports %s: allowed %v (ruled %v), want %v", c.importer, c.imported, got, ruled, c.want)
		}
	}
}

func TestPackagesImportOnlyWhatTheirRuleAllows(t *testing.T) {
	for _, f := range goFiles(t) {
		if f.isTest() {
			continue
		}
		importer := f.dir()
		if _, ruled := mayImport(importer, importer); !ruled {
			t.Errorf("%s: no import rule fits package %s; add one that says what it may import", f.path, importer)
			continue
		}
		for _, spec := range f.ast.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			imported, ours := strings.CutPrefix(name, module+"/")
			if !ours {
				continue
			}
			if ok, _ := mayImport(importer, imported); !ok {
				t.Errorf("%s:%d: %s must not import %s", f.path, f.line(spec.Pos()), importer, imported)
			}
		}
	}
}

// plain are the files that read options and files of the operator. What is wrong with those
// they say in plain errors; which exception nodeos has for one, antelope/node/thrown.go says.
var plain = []string{"antelope/*/options.go", "antelope/node/settings*.go", "antelope/p2p/address.go",
	"antelope/feature/load.go"}

func TestOptionsThrowNothing(t *testing.T) {
	for _, pattern := range plain {
		fitting := 0
		for _, f := range goFiles(t) {
			if ok, err := path.Match(pattern, f.path); err != nil || !ok || f.isTest() {
				continue
			}
			fitting++
			for _, spec := range f.ast.Imports {
				if spec.Path.Value == strconv.Quote(module+"/antelope/exception") {
					t.Errorf("%s:%d: options throw nothing: say what is wrong as admin.BadOption, or with a type of your own", f.path, f.line(spec.Pos()))
				}
			}
		}
		if fitting == 0 {
			t.Errorf("no file fits %s", pattern)
		}
	}
}

// Names that mean nothing attract everything.
func TestPackagesAreNamedForWhatTheyOwn(t *testing.T) {
	meaningless := []string{"util", "utils", "common", "helper", "helpers", "misc", "shared", "base", "lib", "manager"}
	for _, f := range goFiles(t) {
		for _, name := range []string{path.Base(f.dir()), strings.TrimSuffix(f.ast.Name.Name, "_test")} {
			if slices.Contains(meaningless, name) {
				t.Errorf("%s: package %s: name it for what it owns", f.path, name)
			}
		}
	}
}

// A permission that nobody uses is a door left open: whoever needs one asks for it.
func TestEachPermissionIsUsed(t *testing.T) {
	used := map[string]bool{} // "importer: pattern"
	for _, f := range goFiles(t) {
		i := slices.IndexFunc(rules, func(r rule) bool { return fits(r.importer, f.dir()) })
		if f.isTest() || i < 0 {
			continue
		}
		for _, spec := range f.ast.Imports {
			imported, ours := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module+"/")
			for _, p := range rules[i].may {
				if ours && fits(p, imported) {
					used[rules[i].importer+": "+p] = true
				}
			}
		}
	}
	for _, r := range rules {
		for _, p := range r.may {
			own := p == "internal/..." || p == r.importer // what anybody may have
			if !own && !used[r.importer+": "+p] {
				t.Errorf("%s may import %s, and does not", r.importer, p)
			}
		}
	}
}
