package p2p

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tarn/antelope/types"
	"tarn/internal/closelistener"
)

// Network is a node's part in the peer-to-peer network. [New] makes it, Run works;
// all other methods may be called at any time by any goroutine, and do not wait.
//
// It has many methods because what it tells its peers, what they ask and what an operator asks
// go through one list of connections.
type Network struct {
	config *config
	chain  Ledger
	log    *logger
	nodeID types.Checksum256

	conns atomic.Pointer[[]*conn] // open connections; the slice never changes

	mu       sync.Mutex
	targets  map[string]*target
	supplied map[string]bool // addresses to be connected with
	nextID   uint32
	slots    slotList
	ctx      context.Context // of Run; nil before and after
	tasks    sync.WaitGroup
	listened []net.Addr
	shunned  map[netip.Prefix]time.Time // not to be admitted, until when

	sync    *syncer
	blocks  *blockIndex
	queue   *applyQueue
	trxs    *trxIndex
	relay   *relay
	votes   *voting
	peering *peering
	gossip  *gossip
	counters
}

// counters are totals since the start.
type counters struct {
	bytesIn, bytesOut, failed, droppedTrx, duplicateTrx, duplicateBlocks atomic.Uint64
	blocksIn, blocksOut, trxIn, trxOut, badBlocks, refused               atomic.Uint64
	votesIn, votesGood, votesBad                                         atomic.Uint64
	trxBytes, large, lastBlockIn                                         atomic.Int64
}

// New returns a network that serves the chain. Errors are those of
// [Options.Validate].
func New(chain Ledger, o Options) (*Network, error) {
	hostname, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("unable to retrieve host_name: %w", err)
	}
	c, err := o.resolve(hostname)
	if err != nil {
		return nil, err
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	n := &Network{config: c, chain: chain, log: newLogger(c.Log, c.Limits.Lines), targets: map[string]*target{},
		supplied: map[string]bool{},
		shunned:  map[netip.Prefix]time.Time{}, slots: slotList{limits: &c.Limits}}
	n.conns.Store(new([]*conn))
	if _, err := rand.Read(n.nodeID[:]); err != nil {
		return nil, fmt.Errorf("node id: %w", err)
	}
	for _, p := range c.Peers {
		n.supplied[p] = true
	}
	n.blocks, n.queue, n.trxs = newBlockIndex(&c.Limits), newApplyQueue(&c.Limits), newTrxIndex(c.DedupExpire)
	n.sync, n.relay, n.votes, n.peering, n.gossip = newSyncer(n), newRelay(n), newVoting(n), newPeering(n), newGossip(n)
	return n, nil
}

// NodeID is the random id that peers know this node by; a new one at every start.
func (n *Network) NodeID() types.Checksum256 { return n.nodeID }

// Run listens, connects and works until ctx ends, and returns when all that it
// started has ended: nil, or why it could not listen.
func (n *Network) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		cancel()
		n.mu.Lock()
		n.ctx = nil // nothing more is started
		n.mu.Unlock()
		n.tasks.Wait()
	}()
	n.log.Info(fmt.Sprintf("my node_id is %v", n.nodeID))
	for _, m := range n.config.mistakes {
		n.log.Error(m)
	}
	if !takesTransactions(n) && len(n.config.listeners) > 0 {
		for _, line := range [...]string{"***********************************", "* p2p-accept-transactions = false *",
			"*    Transactions not forwarded   *", "***********************************"} {
			n.log.Info(line)
		}
	}
	listeners, err := n.listen(ctx)
	if err != nil {
		return err
	}
	n.mu.Lock()
	n.ctx = ctx
	for i, l := range listeners {
		n.goLocked(func() { n.accept(ctx, l, n.config.listeners[i]) })
	}
	for _, work := range []func(context.Context){n.applyBlocks, n.checkAhead, n.relay.run, n.tend} {
		n.goLocked(func() { work(ctx) })
	}
	if n.gossip.enabled() {
		n.goLocked(func() { n.gossip.run(ctx) })
	}
	for range n.config.VoteThreads {
		n.goLocked(func() { n.votes.run(ctx) })
	}
	peers := make([]string, 0, len(n.supplied))
	for p := range n.supplied {
		peers = append(peers, p)
	}
	n.mu.Unlock()
	slices.Sort(peers)
	for _, p := range peers {
		n.addTarget(p)
	}
	<-ctx.Done()
	n.log.Info(fmt.Sprintf("close all %d connections", len(*n.conns.Load())))
	return nil
}

