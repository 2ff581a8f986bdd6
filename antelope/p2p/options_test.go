package p2p

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tarn/antelope/admintypes"
	"tarn/antelope/crypto"
	"tarn/antelope/types"
	"tarn/internal/freeport"
)

func TestListenersAreReadAsTheHelpTextSays(t *testing.T) {
	for s, want := range map[string]Listener{
		"0.0.0.0:9876":              {"0.0.0.0:9876", 0, Both},
		"0.0.0.0:9876:0":            {"0.0.0.0:9876", 0, Both},
		"192.168.0.100:9876:1MiB/s": {"192.168.0.100:9876", 1 << 20, Both},
		"node.eos.io:9876:1512KB/s": {"node.eos.io:9876", 1_512_000, Both},
		"node.eos.io:9876:0.5GB/s":  {"node.eos.io:9876", 500_000_000, Both},
		"node.eos.io:9876:2TiB/s":   {"node.eos.io:9876", 2 << 40, Both},
		"node.eos.io:9876:2TB/s":    {"node.eos.io:9876", 2_000_000_000_000, Both},
		"node.eos.io:9876:3KiB/s":   {"node.eos.io:9876", 3072, Both},
		"node.eos.io:9876:4GiB/s":   {"node.eos.io:9876", 4 << 30, Both},
		"node.eos.io:9876:7B/s":     {"node.eos.io:9876", 7, Both},
		"node.eos.io:9876:700":      {"node.eos.io:9876", 700, Both},
		":9876":                     {":9876", 0, Both},
		"[::1]:9876":                {"[::1]:9876", 0, Both},
		"[2001:db8:85a3:8d3:1319:8a2e:370:7348]:9876:250KB/s": {"[2001:db8:85a3:8d3:1319:8a2e:370:7348]:9876", 250_000, Both},
		// As Spring's help text says.
		"0.0.0.0:9877:trx":              {"0.0.0.0:9877", 0, TransactionsOnly},
		"0.0.0.0:9877:blk:1MiB/s":       {"0.0.0.0:9877", 1 << 20, BlocksOnly},
		"node.eos.io:9877:trx:1512KB/s": {"node.eos.io:9877", 1_512_000, TransactionsOnly},
		"[::1]:9877:blk":                {"[::1]:9877", 0, BlocksOnly},
		"[::1]:9877:trx:0":              {"[::1]:9877", 0, TransactionsOnly},
	} {
		if got, err := ParseListener(s); err != nil || got != want {
			t.Errorf("%s is %+v, %v; want %+v", s, got, err, want)
		}
	}
	for _, s := range []string{"2001:db8::1:9876:250KB/s", "a:1:-1KB/s", "a:1:1kB/s", "a:1:1KB", "a:1:1XB/s",
		"a:1:fast", "a:1:99999999999TiB/s", "a:1:1iB/s", "a:1:KB/s", "a:1:trx:fast", "a:1:1KB/s:trx",
		"a:1:trx:blk:1", "[::1]:1:trx:1:1", "[::1]:1:x:1"} {
		var bad *admintypes.BadOption
		if l, err := ParseListener(s); !errors.As(err, &bad) {
			t.Errorf("%s is %+v, %v", s, l, err)
		}
	}
}

func TestPeerAddressesAreSplit(t *testing.T) {
	for s, want := range map[string][3]string{
		"p2p.eos.io:9876":               {"p2p.eos.io", "9876", ""},
		"p2p.eos.io:9876:trx":           {"p2p.eos.io", "9876", "trx"},
		"p2p.eos.io:9876:blk - 0123456": {"p2p.eos.io", "9876", "blk"},
		"p2p.eos.io:9876 - 0123456":     {"p2p.eos.io", "9876", ""},
		"[::1]:9876:blk":                {"::1", "9876", "blk"},
	} {
		if host, port, kind, ok := splitPeer(s); !ok || [3]string{host, port, kind} != want {
			t.Errorf("%s is %q %q %q, %v", s, host, port, kind, ok)
		}
	}
	for _, s := range []string{"", "host", ":1", "[::1", "host:"} {
		if host, port, kind, ok := splitPeer(s); ok {
			t.Errorf("%s is %q %q %q", s, host, port, kind)
		}
	}
}

