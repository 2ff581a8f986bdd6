package node

import (
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"tarn/opera/config"
	"tarn/opera/p2p"
)

// peered gives a node peers as its options say, on this machine only.
func peered(t *testing.T, n *Node, dir string, static ...string) *p2p.Node {
	t.Helper()
	c := &config.Config{}
	c.Node.DataDir = dir
	c.Node.P2P.MaxPeers, c.Node.P2P.NoDiscovery, c.Node.P2P.ListenAddr = 5, true, "127.0.0.1:0"
	c.Node.P2P.StaticNodes = static
	l := &life{Config: c, out: io.Discard, err: io.Discard, log: slog.New(slog.DiscardHandler)}
	peers, err := l.meet(n, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := peers.Close(); err != nil {
			t.Error(err)
		}
	})
	return peers
}

// An empty node that knows another comes to its head, and keeps its own key.
func TestANodeFollowsAnother(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	a, b := open(t, options(first, io.Discard)), open(t, options(second, io.Discard))
	imported(t, a)
	known := peered(t, a, first)
	if peered(t, b, second, known.Self().URLv4()); t.Failed() {
		return
	}
	deadline := time.Now().Add(30 * time.Second)
	for b.Chain().Head().Number < a.Chain().Head().Number && time.Now().Before(deadline) {
		time.Sleep(20 * time.Millisecond)
	}
	if got, want := summary(t, b), summary(t, a); got != want {
		t.Errorf("the second node is at %s, the first at %s", got, want)
	}
	key, err := os.ReadFile(a.Dir("nodekey"))
	if err != nil || len(key) == 0 {
		t.Fatalf("the key of the first node: %x, %v", key, err)
	}
	if info := known.NodeInfo(); info.ID != known.Self().ID().String() {
		t.Errorf("the first node says that it is %s", info.ID)
	}
}

func TestOptionsOfTheNetworkAreCheckedTogether(t *testing.T) {
	dir := t.TempDir()
	n := open(t, options(dir, io.Discard))
	c := &config.Config{}
	c.Node.DataDir = dir
	c.Node.P2P.MaxPeers = 5
	c.Node.P2P.StaticNodes, c.Node.P2P.NAT, c.Node.P2P.NetRestrict, c.Node.P2P.NodeKeyHex = []string{"nobody"}, "somehow", []string{"1.2.3"}, "12"
	l := &life{Config: c, log: slog.New(slog.DiscardHandler)}
	_, err := l.meet(n, nil)
	if err == nil {
		t.Fatal("they are taken")
	}
	for _, word := range []string{"nobody", "nat", "netrestrict", "nodekeyhex"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q is not named in: %v", word, err)
		}
	}
}

func TestKnownNetworksHaveNodesToAsk(t *testing.T) {
	if len(bootnodesOf("main")) != 10 || len(bootnodesOf("test")) != 4 || bootnodesOf("fake") != nil {
		t.Error(bootnodesOf("main"), bootnodesOf("test"), bootnodesOf("fake"))
	}
}