// goLocked starts a goroutine that Run waits for. The caller holds mu and has seen
// that ctx is not nil.
func (n *Network) goLocked(fn func()) {
	n.tasks.Add(1)
	go func() {
		defer n.tasks.Done()
		fn()
	}()
}

// Listening returns the addresses that are listened on while Run works.
func (n *Network) Listening() []net.Addr {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.listened)
}

func (n *Network) listen(ctx context.Context) (list []net.Listener, err error) {
	defer func() {
		if err != nil {
			for _, l := range list {
				l.Close()
			}
		}
	}()
	var addresses []net.Addr
	for _, e := range n.config.listeners {
		n.log.Info(fmt.Sprintf("setting block_sync_rate_limit to %g megabytes per second", float64(e.Rate)/1e6))
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", e.Address)
		if err != nil {
			n.log.Error(fmt.Sprintf("net_plugin::plugin_startup failed to listen on %s, %v", e.Address, err))
			return list, fmt.Errorf("listen for peers on %s: %w", e.Address, err)
		}
		list, addresses = append(list, l), append(addresses, l.Addr())
		n.log.Info(fmt.Sprintf("start listening on %v resolved from %s, max clients is %d",
			l.Addr(), e.Address, n.config.MaxClients))
	}
	n.mu.Lock()
	n.listened = addresses
	n.mu.Unlock()
	return list, nil
}

// accept takes connections until ctx ends.
func (n *Network) accept(ctx context.Context, l net.Listener, e endpoint) {
	defer context.AfterFunc(ctx, func() { closelistener.Close(l) })()
	defer l.Close()
	for {
		socket, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				socket.Close()
			}
			return
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // out of descriptors, for instance
			n.log.logLimited(slog.LevelError, fmt.Sprintf("Unable to accept a connection: %v", err))
			sleep(ctx, n.config.Limits.Reconnect)
		default:
			n.admit(ctx, socket, e)
		}
	}
}

// admit decides about an incoming connection (Leap: create_session).
func (n *Network) admit(ctx context.Context, socket net.Conn, e endpoint) {
	ip, _ := splitHostPort(socket.RemoteAddr())
	visitors, same := 0, 0
	for _, c := range *n.conns.Load() {
		if c.incoming() {
			visitors++
			if c.remoteIP == ip {
				same++
			}
		}
	}
	switch {
	case n.config.MaxNodesPerHost >= 0 && same >= n.config.MaxNodesPerHost:
		n.log.logLimited(slog.LevelInfo,
			fmt.Sprintf("Number of connections (%d) from %s exceeds limit %d (p2p-max-nodes-per-host)",
				same+1, ip, n.config.MaxNodesPerHost))
	case !n.peering.enabled() && n.config.MaxClients != 0 && visitors >= int(n.config.MaxClients):
		n.log.logLimited(slog.LevelInfo,
			fmt.Sprintf("max_client_count %d exceeded (max-clients), refusing %s", n.config.MaxClients, ip))
	case n.config.MaxClients != 0 && visitors >= 2*int(n.config.MaxClients)+64:
		// Producers are known by what they say, so that more may come in to say it.
		n.log.logLimited(slog.LevelInfo, fmt.Sprintf("max_client_count %d exceeded by far (max-clients), refusing %s",
			n.config.MaxClients, ip))
	case n.isShunned(ip):
		n.log.logLimited(slog.LevelInfo, fmt.Sprintf("not yet admitting %s again, which did no good before", ip))
	default:
		n.log.logLimited(slog.LevelInfo, "Accepted new connection: "+ip)
		rate := e.Rate
		if n.suppliedHost(ip) {
			rate = 0
		}
		c := newConn(n, socket, nil, e.public, rate)
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.ctx != nil {
			n.addLocked(c)
			n.goLocked(func() { c.run(ctx); n.remove(c) })
			return
		}
	}
	n.refused.Add(1)
	socket.Close()
}

// prefixOf is what is taken for one host: an IPv4 address, or the 64 bits of an IPv6
// address that a network gives to each of its hosts. It is invalid for what is none, and
// for the own machine.
func prefixOf(ip string) netip.Prefix {
	a, err := netip.ParseAddr(ip)
	if a = a.Unmap().WithZone(""); err != nil || a.IsLoopback() {
		return netip.Prefix{}
	}
	p, _ := a.Prefix(min(a.BitLen(), 64)) // there are as many bits
	return p
}