func FuzzAddresses(f *testing.F) {
	f.Add("[::1]:9876:blk")
	f.Add("host:1:0.5GB/s")
	f.Fuzz(func(t *testing.T, s string) {
		splitPeer(s)
		if l, err := ParseListener(s); err == nil && !strings.HasPrefix(s, l.Address) {
			t.Errorf("%q listens on %q", s, l.Address)
		}
	})
}

func TestOptionsAreValidatedAtOnce(t *testing.T) {
	key, err := crypto.NewPrivateKey(types.K1, [32]byte{31: 5})
	if err != nil {
		t.Fatal(err)
	}
	if o := DefaultOptions(); o.Validate() != nil {
		t.Errorf("the defaults: %v", o.Validate())
	}
	for name, c := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"keep-alive": {func(o *Options) { o.KeepAlive = 0 }, "p2p-keepalive_interval-ms must be greater than 0"},
		"threads":    {func(o *Options) { o.Threads = 0 }, "net-threads 0 must be greater than 0"},
		"agent":      {func(o *Options) { o.AgentName = strings.Repeat("a", 385) }, "agent-name too long, must be less than 384"},
		"specified":  {func(o *Options) { o.Allowed = []string{"specified"} }, "At least one peer-key must accompany 'allowed-connection=specified'"},
		"a key":      {func(o *Options) { o.PeerKeys = []string{"EOSx"} }, "peer-key EOSx"},
		"servers": {func(o *Options) { o.Server = []string{"a:1", "b:1"} },
			"p2p-server-address may not be specified more times than p2p-listen-endpoint"},
		"a long listener": {func(o *Options) { o.Listen = []string{strings.Repeat("a", 290) + ":1"} }, "too long, must be less than 289"},
		"a rate":          {func(o *Options) { o.Listen = []string{"a:1:1xB/s"} }, "invalid block sync rate limit specification: xB/s"},
		"a producer": {func(o *Options) { o.AutoBPPeers = []string{"host:1"} },
			"must consists an account name and server address separated by a comma token"},
		"a producer's":    {func(o *Options) { o.AutoBPPeers = []string{"UPPER,host:1"} }, "the account supplied by --auto-bp-peer option is invalid"},
		"no place":        {func(o *Options) { o.GossipEndpoints = []string{"a"} }, "p2p-bp-gossip-endpoint a must consist of"},
		"one comma":       {func(o *Options) { o.GossipEndpoints = []string{"a,h:1"} }, "second comma is missing"},
		"a gossiper":      {func(o *Options) { o.GossipEndpoints = []string{"UPPER,h:1,192.0.2.1"} }, "The account UPPER supplied by"},
		"kind of traffic": {func(o *Options) { o.GossipEndpoints = []string{"a,h:1:trx,192.0.2.1"} }, "endpoint h:1:trx, syntax host:port"},
		"no IP address":   {func(o *Options) { o.GossipEndpoints = []string{"a,h:1,host"} }, "outbound ip address host, syntax ip-address"},
		"a long address": {func(o *Options) {
			o.GossipEndpoints = []string{"a,h:1," + strings.Repeat("1", maxAddress+1)}
		},
			"too long, must be less than 289"},
		"one address twice": {func(o *Options) { o.GossipEndpoints = []string{"a,h:1,::1", "a,h:2, ::1 "} },
			"Duplicate p2p-bp-gossip-endpoint for: a, outbound ip address: ::1"},
		"nine addresses": {func(o *Options) {
			for i := range 9 {
				o.GossipEndpoints = append(o.GossipEndpoints, fmt.Sprintf("a,h:1,192.0.2.%d", i))
			}
		}, "Too many p2p-bp-gossip-endpoint for a, max 8"},
		"a producer twice": {func(o *Options) { o.Peers, o.AutoBPPeers = []string{"h:1"}, []string{"a,h:1"} },
			`"h:1" should only appear in either p2p-peer-address or p2p-auto-bp-peer option, not both.`},
		"a private key": {func(o *Options) { o.PeerPrivateKeys = []string{`["EOSx","secret"]`} }, "a peer-private-key is not"},
	} {
		o := DefaultOptions()
		c.change(&o)
		err := o.Validate()
		var bad *admintypes.BadOption
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: a secret is shown", name)
		}
	}
	o := DefaultOptions()
	o.Listen = []string{"0.0.0.0:2:1MB/s", "a:1", "a:1"}
	o.Server = []string{"", "public:7"}
	o.PeerPrivateKeys = []string{`["` + key.Public().String() + `","` + key.Text() + `"]`}
	// Mistakes that nodeos lives with.
	o.Peers, o.AutoBPPeers = []string{"", "host", ":1", "good:1"}, []string{"a,nowhere", "b,good:2"}
	o.Allowed, o.MaxNodesPerHost = []string{"any", "some"}, -1
	conf, err := o.resolve("box")
	if err != nil {
		t.Fatal(err)
	}
	if len(conf.mistakes) != 5 || !slices.Equal(conf.Peers, []string{"good:1"}) || len(conf.autoPeers) != 1 ||
		conf.allowed != allowAny {
		t.Errorf("%q %q %v", conf.mistakes, conf.Peers, conf.autoPeers)
	}
	if len(conf.listeners) != 2 || conf.listeners[0].public != "box:2" || conf.listeners[0].Rate != 1e6 ||
		conf.listeners[1].public != "public:7" {
		t.Errorf("%+v", conf.listeners)
	}
	if conf.authKey != key.Public() {
		t.Errorf("%v", conf.authKey)
	}
}

