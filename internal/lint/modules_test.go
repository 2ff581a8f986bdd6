package lint

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// linked lists every module that the binary may contain, by its licence. A new one
// is a decision: is there a smaller way, is it kept well, may we? Most of these
// come with Pebble and Badger.
var linked = map[string][]string{
	"Apache-2.0": {
		"github.com/RaduBerinde/axisds", "github.com/RaduBerinde/btreemap",
		"github.com/cockroachdb/crlib", "github.com/cockroachdb/errors", "github.com/cockroachdb/logtags",
		"github.com/cockroachdb/redact", "github.com/cockroachdb/swiss", "github.com/cockroachdb/tokenbucket",
		"github.com/dgraph-io/badger/v4", "github.com/dgraph-io/ristretto/v2",
		"github.com/go-logr/logr", "github.com/go-logr/stdr", "github.com/google/flatbuffers",
		"github.com/matttproud/golang_protobuf_extensions", "github.com/minio/minlz",
		"github.com/prometheus/client_golang", "github.com/prometheus/client_model",
		"github.com/prometheus/common", "github.com/prometheus/procfs", "github.com/spf13/cobra",
		"go.opentelemetry.io/auto/sdk", "go.opentelemetry.io/otel", "go.opentelemetry.io/otel/metric",
		"go.opentelemetry.io/otel/trace",
		"github.com/consensys/gnark-crypto", "github.com/tetratelabs/wazero",
		// With go-ethereum's tries and machine.
		"github.com/crate-crypto/go-eth-kzg", "github.com/minio/sha256-simd", "github.com/tklauser/numcpus",
		"gopkg.in/yaml.v2",
		// NATS, for fleets: a client, and a server in the process.
		"github.com/minio/highwayhash", "github.com/nats-io/jwt/v2", "github.com/nats-io/nats-server/v2",
		"github.com/nats-io/nats.go", "github.com/nats-io/nkeys", "github.com/nats-io/nuid",
		// Parquet, for what a fleet exports.
		"github.com/parquet-go/bitpack", "github.com/parquet-go/parquet-go",
		// With its peers and JavaScript.
		"github.com/google/pprof", "github.com/jackpal/go-nat-pmp",
	},
	"ISC": {"github.com/decred/dcrd/dcrec/secp256k1/v4", "github.com/davecgh/go-spew"},
	// Its library packages only; the commands are under the GPL. With cgo.
	"LGPL-3.0": {
		"github.com/ethereum/go-ethereum",
		"github.com/Fantom-foundation/go-opera", // the code of its contracts, as data
	},
	"BSD": {
		"github.com/DataDog/zstd", "github.com/cockroachdb/pebble/v2", "github.com/gogo/protobuf",
		"github.com/golang/protobuf", "github.com/golang/snappy", "github.com/klauspost/compress",
		"github.com/pkg/errors", "github.com/rogpeppe/go-internal", "github.com/spf13/pflag",
		"github.com/syndtr/goleveldb", "golang.org/x/exp", "golang.org/x/sys", "golang.org/x/text", "golang.org/x/time",
		"google.golang.org/protobuf",
		"filippo.io/nistec", "github.com/bits-and-blooms/bitset", "golang.org/x/crypto",
		"github.com/ethereum/go-bigmodexpfix", "github.com/gofrs/flock", "github.com/holiman/uint256",
		"github.com/shirou/gopsutil", "github.com/tklauser/go-sysconf", "golang.org/x/sync",
		"github.com/fsnotify/fsnotify", "github.com/go-sourcemap/sourcemap",
		"github.com/google/uuid", "github.com/gorilla/websocket", "github.com/huin/goupnp", "github.com/wlynxg/anet",
		"github.com/pierrec/lz4/v4", "github.com/twpayne/go-geom", // with Parquet
	},
	"MIT": {
		"github.com/antithesishq/antithesis-sdk-go", // nothing but empty functions
		"github.com/beorn7/perks", "go.etcd.io/bbolt", "github.com/cespare/xxhash/v2", "github.com/dustin/go-humanize",
		"github.com/getsentry/sentry-go", "github.com/kr/pretty", "github.com/kr/text",
		"github.com/BurntSushi/toml", "github.com/VictoriaMetrics/fastcache", "github.com/emicklei/dot",
		"github.com/ferranbt/fastssz", "github.com/holiman/bloomfilter/v2", "github.com/klauspost/cpuid/v2",
		"github.com/mitchellh/mapstructure", "github.com/deckarep/golang-set/v2", "github.com/dlclark/regexp2",
		"github.com/dop251/goja", "github.com/fjl/jsonw",
		// With the terminal.
		"github.com/clipperhouse/uax29/v2", "github.com/mattn/go-runewidth", "github.com/peterh/liner",
		"github.com/pion/dtls/v3", "github.com/pion/logging", "github.com/pion/stun/v3", "github.com/pion/transport/v4",
		"github.com/rs/cors",
		"github.com/andybalholm/brotli", "github.com/parquet-go/jsonlite", // with Parquet
	},
}