// shun keeps the host of a peer that connected here and did no good away for a
// while. The own machine's are never kept away.
func (n *Network) shun(c *conn) {
	prefix := prefixOf(c.remoteIP)
	if !c.incoming() || !prefix.IsValid() {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	for host, until := range n.shunned {
		if until.Before(now) || len(n.shunned) >= n.config.Limits.Shunned {
			delete(n.shunned, host)
		}
	}
	n.shunned[prefix] = now.Add(n.config.CleanupPeriod)
}

func (n *Network) isShunned(ip string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	until, ok := n.shunned[prefixOf(ip)]
	return ok && time.Now().Before(until)
}

// suppliedHost tells whether one of the peers to connect with has that host.
func (n *Network) suppliedHost(ip string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for p := range n.supplied {
		if host, _, _, _ := splitPeer(p); host == ip {
			return true
		}
	}
	return false
}

// addLocked gives the connection its ids and makes it one of the open ones. The
// caller holds mu.
func (n *Network) addLocked(c *conn) {
	n.nextID++
	c.id = n.nextID
	c.slot = n.slots.take(time.Now())
	list := append(slices.Clone(*n.conns.Load()), c)
	n.conns.Store(&list)
}

// remove forgets a connection that has ended.
func (n *Network) remove(c *conn) {
	n.mu.Lock()
	list := slices.DeleteFunc(slices.Clone(*n.conns.Load()), func(o *conn) bool { return o == c })
	n.conns.Store(&list)
	n.slots.free(c.slot, time.Now())
	n.mu.Unlock()
	n.blocks.forgetPeer(c.slot)
	n.votes.forgetPeer(c)
	n.gossip.forgetPeer(c)
	n.sync.handleClosed(c)
	n.handleGone(c)
}

// tend does what is due from time to time.
func (n *Network) tend(ctx context.Context) {
	t := time.NewTicker(n.config.Limits.Beat)
	defer t.Stop()
	keepAlive := time.NewTicker(n.config.KeepAlive)
	defer keepAlive.Stop()
	expire := time.NewTicker(n.config.Limits.Expiry)
	defer expire.Stop()
	monitor := time.NewTicker(n.config.CleanupPeriod)
	defer monitor.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			n.sync.check(time.Now())
			n.checkAsked(time.Now())
			for _, c := range *n.conns.Load() {
				c.checkHandshake()
				c.checkLarge(time.Now())
			}
		case <-keepAlive.C:
			for _, c := range *n.conns.Load() {
				c.heartbeat()
			}
		case <-expire.C:
			n.blocks.expire(n.chain.Info().LIBNum, time.Now())
			n.trxs.expire(time.Now())
			n.votes.expire(n.chain.Info().LIBNum, time.Now())
		case <-monitor.C:
			n.monitor()
		}
	}
}

// monitor says how many there are (Leap: connection_monitor).
func (n *Network) monitor() {
	m := n.Metrics()
	if m.Clients > 0 || m.Peers > 0 || m.BlockProducers > 0 {
		n.mu.Lock()
		supplied := len(n.supplied)
		n.mu.Unlock()
		n.log.Info(fmt.Sprintf("p2p client connections: %d/%d, peer connections: %d/%d, block producer peers: %d",
			m.Clients, n.config.MaxClients, m.Peers, supplied, m.BlockProducers))
	}
}

// sendHandshakes tells everyone where the chain is, also those that were catching up from here and may have overtaken
// this node: each would believe of the other that it is behind, and pass nothing on (Spring: send_handshakes).
func (n *Network) sendHandshakes() {
	for _, c := range *n.conns.Load() {
		if c.connected.Load() && c.ended.Err() == nil {
			c.sendHandshake()
		}
	}
}

// osName is what handshakes say of the operating system.
func osName() string {
	switch runtime.GOOS {
	case "linux":
		return "linux"
	case "darwin":
		return "osx"
	case "windows":
		return "win32"
	}
	return "other"
}

// sleep waits, or returns false if ctx ends before.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

func splitHostPort(a net.Addr) (host, port string) {
	host, port, err := net.SplitHostPort(a.String())
	if err != nil {
		return "<unknown>", "<unknown>"
	}
	return host, port
}