func TestOnlyPeersWithAKeyGetIn(t *testing.T) {
	key := func(n byte) (crypto.PrivateKey, string) {
		k, err := crypto.NewPrivateKey(types.K1, [32]byte{31: n})
		if err != nil {
			t.Fatal(err)
		}
		return k, `["` + k.Public().String() + `","` + k.Text() + `"]`
	}
	known, knownPair := key(1)
	_, otherPair := key(2)
	producer, producerPair := key(3)
	a := startNode(t, newFakeChain(50), func(o *Options) {
		o.Allowed, o.PeerKeys = []string{"specified", "producers"}, []string{known.Public().String()}
		o.IsProducerKey = func(k types.PublicKey) bool { return k == producer.Public() }
	})
	for name, c := range map[string]struct {
		pair string
		in   bool
	}{"the key": {knownPair, true}, "a producer's": {producerPair, true}, "another": {otherPair, false},
		"none": {"", false}} {
		b := startNode(t, newFakeChain(1), func(o *Options) {
			o.Peers = []string{a.address}
			if c.pair != "" {
				o.PeerPrivateKeys = []string{c.pair}
			}
		})
		if c.in {
			eventually(t, name+": the head", func() bool { return b.chain.head() == 50 })
		} else {
			eventually(t, name+": sent away", func() bool { return b.log.contains("authentication failure") })
		}
		b.stop()
	}
	nobody := startNode(t, newFakeChain(50), func(o *Options) { o.Allowed = []string{"none"} })
	b := startNode(t, newFakeChain(1), func(o *Options) { o.Peers = []string{nobody.address} })
	eventually(t, "sent away", func() bool { return b.log.contains("authentication failure") })
	if !nobody.log.contains("Peer not authenticated.  Closing connection.") {
		t.Error("no reason in the log")
	}
}

