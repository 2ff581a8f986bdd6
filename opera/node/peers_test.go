package node

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"tarn/opera/config"
	"tarn/opera/p2p"
)

// connectPeer gives a node peers as its options say, on this machine only.
func connectPeer(t *testing.T, n *Node, dir string, static ...string) *p2p.Node {
	t.Helper()
	c := &config.Config{}
	c.Node.DataDir = dir
	c.Node.P2P.MaxPeers, c.Node.P2P.NoDiscovery, c.Node.P2P.ListenAddr = 5, true, "127.0.0.1:0"
	c.Node.P2P.StaticNodes = static
	l := newServices(c, slog.DiscardHandler)
	peers, err := l.meet(n, nil, nil)
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
	importEvents(t, a)
	known := connectPeer(t, a, first)
	if connectPeer(t, b, second, known.Self().URLv4()); t.Failed() {
		return
	}
	deadline := time.Now().Add(time.Minute)
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
	c.Node.P2P.StaticNodes, c.Node.P2P.NAT, c.Node.P2P.NetRestrict, c.Node.P2P.NodeKeyHex = []string{
		"nobody"}, "somehow", []string{"1.2.3"}, "12"
	l := newServices(c, slog.DiscardHandler)
	_, err := l.meet(n, nil, nil)
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

// Who is at another address than those named gets no connection; who is at one of them does.
func TestOnlyNamedAddressesConnect(t *testing.T) {
	dir := t.TempDir()
	n := open(t, options(dir, io.Discard))
	for _, c := range []struct {
		networks, addresses []string
		taken               bool
	}{
		{nil, nil, true},
		{nil, []string{"127.0.0.1"}, true}, {nil, []string{" ::ffff:127.0.0.1"}, true},
		{nil, []string{"10.1.2.3"}, false},
		{[]string{"127.0.0.0/8"}, []string{"127.0.0.1"}, true}, {[]string{"10.0.0.0/8"}, []string{"127.0.0.1"}, false},
		{[]string{"127.0.0.0/8"}, []string{"127.0.0.9"}, false},
	} {
		o := &config.Config{}
		o.Node.DataDir = dir
		o.Node.P2P.MaxPeers, o.Node.P2P.NoDiscovery, o.Node.P2P.ListenAddr = 5, true, "127.0.0.1:0"
		o.Node.P2P.NetRestrict, o.Node.P2P.IPRestrict = c.networks, c.addresses
		l := newServices(o, slog.DiscardHandler)
		peers, err := l.meet(n, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", peers.Self().TCP()))
		if err != nil {
			t.Fatal(err)
		}
		wait := 10 * time.Second // for an end that comes at once
		if c.taken {
			wait = 100 * time.Millisecond
		}
		if err := conn.SetReadDeadline(time.Now().Add(wait)); err != nil {
			t.Fatal(err)
		}
		_, err = conn.Read(make([]byte, 1))
		if silent := errors.Is(err, os.ErrDeadlineExceeded); silent != c.taken {
			t.Errorf("%v, %v: %v", c.networks, c.addresses, err)
		}
		if err := errors.Join(conn.Close(), peers.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := restriction(nil, []string{"nowhere"}); err == nil ||
		!strings.Contains(err.Error(), "iprestrict: couldn't parse IP address nowhere") {
		t.Error(err)
	}
}

// Private nodes are connected and trusted.
func TestPrivateNodesAreKeptAndTrusted(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	a, b := open(t, options(first, io.Discard)), open(t, options(second, io.Discard))
	known := connectPeer(t, a, first)
	c := &config.Config{}
	c.Node.DataDir = second
	c.Node.P2P.MaxPeers, c.Node.P2P.NoDiscovery, c.Node.P2P.ListenAddr = 5, true, "127.0.0.1:0"
	c.Node.P2P.PrivateNodes = []string{known.Self().URLv4()}
	l := newServices(c, slog.DiscardHandler)
	peers, err := l.meet(b, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer peers.Close()
	for deadline := time.Now().Add(time.Minute); peers.PeerCount() == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the private node is not connected")
		}
	}
	if info := peers.PeersInfo(); !info[0].Network.Static || !info[0].Network.Trusted {
		t.Errorf("%+v", info[0].Network)
	}
}

// What came of peers' votes and records is said in go-opera's words.
func TestTakenRecordsAreSaid(t *testing.T) {
	n := open(t, options(t.TempDir(), io.Discard))
	var out strings.Builder
	l := &services{log: slog.New(slog.NewTextHandler(&out, nil))}
	l.summary(n)(p2p.Taken{EpochVotes: 1, EpochRecords: 2, BlockVotes: 3, BlockRecords: 4})
	const want = `msg="New LLR summary" last_epoch=2 last_block=1 new_evs=1 new_ers=2 new_bvs=3 new_brs=4`
	if !strings.Contains(out.String(), want) {
		t.Errorf("it says %s", out.String())
	}
}

// With --syncmode snap block records are asked for, too; votes and epochs always are.
func TestSyncmodeSnapAsksForBlockRecords(t *testing.T) {
	dir := t.TempDir()
	n := open(t, options(dir, io.Discard))
	for _, snap := range []bool{false, true} {
		c := &config.Config{}
		c.Node.DataDir, c.Opera.AllowSnapsync = dir, snap
		l := newServices(c, slog.DiscardHandler)
		o, err := l.peerOptions(n)
		if err != nil || o.Snap != snap || o.RecordLedger == nil || o.Records == nil {
			t.Errorf("with %v: %v, %v, %v", snap, o.Snap, o.RecordLedger, err)
		}
	}
}