// Text that a licence file of that kind must contain.
var licenceText = map[string]*regexp.Regexp{
	"Apache-2.0": regexp.MustCompile(`(?i)Apache License`),
	"BSD":        regexp.MustCompile(`(?i)Redistribution and use in source and binary forms`),
	"ISC":        regexp.MustCompile(`(?i)Permission to use, copy, modify, and(/or)? distribute this software`),
	"LGPL-3.0":   regexp.MustCompile(`(?i)GNU LESSER GENERAL PUBLIC LICENSE`),
	"MIT":        regexp.MustCompile(`(?im)Permission is hereby granted, free of charge|^// MIT license$`),
}

var copyleft = regexp.MustCompile(`(?i)GNU (LESSER |AFFERO )?GENERAL PUBLIC LICENSE|Mozilla Public License`)

type goModule struct{ Path, Dir string }

// modulesOf lists the modules, other than ours, of all that pkg links.
func modulesOf(t *testing.T, pkg string) []goModule {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-json=Module", pkg)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1") // with it there are more
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var list []goModule
	for dec := json.NewDecoder(out); ; {
		var p struct{ Module *goModule }
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if m := p.Module; m != nil && m.Path != module && !slices.Contains(list, *m) {
			list = append(list, *m)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("go list -deps %s: %v", pkg, err)
	}
	return list
}

// licence is the text of a module's licence files, or of the comments before its packages
// where it has none.
func licence(t *testing.T, m goModule) string {
	t.Helper()
	var text strings.Builder
	for _, name := range glob(t, m, "*.go") {
		if b, err := os.ReadFile(name); err == nil && len(licenceFiles(t, m)) == 0 {
			before, _, _ := bytes.Cut(b, []byte("\npackage "))
			text.Write(before)
		}
	}
	for _, name := range licenceFiles(t, m) {
		if b, err := os.ReadFile(name); err == nil {
			text.Write(b)
		}
	}
	return text.String()
}

func glob(t *testing.T, m goModule, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(m.Dir, pattern))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func licenceFiles(t *testing.T, m goModule) (names []string) {
	t.Helper()
	for _, pattern := range []string{"LICEN[CS]E*", "[Ll]icen[cs]e*", "COPYING*"} {
		names = append(names, glob(t, m, pattern)...)
	}
	return names
}

func TestTheBinaryLinksOnlyListedModules(t *testing.T) {
	known := map[string]string{}
	for licence, modules := range linked {
		for _, m := range modules {
			known[m] = licence
		}
	}
	listed := except(known)
	for _, m := range modulesOf(t, "./cmd/tarn") {
		if !listed.has(m.Path) {
			t.Errorf("module %s is linked but not listed; its licence begins: %.120q", m.Path, licence(t, m))
		} else if !licenceText[known[m.Path]].MatchString(licence(t, m)) {
			t.Errorf("module %s: its licence file is not %s", m.Path, known[m.Path])
		}
	}
	listed.unused(t)
}

// go-opera's module gives the code of the contracts that a fakenet begins with, as data.
// Nothing else of it is part of us.
func TestNothingOfGoOperaIsLinkedButItsContracts(t *testing.T) {
	const contracts = "github.com/Fantom-foundation/go-opera/opera/contracts/"
	may := []string{"sfc", "sfclib", "driver", "driverauth", "netinit"}
	cmd := exec.Command("go", "list", "-deps", "./...")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list -deps: %v", err)
	}
	found := 0
	for _, pkg := range strings.Fields(string(out)) {
		if !strings.HasPrefix(pkg, "github.com/Fantom-foundation/") {
			continue
		}
		if found++; !slices.Contains(may, strings.TrimPrefix(pkg, contracts)) {
			t.Errorf("%s is linked", pkg)
		}
	}
	if found != len(may) {
		t.Errorf("%d of the %d packages of contracts are linked", found, len(may))
	}
}

// go-ethereum's package for questions changes the terminal's mode when a process begins: a
// node that a shell starts in the background would be stopped.
func TestNothingTouchesTheTerminalAtTheStart(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", "./cmd/tarn")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list -deps: %v", err)
	}
	if slices.Contains(strings.Fields(string(out)), "github.com/ethereum/go-ethereum/console/prompt") {
		t.Error("go-ethereum's console/prompt is linked; opera/prompt asks")
	}
}

// A contagious licence at the seam would reach everything that stands on it.
func TestTheStoreLinksNoCopyleft(t *testing.T) {
	for _, m := range modulesOf(t, "./store/...") {
		if copyleft.MatchString(licence(t, m)) {
			t.Errorf("module %s: %s", m.Path, copyleft.FindString(licence(t, m)))
		}
	}
}

// The same checks everywhere: what the README tells a newcomer to run is what
// the build machine runs.
func TestTheBuildMachineRunsTheDocumentedTestCommand(t *testing.T) {
	const command = "go test -short ./..."
	for _, name := range []string{"README.md", ".ci/run"} {
		if !strings.Contains(string(read(t, name)), command) {
			t.Errorf("%s does not name the test command %q", name, command)
		}
	}
}