func TestStatusIsTheOneOfTheAPI(t *testing.T) {
	a := startNode(t, newFakeChain(5), nil)
	b := startNode(t, newFakeChain(5), func(o *Options) { o.Peers = []string{a.address + ":blk"} })
	eventually(t, "greeted", func() bool {
		s, ok := b.Status(a.address + ":blk")
		return ok && s.LastHandshake.Generation > 0
	})
	s, _ := b.Status(a.address + ":blk")
	text := string(s.AppendJSON(nil))
	var got map[string]any
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, key := range []string{"peer", "remote_ip", "remote_port", "connecting", "syncing", "is_bp_peer",
		"is_socket_open", "is_blocks_only",
		"is_transactions_only", "last_handshake", "network_version", "chain_id", "node_id", "key", "time", "token",
		"sig", "p2p_address",
		"last_irreversible_block_num", "last_irreversible_block_id", "head_num", "head_id", "os", "agent",
		"generation"} {
		i := strings.Index(text[at:], `"`+key+`":`)
		if i < 0 {
			t.Fatalf("%s is missing, or not in its place, in %s", key, text)
		}
		at += i
	}
	if got["peer"] != a.address+":blk" || got["is_blocks_only"] != true || got["is_socket_open"] != true ||
		got["connecting"] != false {
		t.Error(text)
	}
	if h := got["last_handshake"].(map[string]any); h["head_num"] != 5.0 || h["os"] != "linux" {
		t.Error(text)
	}
	if got, want := b.Connect(a.address+":blk"), "already connected"; got != want {
		t.Errorf("%q, not %q", got, want)
	}
	if got, want := b.Connect("nowhere"), "invalid peer address"; got != want {
		t.Errorf("%q, not %q", got, want)
	}
	if got, want := b.Disconnect("nowhere:1"), "no known connection for host"; got != want {
		t.Errorf("%q, not %q", got, want)
	}
}

// schedule has a producer for each letter.
func schedule(version uint32, order string) *types.ProducerSchedule {
	s := &types.ProducerSchedule{Version: version}
	for _, c := range order {
		s.Producers = append(s.Producers, types.ProducerAuthority{Producer: types.N(string(c))})
	}
	return s
}

// What a peer claims does not keep a producer whose head is of now from its neighbours. While old blocks are fetched
// their schedules are of no use.
func TestAClaimKeepsNoProducerFromItsNeighbours(t *testing.T) {
	for name, x := range map[string]struct {
		chain *fakeChain
		heard bool
	}{"of now": {NewRecentChain(5), true}, "old": {newFakeChain(5), false}} {
		n := startNode(t, x.chain, func(o *Options) {
			o.Limits.Beat = time.Hour     // the claim is not found out meanwhile
			o.Limits.Recent = time.Minute // now is still now on a busy machine
			o.Producers = []types.Name{types.N("a")}
			o.AutoBPPeers = []string{"b," + freeport.Address(t)}
		})
		n.sync.setState(libCatchUp)
		n.SchedulesChanged(schedule(1, "ab"), schedule(2, "ab"))
		if _, ok := n.Status(n.config.autoPeers[types.N("b")]); ok != x.heard {
			t.Errorf("with a head that is %s it connects to its neighbour: %v", name, ok)
		}
	}
}

func TestProducersKeepToTheirNeighbours(t *testing.T) {
	names := []types.Name{types.N("a"), types.N("b"), types.N("c"), types.N("d"), types.N("e"),
		types.N("f"), types.N("g")}
	chain := newFakeChain(5)
	n := startNode(t, chain, func(o *Options) {
		o.Producers = []types.Name{types.N("c")}
		for _, name := range names {
			o.AutoBPPeers = append(o.AutoBPPeers, name.String()+","+freeport.Address(t))
		}
	})
	connected := func() (list string) {
		for _, name := range names {
			if _, ok := n.Status(n.config.autoPeers[name]); ok {
				list += name.String()
			}
		}
		return list
	}
	n.SchedulesChanged(schedule(1, "abcdefg"), schedule(2, "abcdefg"))
	if got := connected(); got != "de" {
		t.Errorf("connected to %s", got)
	}
	n.SchedulesChanged(schedule(2, "abcdefg"), schedule(3, "cfgabde"))
	if got := connected(); got != "defg" {
		t.Errorf("connected to %s", got)
	}
	n.SchedulesChanged(schedule(3, "cfgabde"), &types.ProducerSchedule{})
	if got := connected(); got != "defg" {
		t.Errorf("connected to %s", got)
	}
	n.SchedulesChanged(schedule(4, "cfgab"), &types.ProducerSchedule{})
	if got := connected(); got != "fg" {
		t.Errorf("connected to %s", got)
	}
	for _, s := range n.Connections() {
		if !s.BPPeer {
			t.Errorf("%+v", s)
		}
	}
}

