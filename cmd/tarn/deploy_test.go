package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tarn/antelope/config"
	"tarn/internal/freeport"
)

// producing is the configuration of a chain's only producer, whose peers' port is closed.
const producing = `producer-name = eosio
enable-stale-production = true
resource-monitor-not-shutdown-on-threshold-exceeded = true
p2p-listen-endpoint =
`

// text is a file's, with each continued line as one.
func text(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(b), "\\\n", "")
}

// only is what the pattern finds in a text, in which there is one place for it.
func only(t *testing.T, in, pattern string) string {
	t.Helper()
	found := regexp.MustCompile(pattern).FindAllStringSubmatch(in, -1)
	if len(found) != 1 {
		t.Fatalf("%d places for %s", len(found), pattern)
	}
	return found[0][1]
}

// folderOf makes a node's folder with a configuration, and returns the options that name it.
func folderOf(t *testing.T, ini string) []string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "config.ini"), []byte(ini), 0o644); err != nil {
		t.Fatal(err)
	}
	return []string{"--config-dir", dir, "--data-dir", filepath.Join(dir, "data")}
}

// status is how a program ends, with what it said.
func status(t *testing.T, name string, args ...string) (code int, said string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	var ended *exec.ExitError
	if ctx.Err() != nil || err != nil && !errors.As(err, &ended) {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	if ended != nil {
		code = ended.ExitCode()
	}
	return code, string(out)
}

func TestAnImagesHealthIsThatOfItsNode(t *testing.T) {
	image := text(t, "../../deploy/Containerfile")
	var command []string
	if err := json.Unmarshal([]byte(only(t, image, `(?m)^HEALTHCHECK .*CMD (\[.*\])$`)), &command); err != nil {
		t.Fatal(err)
	}
	var words []string
	if err := json.Unmarshal([]byte(only(t, image, `(?m)^CMD (\[.*\])$`)), &words); err != nil {
		t.Fatal(err)
	}
	// The node of this test has a port that is free here, in the place of the image's.
	const inside = "8888"
	where := slices.Index(words, "--http-server-address") + 1
	if where == 0 || words[where] != "0.0.0.0:"+inside {
		t.Fatalf("the image's node is started with %q", words)
	}
	words[where] = freeport.Address(t)
	_, port, err := net.SplitHostPort(words[where])
	if err != nil {
		t.Fatal(err)
	}
	script := &command[len(command)-1]
	if strings.Count(*script, "127.0.0.1/"+inside) != 1 || strings.Count(*script, "127.0.0.1:"+inside) != 1 {
		t.Fatalf("the check asks elsewhere: %s", *script)
	}
	*script = strings.ReplaceAll(*script, inside, port)
	healthy := func() bool {
		code, _ := status(t, command[0], command[1:]...)
		return code == 0
	}
	if healthy() {
		t.Error("healthy before there is a node")
	}
	for _, k := range []struct {
		name, ini string
		words     []string
		healthy   bool
	}{
		// Its newest block is that of the genesis, which is years old.
		{"nobody produces", "p2p-listen-endpoint =\n", words, false},
		{"it produces", producing, words, true},
		{"it wants its own name", producing, words[:where+1], true},
	} {
		t.Run(k.name, func(t *testing.T) {
			stop := serve(t, words[where], append(folderOf(t, k.ini+"plugin = eosio::http_plugin\n"), k.words...))
			for until := time.Now().Add(2 * time.Minute); k.healthy && !healthy() && time.Now().Before(until); {
				time.Sleep(50 * time.Millisecond)
			}
			if got := healthy(); got != k.healthy {
				t.Errorf("healthy: %v", got)
			}
			stop()
			if healthy() {
				t.Error("healthy when the node has ended")
			}
		})
	}
}

// serve starts a node that answers at an address, and returns when it does.
func serve(t *testing.T, address string, args []string) (stop func()) {
	t.Helper()
	var said bytes.Buffer
	node := exec.CommandContext(t.Context(), "nodeos", args...)
	node.Stderr = &said
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- node.Wait() }()
	for until := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		c, err := net.Dial("tcp", address)
		if err == nil {
			_ = c.Close() // nothing was said
			break
		}
		select {
		case err := <-ended:
			t.Fatalf("the node ended: %v\n%s", err, &said)
		default:
		}
		if time.Now().After(until) {
			t.Fatal("nobody listens")
		}
	}
	return func() {
		if err := node.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Errorf("%v\n%s", err, &said)
		}
	}
}

// A unit leaves a node alone that ended with what is so at its next start, too.
func TestUnitsStartNoNodeAgainThatWouldEndAgain(t *testing.T) {
	good := folderOf(t, producing)
	for _, k := range []struct {
		unit   string
		codes  []int      // after which nothing is started
		faults [][]string // one for each of them
	}{
		{
			"nodeos", []int{config.ExitMemory, config.ExitOther, config.ExitInitialize},
			[][]string{
				// There are no addresses for the state.
				append([]string{"bash", "-c", `ulimit -v 8000000; exec "$@"`, "-", "nodeos", "--chain-state-db-size-mb=8192"}, good...),
				append([]string{"nodeos", "--http-server-adress=127.0.0.1:1"}, good...),
				append([]string{"nodeos", "--config=missing.ini"}, good...),
			},
		},
		{"opera", []int{1}, [][]string{{"opera", "--datadir", t.TempDir(), "--no-such-option"}}},
	} {
		t.Run(k.unit, func(t *testing.T) {
			unit := text(t, "../../deploy/"+k.unit+".service")
			var listed []int
			for word := range strings.FieldsSeq(only(t, unit, `(?m)^RestartPreventExitStatus=(.*)$`)) {
				n, err := strconv.Atoi(word)
				if err != nil {
					t.Fatal(err)
				}
				listed = append(listed, n)
			}
			if !slices.Equal(listed, k.codes) {
				t.Errorf("the unit has %d, the node %d", listed, k.codes)
			}
			for i, fault := range k.faults {
				if code, said := status(t, fault[0], fault[1:]...); code != k.codes[i] {
					t.Errorf("%q ended with %d, want %d\n%s", fault, code, k.codes[i], said)
				}
			}
		})
	}
}
