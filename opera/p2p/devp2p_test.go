package p2p

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// go-ethereum's devp2p connects to a node and greets it, and passes its tests of both versions of
// discovery with it. Peers of the protocol itself it does not know.
func TestDevp2psTestsPass(t *testing.T) {
	program := os.Getenv("TARN_DEVP2P")
	if program == "" {
		t.Skip("set TARN_DEVP2P to go-ethereum's cmd/devp2p")
	}
	n := startNode(t, &graph{here: nil}, func(o *Options) { o.Server.DiscoveryV4, o.Server.DiscoveryV5 = true, true })
	defer closeNode(t, n)
	run := func(words ...string) string {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		out, err := exec.CommandContext(ctx, program, words...).CombinedOutput()
		if err != nil {
			t.Errorf("devp2p %v: %v: %s", words, err, out)
		}
		return string(out)
	}
	if said := run("rlpx", "ping", n.Self().URLv4()); !strings.Contains(said, "fsnap/1 opera/62 opera/63") {
		t.Errorf("it is greeted with %s", said)
	}
	for version, node := range map[string][]string{"discv4": {"--remote", n.Self().String()},
		"discv5": {n.Self().String()}} {
		said := run(append([]string{version, "test", "--listen1", "127.0.0.1", "--listen2", "127.0.0.2"}, node...)...)
		lines := strings.Split(strings.TrimSpace(said), "\n")
		last := lines[len(lines)-1]
		passed, all, ok := strings.Cut(strings.TrimSuffix(last, " tests passed."), "/")
		if !ok || passed != all || passed == "0" {
			t.Errorf("%s: %s", version, said)
		}
		t.Logf("%s: %s", version, last)
	}
}