// With gossip a node connects to whoever of a schedule it knows the address of, and leaves who is in none. When it is
// in none itself it leaves all.
func TestProducersThatGossipKeepToTheSchedule(t *testing.T) {
	names := []types.Name{types.N("a"), types.N("b"), types.N("c"), types.N("d")}
	address := map[types.Name]string{}
	n := startNode(t, newFakeChain(5), func(o *Options) {
		o.GossipEndpoints = []string{"a,a.example:1,192.0.2.1"}
		for _, name := range names[1:] {
			address[name] = freeport.Address(t)
		}
		o.AutoBPPeers = []string{"b," + address[names[1]]}
	})
	address[names[0]] = "a.example:1"
	for i, name := range []types.Name{names[0], names[2], names[3]} {
		n.gossip.directory.put(record(n.chain.id, name, Place{Server: address[name], Expiration: 100}, byte(i)))
	}
	connected := func() (list string) {
		for _, name := range names {
			if _, ok := n.Status(address[name]); ok {
				list += name.String()
			}
		}
		return list
	}
	for _, c := range []struct {
		active, pending string
		want            string
	}{
		{"e", "bc", "bc"}, {"e", "", "bc"}, {"abd", "", "bc"}, {"ab", "", "bc"}, {"ab", "ad", "bcd"}, {"be", "", "b"},
	} {
		n.SchedulesChanged(scheduleOf(n, c.active), scheduleOf(n, c.pending))
		if got := connected(); got != c.want {
			t.Errorf("with %s active and %s pending, connected to %s, not %s", c.active, c.pending, got, c.want)
		}
	}
}

// scheduleOf is a schedule that the node has not seen.
func scheduleOf(n *node, order string) *types.ProducerSchedule {
	s := &types.ProducerSchedule{Version: max(n.peering.activeVersion, n.peering.pendingVersion) + 1}
	for _, c := range order {
		s.Producers = append(s.Producers, types.ProducerAuthority{Producer: types.N(string(c))})
	}
	return s
}

func TestLatencyIsMeasured(t *testing.T) {
	a := startNode(t, newFakeChain(5), nil)
	b := startNode(t, newFakeChain(5), func(o *Options) { o.Peers = []string{a.address} })
	// The handshake may come after the answer that is measured, and what is sent is counted when it is on its way.
	eventually(t, "a latency, and the rest", func() bool {
		c := b.Metrics().Connections
		return len(c) == 1 && c[0].Latency > 0 && c[0].Latency < 5*time.Second &&
			c[0].NodeID == a.NodeID().String()[:7] && c[0].BytesIn > 0 && c[0].BytesOut > 0 && c[0].Port > 0
	})
}

func TestTimesOfOlderPeersAreUnderstood(t *testing.T) {
	const ns = 1_686_211_688_888_000_001
	for in, want := range map[int64]int64{ns: ns, ns / 1000: ns / 1000 * 1000, ns / 1000_000: ns / 1000_000 * 1000_000,
		ns / 1000_000_000: ns / 1000_000_000 * 1000_000_000, 0: 0, 12345: 0} {
		if got := nanoseconds(in); got != want {
			t.Errorf("%d is %d, not %d", in, got, want)
		}
	}
}
